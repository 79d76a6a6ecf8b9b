//! The guard: after a fault during a stack walk it ends the walk, where the fault would have ended
//! the JVM.
//!
//! AsyncGetCallTrace guesses frames from the words of an interrupted stack, and a wrong guess can
//! make it read unmapped memory. So each thread has a guard slot. During a walk the slot has the
//! stack pointer to unwind to. The guard's handler of SIGSEGV and SIGBUS runs before the JVM's. If
//! the slot is set, the handler lets the thread continue after the walk. Every other fault goes to
//! the previous handler unchanged, because the JVM depends on its own faults. The same holds for a
//! load by the JVM's SafeFetch, which faults on purpose.
//!
//! A fault abandons the walk at any instruction, with all that it holds. AsyncGetCallTrace holds no
//! lock. The guard must never end anything but a walk: code that holds a lock of the JVM, such as
//! GetStackTrace, cannot be abandoned.
//!
//! # Invariants
//!
//! **Invariant 14.** A walk that faults ends the walk, and nothing else does: not the fault of any
//! other code, whatever holds a lock of the JVM's. Held by: `java-tests/guard` (20,000 walks that
//! fault on each JDK) and its `RealCrash` (the JVM's own report is the same).

use core::ffi::c_void;
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use vouch_sample::{Answer, Reason};

use crate::context;
use crate::kernel::{Errno, own_tid};
use crate::walker::{Room, Subject, Walker};

/// The signals that report a fault. [`PREVIOUS`] has the same order.
pub const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// A signal handler that was installed with SA_SIGINFO.
pub type Handler = unsafe extern "C" fn(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void);

/// The addresses of the signal handlers that were installed before the guard's, for each of
/// [`FAULTS`]. They are 0 until the guard is installed.
static PREVIOUS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// A function that finds the guard slot ([`Subject::walking`]) of a thread by its id. It runs in
/// the handler of a fault.
pub type FindSlot = fn(tid: u32) -> Option<&'static AtomicUsize>;

/// The address of the [`FindSlot`] function. It is 0 until one is set.
static FIND_SLOT: AtomicUsize = AtomicUsize::new(0);

/// Sets the function by which the guard finds the slots of threads. This must happen before
/// [`on_fault`] is installed.
///
/// # Safety
/// The function must do only what a signal handler may do. It must return the slot with which the
/// thread walks.
pub unsafe fn set_slot_finder(find_slot: FindSlot) {
    FIND_SLOT.store(find_slot as usize, Ordering::Release);
}

/// Returns the guard slot of the calling thread.
fn own_slot() -> Option<&'static AtomicUsize> {
    let find_slot = FIND_SLOT.load(Ordering::Acquire);
    if find_slot == 0 {
        return None;
    }
    // SAFETY: only `set_slot_finder` stores a value, which is such a function. 0 was excluded
    // above.
    let find_slot = unsafe { transmute::<usize, FindSlot>(find_slot) };
    find_slot(own_tid())
}

/// Sets the handler that was installed before the guard's for one of [`FAULTS`], by its index. It
/// gets all faults outside of walks. It must be set before [`on_fault`] is installed.
pub fn chain_to(fault: usize, handler: Handler) {
    if let Some(before) = PREVIOUS.get(fault) {
        before.store(handler as usize, Ordering::Release);
    }
}

// An answer fits into a register and is stored at once, so an abandoned walk never stores half of
// one.
const _: () = assert!(size_of::<Answer>() <= size_of::<usize>());

/// Calls a walker under the guard. The result is the walker's answer, or [`Reason::CRASHED`] after
/// a fault.
///
/// # Safety
/// The subject must be the calling thread: its JNIEnv, context and slot. The buffer must be as
/// large as `room` says.
pub unsafe fn walk<W: Walker + ?Sized>(walker: &W, subject: &Subject<'_>, room: Room) -> Answer {
    let mut answer = Err(Reason::CRASHED);
    // SAFETY: the caller promised the same. A walker may be abandoned at any instruction, and then
    // `answer` still has its first value.
    unsafe { run(subject, || answer = walker.walk(subject, room)) };
    answer
}

/// Runs a closure under the guard, which ends the closure at a fault.
///
/// # Safety
/// The subject must be the calling thread: its JNIEnv, context and slot. The closure may be
/// abandoned at any instruction, so it must hold nothing that has to be dropped.
pub unsafe fn run<F: FnMut()>(subject: &Subject<'_>, mut body: F) {
    let slot = subject.walking;
    // A foreign longjmp may have abandoned an earlier walk without clearing the slot. The frame of
    // such a walk was below this one.
    if slot.load(Ordering::Relaxed) < (&raw const slot) as usize {
        slot.store(0, Ordering::Relaxed);
    }
    // SAFETY: the caller promised that the context is the calling thread's ucontext.
    let _faults = unsafe { Unblocked::new(subject.context) };
    // SAFETY: the caller promised that the slot is this thread's, and that `body` may be abandoned.
    unsafe { guarded_by(slot, &mut body) };
}

/// Copies words of this process's memory. The result is false if some of that memory is unmapped,
/// and then some words may have been copied. A copy takes a hundredth of the time of
/// [`crate::kernel::peek`].
///
/// # Safety
/// The slot must be the one that the function of [`set_slot_finder`] returns for the calling
/// thread. [`on_fault`] must be the first handler of faults.
pub unsafe fn copy(slot: &AtomicUsize, from: usize, into: &mut [usize]) -> bool {
    let mut done = false;
    let mut words = || {
        for (index, word) in into.iter_mut().enumerate() {
            let address = from.wrapping_add(index.wrapping_mul(size_of::<usize>()));
            // SAFETY: the guard ends the copy if the address is unmapped. Other threads may write
            // the memory meanwhile, so the read is volatile.
            *word = unsafe { (address as *const usize).read_volatile() };
        }
        done = true;
    };
    // SAFETY: the caller promised the slot and the handler. The closure holds nothing that has to
    // be dropped, and `done` is still false if it is abandoned.
    unsafe { guarded_by(slot, &mut words) };
    done
}

/// Calls a closure under the guard with this slot. A fault ends the closure.
///
/// # Safety
/// As for [`copy`]. The closure may be abandoned at any instruction.
unsafe fn guarded_by<F: FnMut()>(slot: &AtomicUsize, body: &mut F) {
    // SAFETY: the slot outlives this call. `call_closure` gets a pointer to a closure of the type
    // that it expects.
    unsafe { context::guarded(slot, call_closure::<F>, core::ptr::from_mut(body).cast()) };
}

/// Calls the closure at the address `body`, as the C function that the guard needs.
///
/// # Safety
/// `body` must point to a closure of type `F`.
unsafe extern "C" fn call_closure<F: FnMut()>(body: *mut c_void) {
    // SAFETY: the caller promised a pointer to an `F`.
    unsafe { (*body.cast::<F>())() };
}

/// The guard's handler of SIGSEGV and SIGBUS, for `sigaction` with SA_SIGINFO.
///
/// # Safety
/// To be called by the kernel, as a signal handler, or by a handler that passes on what it was
/// called with.
pub unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passed `info` and `context`.
    if unsafe { ends_walk(info, context) } {
        return;
    }
    let fault = usize::from(signal == libc::SIGBUS);
    let before = PREVIOUS.get(fault).map_or(0, |before| before.load(Ordering::Acquire));
    if before != 0 {
        // SAFETY: only `chain_to` stores a value, which is a handler. The arguments are the
        // kernel's.
        unsafe { transmute::<usize, Handler>(before)(signal, info, context) };
    }
}

/// Ends the walk if the fault happened in a walk, and returns true then.
///
/// # Safety
/// As for [`on_fault`].
unsafe fn ends_walk(info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    let _errno = Errno::save();
    // SAFETY: the kernel passed a valid `info`.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // A signal that a process or thread sent is not a fault.
    if code <= 0 {
        return false;
    }
    let Some(slot) = own_slot() else { return false };
    let sp = slot.load(Ordering::Relaxed);
    // SAFETY: the kernel passed the context of the instruction that faulted at `address`.
    if sp == 0 || unsafe { !context::is_below(context, sp) || context::is_safe_fetch(context, address) } {
        return false;
    }
    // SAFETY: this thread is inside of `guarded`, which stored `sp` in its slot.
    unsafe { context::unwind_to(context, sp) };
    true
}

/// Unblocks SIGSEGV and SIGBUS, and restores the signal mask when it is dropped. The kernel ends a
/// process that faults while the signal of the fault is blocked.
struct Unblocked {
    /// The signal mask to restore, or `None` if the mask was not changed.
    before: Option<u64>,
}

impl Unblocked {
    const SIZE: usize = size_of::<u64>();

    /// Unblocks SIGSEGV and SIGBUS if the interrupted thread has blocked them.
    ///
    /// # Safety
    /// `context` must be the ucontext of the calling thread.
    unsafe fn new(context: *mut c_void) -> Self {
        let faults = FAULTS.iter().fold(0_u64, |set, signal| set | 1 << (signal - 1));
        // SAFETY: the caller promised a ucontext. The kernel's signal set is the first word of the
        // C library's.
        let blocked =
            unsafe { (&raw const (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<u64>().read() };
        if blocked & faults == 0 {
            return Self { before: None };
        }
        let mut before = 0_u64;
        // SAFETY: the kernel reads one signal set of this size and writes one.
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
            // SAFETY: the kernel reads one signal set of this size.
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::zeroed;
    use core::ptr::null_mut;
    use core::sync::atomic::AtomicU32;

    static SLOT: AtomicUsize = AtomicUsize::new(0);
    static TID: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn a_copy_of_unmapped_memory_fails_and_the_process_goes_on() {
        TID.store(own_tid(), Ordering::Relaxed);
        let copied = |from: usize, into: &mut [usize]| {
            // SAFETY: only this thread uses the slot. The handler is installed below, before the
            // first call.
            unsafe { copy(&SLOT, from, into) }
        };
        // SAFETY: the slot finder only compares and loads statics. The kernel calls the handler
        // with the arguments of SA_SIGINFO.
        unsafe {
            set_slot_finder(|tid| (tid == TID.load(Ordering::Relaxed)).then_some(&SLOT));
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()), 0);
        }
        let (words, mut into) = ([7, 8, 9], [0; 3]);
        for _ in 0..3 {
            assert!(!copied(0x1000, &mut into), "no memory is mapped in the first pages");
            assert!(copied((&raw const words).addr(), &mut into));
            assert_eq!((into, SLOT.load(Ordering::Relaxed)), (words, 0));
            into = [0; 3];
        }
    }
}
