//! Stops every panic between the agent and the JVM.
//!
//! A fault in the agent ends the agent. Sampling stops, one message reports it, and the program
//! continues. After that every call from the JVM does nothing.
//!
//! # Invariants
//!
//! **Invariant 7.** A panic never crosses into the JVM. It ends the agent with one message. This
//! module guards each door. Held by: this module, at each exported function and callback; no
//! separate test.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use vouch_sampling::threads::registry;
use vouch_signal::event::EVENT_GATE;
use vouch_signal::sampler::GATE;

use crate::say::say;

static FAULTY: AtomicBool = AtomicBool::new(false);
/// The location and the message of the first panic.
static WHERE: Mutex<Option<String>> = Mutex::new(None);

/// Installs the panic hook, which prints nothing. This library has a separate copy of Rust's
/// standard library. The program's Rust code keeps its own hook.
pub fn install() {
    set_hook(Box::new(|panic| {
        WHERE.lock().get_or_insert_with(|| panic.to_string());
    }));
}

/// Runs `run` for the JVM and returns its result. Returns `otherwise` after a fault.
pub fn guard<R>(otherwise: R, run: impl FnOnce() -> R) -> R {
    if FAULTY.load(Ordering::Relaxed) {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        end();
        otherwise
    })
}

fn end() {
    if FAULTY.swap(true, Ordering::Relaxed) {
        return;
    }
    GATE.close();
    EVENT_GATE.close();
    let _ = catch_unwind(|| registry().end_sampling());
    let place = WHERE.lock().take().unwrap_or_default();
    say(&format!(
        "a fault of Vouch's own has ended the profiling; the program runs on. Please report: {}",
        place.replace('\n', " ")
    ));
}
