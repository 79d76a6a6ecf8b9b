//! Finds the class loaders that are never collected: the boot loader, the system loader and its
//! parents.

use jni::JNIEnv;
use jni::objects::GlobalRef;
use jni_sys::jclass;

use crate::facade::Jvmti;
use crate::java;

/// References to the loaders that are never collected, except the boot loader.
#[derive(Debug)]
pub struct PermanentLoaders(Vec<GlobalRef>);

const LOADER: &str = "Ljava/lang/ClassLoader;";

impl PermanentLoaders {
    /// Finds the system loader and its parents.
    pub fn find(env: &mut JNIEnv<'_>) -> Self {
        const MAX_LOADERS: usize = 16;
        let mut loaders = Vec::new();
        let _ = env.with_local_frame(32, |env| -> jni::errors::Result<()> {
            let mut next = java::ask_class(env, "java/lang/ClassLoader", "getSystemClassLoader", LOADER);
            while let Some(loader) = next.filter(|_| loaders.len() < MAX_LOADERS) {
                loaders.push(env.new_global_ref(&loader)?);
                next = java::ask(env, &loader, "getParent", LOADER);
            }
            Ok(())
        });
        Self(loaders)
    }

    /// Returns true if the class was loaded by the boot loader or one of these.
    pub fn loaded(&self, jvmti: Jvmti, env: &mut JNIEnv<'_>, class: jclass) -> bool {
        let Ok(loader) = jvmti.class_loader(class) else { return false };
        if loader.is_null() {
            return true;
        }
        // SAFETY: JVMTI returned this local reference to the calling thread. It is deleted here.
        let loader = unsafe { java::object(env, loader) };
        let is_permanent = self.0.iter().any(|known| env.is_same_object(known, &loader).unwrap_or(false));
        let _ = env.delete_local_ref(loader);
        is_permanent
    }
}
