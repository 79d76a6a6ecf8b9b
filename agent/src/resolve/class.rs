//! Asks the JVM about a class and its methods, for the resolver of crate `vouch-collect`.
//!
//! The getters of Java objects only read fields, so they call no URL handler of the program. The
//! private ones do not call the program's SecurityManager.

use jni::JNIEnv;
use jni::objects::{GlobalRef, JObject};
use jni_sys::{jclass, jmethodID};
use once_cell::sync::OnceCell;
use vouch_collect::jvm::classes::{Classes, CodeSource, LoadedClass};
use vouch_collect::method::{LineEntry, MethodName};
use vouch_hotspot::nmethods::CachedMemory;
use vouch_sample::MethodId;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::hotspot::method::is_id;

use super::loaders::PermanentLoaders;
use super::weak_classes::WeakClasses;
use crate::facade::Jvmti;
use crate::java;

/// What answers to the resolver's questions need.
#[derive(Debug)]
pub struct Services {
    pub jvmti: Jvmti,
    pub loaders: OnceCell<PermanentLoaders>,
    /// The classes that may be unloaded, by the number in their handle.
    pub weak: WeakClasses,
    /// The walker with the layout by which an id is checked; empty if it is unknown.
    pub walker: OnceCell<&'static HotspotWalker>,
    /// True if the program may have a SecurityManager. Then getters without its check are called.
    pub may_have_security_manager: bool,
}

impl Services {
    /// Returns true if it is safe to pass the JVM an id that a walk returned.
    pub fn is_safe(&self, id: MethodId) -> bool {
        self.walker.get().is_none_or(|walker| {
            let layout = walker.methods();
            // Through the kernel: an id can be garbage, and the program may have replaced the
            // handler of the guard.
            let memory = || CachedMemory::new(false);
            // Tries twice, because HotSpot may move the ids of the class meanwhile.
            (0..2).any(|_| is_id(&memory(), &layout, id.0))
        })
    }

    /// Returns true if the class's loader is never collected.
    pub fn is_permanent(&self, env: &mut JNIEnv<'_>, class: jclass) -> bool {
        self.loaders.get().is_none_or(|loaders| loaders.loaded(self.jvmti, env, class))
    }
}

/// The JVM, for calls on one thread.
pub struct JvmClasses<'s, 'j, 'e> {
    pub services: &'s Services,
    pub env: &'j mut JNIEnv<'e>,
}

impl Classes for JvmClasses<'_, '_, '_> {
    type Kept = GlobalRef;

    fn is_safe(&mut self, id: MethodId) -> bool {
        self.services.is_safe(id)
    }

    fn with_kept(&mut self, kept: GlobalRef, ask: impl FnOnce(&mut dyn LoadedClass<GlobalRef>)) {
        let services = self.services;
        let _ = self.env.with_local_frame(16, |env| -> jni::errors::Result<()> {
            ask(&mut JvmClass { services, env, class: kept.as_obj() });
            Ok(())
        });
    }

    fn with_declaring(&mut self, id: MethodId, ask: impl FnOnce(&mut dyn LoadedClass<GlobalRef>)) {
        let services = self.services;
        let _ = self.env.with_local_frame(16, |env| -> jni::errors::Result<()> {
            if let Ok(class) = services.jvmti.declaring_class(raw(id)) {
                // SAFETY: JVMTI returned this local reference to the calling thread, in this local
                // frame.
                let class = unsafe { java::object(env, class) };
                ask(&mut JvmClass { services, env, class: &class });
            }
            Ok(())
        });
    }
}

/// A class that the reference keeps loaded.
pub struct JvmClass<'s, 'j, 'e, 'c> {
    pub services: &'s Services,
    pub env: &'j mut JNIEnv<'e>,
    pub class: &'c JObject<'c>,
}

impl LoadedClass<GlobalRef> for JvmClass<'_, '_, '_, '_> {
    fn make_ids(&mut self) -> bool {
        self.services.jvmti.class_methods(self.class.as_raw()).is_ok()
    }

    fn signature(&mut self) -> Option<String> {
        self.services.jvmti.class_signature(self.class.as_raw()).ok()
    }

    fn source_file(&mut self) -> Option<String> {
        self.services.jvmti.source_file(self.class.as_raw())
    }

    fn methods(&mut self) -> Option<Vec<MethodId>> {
        let ids = self.services.jvmti.class_methods(self.class.as_raw()).ok()?;
        Some(ids.iter().map(|id| MethodId(*id as usize)).collect())
    }

    fn method_name(&mut self, id: MethodId) -> Option<MethodName> {
        self.services.jvmti.method_name(raw(id)).ok()
    }

    fn lines(&mut self, id: MethodId) -> Vec<LineEntry> {
        self.services.jvmti.line_table(raw(id))
    }

    fn is_permanent(&mut self) -> bool {
        self.services.is_permanent(self.env, self.class.as_raw())
    }

    fn keep(&mut self) -> Option<GlobalRef> {
        self.env.new_global_ref(self.class).ok()
    }

    fn add_weak(&mut self) -> Option<usize> {
        self.services.weak.add(self.env, self.class)
    }

    fn module(&mut self) -> Option<String> {
        let module = java::ask(self.env, self.class, "getModule", "Ljava/lang/Module;")?;
        let name = java::ask(self.env, &module, "getName", "Ljava/lang/String;")?;
        java::text(self.env, name)
    }

    fn code_source(&mut self) -> Option<CodeSource> {
        let getter = self.getter("getProtectionDomain0", "getProtectionDomain");
        let Self { env, class, .. } = self;
        let domain = java::ask(env, class, getter, "Ljava/security/ProtectionDomain;")?;
        let source = java::ask(env, &domain, "getCodeSource", "Ljava/security/CodeSource;")?;
        let location = java::ask(env, &source, "getLocation", "Ljava/net/URL;")?;
        let protocol = java::ask(env, &location, "getProtocol", "Ljava/lang/String;")?;
        let path = java::ask(env, &location, "getPath", "Ljava/lang/String;")?;
        Some(CodeSource { protocol: java::text(env, protocol)?, path: java::text(env, path)? })
    }

    fn is_of_boot_loader(&mut self) -> bool {
        let getter = self.getter("getClassLoader0", "getClassLoader");
        java::ask(self.env, self.class, getter, "Ljava/lang/ClassLoader;").is_none()
    }
}

impl JvmClass<'_, '_, '_, '_> {
    /// Returns the getter that calls no SecurityManager.
    fn getter(&self, unchecked: &'static str, only: &'static str) -> &'static str {
        if self.services.may_have_security_manager { unchecked } else { only }
    }
}

fn raw(id: MethodId) -> jmethodID {
    id.0 as jmethodID
}
