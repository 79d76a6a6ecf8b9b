//! Puts the guard of walks in front of the JVM's handlers of SIGSEGV and SIGBUS.
//!
//! The installation bypasses the C library, and so libjsig, which would call the guard after the
//! JVM's handler. The JVM's handler ends the process at a fault that is not its own. Flags and mask
//! stay as the JVM set them. The guard must never be installed where the JVM would complain.

use std::ffi::c_int;
use std::io;
use std::mem::transmute;

use once_cell::sync::OnceCell;
use vouch_hotspot::vmstructs::read_flag;
use vouch_hotspot::{HotSpot, fields};
use vouch_signal::slots::{Slots, guard_walks_of};
use vouch_walk::context::CAN_GUARD;
use vouch_walk::guard::{FAULTS, Handler, chain_to, on_fault};

/// The handlers that the guard replaced, or the reason why walks are not guarded.
static OUTCOME: OnceCell<Result<[Action; FAULTS.len()], String>> = OnceCell::new();

/// A signal handler in the kernel's layout.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl Action {
    /// Returns true if the kernel calls the handler with the arguments of [`Handler`].
    fn has_siginfo(&self) -> bool {
        self.has(libc::SA_SIGINFO)
    }

    fn has(&self, flag: c_int) -> bool {
        self.flags & u64::from(flag.unsigned_abs()) != 0
    }
}

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
            let _ = exchange_action(signal, Some(action));
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

/// Returns a mapped address without a page. It is past the end of the mapped file, so a read
/// faults.
pub fn past_end() -> usize {
    static ADDRESS: OnceCell<usize> = OnceCell::new();
    // SAFETY: makes an empty file and maps a page of it. Only a walker that is broken on purpose
    // reads it.
    *ADDRESS.get_or_init(|| unsafe {
        // The call uses the number: older C libraries have no function of that name.
        let file = libc::syscall(libc::SYS_memfd_create, c"empty".as_ptr(), libc::MFD_CLOEXEC);
        let file = i32::try_from(file).unwrap_or(-1);
        let page = libc::mmap(std::ptr::null_mut(), 1, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        libc::close(file);
        page as usize
    })
}

fn install_before_jvm(hotspot: &HotSpot, slots: Slots<'static>) -> Result<[Action; FAULTS.len()], String> {
    if !CAN_GUARD {
        return Err("Vouch has no guard for this processor".to_owned());
    }
    if read_flag(hotspot, &fields::CHECK_JNI_CALLS).unwrap_or(false) {
        return Err("under -Xcheck:jni the JVM warns of every handler that is not its own".to_owned());
    }
    let mut before = [Action::default(); FAULTS.len()];
    for (action, signal) in before.iter_mut().zip(FAULTS) {
        *action = current_action(signal)
            .map_err(|error| format!("the kernel does not report signal handlers: {error}"))?;
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler) || !action.has_siginfo() {
            return Err("the JVM has not installed its handlers for faults".to_owned());
        }
    }
    guard_walks_of(Box::leak(Box::new(slots)));
    for (fault, (action, signal)) in before.iter_mut().zip(FAULTS).enumerate() {
        // SAFETY: with SA_SIGINFO a handler is of this type.
        chain_to(fault, unsafe { transmute::<usize, Handler>(action.handler) });
        let own = Action { handler: own_handler(), ..*action };
        let replaced = exchange_action(signal, Some(&own))
            .map_err(|error| format!("the kernel takes no handler: {error}"))?;
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

/// Returns the handler that the kernel calls, even if a library wraps it. Returns the default if
/// the kernel does not answer.
pub fn handler_of(signal: i32) -> usize {
    current_action(signal).map_or(libc::SIG_DFL, |action| action.handler)
}

/// Returns true if the kernel calls this signal's handler on an alternate stack.
pub fn runs_elsewhere(signal: i32) -> bool {
    let is_handled = |action: &Action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    current_action(signal).is_ok_and(|action| is_handled(&action) && action.has(libc::SA_ONSTACK))
}

/// Returns the current handler.
fn current_action(signal: i32) -> io::Result<Action> {
    exchange_action(signal, None)
}

/// Sets a handler if one is passed, and returns the previous one.
fn exchange_action(signal: i32, action: Option<&Action>) -> io::Result<Action> {
    let mut before = Action::default();
    let action = action.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel reads one action, if there is one, and writes one. The handler is
    // async-signal-safe, and its library is never unloaded.
    let code =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action, &raw mut before, size_of::<u64>()) };
    if code == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}
