//! The class loaders that are never collected: the boot loader, the system loader and its parents.

use jni::JNIEnv;
use jni::objects::GlobalRef;
use jni_sys::jclass;

use crate::facade::Jvmti;
use crate::java;

/// References to the loaders that stay.
#[derive(Debug)]
pub struct Loaders(Vec<GlobalRef>);

const LOADER: &str = "Ljava/lang/ClassLoader;";

impl Loaders {
    /// Asks for the system loader and its parents.
    pub fn of(env: &mut JNIEnv<'_>) -> Self {
        let mut stay = Vec::new();
        let _ = env.with_local_frame(32, |env| -> jni::errors::Result<()> {
            let mut next = java::ask_class(env, "java/lang/ClassLoader", "getSystemClassLoader", LOADER);
            while let Some(loader) = next.filter(|_| stay.len() < 16) {
                stay.push(env.new_global_ref(&loader)?);
                next = java::ask(env, &loader, "getParent", LOADER);
            }
            Ok(())
        });
        Self(stay)
    }

    /// True if the class's loader is one that stays.
    pub fn keep(&self, jvmti: Jvmti, env: &mut JNIEnv<'_>, class: jclass) -> bool {
        let Ok(loader) = jvmti.class_loader(class) else { return false };
        if loader.is_null() {
            return true;
        }
        // SAFETY: JVMTI gave this local reference to the calling thread; it is deleted here.
        let loader = unsafe { java::object(env, loader) };
        let stays = self.0.iter().any(|known| env.is_same_object(known, &loader).unwrap_or(false));
        let _ = env.delete_local_ref(loader);
        stays
    }
}
