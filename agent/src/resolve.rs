//! From method ids to names and lines, in normal context.
//!
//! Names must outlive their classes. A class of the boot loader's, or of the system loader and its
//! parents, is never unloaded: its methods are named when a sample first needs it. Any other class
//! may be gone by then, so it is named soon after it was prepared, and held by a reference until
//! that has been done. A method id is never asked about unless its class is of the first kind, or
//! held. A walk may also give for an id what is none, and up to JDK 25 the JVM would follow that
//! wherever it leads: so of one that nobody has named its memory is asked first.
//!
//! # Invariants
//!
//! **Invariant 13.** A JVM is never asked what it may crash on. That is constants of classes that
//! may have been patched. Up to JDK 25 it is also an id from a walk that is not a method id, as far
//! as it is known how methods are laid out in the JVM's memory, and that memory may be read.
//! (`jvm/live.rs`, `resolve.rs`.) Held by: `java-tests/guard/ForeignIds.java`.

mod class;
mod loaders;
pub mod readable;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jni::JNIEnv;
use jni::objects::{GlobalRef, JObject};
use jni_sys::{jclass, jmethodID};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, MutexGuard};
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_walk::hotspot::layout::MethodLayout;
use vouch_walk::hotspot::method::is_id;
use vouch_walk::memory::PeekedMemory;

use crate::clock;
use crate::facade::{Jvmti, MethodName};
use crate::java;
use class::Origins;
use loaders::Loaders;
use table::{Table, id_of};

#[cfg(test)]
pub use class::Origin;
pub use class::{Class, Handle, Method};

/// Class by class and id by id, what is known of the program's methods.
#[derive(Debug)]
pub struct Resolver {
    jvmti: Jvmti,
    late_ids: bool,
    loaders: OnceCell<Loaders>,
    origins: Origins,
    pending: Mutex<Vec<Pending>>,
    table: Mutex<Table>,
    met_obsolete: AtomicBool,
    /// How ids are known; empty where that cannot be told.
    layout: OnceCell<(MethodLayout, PeekedMemory)>,
}

/// A class that waits to be named, kept alive until then.
#[derive(Debug)]
struct Pending {
    class: GlobalRef,
    since: u64,
}

impl Resolver {
    /// With `late_ids` no class is taken in before a sample needs it, so that the walker finds ids
    /// lacking.
    pub fn new(jvmti: Jvmti, late_ids: bool) -> Self {
        Self {
            jvmti,
            late_ids,
            loaders: OnceCell::new(),
            origins: Origins::of(jvmti),
            pending: Mutex::default(),
            table: Mutex::default(),
            met_obsolete: AtomicBool::new(false),
            layout: OnceCell::new(),
        }
    }

    /// From here on it is known how this JVM's methods lie in its memory, if that may be read at
    /// any address.
    pub fn learn(&self, layout: MethodLayout) {
        if let Some(memory) = PeekedMemory::allowed() {
            let _ = self.layout.set((layout, memory));
        }
    }

    /// True if the JVM may be asked about what a walk gave for an id.
    fn may_ask(&self, id: MethodId) -> bool {
        // Twice: the ids of its class may be moved to another place meanwhile.
        self.layout.get().is_none_or(|(layout, memory)| (0..2).any(|_| is_id(memory, layout, id.0)))
    }

    /// The JVM is up: learns which loaders live for ever, and takes in what is loaded already; each
    /// class is shown with its signature.
    pub fn begin(&self, env: &mut JNIEnv<'_>, show: impl Fn(&mut JNIEnv<'_>, jclass, &str)) {
        self.loaders.get_or_init(|| Loaders::of(env));
        self.each_loaded(env, |env, class| {
            if let Some(signature) = self.prepared(env, class) {
                show(env, class, &signature);
            }
        });
    }

    /// Makes the ids of all methods of those classes that are never unloaded: nothing has to be
    /// held for what they mean.
    pub fn make_ids(&self, env: &mut JNIEnv<'_>) {
        self.each_loaded(env, |env, class| {
            if self.stays(env, class) {
                // One that is not prepared has none, and needs none.
                let _ = self.jvmti.class_methods(class);
            }
        });
    }

    fn each_loaded(&self, env: &mut JNIEnv<'_>, mut act: impl FnMut(&mut JNIEnv<'_>, jclass)) {
        java::expect_many_references(env);
        let Ok(classes) = self.jvmti.loaded_classes() else { return };
        for class in classes.iter() {
            act(env, *class);
            // SAFETY: JVMTI gave this local reference to the calling thread; it is not used again.
            let _ = env.delete_local_ref(unsafe { java::object(env, *class) });
        }
    }

    /// A class has been prepared, and none of its methods has run yet: their ids must come to be
    /// now, for a walk finds none otherwise. Gives the class's signature.
    pub fn prepared(&self, env: &mut JNIEnv<'_>, class: jclass) -> Option<String> {
        // A class that is loaded and not yet prepared is refused here, and comes again when it is.
        if self.late_ids || self.jvmti.class_methods(class).is_err() {
            return None;
        }
        let signature = self.jvmti.class_signature(class).unwrap_or_default();
        let stays = self.stays(env, class);
        let main = self.origins.is_main(&signature);
        if main || !stays || readable::is_hidden(&signature) {
            // SAFETY: the reference is the callback's, valid for as long as `env`'s frame.
            let class = unsafe { java::object(env, class) };
            if let Ok(class) = env.new_global_ref(&class) {
                self.pending.lock().push(Pending { class, since: clock::monotonic() });
            }
        }
        Some(signature)
    }

    /// Names the classes that wait, and lets them go.
    pub fn name_pending(&self, env: &mut JNIEnv<'_>) {
        let pending = std::mem::take(&mut *self.pending.lock());
        for Pending { class, since } in pending {
            let _ = env.with_local_frame(16, |env| -> jni::errors::Result<()> {
                self.name_class(env, class.as_obj(), since);
                Ok(())
            });
        }
    }

    /// What an id meant at a time.
    pub fn meaning(&self, env: &mut JNIEnv<'_>, id: MethodId, time: u64) -> ResolvedMethod {
        self.table_of_now(env).meaning(id, time)
    }

    /// Adds to `meant` what these frames' ids meant at a time.
    pub fn meant(&self, env: &mut JNIEnv<'_>, frames: &[Frame], time: u64, meant: &mut Vec<ResolvedFrame>) {
        let table = self.table_of_now(env);
        meant.extend(
            frames.iter().map(|frame| ResolvedFrame::new(table.meaning(frame.method(), time), frame.bci())),
        );
    }

    /// The table with what has been prepared since the last look: it may have the id of something
    /// that is gone.
    fn table_of_now(&self, env: &mut JNIEnv<'_>) -> MutexGuard<'_, Table> {
        self.name_pending(env);
        self.table.lock()
    }

    /// The method of a meaning; `None` for no id, and if nobody knows its name any more.
    pub fn method(&self, env: &mut JNIEnv<'_>, meaning: ResolvedMethod) -> Option<Method> {
        if let Some(found) = self.table.lock().find(meaning) {
            return Some(found);
        }
        let id = id_of(meaning).filter(|id| self.may_ask(*id))?;
        let named = env.with_local_frame(16, |env| -> jni::errors::Result<()> {
            if let Ok(class) = self.jvmti.declaring_class(id.0 as jmethodID) {
                // SAFETY: JVMTI gave this local reference to the calling thread, in this frame.
                let class = unsafe { java::object(env, class) };
                // A class that may be unloaded was named when it was prepared: this id is an older
                // version's. (Not in the lab, where nothing is.)
                if self.late_ids || self.stays(env, class.as_raw()) {
                    self.name_class(env, &class, 0);
                }
                if self.table.lock().find(meaning).is_none() {
                    self.name_obsolete(env, &class, id);
                }
            }
            Ok(())
        });
        named.ok().and_then(|()| self.table.lock().find(meaning))
    }

    /// True if a method of a class was met that has been redefined since.
    pub fn met_obsolete(&self) -> bool {
        self.met_obsolete.load(Ordering::Relaxed)
    }

    /// Puts a method into the table that its class no longer lists: it was redefined, and goes on
    /// where it runs.
    fn name_obsolete(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, id: MethodId) {
        self.met_obsolete.store(true, Ordering::Relaxed);
        let class: jclass = object.as_raw();
        let (Ok(signature), Ok(name)) =
            (self.jvmti.class_signature(class), self.jvmti.method_name(id.0 as jmethodID))
        else {
            return;
        };
        let class = Arc::new(self.class(env, object, &signature));
        self.table.lock().add(&class, vec![(id, name, self.jvmti.line_table(id.0 as jmethodID))], 0);
    }

    fn class(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, signature: &str) -> Class {
        let origin = self.origins.ask(env, object, signature);
        let source =
            self.jvmti.source_file(object.as_raw()).map(|file| readable::source_path(signature, &file));
        Class::new(signature, source, origin, self.handle(env, object, signature))
    }

    fn handle(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, signature: &str) -> Handle {
        if self.stays(env, object.as_raw()) && !readable::is_hidden(signature) {
            return Handle::Stays;
        }
        match env.new_weak_ref(object) {
            Ok(Some(weak)) => Handle::May(weak),
            _ => Handle::Gone,
        }
    }

    /// True if the class's loader is never collected.
    fn stays(&self, env: &mut JNIEnv<'_>, class: jclass) -> bool {
        self.loaders.get().is_none_or(|loaders| loaders.keep(self.jvmti, env, class))
    }

    /// True if a class has a method of the same name and descriptor as this one, declared by
    /// itself.
    pub fn declares(&self, class: &JObject<'_>, method: &Method) -> bool {
        let Ok(ids) = self.jvmti.class_methods(class.as_raw()) else { return false };
        ids.iter().any(|id| {
            let known = self.table.lock().present(MethodId(*id as usize));
            match known {
                Some(known) => known.name == method.name && known.descriptor == method.descriptor,
                None => self
                    .jvmti
                    .method_name(*id)
                    .is_ok_and(|known| known.name == *method.name && known.descriptor == *method.descriptor),
            }
        })
    }

    /// A reference to the class of a method that was sampled, in the frame of `env`; `None` if it
    /// is gone.
    pub fn class_of<'e>(&self, env: &mut JNIEnv<'e>, method: &Method) -> Option<JObject<'e>> {
        match &method.class.handle {
            Handle::Stays => {
                let class = self.jvmti.declaring_class(method.id.0 as jmethodID).ok()?;
                // SAFETY: JVMTI gave this local reference to the calling thread, in this frame.
                Some(unsafe { java::object(env, class) })
            }
            Handle::May(weak) => weak.upgrade_local(env).ok()?.filter(|class| !class.is_null()),
            Handle::Gone => None,
        }
    }

    /// Puts all methods of a class into the table, as of the time `since`.
    fn name_class(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, since: u64) {
        let class: jclass = object.as_raw();
        let (Ok(signature), Ok(ids)) = (self.jvmti.class_signature(class), self.jvmti.class_methods(class))
        else {
            return;
        };
        let methods = ids
            .iter()
            .map(|id| {
                let name = self.jvmti.method_name(*id).unwrap_or_else(|_| MethodName::unknown());
                (MethodId(*id as usize), name, self.jvmti.line_table(*id))
            })
            .collect();
        let class = Arc::new(self.class(env, object, &signature));
        self.table.lock().add(&class, methods, since);
    }
}
