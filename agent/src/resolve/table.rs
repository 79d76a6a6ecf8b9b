//! The table of named methods, by what their ids mean.
//!
//! Before JDK 26 an id may be used again once its class has been unloaded. So each thing that an id comes to mean gets an id
//! of its own: the first one the JVM's, later ones another. Whoever asks for what an id meant when a sample was taken holds
//! something that never means anything else, and may keep what is concluded from it for ever.

use std::collections::HashMap;
use std::sync::Arc;

use vouch_sample::{Frame, MethodId};

use super::class::{Class, Handle, Method};
use crate::facade::{LineEntry, MethodName};

/// All that was named, and under which id.
#[derive(Debug, Default)]
pub struct Table {
    methods: HashMap<MethodId, Method>,
    /// By the JVM's id: since when it has meant something else than at first, and under which id that is here; in the order in
    /// which it was told.
    later: HashMap<MethodId, Vec<(u64, MethodId)>>,
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
            if stays(class) && self.methods.get(&id).is_some_and(|known| stays(&known.class)) {
                // It was named before, with another method of its class. (Its lines stay those of then, also if it is redefined.)
                continue;
            }
            let (name, descriptor) = (self.name(&name), self.name(&descriptor));
            let method = Method { id, class: Arc::clone(class), name, descriptor, lines: lines.into() };
            let meaning = if self.methods.contains_key(&id) { self.later(id, since) } else { id };
            self.methods.insert(meaning, method);
        }
    }

    /// Puts what their ids meant at a time in the place of the JVM's ids.
    pub fn meant(&self, frames: &mut [Frame], time: u64) {
        if self.later.is_empty() {
            return;
        }
        for frame in frames {
            if frame.method().0 > usize::MAX - self.made {
                // No id of the JVM's: it must not be taken for one that was made here.
                *frame = Frame::of(MethodId::NONE, frame.bci());
            }
            let Some(later) = self.later.get(&frame.method()) else { continue };
            // A sample that is older than every meaning can only be of the first: a class that was found loaded.
            if let Some((_, meaning)) = later.iter().rfind(|(since, _)| *since <= time) {
                *frame = Frame::of(*meaning, frame.bci());
            }
        }
    }

    /// What the JVM's `id` means now.
    pub fn present(&self, id: MethodId) -> Option<Method> {
        let later = self.later.get(&id).and_then(|later| later.last());
        self.find(later.map_or(id, |(_, meaning)| *meaning))
    }

    /// The method of this meaning.
    pub fn find(&self, meaning: MethodId) -> Option<Method> {
        self.methods.get(&meaning).cloned()
    }

    /// A new id for what this one means from a time on.
    fn later(&mut self, id: MethodId, since: u64) -> MethodId {
        // No JVM gives ids from up here: they are addresses of the program's, or small numbers.
        let meaning = MethodId(usize::MAX - self.made);
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

    fn meant(table: &Table, time: u64) -> MethodId {
        let mut frames = [Frame::of(ID, 3), Frame::of(MethodId(7), 5)];
        table.meant(&mut frames, time);
        assert_eq!((frames[0].bci(), frames[1]), (3, Frame::of(MethodId(7), 5)));
        frames[0].method()
    }

    #[test]
    fn an_id_that_is_used_again_means_what_it_meant_at_the_time() {
        let mut table = Table::default();
        table.add(&class("Old", Handle::Gone), vec![(ID, run(), Vec::new())], 100);
        assert_eq!(meant(&table, 900), ID);
        table.add(&class("New", Handle::Gone), vec![(ID, run(), Vec::new())], 200);
        table.add(&class("Newer", Handle::Gone), vec![(ID, run(), Vec::new())], 300);
        let at = |time| table.find(meant(&table, time)).unwrap();
        let name = |time| at(time).class.name.clone();
        assert_eq!([name(50), name(150), name(250), name(900)], ["Old", "Old", "New", "Newer"]);
        assert_eq!(at(900).id, ID, "the JVM is asked by its own id");
        let meanings = [150, 250, 900].map(|time| meant(&table, time));
        assert!(meanings[0] != meanings[1] && meanings[1] != meanings[2] && meanings[0] != meanings[2]);
        assert_eq!(table.present(ID).unwrap().class.name, "Newer");
        assert!(table.find(MethodId(2)).is_none() && table.present(MethodId(2)).is_none());
        let mut garbage = [Frame::of(meanings[2], 3)];
        table.meant(&mut garbage, 900);
        assert_eq!(garbage, [Frame::of(MethodId::NONE, 3)], "what a walker says is never one of ours");
    }

    #[test]
    fn a_class_that_stays_keeps_the_meaning_of_its_ids() {
        let mut table = Table::default();
        for since in [0, 100] {
            table.add(&class("A", Handle::Stays), vec![(ID, run(), Vec::new())], since);
        }
        assert_eq!(meant(&table, 900), ID);
    }
}
