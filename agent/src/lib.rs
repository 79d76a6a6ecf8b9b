//! Vouch's agent is `libvouch.so`, the library that a JVM loads.
//!
//! One sample passes these modules from left to right: crate `vouch-sampling` (a signal is due) →
//! crate `vouch-signal` (handler, walk, lane) → `worker` (drain) → crates `vouch-collect` (names,
//! verdict, track), `vouch-recording` (tables), `vouch-report` and `vouch-formats` (files).
//! `resolve` and `jvm` answer what `vouch-collect` asks the JVM. `session` is one recording.
//! `agent` decides the order of events. `callbacks` and this file are the entry points for the JVM;
//! `lab_api` is the entry point for the truth lab, which is another library.
//!
//! This file must contain only the exported functions. Each one guards against panics and calls
//! another module.
//!
//! # Layers
//!
//! A module uses modules of lower layers, and of the same layer in one direction. The lowest layer
//! is first. `cargo xtask circles` fails if files use each other in a circle. It does not compare
//! them with this list.
//!
//! 1. Foundations: `error`, `version`, `command`, `lab_hooks`, `java`, `facade`, `terminal`, then
//!    `say`, `wake`, `resolve`, then `fault`, `sampling_services`.
//! 2. The agent's thread: `worker`.
//! 3. Sampling: `virtual_threads`, `guard`, `recovery`, `options`, `plan`,
//!    `threads`, `contexts`, `groups`, `markers`, `library`, `events`. Files of these folders still
//!    use each other across folders in both directions.
//! 4. Walking: `anchors`, `single_walk`, `walkers`, `native`, `wall_clock`.
//! 5. What the stages ask the JVM: `jvm`.
//! 6. One recording: `session`. A preview of a recording: `check`.
//! 7. The agent: `agent`.
//! 8. The entry points: `callbacks`, `lab_api`, then `load`, then this file.
//!
//! # Modules
//!
//! `*` means the module's file and its folder. docs/pipeline.md follows a sample through the
//! modules.
//!
//! | file | what it does | must never |
//! |---|---|---|
//! | `lib.rs`, `callbacks.rs` | the entry points: exported functions, JVMTI events | do more than guard and call |
//! | `load.rs`, `plan.rs` | checks what a recording needs; turns options into a plan | report a mistake late |
//! | `agent.rs` | reacts to VM init, commands and VM death | hold its lock while a callback waits |
//! | `worker.rs`, `wake.rs` | the agent's thread, and the semaphore that wakes it | depend on its duties |
//! | `options*` | the option text | touch a file |
//! | `facade*` | the JVMTI function table | depend on its callers |
//! | `anchors.rs` | waits of the agent's thread that JFR records, too | wait where JFR does not record |
//! | `sampling_services.rs` | what crate `vouch-sampling` asks of the agent | ask the JVM |
//! | `guard.rs` | installs the guard's fault handlers | install them where the JVM would complain |
//! | `walkers.rs` | chooses the walkers; checks the own walker against GetStackTrace | change under a handler |
//! | `native.rs` | the tables for walks of native frames, and when they are made again | drop what a handler may use |
//! | `wall_clock*` | looks at each Java thread for its wall-clock time, and walks those that wait | interrupt a thread |
//! | `error.rs` | the agent's errors, as sentences for the user | be a text before it is shown |
//! | `single_walk.rs` | walks one thread once, outside of sampling | be on the path of an ordinary sample |
//! | `recovery.rs` | the data that recovery needs from this JVM | guess |
//! | `version.rs` | Vouch's version | be anything else |
//! | `threads*` | the Java threads that began before the agent, and renames, as the JVM reports them | hold a reference beyond its use |
//! | `jvm*` | the real JVM's answers to the questions of crate `vouch-collect` | run the program's code, ask about a class that may be unloaded |
//! | `events*` | the event types, one row each: how the JVM reports one, how it is counted and published | make a publisher wait, even a callback |
//! | `resolve*` | what crate `vouch-collect` asks the JVM to name a method: classes, loaders, references to them | ask about an id with a class that may be unloaded |
//! | `virtual_threads*` | the frame layout of virtual threads, and when it is looked up | run Java on a thread that is sampled meanwhile |
//! | `library.rs` | registers natives in the Java library's class | throw into the program |
//! | `contexts*` | the program's contexts: numbers and cells; which library publishes traces | change the meaning of a number, keep another library loaded |
//! | `groups*` | the costs of the program's tasks, added up by their threads | make a thread that adds to a cell wait |
//! | `markers*` | the kinds of a program's markers, and their counts | change the meaning of a number, make the thread of a marker wait |
//! | `lab_hooks.rs` | what the truth lab can put into the agent; the released library has no lab | contain what the lab does |
//! | `lab_api.rs` | the functions that the truth lab (crate `vouch-lab`) calls | be used by the product |
//! | `session*` | one recording: memory, engine, files | outlive its gate |
//! | `check.rs` | a preview of a recording, for `vouch doctor` | change anything |
//! | `java.rs` | questions to Java objects | run the program's code, leave an exception |
//! | `fault.rs` | guards the entry points, which catch panics | let a panic through |
//! | `say*`, `terminal.rs` | messages to a person: on stderr, or in the folder of a waiting command | fail, wait for a reader, leave that folder |

mod agent;
mod anchors;
mod callbacks;
mod check;
mod command;
mod contexts;
mod error;
mod events;
mod facade;
mod fault;
mod groups;
mod guard;

mod java;
mod jvm;
pub mod lab_api;
pub mod lab_hooks;
mod library;
mod load;
mod markers;
mod native;
mod options;
mod plan;
mod recovery;
mod resolve;
mod sampling_services;
mod say;
mod session;
mod single_walk;
mod terminal;
mod threads;
mod version;
mod virtual_threads;
mod wake;
mod walkers;
mod wall_clock;
mod worker;

use std::ffi::{CStr, c_char, c_void};

use jni_sys::{JNI_OK, JavaVM, jint};

/// Another copy of the agent in the same process recognises this library by this symbol
/// (`vouch_sampling::sampling_signal`).
#[unsafe(no_mangle)]
pub static VOUCH_AGENT: u8 = 1;

/// The JVM calls this at its start, for `-agentpath` or `-agentlib`.
///
/// # Safety
/// Only a JVM may call this, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    prepare();
    // SAFETY: the JVM passes its own table and a C string or null.
    fault::guard(JNI_OK, || unsafe { load::on_load(vm, &text(options)) })
}

/// The JVM calls this each time a running JVM loads the agent.
///
/// # Safety
/// Only a JVM may call this, as the JVMTI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    prepare();
    // SAFETY: as above.
    fault::guard(JNI_OK, || unsafe { load::on_attach(vm, &text(options)) })
}

/// Sets what must work before anything else: the panic hook, and what sampling needs of the agent.
fn prepare() {
    fault::install();
    sampling_services::install();
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
