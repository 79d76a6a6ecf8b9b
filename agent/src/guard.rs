//! Puts the guard of walks in front of the JVM's handlers of SIGSEGV and SIGBUS.
//!
//! It is done past the C library, and so past libjsig, which would put it behind the JVM's handler:
//! that takes a fault that it does not know for the end. Flags and mask stay as the JVM chose them.
//! It must never be done where the JVM would complain of it.

use std::ffi::c_int;
use std::io;
use std::mem::transmute;

use once_cell::sync::OnceCell;
use vouch_hotspot::vmstructs::read_flag;
use vouch_hotspot::{HotSpot, fields};
use vouch_signal::slots::{Slots, guard_walks_of};
use vouch_walk::context::CAN_GUARD;
use vouch_walk::guard::{FAULTS, Handler, chain_to, on_fault};

/// Why walks are not guarded; or the handlers that the guard's are in front of.
static OUTCOME: OnceCell<Result<[Action; FAULTS.len()], String>> = OnceCell::new();

/// How the kernel takes a handler.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl Action {
    /// True if the handler is called as [`Handler`] says.
    fn is_told_why(&self) -> bool {
        self.has(libc::SA_SIGINFO)
    }

    fn has(&self, flag: c_int) -> bool {
        self.flags & u64::from(flag.unsigned_abs()) != 0
    }
}

/// Installs the guard, once.
pub fn install(hotspot: &HotSpot, slots: Slots<'static>) {
    OUTCOME.get_or_init(|| put_before(hotspot, slots));
}

/// Puts the handlers back that were there before the guard, unless another has come since. No walk
/// may begin any more.
pub fn remove() {
    let Some(Ok(before)) = OUTCOME.get() else { return };
    for (action, signal) in before.iter().zip(FAULTS) {
        if present(signal).is_ok_and(|present| present.handler == own_handler()) {
            // If the kernel refuses, ours stays, and passes each fault on.
            let _ = set(signal, Some(action));
        }
    }
}

/// Why a walk that faults would end the JVM; `None` if it would not.
pub fn unguarded() -> Option<String> {
    let outcome = OUTCOME.get()?;
    if let Err(why) = outcome {
        return Some(format!("walks are not guarded, and one that faults ends the JVM: {why}"));
    }
    let ours = |signal: &i32| present(*signal).is_ok_and(|action| action.handler == own_handler());
    (!FAULTS.iter().all(ours)).then(|| {
        "the program has put its own handler of SIGSEGV or SIGBUS before Vouch's: unless that passes faults on, a walk that \
         faults ends the JVM"
            .to_owned()
    })
}

/// An address of which the kernel knows no page, though it is mapped: it lies behind the end of its
/// file.
pub fn past_end() -> usize {
    static ADDRESS: OnceCell<usize> = OnceCell::new();
    // SAFETY: makes an empty file and maps a page of it, which nobody reads but a walker that is
    // broken on purpose.
    *ADDRESS.get_or_init(|| unsafe {
        // By its number: older C libraries have no function of that name.
        let file = libc::syscall(libc::SYS_memfd_create, c"empty".as_ptr(), libc::MFD_CLOEXEC);
        let file = i32::try_from(file).unwrap_or(-1);
        let page = libc::mmap(std::ptr::null_mut(), 1, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        libc::close(file);
        page as usize
    })
}

fn put_before(hotspot: &HotSpot, slots: Slots<'static>) -> Result<[Action; FAULTS.len()], String> {
    if !CAN_GUARD {
        return Err("Vouch has no guard for this processor".to_owned());
    }
    if read_flag(hotspot, &fields::CHECK_JNI_CALLS).unwrap_or(false) {
        return Err("under -Xcheck:jni the JVM warns of every handler that is not its own".to_owned());
    }
    let mut before = [Action::default(); FAULTS.len()];
    for (action, signal) in before.iter_mut().zip(FAULTS) {
        *action = present(signal)
            .map_err(|error| format!("the kernel does not report signal handlers: {error}"))?;
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler) || !action.is_told_why() {
            return Err("the JVM has not installed its handlers for faults".to_owned());
        }
    }
    guard_walks_of(Box::leak(Box::new(slots)));
    for (fault, (action, signal)) in before.iter_mut().zip(FAULTS).enumerate() {
        // SAFETY: with SA_SIGINFO a handler is of this type.
        chain_to(fault, unsafe { transmute::<usize, Handler>(action.handler) });
        let own = Action { handler: own_handler(), ..*action };
        let replaced =
            set(signal, Some(&own)).map_err(|error| format!("the kernel takes no handler: {error}"))?;
        if replaced.handler != action.handler && replaced.is_told_why() {
            // The program has put its own there since we looked.
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

/// The handler that the kernel calls, whatever stands between it and the C library; the default's
/// where it does not tell.
pub fn handler_of(signal: i32) -> usize {
    present(signal).map_or(libc::SIG_DFL, |action| action.handler)
}

/// True if the kernel calls a handler for this signal that is to run on an alternate stack.
pub fn runs_elsewhere(signal: i32) -> bool {
    let is_handled = |action: &Action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    present(signal).is_ok_and(|action| is_handled(&action) && action.has(libc::SA_ONSTACK))
}

/// The handler that there is.
fn present(signal: i32) -> io::Result<Action> {
    set(signal, None)
}

/// Sets a handler, if one is given; the one before.
fn set(signal: i32, action: Option<&Action>) -> io::Result<Action> {
    let mut before = Action::default();
    let action = action.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel reads one action, if there is one, and writes one; the handler keeps to
    // what a handler may do, and its library is never unloaded.
    let code =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action, &raw mut before, size_of::<u64>()) };
    if code == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}
