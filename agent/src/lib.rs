//! Vouch's agent: `libvouch.so`, what a JVM loads.
//!
//! The way of one sample through these modules, from left to right:
//! `engine` (a signal is due) → crate `vouch-signal` (handler, walk, lane) → `worker` (drain) → `record` with
//! `resolve` (names, lines, tracks) → crates `vouch-recording` (tables), `vouch-report` and `vouch-formats` (files). `threads`
//! knows who is there, `session` is one recording, `witness` asks GetStackTrace about some of the samples, `agent` says what happens when; `callbacks` and
//! this file are the doors to the JVM, `lab` one for the truth lab.
//!
//! This file must hold nothing but the exported functions: each only guards against panics and passes on.

mod agent;
mod anchors;
mod callbacks;
mod check;
mod clock;
mod compiled;
mod contexts;
mod engine;
mod events;
mod facade;
mod fault;
mod governor;
mod groups;
mod guard;
mod hotspot;
mod java;
mod jvm;
mod lab;
mod library;
mod load;
mod markers;
mod options;
mod own_thread;
mod plan;
mod prove;
mod record;
mod recovery;
mod resolve;
mod say;
mod session;
mod sigprof;
mod terminal;
mod threads;
mod truth;
mod untouched;
mod wake;
mod walkers;
mod witness;
mod worker;

use std::ffi::{CStr, c_char, c_void};

use jni_sys::{JNI_OK, JavaVM, jint};

/// Vouch's version, as it is reported.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Loaded at the JVM's start, by `-agentpath` or `-agentlib`.
///
/// # Safety
/// To be called by a JVM alone, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    fault::install();
    // SAFETY: the JVM passes its own table and a C string or null.
    fault::guard(JNI_OK, || unsafe { load::on_load(vm, &text(options)) })
}

/// Loaded into a running JVM, once or again.
///
/// # Safety
/// To be called by a JVM alone, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    fault::install();
    // SAFETY: as above.
    fault::guard(JNI_OK, || unsafe { load::on_attach(vm, &text(options)) })
}

/// # Safety
/// `options` must be null or a C string.
unsafe fn text(options: *const c_char) -> String {
    if options.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
}
