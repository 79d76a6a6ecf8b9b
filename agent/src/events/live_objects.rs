//! Weak references to sampled objects, and the number of collections.
//!
//! A weak reference keeps no object alive, and JNI says whether its object has been collected.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jni_sys::jobject;
use vouch_collect::weak_object::WeakObject;

/// The number of collections since the recording began.
static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// Prepares for a new recording.
pub fn begin() {
    COLLECTIONS.store(0, Relaxed);
}

/// Counts a collection.
pub fn on_collection() {
    COLLECTIONS.fetch_add(1, Relaxed);
}

/// Returns the number of collections since the recording began.
pub fn collections() -> u64 {
    COLLECTIONS.load(Relaxed)
}

/// Makes a weak reference to an object. It is 0 if JNI makes none.
///
/// # Safety
/// `env` must be the calling thread's, and `object` a reference that is valid there.
pub unsafe fn reference(env: *mut jni_sys::JNIEnv, object: jobject) -> WeakObject {
    // SAFETY: by the caller's promise. The table has each function of its version.
    let made = unsafe { (**env).NewWeakGlobalRef.map(|make| make(env, object)) };
    WeakObject(made.map_or(0, |weak| weak as u64))
}

/// Returns true if an object has not been collected.
///
/// # Safety
/// `env` must be the calling thread's, and `weak` a reference that was not deleted.
pub unsafe fn is_alive(env: *mut jni_sys::JNIEnv, weak: WeakObject) -> bool {
    // SAFETY: by the caller's promise. A weak reference to a collected object equals null.
    let is_null =
        unsafe { (**env).IsSameObject.map(|is_same| is_same(env, weak.0 as jobject, std::ptr::null_mut())) };
    is_null == Some(0)
}

/// Deletes a weak reference.
///
/// # Safety
/// As of [`is_alive`].
pub unsafe fn delete(env: *mut jni_sys::JNIEnv, weak: WeakObject) {
    // SAFETY: by the caller's promise.
    unsafe {
        if let Some(delete) = (**env).DeleteWeakGlobalRef {
            delete(env, weak.0 as jobject);
        }
    }
}
