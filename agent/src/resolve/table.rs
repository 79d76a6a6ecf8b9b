//! The table of named methods, by id.
//!
//! Before JDK 26 an id may be used again once its class has been unloaded, so an id has a meaning since some time;
//! a sample gets the one that held when it was taken.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use vouch_sample::MethodId;

use super::class::{Class, Method};
use crate::facade::{LineEntry, MethodName};

/// All that was named, and under which id.
#[derive(Debug, Default)]
pub struct Table {
    by_id: HashMap<MethodId, Meaning>,
    /// Meanings that were replaced, newest last.
    earlier: HashMap<MethodId, Vec<Meaning>>,
    /// Names and descriptors repeat (`<init>`, `get`, `()V`): each is kept once.
    names: HashMap<Box<str>, Arc<str>>,
    epoch: u64,
}

/// What an id means from a time on.
#[derive(Debug, Clone)]
struct Meaning {
    since: u64,
    method: Method,
}

impl Table {
    /// Adds the methods of a class: id, name and lines of each.
    pub fn add(
        &mut self,
        class: &Arc<Class>,
        methods: Vec<(MethodId, MethodName, Vec<LineEntry>)>,
        since: u64,
    ) {
        for (id, MethodName { name, descriptor }, lines) in methods {
            let (name, descriptor) = (self.name(&name), self.name(&descriptor));
            let method = Method { class: Arc::clone(class), name, descriptor, lines: lines.into() };
            let meaning = Meaning { since, method };
            match self.by_id.entry(id) {
                Entry::Vacant(entry) => {
                    entry.insert(meaning);
                }
                Entry::Occupied(mut entry) => {
                    let before = entry.insert(meaning);
                    self.earlier.entry(id).or_default().push(before);
                    self.epoch += 1;
                }
            }
        }
    }

    /// What `id` meant at a time.
    pub fn find(&self, id: MethodId, time: u64) -> Option<Method> {
        let latest = self.by_id.get(&id)?;
        let earlier = self.earlier.get(&id).map_or(&[][..], Vec::as_slice);
        let meaning = std::iter::once(latest).chain(earlier.iter().rev()).find(|m| m.since <= time);
        // A sample that is older than every meaning can only be of the oldest: a class that was found loaded.
        Some(meaning.or(earlier.first()).unwrap_or(latest).method.clone())
    }

    /// How often an id has changed its meaning.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let kept: Arc<str> = name.into();
        self.names.insert(name.into(), Arc::clone(&kept));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::class::{Handle, Origin};

    fn class(name: &str) -> Arc<Class> {
        Arc::new(Class::new(&format!("L{name};"), None, Origin::default(), Handle::Gone))
    }

    fn run() -> MethodName {
        MethodName { name: "run".to_owned(), descriptor: "()V".to_owned() }
    }

    #[test]
    fn an_id_that_is_used_again_means_what_it_meant_at_the_time() {
        let mut table = Table::default();
        table.add(&class("Old"), vec![(MethodId(1), run(), Vec::new())], 100);
        assert_eq!(table.epoch(), 0);
        table.add(&class("New"), vec![(MethodId(1), run(), Vec::new())], 200);
        table.add(&class("Newer"), vec![(MethodId(1), run(), Vec::new())], 300);
        assert_eq!(table.epoch(), 2);
        let at = |time| table.find(MethodId(1), time).unwrap().class.name.clone();
        assert_eq!([at(50), at(150), at(250), at(900)], ["Old", "Old", "New", "Newer"]);
        assert!(table.find(MethodId(2), 900).is_none());
    }
}
