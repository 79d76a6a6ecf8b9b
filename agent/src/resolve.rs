//! Resolves method ids to names and lines, in normal context.
//!
//! Names must outlive their classes. A class of the boot loader, or of the system loader and its
//! parents, is never unloaded. Its methods are named when a sample first needs one. Any other class
//! may be unloaded by then, so it is named soon after it was prepared. A reference keeps it loaded
//! until then.
//!
//! A method id is passed to the JVM only if its class is never unloaded, or a reference keeps it. A
//! walk may also return a wrong id, which a JVM up to JDK 25 would dereference. So the memory of an
//! id that has no name is checked first.
//!
//! # Invariants
//!
//! **Invariant 13.** A JVM is never asked what it may crash on. That is constants of classes that
//! may have been patched. Up to JDK 25 it is also an id from a walk that is not a method id, if the
//! layout of methods in the JVM's memory is known, and that memory may be read.
//! (`jvm/live.rs`, `resolve.rs`.) Held by: `java-tests/guard/ForeignIds.java`.

mod loaders;
mod origins;
mod weak_classes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jni::JNIEnv;
use jni::objects::{GlobalRef, JObject};
use jni_sys::{jclass, jmethodID};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, MutexGuard};
use vouch_collect::method::{Class, Handle, Method, MethodName};
use vouch_collect::method_table::{MethodTable, jvm_id};
use vouch_collect::readable;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_unwind::hotspot::layout::MethodLayout;
use vouch_unwind::hotspot::method::is_id;
use vouch_unwind::memory::PeekedMemory;

use crate::facade::Jvmti;
use crate::java;
use loaders::PermanentLoaders;
use origins::Origins;
use vouch_sampling::clock;
use weak_classes::WeakClasses;

/// The names of the program's methods, and the classes that are not named yet.
#[derive(Debug)]
pub struct Resolver {
    jvmti: Jvmti,
    /// True to name no class before a sample needs it. Then the walker misses ids; for tests.
    late_ids: bool,
    loaders: OnceCell<PermanentLoaders>,
    origins: Origins,
    pending: Mutex<Vec<Pending>>,
    table: Mutex<MethodTable>,
    /// The classes that may be unloaded, by the number in their handle.
    weak: WeakClasses,
    has_seen_obsolete: AtomicBool,
    /// The layout by which an id is checked; empty if it is unknown.
    layout: OnceCell<(MethodLayout, PeekedMemory)>,
}

/// A class that is not named yet. The reference keeps it loaded until then.
#[derive(Debug)]
struct Pending {
    class: GlobalRef,
    /// The time at which the class was prepared.
    since: u64,
}

impl Resolver {
    /// Makes a resolver without names.
    pub fn new(jvmti: Jvmti, late_ids: bool) -> Self {
        Self {
            jvmti,
            late_ids,
            loaders: OnceCell::new(),
            origins: Origins::new(jvmti),
            pending: Mutex::default(),
            table: Mutex::default(),
            weak: WeakClasses::default(),
            has_seen_obsolete: AtomicBool::new(false),
            layout: OnceCell::new(),
        }
    }

    /// Sets the layout by which ids are checked, if this process may read memory at any address
    /// through the kernel.
    pub fn set_layout(&self, layout: MethodLayout) {
        if let Some(memory) = PeekedMemory::allowed() {
            let _ = self.layout.set((layout, memory));
        }
    }

    /// Returns true if it is safe to pass the JVM an id that a walk returned.
    fn is_safe(&self, id: MethodId) -> bool {
        // Tries twice, because HotSpot may move the ids of the class meanwhile.
        self.layout.get().is_none_or(|(layout, memory)| (0..2).any(|_| is_id(memory, layout, id.0)))
    }

    /// Finds the permanent loaders and the classes that are loaded already, after VM
    /// initialization. It calls `on_class` with each class and its signature.
    pub fn begin(&self, env: &mut JNIEnv<'_>, on_class: impl Fn(&mut JNIEnv<'_>, jclass, &str)) {
        self.loaders.get_or_init(|| PermanentLoaders::find(env));
        self.each_loaded(env, |env, class| {
            if let Some(signature) = self.on_prepare(env, class) {
                on_class(env, class, &signature);
            }
        });
    }

    /// Creates the ids of all methods of classes that are never unloaded. They need no reference.
    pub fn make_ids(&self, env: &mut JNIEnv<'_>) {
        self.each_loaded(env, |env, class| {
            if self.is_permanent(env, class) {
                // The call fails for a class that is not prepared, which needs no ids.
                let _ = self.jvmti.class_methods(class);
            }
        });
    }

    fn each_loaded(&self, env: &mut JNIEnv<'_>, mut act: impl FnMut(&mut JNIEnv<'_>, jclass)) {
        java::expect_many_references(env);
        let Ok(classes) = self.jvmti.loaded_classes() else { return };
        for class in classes.iter() {
            act(env, *class);
            // SAFETY: JVMTI returned this local reference to the calling thread. It is not used
            // again.
            let _ = env.delete_local_ref(unsafe { java::object(env, *class) });
        }
    }

    /// Creates the ids of a class that has just been prepared, and returns its signature. No method
    /// of it has run yet. Without ids, a walk could not return its methods.
    pub fn on_prepare(&self, env: &mut JNIEnv<'_>, class: jclass) -> Option<String> {
        // JVMTI refuses a class that is not prepared yet. It is passed again once it is.
        if self.late_ids || self.jvmti.class_methods(class).is_err() {
            return None;
        }
        let signature = self.jvmti.class_signature(class).unwrap_or_default();
        let is_permanent = self.is_permanent(env, class);
        let is_main = self.origins.is_main(&signature);
        if is_main || !is_permanent || readable::is_hidden(&signature) {
            // SAFETY: the caller's reference is valid as long as the local frame of `env`.
            let class = unsafe { java::object(env, class) };
            if let Ok(class) = env.new_global_ref(&class) {
                self.pending.lock().push(Pending { class, since: clock::monotonic() });
            }
        }
        Some(signature)
    }

    /// Names the pending classes, and releases the references to them.
    pub fn name_pending(&self, env: &mut JNIEnv<'_>) {
        let pending = std::mem::take(&mut *self.pending.lock());
        for Pending { class, since } in pending {
            let _ = env.with_local_frame(16, |env| -> jni::errors::Result<()> {
                self.name_class(env, class.as_obj(), since);
                Ok(())
            });
        }
    }

    /// Resolves the method that an id had at a time.
    pub fn resolve(&self, env: &mut JNIEnv<'_>, id: MethodId, time: u64) -> ResolvedMethod {
        self.current_table(env).resolve(id, time)
    }

    /// Resolves frames that were walked at `time`, and appends them to `resolved`. An id may have
    /// meant another method at another time.
    pub fn resolve_frames(
        &self,
        env: &mut JNIEnv<'_>,
        frames: &[Frame],
        time: u64,
        resolved: &mut Vec<ResolvedFrame>,
    ) {
        let table = self.current_table(env);
        resolved.extend(
            frames.iter().map(|frame| ResolvedFrame::new(table.resolve(frame.method(), time), frame.bci())),
        );
    }

    /// Returns the table after pending classes were named. A new class may have got the id of a
    /// method that was unloaded.
    fn current_table(&self, env: &mut JNIEnv<'_>) -> MutexGuard<'_, MethodTable> {
        self.name_pending(env);
        self.table.lock()
    }

    /// Returns the names of a resolved method. `None` for no id, or if the class was unloaded
    /// before the names were read.
    pub fn method(&self, env: &mut JNIEnv<'_>, resolved: ResolvedMethod) -> Option<Method> {
        if let Some(found) = self.table.lock().find(resolved) {
            return Some(found);
        }
        let id = jvm_id(resolved).filter(|id| self.is_safe(*id))?;
        let named = env.with_local_frame(16, |env| -> jni::errors::Result<()> {
            if let Ok(class) = self.jvmti.declaring_class(id.0 as jmethodID) {
                // SAFETY: JVMTI returned this local reference to the calling thread, in this local
                // frame.
                let class = unsafe { java::object(env, class) };
                // A class that may be unloaded was named when it was prepared, so this id is of an
                // older version of it. (With `late_ids`, no class was named.)
                if self.late_ids || self.is_permanent(env, class.as_raw()) {
                    self.name_class(env, &class, 0);
                }
                if self.table.lock().find(resolved).is_none() {
                    self.name_obsolete(env, &class, id);
                }
            }
            Ok(())
        });
        named.ok().and_then(|()| self.table.lock().find(resolved))
    }

    /// Returns true if an id was of a method of an old version of a redefined class.
    pub fn has_seen_obsolete(&self) -> bool {
        self.has_seen_obsolete.load(Ordering::Relaxed)
    }

    /// Adds an obsolete method to the table. JVMTI does not list it with its class any more, which
    /// was redefined, but threads may still run it.
    fn name_obsolete(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, id: MethodId) {
        self.has_seen_obsolete.store(true, Ordering::Relaxed);
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
        let origin = self.origins.find(env, object, signature);
        let source =
            self.jvmti.source_file(object.as_raw()).map(|file| readable::source_path(signature, &file));
        Class::new(signature, source, origin, self.handle(env, object, signature))
    }

    fn handle(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, signature: &str) -> Handle {
        if self.is_permanent(env, object.as_raw()) && !readable::is_hidden(signature) {
            return Handle::Permanent;
        }
        self.weak.add(env, object).map_or(Handle::None, Handle::Weak)
    }

    /// Returns true if the class's loader is never collected.
    fn is_permanent(&self, env: &mut JNIEnv<'_>, class: jclass) -> bool {
        self.loaders.get().is_none_or(|loaders| loaders.loaded(self.jvmti, env, class))
    }

    /// Returns true if a class itself declares a method with the name and descriptor of `method`.
    pub fn declares(&self, class: &JObject<'_>, method: &Method) -> bool {
        let Ok(ids) = self.jvmti.class_methods(class.as_raw()) else { return false };
        ids.iter().any(|id| {
            let known = self.table.lock().current(MethodId(*id as usize));
            match known {
                Some(known) => known.name == method.name && known.descriptor == method.descriptor,
                None => self
                    .jvmti
                    .method_name(*id)
                    .is_ok_and(|known| known.name == *method.name && known.descriptor == *method.descriptor),
            }
        })
    }

    /// Returns a local reference to the class of a method. `None` if the class is unloaded.
    pub fn class_of<'e>(&self, env: &mut JNIEnv<'e>, method: &Method) -> Option<JObject<'e>> {
        match method.class.handle {
            Handle::Permanent => {
                let class = self.jvmti.declaring_class(method.id.0 as jmethodID).ok()?;
                // SAFETY: JVMTI returned this local reference to the calling thread, in this local
                // frame.
                Some(unsafe { java::object(env, class) })
            }
            Handle::Weak(number) => self.weak.local(env, number),
            Handle::None => None,
        }
    }

    /// Adds all methods of a class to the table, as of the time `since`.
    fn name_class(&self, env: &mut JNIEnv<'_>, object: &JObject<'_>, since: u64) {
        let class: jclass = object.as_raw();
        let (Ok(signature), Ok(ids)) = (self.jvmti.class_signature(class), self.jvmti.class_methods(class))
        else {
            return;
        };
        // No frame is of a class without methods. The main class says which jar is the application.
        if ids.is_empty() && !self.origins.is_main(&signature) {
            return;
        }
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
