//! The border between the agent and everything else: no panic crosses it.
//!
//! A fault of the agent's ends the agent: sampling stops, one message says so, and the program runs
//! on. After that every call from the JVM does nothing.
//!
//! # Invariants
//!
//! **Invariant 7.** A panic never crosses into the JVM. It ends the agent with one message. This
//! module guards each door. Held by: this module, at each exported function and callback; no test
//! of its own.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_signal::event::EVENT_GATE;
use vouch_signal::sampler::GATE;

use crate::say::say;

/// What ends the sampling, after a fault.
static END_SAMPLING: OnceCell<fn()> = OnceCell::new();

static FAULTY: AtomicBool = AtomicBool::new(false);
/// Where the first panic was, and what it said.
static WHERE: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics from being printed by themselves. The library's standard library is its own: the
/// program's Rust code, if it has any, keeps its hook. After a fault `end_sampling` is called,
/// once.
pub fn install(end_sampling: fn()) {
    END_SAMPLING.get_or_init(|| end_sampling);
    set_hook(Box::new(|panic| {
        WHERE.lock().get_or_insert_with(|| panic.to_string());
    }));
}

/// Runs what the JVM called us for. `otherwise` is the answer if we cannot.
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
    if let Some(end_sampling) = END_SAMPLING.get() {
        let _ = catch_unwind(end_sampling);
    }
    let place = WHERE.lock().take().unwrap_or_default();
    say(&format!(
        "a fault of Vouch's own has ended the profiling; the program runs on. Please report: {}",
        place.replace('\n', " ")
    ));
}
