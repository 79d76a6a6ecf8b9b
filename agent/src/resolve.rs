//! The JVM's side of the resolver in crate `vouch-collect`, which gives names and lines to method
//! ids: classes, their loaders, and references to them.
//!
//! A method id is passed to the JVM only if its class is never unloaded, or a reference keeps it.
//!
//! # Invariants
//!
//! **Invariant 13.** A JVM is never asked what it may crash on. That is constants of classes that
//! may have been patched. Up to JDK 25 it is also an id from a walk that is not a method id, if the
//! layout of methods in the JVM's memory is known, and that memory may be read.
//! (`jvm/live.rs`, `resolve.rs`.) Held by: `java-tests/guard/ForeignIds.java`, and the tests of
//! `collect/src/resolve.rs`.

mod class;
mod loaders;
mod weak_classes;

use jni::JNIEnv;
use jni::objects::{GlobalRef, JObject};
use jni_sys::{jclass, jmethodID};
use once_cell::sync::OnceCell;
use vouch_collect::method::{Handle, Method};
use vouch_collect::resolve::{self, Origins};
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_sampling::clock;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::memory::PeekedMemory;

use crate::facade::Jvmti;
use crate::java;
use class::{JvmClass, JvmClasses, Services};
use loaders::PermanentLoaders;
use weak_classes::WeakClasses;

/// The resolver, and what it needs of the JVM.
#[derive(Debug)]
pub struct Resolver {
    names: resolve::Resolver<GlobalRef>,
    services: Services,
}

impl Resolver {
    /// Makes a resolver without names. It reads the command line and the versions from system
    /// properties.
    pub fn new(jvmti: Jvmti, late_ids: bool) -> Self {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let has_modules = jvmti.jdk().is_none_or(|jdk| jdk >= 9);
        let origins =
            Origins::new(&property(c"sun.java.command"), &property(c"jdk.module.main"), has_modules);
        let services = Services {
            jvmti,
            loaders: OnceCell::new(),
            weak: WeakClasses::default(),
            walker: OnceCell::new(),
            may_have_security_manager: jvmti.jdk().is_none_or(|jdk| jdk < 24),
        };
        Self { names: resolve::Resolver::new(origins, late_ids), services }
    }

    fn on<'s, 'j, 'e>(&'s self, env: &'j mut JNIEnv<'e>) -> JvmClasses<'s, 'j, 'e> {
        JvmClasses { services: &self.services, env }
    }

    /// Sets the walker with the layout by which ids are checked, if this process may read memory at
    /// any address through the kernel.
    pub fn set_walker(&self, walker: &'static HotspotWalker) {
        if PeekedMemory::allowed().is_some() {
            let _ = self.services.walker.set(walker);
        }
    }

    /// Finds the permanent loaders and the classes that are loaded already, after VM
    /// initialization. It calls `on_class` with each class and its signature.
    pub fn begin(&self, env: &mut JNIEnv<'_>, on_class: impl Fn(&mut JNIEnv<'_>, jclass, &str)) {
        self.services.loaders.get_or_init(|| PermanentLoaders::find(env));
        self.each_loaded(env, |env, class| {
            if let Some(signature) = self.on_prepare(env, class) {
                on_class(env, class, &signature);
            }
        });
    }

    /// Creates the ids of all methods of classes that are never unloaded. They need no reference.
    pub fn make_ids(&self, env: &mut JNIEnv<'_>) {
        self.each_loaded(env, |env, class| {
            if self.services.is_permanent(env, class) {
                // The call fails for a class that is not prepared, which needs no ids.
                let _ = self.services.jvmti.class_methods(class);
            }
        });
    }

    fn each_loaded(&self, env: &mut JNIEnv<'_>, mut act: impl FnMut(&mut JNIEnv<'_>, jclass)) {
        java::expect_many_references(env);
        let Ok(classes) = self.services.jvmti.loaded_classes() else { return };
        for class in classes.iter() {
            act(env, *class);
            // SAFETY: JVMTI returned this local reference to the calling thread. It is not used
            // again.
            let _ = env.delete_local_ref(unsafe { java::object(env, *class) });
        }
    }

    /// Creates the ids of a class that has just been prepared, and returns its signature.
    pub fn on_prepare(&self, env: &mut JNIEnv<'_>, class: jclass) -> Option<String> {
        // SAFETY: the caller's reference is valid as long as the local frame of `env`.
        let class = unsafe { java::object(env, class) };
        let mut class = JvmClass { services: &self.services, env, class: &class };
        self.names.on_prepare(&mut class, clock::monotonic)
    }

    /// Names the classes that were prepared, and releases the references to them.
    pub fn name_pending(&self, env: &mut JNIEnv<'_>) {
        self.names.name_pending(&mut self.on(env));
    }

    /// Resolves the method that an id had at a time.
    pub fn resolve(&self, env: &mut JNIEnv<'_>, id: MethodId, time: u64) -> ResolvedMethod {
        self.names.resolve(&mut self.on(env), id, time)
    }

    /// Resolves frames that were walked at `time`, and appends them to `resolved`.
    pub fn resolve_frames(
        &self,
        env: &mut JNIEnv<'_>,
        frames: &[Frame],
        time: u64,
        resolved: &mut Vec<ResolvedFrame>,
    ) {
        self.names.resolve_frames(&mut self.on(env), frames, time, resolved);
    }

    /// Returns the names of a resolved method. `None` for no id, or if the class was unloaded
    /// before the names were read.
    pub fn method(&self, env: &mut JNIEnv<'_>, resolved: ResolvedMethod) -> Option<Method> {
        self.names.method(&mut self.on(env), resolved)
    }

    /// Returns true if an id was of a method of an old version of a redefined class.
    pub fn has_seen_obsolete(&self) -> bool {
        self.names.has_seen_obsolete()
    }

    /// Returns true if a class itself declares a method with the name and descriptor of `method`.
    pub fn declares(&self, env: &mut JNIEnv<'_>, class: &JObject<'_>, method: &Method) -> bool {
        self.names.declares(&mut JvmClass { services: &self.services, env, class }, method)
    }

    /// Returns a local reference to the class of a method. `None` if the class is unloaded.
    pub fn class_of<'e>(&self, env: &mut JNIEnv<'e>, method: &Method) -> Option<JObject<'e>> {
        match method.class.handle {
            Handle::Permanent => {
                let class = self.services.jvmti.declaring_class(method.id.0 as jmethodID).ok()?;
                // SAFETY: JVMTI returned this local reference to the calling thread, in this local
                // frame.
                Some(unsafe { java::object(env, class) })
            }
            Handle::Weak(number) => self.services.weak.local(env, number),
            Handle::None => None,
        }
    }
}
