//! Vouch's agent: `libvouch.so`, what a JVM loads.
//!
//! The way of one sample through these modules, from left to right: `engine` (a signal is due) →
//! crate `vouch-signal` (handler, walk, lane) → `worker` (drain) → `record` with `resolve` (names,
//! lines, tracks) → crates `vouch-recording` (tables), `vouch-report` and `vouch-formats` (files).
//! `threads` knows who is there, `session` is one recording, `witness` asks GetStackTrace about
//! some of the samples, `agent` says what happens when; `callbacks` and this file are the doors to
//! the JVM, `lab` one for the truth lab.
//!
//! This file must hold nothing but the exported functions: each only guards against panics and
//! passes on.
//!
//! # Layers
//!
//! A module uses modules of lower layers, and of its own layer in one direction. The lowest layer
//! is first. `cargo xtask circles` fails if files use each other in a circle; it does not compare
//! them with this list.
//!
//! 1. Foundations: `version`, `clock`, `command`, `untouched`, `java`, `facade`, `compiled`, `terminal`, then
//!    `say`, `own_thread`, `wake`, `resolve`, then `fault`.
//! 2. The agent's thread: `worker`.
//! 3. Sampling: `virtual_threads`, `guard`, `recovery`, `options`, `engine`, `governor`, `plan`,
//!    `threads`, `contexts`, `groups`, `markers`, `library`, `events`. Files of these folders still
//!    use each other across folders in both directions.
//! 4. Walking: `sampling_signal`, `anchors`, `single_walk`, `walkers`.
//! 5. From lane to recording: `jvm`, `prove`, then `record` and `witness`, then `truth`. Of
//!    `record`, `witness` uses `record::recovered` alone.
//! 6. One recording: `session`. What a recording would be like: `check`.
//! 7. The agent: `agent`.
//! 8. The doors: `callbacks`, `lab`, then `load`, then this file.
//!
//! # Modules
//!
//! `*` is for the module's file and its folder. docs/pipeline.md follows a sample through them.
//!
//! | file | what it does | must never |
//! |---|---|---|
//! | `lib.rs`, `callbacks.rs` | the doors: exported functions, JVMTI events | do anything but guard and pass on |
//! | `load.rs`, `plan.rs` | what must exist before anything is recorded; from options to a plan | leave a mistake for later |
//! | `agent.rs` | what happens when: the JVM is up, commands, VM death | be held while a callback waits |
//! | `worker.rs`, `wake.rs` | the agent's thread, and how it is woken | know what its duties are |
//! | `options*` | the option text | touch a file |
//! | `facade*` | the JVMTI function table | know what its callers want |
//! | `governor*` | what the engine costs this machine, and what is done about it | take what it guards |
//! | `anchors.rs` | moments that JFR records, too: waits of the agent's thread | wait where JFR does not record |
//! | `own_thread.rs` | what makes a thread the agent's own | be forgotten by one of them |
//! | `sampling_signal.rs` | which program owns the signal; its handler is installed | take it from code that has it |
//! | `guard.rs` | the guard's handlers, installed | be done where the JVM would complain |
//! | `walkers.rs` | which walkers walk a sample; the own walker, checked against GetStackTrace | change under a handler |
//! | `single_walk.rs` | walks one thread once, outside of sampling | be on the path of an ordinary sample |
//! | `recovery.rs` | what recovery needs from this JVM | guess |
//! | `engine*` | what makes the kernel signal | know the JVM |
//! | `version.rs` | Vouch's version | be anything else |
//! | `untouched.rs` | zeroed memory that costs nothing until it is touched: lanes, slots | be the allocator's |
//! | `threads*` | the threads: birth, names, end, slots, engines, pending intervals | know a sample's stack |
//! | `jvm*` | what the stages from lane to recording ask the JVM: a trait, which tests implement, too | run the program's code, ask about a class that may be gone |
//! | `events*` | the events, a row each: how the JVM reports one, how it is counted and published | make the publisher of one wait, even a callback |
//! | `resolve*` | method id → resolved method, name, file, line, origin | ask about an id with a class that may be gone |
//! | `record*` | lane entry → sample with a fate, or marker | lose an entry, know JNI |
//! | `prove*` | what proof was asked, and what it answered | know JNI |
//! | `truth.rs` | GetStackTrace's stacks instead of samples, to find false alarms | be used for an ordinary profile |
//! | `witness.rs` | some samples against GetStackTrace, while profiling | ask before the walk, cost more than allowed |
//! | `virtual_threads*` | the layout of virtual threads' frames, and when it is looked up | run Java on a thread that is sampled meanwhile |
//! | `library.rs` | the Java library's class gets its natives | throw into the program |
//! | `contexts*` | the program's contexts: their numbers, their cells; which library publishes traces | make a number mean anything else, free a cell, keep another library loaded |
//! | `groups*` | what the program's tasks take, as their threads add it up; how a thread finds its CPU time | make a thread that adds to a cell wait, unmap a page while its thread lives |
//! | `markers*` | the kinds of a program's markers, and how many there were | make a number mean anything else, make the thread of a marker wait |
//! | `compiled.rs` | the compiled methods: how many frames are one at each place of their code | hold up the JVM's compilers |
//! | `lab*` | the natives of `dev.vouch.Oracle`, for the truth lab | be on the path of an ordinary sample |
//! | `session*` | one recording: memory, engine, files | outlive its gate |
//! | `check.rs` | what a recording would be like here, for `vouch doctor` | change anything |
//! | `clock.rs`, `java.rs` | clocks and ids from the kernel; what is asked of Java objects | be called by a handler; run code of the program's, leave an exception |
//! | `fault.rs` | the doors to the JVM, which catch panics | let one through |
//! | `say*`, `terminal.rs` | messages to a person: on stderr, or in the folder of a command that waits | fail, wait for a reader, lead out of that folder |

mod agent;
mod anchors;
mod callbacks;
mod check;
mod clock;
mod command;
mod compiled;
mod contexts;
mod engine;
mod events;
mod facade;
mod fault;
mod governor;
mod groups;
mod guard;

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
mod sampling_signal;
mod say;
mod session;
mod single_walk;
mod terminal;
mod threads;
mod truth;
mod untouched;
mod version;
mod virtual_threads;
mod wake;
mod walkers;
mod witness;
mod worker;

use std::ffi::{CStr, c_char, c_void};

use jni_sys::{JNI_OK, JavaVM, jint};

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
    fault::install(|| threads::registry().end_sampling());
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
    fault::install(|| threads::registry().end_sampling());
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
