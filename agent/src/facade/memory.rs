//! Owns memory that JVMTI allocated for a result, and deallocates it when it is dropped.

use std::ffi::{CStr, c_char};
use std::ops::Deref;

use jni_sys::jint;

use super::jvmti::{Jvmti, call};

/// An array of `T` that JVMTI allocated.
#[derive(Debug)]
pub struct Allocated<T> {
    jvmti: Jvmti,
    first: *mut T,
    length: usize,
}

impl<T> Allocated<T> {
    /// Takes ownership of an array that a JVMTI function returned.
    ///
    /// # Safety
    /// `first` must be null or point to `length` values that this environment allocated.
    pub(super) unsafe fn new(jvmti: Jvmti, first: *mut T, length: jint) -> Self {
        let length = if first.is_null() { 0 } else { usize::try_from(length).unwrap_or(0) };
        Self { jvmti, first, length }
    }
}

impl<T> Deref for Allocated<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: by `new`'s contract; the memory is deallocated only on drop.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

impl<T> Drop for Allocated<T> {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // A failure only leaks memory.
            let _ = call!(self.jvmti, Deallocate(self.first.cast() => *mut u8));
        }
    }
}

/// Copies a C string that JVMTI allocated, and deallocates it. The JVM writes modified UTF-8; bytes
/// that are invalid in it are replaced.
///
/// # Safety
/// `text` must be null or a C string that this environment allocated.
pub(super) unsafe fn take_string(jvmti: Jvmti, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let owner = unsafe { Allocated::new(jvmti, text, 1) };
    // SAFETY: as above; `owner` frees it only after the copy.
    let copy = decode_modified_utf8(unsafe { CStr::from_ptr(text) }.to_bytes());
    drop(owner);
    Some(copy)
}

/// Decodes the JVM's modified UTF-8.
pub(crate) fn decode_modified_utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => match cesu8::from_java_cesu8(bytes) {
            Ok(text) => text.into_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        },
    }
}
