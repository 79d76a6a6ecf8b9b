//! The table of named methods, by what their ids mean.
//!
//! Before JDK 26 an id may be used again once its class has been unloaded. So each thing that an id comes to mean gets an id
//! of its own: the first one the JVM's, later ones another. Whoever asks for what an id meant when a sample was taken holds
//! something that never means anything else, and may keep what is concluded from it for ever.

use std::collections::HashMap;
use std::sync::Arc;

use vouch_sample::{Frame, Meaning, Meant, MethodId};

use super::class::{Class, Handle, Method};
use crate::facade::{LineEntry, MethodName};

/// All that was named, and under which id.
#[derive(Debug, Default)]
pub struct Table {
    methods: HashMap<Meaning, Method>,
    /// By the JVM's id: since when it has meant something else than at first, and under which id that is here; in the order in
    /// which it was told.
    later: HashMap<MethodId, Vec<(u64, Meaning)>>,
    /// Names and descriptors repeat (`<init>`, `get`, `()V`): each is kept once.
    names: HashMap<Box<str>, Arc<str>>,
    /// How many ids were made here.
    made: usize,
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
            let stays = |class: &Class| matches!(class.handle, Handle::Stays);
            let first = self.methods.get(&first(id));
            if stays(class) && first.is_some_and(|known| stays(&known.class)) {
                // It was named before, with another method of its class. (Its lines stay those of then, also if it is redefined.)
                continue;
            }
            let meaning = if first.is_some() { self.later(id, since) } else { self::first(id) };
            let (name, descriptor) = (self.name(&name), self.name(&descriptor));
            let method = Method { id, class: Arc::clone(class), name, descriptor, lines: lines.into() };
            self.methods.insert(meaning, method);
        }
    }

    /// Adds to `meant` what these frames' ids meant at a time.
    pub fn meant(&self, frames: &[Frame], time: u64, meant: &mut Vec<Meant>) {
        meant.extend(frames.iter().map(|frame| Meant::of(self.at(frame.method(), time), frame.bci())));
    }

    /// What the JVM's `id` meant at a time.
    fn at(&self, id: MethodId, time: u64) -> Meaning {
        if self.later.is_empty() {
            return first(id);
        }
        if id.0 > usize::MAX - self.made {
            // No id of the JVM's: it must not be taken for one that was made here.
            return Meaning::NONE;
        }
        // A sample that is older than every meaning can only be of the first: a class that was found loaded.
        let later = self.later.get(&id).and_then(|later| later.iter().rfind(|(since, _)| *since <= time));
        later.map_or(first(id), |(_, meaning)| *meaning)
    }

    /// What the JVM's `id` means now.
    pub fn present(&self, id: MethodId) -> Option<Method> {
        let later = self.later.get(&id).and_then(|later| later.last());
        self.find(later.map_or(first(id), |(_, meaning)| *meaning))
    }

    /// The method of this meaning.
    pub fn find(&self, meaning: Meaning) -> Option<Method> {
        self.methods.get(&meaning).cloned()
    }

    /// A new id for what this one means from a time on.
    fn later(&mut self, id: MethodId, since: u64) -> Meaning {
        // No JVM gives ids from up here: they are addresses of the program's, or small numbers.
        let meaning = Meaning(usize::MAX - self.made);
        self.made += 1;
        self.later.entry(id).or_default().push((since, meaning));
        meaning
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

/// The first thing that an id means.
fn first(id: MethodId) -> Meaning {
    Meaning(id.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::class::Origin;

    const ID: MethodId = MethodId(1);

    fn class(name: &str, handle: Handle) -> Arc<Class> {
        Arc::new(Class::new(&format!("L{name};"), None, Origin::default(), handle))
    }

    fn run() -> MethodName {
        MethodName { name: "run".to_owned(), descriptor: "()V".to_owned() }
    }

    fn meant(table: &Table, time: u64) -> Meaning {
        let mut meant = Vec::new();
        table.meant(&[Frame::of(ID, 3), Frame::of(MethodId(7), 5)], time, &mut meant);
        assert_eq!((meant[0].bci(), meant[1]), (3, Meant::of(Meaning(7), 5)));
        meant[0].method()
    }

    #[test]
    fn an_id_that_is_used_again_means_what_it_meant_at_the_time() {
        let mut table = Table::default();
        table.add(&class("Old", Handle::Gone), vec![(ID, run(), Vec::new())], 100);
        assert_eq!(meant(&table, 900), first(ID));
        table.add(&class("New", Handle::Gone), vec![(ID, run(), Vec::new())], 200);
        table.add(&class("Newer", Handle::Gone), vec![(ID, run(), Vec::new())], 300);
        let at = |time| table.find(meant(&table, time)).unwrap();
        let name = |time| at(time).class.name.clone();
        assert_eq!([name(50), name(150), name(250), name(900)], ["Old", "Old", "New", "Newer"]);
        assert_eq!(at(900).id, ID, "the JVM is asked by its own id");
        let meanings = [150, 250, 900].map(|time| meant(&table, time));
        assert!(meanings[0] != meanings[1] && meanings[1] != meanings[2] && meanings[0] != meanings[2]);
        assert_eq!(table.present(ID).unwrap().class.name, "Newer");
        assert!(table.find(Meaning(2)).is_none() && table.present(MethodId(2)).is_none());
        let mut garbage = Vec::new();
        table.meant(&[Frame::of(MethodId(meanings[2].0), 3)], 900, &mut garbage);
        assert_eq!(garbage, [Meant::of(Meaning::NONE, 3)], "what a walker says is never one of ours");
    }

    #[test]
    fn a_class_that_stays_keeps_the_meaning_of_its_ids() {
        let mut table = Table::default();
        for since in [0, 100] {
            table.add(&class("A", Handle::Stays), vec![(ID, run(), Vec::new())], since);
        }
        assert_eq!(meant(&table, 900), first(ID));
    }
}
