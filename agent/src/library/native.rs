//! What each part of the library's natives needs: a native by its name, and memory as a buffer.

use std::ffi::c_void;
use std::ptr::null_mut;

use jni::objects::JByteBuffer;
use jni::{JNIEnv, NativeMethod};
use jni_sys::jobject;

use crate::java;

/// A native of the library's.
pub fn method(name: &str, signature: &str, native: *const c_void) -> NativeMethod {
    NativeMethod { name: name.into(), sig: signature.into(), fn_ptr: native.cast_mut() }
}

/// The agent's memory as a direct buffer; null if there is no memory, or no buffer.
///
/// # Safety
/// The memory must never be freed. Every byte that the program can write must be one that any
/// thread may write at any time.
pub unsafe fn buffer(env: &mut JNIEnv<'_>, memory: Option<(*mut u8, usize)>) -> jobject {
    let Some((memory, size)) = memory else { return null_mut() };
    // SAFETY: by the caller's promise.
    let buffer = unsafe { env.new_direct_byte_buffer(memory, size) };
    java::cleared(env, buffer).map_or(null_mut(), JByteBuffer::into_raw)
}
