//! Resolves method ids to names and lines, in normal context.
//!
//! Names must outlive their classes. A class of the boot loader, or of the system loader and its
//! parents, is never unloaded. A method of it is named when a sample first needs it. Any other
//! class may be unloaded by then, so it is named soon after it was prepared. A reference keeps it
//! loaded until then.
//!
//! A method id is passed to the JVM only if its class is never unloaded, or a reference keeps it. A
//! walk may also return a wrong id, which a JVM up to JDK 25 would dereference. So the memory of an
//! id that has no name is checked first.

mod origins;
#[cfg(test)]
mod tests;

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};

use crate::jvm::classes::{Classes, LoadedClass};
use crate::method::{Class, Handle, Method, MethodName};
use crate::method_table::{MethodTable, jvm_id};
use crate::readable;
pub use origins::Origins;

/// The names of the program's methods, and the classes that are not named yet.
#[derive(Debug)]
pub struct Resolver<Kept> {
    /// True to name no class before a sample needs it. Then the walker misses ids; for tests.
    late_ids: bool,
    origins: Origins,
    pending: Mutex<Vec<Pending<Kept>>>,
    table: Mutex<MethodTable>,
    has_seen_obsolete: AtomicBool,
}

/// A class that is not named yet. The reference keeps it loaded until then.
#[derive(Debug)]
struct Pending<Kept> {
    class: Kept,
    /// The time at which the class was prepared.
    since: u64,
}

impl<Kept> Resolver<Kept> {
    /// Makes a resolver without names.
    pub fn new(origins: Origins, late_ids: bool) -> Self {
        Self {
            late_ids,
            origins,
            pending: Mutex::default(),
            table: Mutex::default(),
            has_seen_obsolete: AtomicBool::new(false),
        }
    }

    /// Creates the ids of a class that has just been prepared, and returns its signature. No method
    /// of it has run yet. Without ids, a walk could not return its methods.
    pub fn on_prepare(&self, class: &mut dyn LoadedClass<Kept>, now: impl FnOnce() -> u64) -> Option<String> {
        // The JVM refuses a class that is not prepared yet. It is passed again once it is.
        if self.late_ids || !class.make_ids() {
            return None;
        }
        let signature = class.signature().unwrap_or_default();
        let is_permanent = class.is_permanent();
        if (self.origins.is_main(&signature) || !is_permanent || readable::is_hidden(&signature))
            && let Some(class) = class.keep()
        {
            self.pending.lock().push(Pending { class, since: now() });
        }
        Some(signature)
    }

    /// Names the pending classes, and releases the references to them.
    pub fn name_pending(&self, jvm: &mut impl Classes<Kept = Kept>) {
        let pending = take(&mut *self.pending.lock());
        for Pending { class, since } in pending {
            jvm.with_kept(class, |class| self.name_class(class, since));
        }
    }

    /// Resolves the method that an id had at a time.
    pub fn resolve(&self, jvm: &mut impl Classes<Kept = Kept>, id: MethodId, time: u64) -> ResolvedMethod {
        self.current_table(jvm).resolve(id, time)
    }

    /// Resolves frames that were walked at `time`, and appends them to `resolved`. An id may have
    /// meant another method at another time.
    pub fn resolve_frames(
        &self,
        jvm: &mut impl Classes<Kept = Kept>,
        frames: &[Frame],
        time: u64,
        resolved: &mut Vec<ResolvedFrame>,
    ) {
        let table = self.current_table(jvm);
        resolved.extend(
            frames.iter().map(|frame| ResolvedFrame::new(table.resolve(frame.method(), time), frame.bci())),
        );
    }

    /// Returns the table after pending classes were named. A new class may have got the id of a
    /// method that was unloaded.
    fn current_table(&self, jvm: &mut impl Classes<Kept = Kept>) -> MutexGuard<'_, MethodTable> {
        self.name_pending(jvm);
        self.table.lock()
    }

    /// Returns the names of a resolved method. `None` for no id, or if the class was unloaded
    /// before the names were read.
    pub fn method(&self, jvm: &mut impl Classes<Kept = Kept>, resolved: ResolvedMethod) -> Option<Method> {
        if let Some(found) = self.find(resolved) {
            return Some(found);
        }
        let id = jvm_id(resolved).filter(|id| jvm.is_safe(*id))?;
        jvm.with_declaring(id, |class| {
            // A class that may be unloaded was named when it was prepared, so this id is of an
            // older version of it. (With `late_ids`, no class was named.)
            if class.is_permanent() {
                self.name_method(class, id);
            } else if self.late_ids {
                self.name_class(class, 0);
            }
            if self.find(resolved).is_none() {
                self.name_obsolete(class, id);
            }
        });
        self.find(resolved)
    }

    fn find(&self, resolved: ResolvedMethod) -> Option<Method> {
        self.table.lock().find(resolved)
    }

    /// Returns true if an id was of a method of an old version of a redefined class.
    pub fn has_seen_obsolete(&self) -> bool {
        self.has_seen_obsolete.load(Ordering::Relaxed)
    }

    /// Returns true if a class itself declares a method with the name and descriptor of `method`.
    pub fn declares(&self, class: &mut dyn LoadedClass<Kept>, method: &Method) -> bool {
        let is_same =
            |name: &str, descriptor: &str| *name == *method.name && *descriptor == *method.descriptor;
        class.methods().unwrap_or_default().into_iter().any(|id| {
            let known = self.table.lock().current(id);
            match known {
                Some(known) => is_same(&known.name, &known.descriptor),
                None => class.method_name(id).is_some_and(|known| is_same(&known.name, &known.descriptor)),
            }
        })
    }

    /// Adds an obsolete method to the table. The JVM does not list it with its class any more,
    /// which was redefined, but threads may still run it.
    fn name_obsolete(&self, class: &mut dyn LoadedClass<Kept>, id: MethodId) {
        self.has_seen_obsolete.store(true, Ordering::Relaxed);
        let (Some(signature), Some(name)) = (class.signature(), class.method_name(id)) else { return };
        let described = Arc::new(self.describe(class, &signature));
        let lines = class.lines(id);
        self.table.lock().add(&described, vec![(id, name, lines)], 0);
    }

    /// Adds a method to the table. Its class has a loader that is never collected, so other methods
    /// of the class can still be named when a sample first needs them.
    fn name_method(&self, class: &mut dyn LoadedClass<Kept>, id: MethodId) {
        let Some(signature) = class.signature() else { return };
        let described = self.table.lock().class_of(id);
        if described.as_ref().is_some_and(|described| !described.has_signature(&signature)) {
            // The method was removed by a redefinition. HotSpot gives its id to an internal stub.
            return;
        }
        let described = described.or_else(|| {
            let ids = class.methods()?;
            if readable::is_hidden(&signature) {
                // It may be unloaded before its loader.
                self.name_class(class, 0);
                return None;
            }
            let known = ids.iter().find_map(|id| self.table.lock().class_of(*id));
            if known.is_none() && ids.iter().any(|id| self.table.lock().current(*id).is_some()) {
                // An id was that of an unloaded class, so each of this class gets its new method.
                self.name_class(class, 0);
                return None;
            }
            let described = known.unwrap_or_else(|| Arc::new(self.describe(class, &signature)));
            let mut table = self.table.lock();
            table.add_class(&described, &ids);
            table.class_of(id)
        });
        // An obsolete method is not one of the class.
        if let Some(described) = described {
            let name = class.method_name(id).unwrap_or_else(MethodName::unknown);
            let lines = class.lines(id);
            self.table.lock().add(&described, vec![(id, name, lines)], 0);
        }
    }

    /// Adds all methods of a class to the table, as of the time `since`.
    fn name_class(&self, class: &mut dyn LoadedClass<Kept>, since: u64) {
        let (Some(signature), Some(ids)) = (class.signature(), class.methods()) else { return };
        // No frame is of a class without methods. The main class says which jar is the application.
        if ids.is_empty() && !self.origins.is_main(&signature) {
            return;
        }
        let methods = ids
            .into_iter()
            .map(|id| (id, class.method_name(id).unwrap_or_else(MethodName::unknown), class.lines(id)))
            .collect();
        let described = Arc::new(self.describe(class, &signature));
        self.table.lock().add(&described, methods, since);
    }

    fn describe(&self, class: &mut dyn LoadedClass<Kept>, signature: &str) -> Class {
        let origin = self.origins.find(class, signature);
        let source = class.source_file().map(|file| readable::source_path(signature, &file));
        let handle = if class.is_permanent() && !readable::is_hidden(signature) {
            Handle::Permanent
        } else {
            class.add_weak().map_or(Handle::None, Handle::Weak)
        };
        Class::new(signature, source, origin, handle)
    }
}
