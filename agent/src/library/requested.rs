//! Holds one bit for each part of the library that has a reader. The library reads the word first.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use jni::JNIEnv;
use jni::objects::JClass;
use jni_sys::jobject;

use super::native::buffer;
use crate::fault::guard;

static REQUESTED: AtomicU32 = AtomicU32::new(0);
/// The bit for groups of tasks.
pub const GROUPS: u32 = 1;
/// The bit for markers.
pub const MARKERS: u32 = 2;

/// Sets or clears the bit with which the Java library sees that groups or markers are requested.
pub fn set_requested(part: u32, requested: bool) {
    if requested {
        REQUESTED.fetch_or(part, SeqCst);
    } else {
        REQUESTED.fetch_and(!part, SeqCst);
    }
}

/// Returns the word as a direct buffer, or null without one. The library calls it as a native.
pub extern "system" fn request_word_buffer(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        // SAFETY: the memory is a static, and the library only reads it.
        unsafe { buffer(&mut env, Some((REQUESTED.as_ptr().cast(), size_of_val(&REQUESTED)))) }
    })
}
