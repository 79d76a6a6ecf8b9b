//! An index of a table's rows that stores ids, but no keys: the keys are in the rows.
//!
//! A map would store each of millions of rows twice. An index must always be used with the same
//! rows.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The ids of a table's rows, hashed by the content of the rows.
#[derive(Debug)]
pub struct Index<I> {
    ids: HashTable<I>,
    hasher: RandomState,
}

impl<I: Copy> Index<I> {
    /// Finds the row with this key. `has` returns whether the row with an id has the key.
    pub fn find(&self, key: &impl Hash, has: impl Fn(I) -> bool) -> Option<I> {
        self.ids.find(self.hasher.hash_one(key), |id| has(*id)).copied()
    }

    /// Adds a row that is not in the index yet. `key_of` returns the key of the row with an id.
    pub fn add<K: Hash>(&mut self, key: &K, id: I, key_of: impl Fn(I) -> K) {
        let Self { ids, hasher } = self;
        ids.insert_unique(hasher.hash_one(key), id, |id| hasher.hash_one(key_of(*id)));
    }

    /// Returns the approximate memory of the index in bytes. Each slot has one control byte.
    pub(crate) fn bytes(&self) -> usize {
        self.ids.capacity() * 8 / 7 * (size_of::<I>() + 1)
    }
}

impl<I> Default for Index<I> {
    fn default() -> Self {
        Self { ids: HashTable::new(), hasher: RandomState::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_many_rows_is_found_by_its_content() {
        let (mut rows, mut index): (Vec<(u64, bool)>, Index<u32>) = <_>::default();
        for number in 0..5_000_u64 {
            let row = (number * number, number % 3 == 0);
            assert_eq!(index.find(&row, |id| rows[id as usize] == row), None);
            let id = u32::try_from(rows.len()).unwrap();
            rows.push(row);
            index.add(&row, id, |id| rows[id as usize]);
        }
        for (at, row) in (0..).zip(&rows) {
            assert_eq!(index.find(row, |id| rows[id as usize] == *row), Some(at));
        }
        assert_eq!(index.find(&(2, false), |id| rows[id as usize] == (2, false)), None);
        assert!(index.bytes() >= 5_000 * 5);
    }
}
