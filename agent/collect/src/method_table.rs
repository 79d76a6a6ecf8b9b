//! The table of methods with known names. Its key is a resolved method.
//!
//! Before JDK 26, the JVM may use an id again once its class is unloaded. So each method gets a
//! `ResolvedMethod`, which is never used again. It is the JVM's id for the id's first method, and a
//! generated number for later ones. Results that are kept by a `ResolvedMethod` stay valid.

use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::{MethodId, ResolvedMethod};

use crate::method::{Class, Handle, LineEntry, Method, MethodName};

/// The lower bound of generated numbers. Ids of the JVM are never above it: they are user space
/// addresses or small numbers.
const MIN_MADE: usize = usize::MAX - (1 << 32);
/// The resolved method for an id that no JVM makes. It has no method.
const UNKNOWN: ResolvedMethod = ResolvedMethod(usize::MAX);

/// The table of methods with known names.
#[derive(Debug, Default)]
pub struct MethodTable {
    methods: HashMap<ResolvedMethod, Method>,
    /// The later methods of each id of the JVM, each with the time since when it has the id. They
    /// are in the order in which they were added.
    later: HashMap<MethodId, Vec<(u64, ResolvedMethod)>>,
    /// Names and descriptors. Many methods have the same ones (`<init>`, `()V`), so each text is
    /// stored once.
    names: HashMap<Box<str>, Arc<str>>,
    /// The number of resolved methods that got a generated number.
    made: usize,
    /// The classes that are never unloaded, by the id of each of their methods.
    classes: HashMap<MethodId, Arc<Class>>,
}

impl MethodTable {
    /// Adds the methods of a class to the table, each with its id, name and lines, as of the time
    /// `since`.
    pub fn add(
        &mut self,
        class: &Arc<Class>,
        methods: Vec<(MethodId, MethodName, Vec<LineEntry>)>,
        since: u64,
    ) {
        for (id, MethodName { name, descriptor }, lines) in methods {
            let is_permanent = |class: &Class| matches!(class.handle, Handle::Permanent);
            let known = self.methods.get(&first(id));
            if is_permanent(class) && known.is_some_and(|known| is_permanent(&known.class)) {
                // It was named with another method of its class. (Its lines stay as they were, even
                // if the class is redefined.)
                continue;
            }
            let resolved = if known.is_some() { self.add_later(id, since) } else { first(id) };
            let (name, descriptor) = (self.name(&name), self.name(&descriptor));
            let method = Method { id, class: Arc::clone(class), name, descriptor, lines: lines.into() };
            self.methods.insert(resolved, method);
        }
    }

    /// Adds a class that is never unloaded, by the ids of all its methods.
    pub fn add_class(&mut self, class: &Arc<Class>, ids: &[MethodId]) {
        self.classes.extend(ids.iter().map(|id| (*id, Arc::clone(class))));
    }

    /// Returns the class of a method, if [`Self::add_class`] has added it.
    pub fn class_of(&self, id: MethodId) -> Option<Arc<Class>> {
        self.classes.get(&id).cloned()
    }

    /// Resolves the method that the JVM's `id` had at a time.
    pub fn resolve(&self, id: MethodId, time: u64) -> ResolvedMethod {
        // A sample that is older than all later methods is of the first one, which may have been
        // loaded before the agent.
        let later = self.later.get(&id).and_then(|later| later.iter().rfind(|(since, _)| *since <= time));
        later.map_or(first(id), |(_, resolved)| *resolved)
    }

    /// Returns the method that the JVM's `id` has now.
    pub fn current(&self, id: MethodId) -> Option<Method> {
        let later = self.later.get(&id).and_then(|later| later.last());
        self.find(later.map_or(first(id), |(_, resolved)| *resolved))
    }

    /// Returns the method with its names for a resolved method.
    pub fn find(&self, resolved: ResolvedMethod) -> Option<Method> {
        self.methods.get(&resolved).cloned()
    }

    /// Generates the resolved method for a method that has an id of the JVM from a time on.
    fn add_later(&mut self, id: MethodId, since: u64) -> ResolvedMethod {
        self.made += 1;
        let resolved = ResolvedMethod(UNKNOWN.0 - self.made);
        self.later.entry(id).or_default().push((since, resolved));
        resolved
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

/// Returns the resolved method for the first method that had an id of the JVM.
fn first(id: MethodId) -> ResolvedMethod {
    if id.0 > MIN_MADE { UNKNOWN } else { ResolvedMethod(id.0) }
}

/// Returns the JVM's id of a method that is the first one with that id. `None` for no id, and for a
/// later method.
pub fn jvm_id(resolved: ResolvedMethod) -> Option<MethodId> {
    (!resolved.is_none() && resolved.0 <= MIN_MADE).then_some(MethodId(resolved.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Origin;

    const ID: MethodId = MethodId(1);

    fn class(name: &str, handle: Handle) -> Arc<Class> {
        Arc::new(Class::new(&format!("L{name};"), None, Origin::default(), handle))
    }

    fn run() -> MethodName {
        MethodName { name: "run".to_owned(), descriptor: "()V".to_owned() }
    }

    #[test]
    fn a_reused_id_resolves_to_the_method_of_the_time() {
        let mut table = MethodTable::default();
        table.add(&class("Old", Handle::None), vec![(ID, run(), Vec::new())], 100);
        assert_eq!(table.resolve(ID, 900), first(ID));
        table.add(&class("New", Handle::None), vec![(ID, run(), Vec::new())], 200);
        table.add(&class("Newer", Handle::None), vec![(ID, run(), Vec::new())], 300);
        let at = |time| table.find(table.resolve(ID, time)).unwrap();
        let name = |time| at(time).class.name.clone();
        assert_eq!([name(50), name(150), name(250), name(900)], ["Old", "Old", "New", "Newer"]);
        assert_eq!(at(900).id, ID, "it keeps the id of the JVM");
        let resolved = [150, 250, 900].map(|time| table.resolve(ID, time));
        assert!(resolved[0] != resolved[1] && resolved[1] != resolved[2] && resolved[0] != resolved[2]);
        assert_eq!(table.current(ID).unwrap().class.name, "Newer");
        assert!(table.find(ResolvedMethod(2)).is_none() && table.current(MethodId(2)).is_none());
    }

    #[test]
    fn a_wrong_id_never_resolves_to_a_made_number() {
        let mut table = MethodTable::default();
        let garbage = (0..100).map(|below| MethodId(usize::MAX - below));
        let before: Vec<ResolvedMethod> = garbage.clone().map(|id| table.resolve(id, 900)).collect();
        for name in ["Old", "New"] {
            table.add(&class(name, Handle::None), vec![(ID, run(), Vec::new())], 100);
        }
        let made = table.resolve(ID, 900);
        assert!(table.find(made).is_some() && jvm_id(made).is_none() && jvm_id(first(ID)) == Some(ID));
        let after: Vec<ResolvedMethod> = garbage.map(|id| table.resolve(id, 900)).collect();
        assert!(before == after && !after.contains(&made));
        assert!(after.iter().all(|unknown| table.find(*unknown).is_none() && jvm_id(*unknown).is_none()));
        assert_eq!(jvm_id(ResolvedMethod::NONE), None);
    }

    #[test]
    fn a_permanent_class_keeps_its_ids() {
        let mut table = MethodTable::default();
        for since in [0, 100] {
            table.add(&class("A", Handle::Permanent), vec![(ID, run(), Vec::new())], since);
        }
        assert_eq!(table.resolve(ID, 900), first(ID));
    }
}
