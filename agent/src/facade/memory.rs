//! Memory that the JVM allocated for an answer, given back when it is no longer needed.

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
    /// Takes over what a function wrote.
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
        // SAFETY: by `new`'s contract; the memory is ours until it is dropped.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

impl<T> Drop for Allocated<T> {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // A failure would only leak.
            let _ = call!(self.jvmti, Deallocate(self.first.cast() => *mut u8));
        }
    }
}

/// Copies a C string that JVMTI allocated, and gives it back. What is no UTF-8 (the JVM's own
/// encoding writes supplementary characters otherwise) is replaced.
///
/// # Safety
/// `text` must be null or a C string that this environment allocated.
pub(super) unsafe fn text(jvmti: Jvmti, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let owner = unsafe { Allocated::new(jvmti, text, 1) };
    // SAFETY: as above; `owner` frees it only after the copy.
    let copy = cesu(unsafe { CStr::from_ptr(text) }.to_bytes());
    drop(owner);
    Some(copy)
}

/// From the JVM's modified UTF-8 to a string.
pub(crate) fn cesu(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => match cesu8::from_java_cesu8(bytes) {
            Ok(text) => text.into_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        },
    }
}
