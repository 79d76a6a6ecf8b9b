//! Which parts of the library have a reader: a bit for each, in a word that the library reads
//! before it does anything.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use jni::JNIEnv;
use jni::objects::JClass;
use jni_sys::jobject;

use super::native::buffer;
use crate::fault::guard;

static WANTED: AtomicU32 = AtomicU32::new(0);
/// Its groups of tasks.
pub const GROUPS: u32 = 1;
/// Its markers.
pub const MARKERS: u32 = 2;

/// Sets or clears the bit of one part.
pub fn want(part: u32, wanted: bool) {
    if wanted {
        WANTED.fetch_or(part, SeqCst);
    } else {
        WANTED.fetch_and(!part, SeqCst);
    }
}

/// The native that returns the word as a direct buffer; null if there is none.
pub extern "system" fn buffer_of_word(mut env: JNIEnv<'_>, _: JClass<'_>) -> jobject {
    guard(null_mut(), || {
        // SAFETY: of a static, and the library only reads it.
        unsafe { buffer(&mut env, Some((WANTED.as_ptr().cast(), size_of_val(&WANTED)))) }
    })
}
