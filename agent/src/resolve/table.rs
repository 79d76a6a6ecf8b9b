//! The table of named methods, by what their ids mean.
//!
//! Before JDK 26 an id may be used again once its class has been unloaded. So each thing that an id
//! comes to mean gets an id of its own: the first one the JVM's, later ones another. Whoever asks
//! for what an id meant when a sample was taken holds something that never means anything else, and
//! may keep what is concluded from it for ever.

use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::{MethodId, ResolvedMethod};

use super::class::{Class, Handle, Method};
use crate::facade::{LineEntry, MethodName};

/// Meanings that are made here lie above this. No JVM gives ids from up here: they are addresses of
/// the program's, or small numbers.
const MADE: usize = usize::MAX - (1 << 32);
/// What something means that is no JVM's id: nobody knows a method of it.
const UNKNOWN: ResolvedMethod = ResolvedMethod(usize::MAX);

/// All that was named, and under which id.
#[derive(Debug, Default)]
pub struct Table {
    methods: HashMap<ResolvedMethod, Method>,
    /// By the JVM's id: since when it has meant something else than at first, and under which id
    /// that is here; in the order in which it was told.
    later: HashMap<MethodId, Vec<(u64, ResolvedMethod)>>,
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
            let known = self.methods.get(&first(id));
            if stays(class) && known.is_some_and(|known| stays(&known.class)) {
                // It was named before, with another method of its class. (Its lines stay those of
                // then, also if it is redefined.)
                continue;
            }
            let meaning = if known.is_some() { self.later(id, since) } else { first(id) };
            let (name, descriptor) = (self.name(&name), self.name(&descriptor));
            let method = Method { id, class: Arc::clone(class), name, descriptor, lines: lines.into() };
            self.methods.insert(meaning, method);
        }
    }

    /// What the JVM's `id` meant at a time.
    pub fn meaning(&self, id: MethodId, time: u64) -> ResolvedMethod {
        // A sample that is older than every meaning can only be of the first: a class that was
        // found loaded.
        let later = self.later.get(&id).and_then(|later| later.iter().rfind(|(since, _)| *since <= time));
        later.map_or(first(id), |(_, meaning)| *meaning)
    }

    /// What the JVM's `id` means now.
    pub fn present(&self, id: MethodId) -> Option<Method> {
        let later = self.later.get(&id).and_then(|later| later.last());
        self.find(later.map_or(first(id), |(_, meaning)| *meaning))
    }

    /// The method of this meaning.
    pub fn find(&self, meaning: ResolvedMethod) -> Option<Method> {
        self.methods.get(&meaning).cloned()
    }

    /// A new id for what this one means from a time on.
    fn later(&mut self, id: MethodId, since: u64) -> ResolvedMethod {
        self.made += 1;
        let meaning = ResolvedMethod(UNKNOWN.0 - self.made);
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
fn first(id: MethodId) -> ResolvedMethod {
    if id.0 > MADE { UNKNOWN } else { ResolvedMethod(id.0) }
}

/// The id whose first meaning this is; `None` for no id, and for what was made here.
pub fn id_of(meaning: ResolvedMethod) -> Option<MethodId> {
    (!meaning.is_none() && meaning.0 <= MADE).then_some(MethodId(meaning.0))
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

    #[test]
    fn an_id_that_is_used_again_means_what_it_meant_at_the_time() {
        let mut table = Table::default();
        table.add(&class("Old", Handle::Gone), vec![(ID, run(), Vec::new())], 100);
        assert_eq!(table.meaning(ID, 900), first(ID));
        table.add(&class("New", Handle::Gone), vec![(ID, run(), Vec::new())], 200);
        table.add(&class("Newer", Handle::Gone), vec![(ID, run(), Vec::new())], 300);
        let at = |time| table.find(table.meaning(ID, time)).unwrap();
        let name = |time| at(time).class.name.clone();
        assert_eq!([name(50), name(150), name(250), name(900)], ["Old", "Old", "New", "Newer"]);
        assert_eq!(at(900).id, ID, "the JVM is asked by its own id");
        let meanings = [150, 250, 900].map(|time| table.meaning(ID, time));
        assert!(meanings[0] != meanings[1] && meanings[1] != meanings[2] && meanings[0] != meanings[2]);
        assert_eq!(table.present(ID).unwrap().class.name, "Newer");
        assert!(table.find(ResolvedMethod(2)).is_none() && table.present(MethodId(2)).is_none());
    }

    #[test]
    fn what_is_no_id_of_a_jvms_is_never_taken_for_a_meaning_that_was_made() {
        let mut table = Table::default();
        let garbage = (0..100).map(|below| MethodId(usize::MAX - below));
        let before: Vec<ResolvedMethod> = garbage.clone().map(|id| table.meaning(id, 900)).collect();
        for name in ["Old", "New"] {
            table.add(&class(name, Handle::Gone), vec![(ID, run(), Vec::new())], 100);
        }
        let made = table.meaning(ID, 900);
        assert!(table.find(made).is_some() && id_of(made).is_none() && id_of(first(ID)) == Some(ID));
        let after: Vec<ResolvedMethod> = garbage.map(|id| table.meaning(id, 900)).collect();
        assert!(before == after && !after.contains(&made));
        assert!(after.iter().all(|unknown| table.find(*unknown).is_none() && id_of(*unknown).is_none()));
        assert_eq!(id_of(ResolvedMethod::NONE), None);
    }

    #[test]
    fn a_class_that_stays_keeps_the_meaning_of_its_ids() {
        let mut table = Table::default();
        for since in [0, 100] {
            table.add(&class("A", Handle::Stays), vec![(ID, run(), Vec::new())], since);
        }
        assert_eq!(table.meaning(ID, 900), first(ID));
    }
}
