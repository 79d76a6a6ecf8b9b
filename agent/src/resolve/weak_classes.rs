//! Weak references to the classes that may be unloaded, each with a number.

use std::fmt;

use jni::JNIEnv;
use jni::objects::{JObject, WeakRef};
use parking_lot::Mutex;

/// The references, by their number. They last as long as the names of the classes' methods.
#[derive(Default)]
pub struct WeakClasses(Mutex<Vec<WeakRef>>);

impl fmt::Debug for WeakClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakClasses").field("count", &self.0.lock().len()).finish()
    }
}

impl WeakClasses {
    /// Adds a reference to a class, and returns its number. `None` if JNI makes no reference.
    pub fn add(&self, env: &mut JNIEnv<'_>, class: &JObject<'_>) -> Option<usize> {
        let weak = env.new_weak_ref(class).ok().flatten()?;
        let mut references = self.0.lock();
        references.push(weak);
        Some(references.len() - 1)
    }

    /// Returns a local reference to the class with this number. `None` if the class is unloaded.
    pub fn local<'e>(&self, env: &mut JNIEnv<'e>, number: usize) -> Option<JObject<'e>> {
        let weak = self.0.lock().get(number).cloned()?;
        weak.upgrade_local(env).ok()?.filter(|class| !class.is_null())
    }
}
