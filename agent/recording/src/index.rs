//! Finds the row that has a key without keeping the key: the rows have it.
//!
//! A map would have each row twice, and there are millions of them. It must never be asked with
//! other rows than those that it was told of.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The ids of rows, by what stands in these.
#[derive(Debug)]
pub struct Index<I> {
    ids: HashTable<I>,
    hasher: RandomState,
}

impl<I: Copy> Index<I> {
    /// The row of this key, which `has` tells of an id.
    pub fn find(&self, key: &impl Hash, has: impl Fn(I) -> bool) -> Option<I> {
        self.ids.find(self.hasher.hash_one(key), |id| has(*id)).copied()
    }

    /// Adds a row, which is not there yet; `key_of` tells the keys of others.
    pub fn add<K: Hash>(&mut self, key: &K, id: I, key_of: impl Fn(I) -> K) {
        let Self { ids, hasher } = self;
        ids.insert_unique(hasher.hash_one(key), id, |id| hasher.hash_one(key_of(*id)));
    }

    /// Memory taken, near enough: each slot has one byte of control.
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
    fn each_row_is_found_by_what_stands_in_it_however_many_there_are() {
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
