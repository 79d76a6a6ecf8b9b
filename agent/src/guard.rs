//! Puts the guard of walks in front of the JVM's handlers of SIGSEGV and SIGBUS.
//!
//! The installation bypasses the C library, and so libjsig, which would call the guard after the
//! JVM's handler. The JVM's handler ends the process at a fault that is not its own. Flags and mask
//! stay as the JVM set them. The guard must never be installed where the JVM would complain.

use std::mem::transmute;

use once_cell::sync::OnceCell;
use vouch_hotspot::vmstructs::read_flag;
use vouch_hotspot::{HotSpot, fields};
use vouch_sampling::signal_handlers::{Action, current_action, set_action};
use vouch_signal::slots::{Slots, guard_walks_of};
use vouch_unwind::context::CAN_GUARD;
use vouch_unwind::guard::{FAULTS, Handler, chain_to, on_fault};

use crate::error::GuardError;

/// The handlers that the guard replaced, or the reason why walks are not guarded.
static OUTCOME: OnceCell<Result<[Action; FAULTS.len()], GuardError>> = OnceCell::new();

/// Installs the guard. Later calls do nothing.
pub fn install(hotspot: &HotSpot, slots: Slots<'static>) {
    OUTCOME.get_or_init(|| install_before_jvm(hotspot, slots));
}

/// Restores the handlers that the guard replaced, unless another was installed since. No walk may
/// begin after this.
pub fn remove() {
    let Some(Ok(before)) = OUTCOME.get() else { return };
    for (action, signal) in before.iter().zip(FAULTS) {
        if current_action(signal).is_ok_and(|present| present.handler == own_handler()) {
            // If the kernel refuses, our handler stays and passes each fault on.
            // SAFETY: this handler was installed for the same signal before ours.
            let _ = unsafe { set_action(signal, action) };
        }
    }
}

/// Returns the reason why a walk that faults would end the JVM. `None` means that walks are
/// guarded.
pub fn unguarded() -> Option<String> {
    let outcome = OUTCOME.get()?;
    if let Err(why) = outcome {
        return Some(format!("walks are not guarded, and one that faults ends the JVM: {why}"));
    }
    let ours = |signal: &i32| current_action(*signal).is_ok_and(|action| action.handler == own_handler());
    (!FAULTS.iter().all(ours)).then(|| {
        "the program has put its own handler of SIGSEGV or SIGBUS before Vouch's: unless that passes faults on, a walk that \
         faults ends the JVM"
            .to_owned()
    })
}

fn install_before_jvm(
    hotspot: &HotSpot,
    slots: Slots<'static>,
) -> Result<[Action; FAULTS.len()], GuardError> {
    if !CAN_GUARD {
        return Err(GuardError::Processor);
    }
    if read_flag(hotspot, &fields::CHECK_JNI_CALLS).unwrap_or(false) {
        return Err(GuardError::CheckJni);
    }
    let mut before = [Action::default(); FAULTS.len()];
    for (action, signal) in before.iter_mut().zip(FAULTS) {
        *action = current_action(signal).map_err(GuardError::HandlersUnknown)?;
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler) || !action.has_siginfo() {
            return Err(GuardError::NoJvmHandlers);
        }
    }
    guard_walks_of(Box::leak(Box::new(slots)));
    for (fault, (action, signal)) in before.iter_mut().zip(FAULTS).enumerate() {
        // SAFETY: with SA_SIGINFO a handler is of this type.
        chain_to(fault, unsafe { transmute::<usize, Handler>(action.handler) });
        let own = action.with_handler(own_handler());
        // SAFETY: the handler is async-signal-safe, and this library is never unloaded.
        let replaced = unsafe { set_action(signal, &own) }.map_err(GuardError::HandlerRefused)?;
        if replaced.handler != action.handler && replaced.has_siginfo() {
            // The program has installed its own handler since we looked.
            // SAFETY: as above.
            chain_to(fault, unsafe { transmute::<usize, Handler>(replaced.handler) });
            *action = replaced;
        }
    }
    Ok(before)
}

fn own_handler() -> usize {
    on_fault as *const () as usize
}
