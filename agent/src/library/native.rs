//! Makes a native by its name, and a buffer from memory, for each part of the library.

use std::ffi::c_void;
use std::ptr::null_mut;

use jni::objects::JByteBuffer;
use jni::{JNIEnv, NativeMethod};
use jni_sys::jobject;

use crate::java;

/// Makes one native of the library.
pub fn method(name: &str, signature: &str, native: *const c_void) -> NativeMethod {
    NativeMethod { name: name.into(), sig: signature.into(), fn_ptr: native.cast_mut() }
}

/// Wraps the agent's memory in a direct buffer. Returns null without memory or without a buffer.
///
/// # Safety
/// The memory must never be freed. Any thread may write any byte that the program can write, at any
/// time.
pub unsafe fn buffer(env: &mut JNIEnv<'_>, memory: Option<(*mut u8, usize)>) -> jobject {
    let Some((memory, size)) = memory else { return null_mut() };
    // SAFETY: by the caller's promise.
    let buffer = unsafe { env.new_direct_byte_buffer(memory, size) };
    java::cleared(env, buffer).map_or(null_mut(), JByteBuffer::into_raw)
}
