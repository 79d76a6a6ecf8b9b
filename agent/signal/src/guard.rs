//! The guard: a walk that faults ends the walk, and not the JVM.
//!
//! AsyncGetCallTrace takes words of an interrupted stack for frames, and where it is wrong it reads what is no memory.
//! While it walks, its thread's slot says how far the stack is to be unwound; a handler of SIGSEGV and SIGBUS in front of
//! the JVM's sees that and lets the thread go on behind the walk. Every other fault goes on to the handler that was there
//! before, untouched: the JVM lives by its own. So do the faults that the walk expects, which the JVM's SafeFetch makes
//! to try an address.
//!
//! What the walk held is lost with it; AsyncGetCallTrace holds no lock. It must never end anything but a walk: code that
//! holds a lock of the JVM's, as GetStackTrace does, cannot be left halfway.

use core::ffi::c_void;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::context;
use crate::handler::{Errno, own_tid};
use crate::record::CRASHED;
use crate::slots::{Slot, Slots};
use crate::walker::{AsyncGetCallTrace, CallTrace};

/// The signals of a fault, in the order of [`BEFORE`].
pub const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// How a handler with SA_SIGINFO is called.
pub type Handler = unsafe extern "C" fn(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void);

/// The handlers that were there before; 0 until the guard is installed.
static BEFORE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// In whose slots it stands who is walking.
static SLOTS: AtomicPtr<Slots<'static>> = AtomicPtr::new(core::ptr::null_mut());

/// Where the guard looks for those who walk. To be called before [`on_fault`] is installed.
pub fn watch(slots: &'static Slots<'static>) {
    SLOTS.store(core::ptr::from_ref(slots).cast_mut(), Ordering::Release);
}

/// Whom a fault goes on to that no walk made: one handler for each of [`FAULTS`], before [`on_fault`] is installed for it.
pub fn go_on_to(fault: usize, handler: Handler) {
    if let Some(before) = BEFORE.get(fault) {
        before.store(handler as usize, Ordering::Release);
    }
}

/// Has the walker walk; its answer, or [`CRASHED`].
///
/// # Safety
/// `slot` must be the calling thread's, and the rest as the walker wants it.
pub unsafe fn walk(
    slot: &Slot,
    walker: AsyncGetCallTrace,
    trace: &mut CallTrace,
    depth: i32,
    context: *mut c_void,
) -> i32 {
    let place = slot.walking();
    // A walk that was left by a jump of somebody else's has left its mark, too: its frame was below this one.
    if place.load(Ordering::Relaxed) < (&raw const place) as usize {
        place.store(0, Ordering::Relaxed);
    }
    // SAFETY: `context` is a ucontext, by the caller's promise.
    let _faults = unsafe { Unblocked::of(context) };
    // SAFETY: the place lives as long as the table of slots; the rest is the caller's promise. Nothing of the walker's
    // frames has to be dropped, and what it leaves in `trace` is not looked at when it crashed.
    let crashed = unsafe { context::guarded(place, walker, trace, depth, context) };
    if crashed == 0 { trace.count } else { CRASHED }
}

/// The handler of SIGSEGV and SIGBUS, for `sigaction` with SA_SIGINFO.
///
/// # Safety
/// To be called by the kernel, as a signal handler, or by a handler that passes on what it was called with.
pub unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `info` and `context` are the kernel's.
    if unsafe { ends_walk(info, context) } {
        return;
    }
    let fault = usize::from(signal == libc::SIGBUS);
    let before = BEFORE.get(fault).map_or(0, |before| before.load(Ordering::Acquire));
    if before != 0 {
        // SAFETY: `go_on_to` put a handler there, which is called as the kernel would have called it.
        unsafe { transmute::<usize, Handler>(before)(signal, info, context) };
    }
}

/// Ends the walk that faulted, if it was one.
///
/// # Safety
/// As for `on_fault`.
unsafe fn ends_walk(info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    let _errno = Errno::save();
    // SAFETY: the kernel's.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // What somebody sent is no fault of the walk's.
    if code <= 0 {
        return false;
    }
    let slots = SLOTS.load(Ordering::Acquire);
    // SAFETY: null, or what `watch` was given, which lives for ever.
    let Some(slot) = unsafe { slots.as_ref() }.and_then(|slots| slots.find(own_tid())) else { return false };
    let sp = slot.walking().load(Ordering::Relaxed);
    // SAFETY: `context` is that of the instruction that faulted at `address`.
    if sp == 0 || unsafe { !context::is_below(context, sp) || context::is_safe_fetch(context, address) } {
        return false;
    }
    // SAFETY: this thread is inside of `guarded`, which left `sp` in its slot.
    unsafe { context::leave(context, sp) };
    true
}

/// Lets the faults of a thread through that has them blocked: blocked ones the kernel answers with the process's end.
struct Unblocked {
    before: Option<u64>,
}

impl Unblocked {
    const SIZE: usize = size_of::<u64>();

    /// # Safety
    /// `context` must be the ucontext of the calling thread.
    unsafe fn of(context: *mut c_void) -> Self {
        let faults = FAULTS.iter().fold(0_u64, |set, signal| set | 1 << (signal - 1));
        // SAFETY: by the caller's promise; the kernel's set is the first word of the C library's.
        let blocked =
            unsafe { (&raw const (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<u64>().read() };
        if blocked & faults == 0 {
            return Self { before: None };
        }
        let mut before = 0_u64;
        // SAFETY: the kernel reads one set and writes one.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_UNBLOCK,
                &raw const faults,
                &raw mut before,
                Self::SIZE,
            );
        }
        Self { before: Some(before) }
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let none = core::ptr::null_mut::<u64>();
            // SAFETY: the kernel reads one set.
            unsafe {
                libc::syscall(
                    libc::SYS_rt_sigprocmask,
                    libc::SIG_SETMASK,
                    &raw const before,
                    none,
                    Self::SIZE,
                );
            }
        }
    }
}
