//! The guard: a walk that faults ends the walk, and not the JVM.
//!
//! AsyncGetCallTrace takes words of an interrupted stack for frames, and where it is wrong it reads
//! what is no memory. While it walks, its thread's place says how far the stack is to be unwound; a
//! handler of SIGSEGV and SIGBUS in front of the JVM's sees that and lets the thread go on behind
//! the walk. Every other fault goes on to the handler that was there before, untouched: the JVM
//! lives by its own. So do the faults that the walk expects, which the JVM's SafeFetch makes to try
//! an address.
//!
//! What the walk held is lost with it; AsyncGetCallTrace holds no lock. It must never end anything
//! but a walk: code that holds a lock of the JVM's, as GetStackTrace does, cannot be left halfway.
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

/// The signals of a fault, in the order of [`BEFORE`].
pub const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// How a handler with SA_SIGINFO is called.
pub type Handler = unsafe extern "C" fn(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void);

/// The handlers that were there before; 0 until the guard is installed.
static BEFORE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Finds the place of a thread, by its id: that of [`Subject::walking`]. It runs in the handler of
/// a fault.
pub type PlaceOf = fn(tid: u32) -> Option<&'static AtomicUsize>;

/// The function that does, as an address; 0 until there is one.
static PLACE_OF: AtomicUsize = AtomicUsize::new(0);

/// Whom the guard asks for the places of those who walk. To be called before [`on_fault`] is
/// installed.
///
/// # Safety
/// It must do nothing that a handler of a signal may not, and give each thread the place that it
/// walks with, and no other.
pub unsafe fn watch(place_of: PlaceOf) {
    PLACE_OF.store(place_of as usize, Ordering::Release);
}

/// The place of the calling thread.
fn own_place() -> Option<&'static AtomicUsize> {
    let place_of = PLACE_OF.load(Ordering::Acquire);
    if place_of == 0 {
        return None;
    }
    // SAFETY: `watch` alone puts something there: such a function, or 0.
    let place_of = unsafe { transmute::<usize, PlaceOf>(place_of) };
    place_of(own_tid())
}

/// Whom a fault goes on to that no walk made: one handler for each of [`FAULTS`], before
/// [`on_fault`] is installed for it.
pub fn go_on_to(fault: usize, handler: Handler) {
    if let Some(before) = BEFORE.get(fault) {
        before.store(handler as usize, Ordering::Release);
    }
}

// An answer comes back in a register and is stored at once: of a walk that is left halfway nothing
// is.
const _: () = assert!(size_of::<Answer>() <= size_of::<usize>());

/// Has the walker walk: its answer, or [`Reason::CRASHED`].
///
/// # Safety
/// As for [`run`], and the room must be as large as it says.
pub unsafe fn walk<W: Walker + ?Sized>(walker: &W, subject: &Subject<'_>, room: Room) -> Answer {
    let mut answer = Err(Reason::CRASHED);
    // SAFETY: by the caller's promise; and when the walk crashed the answer is what it was before.
    unsafe { run(subject, || answer = walker.walk(subject, room)) };
    answer
}

/// Does something of a walk's kind, that a fault ends.
///
/// # Safety
/// The subject must be the calling thread: JNIEnv, context and place must be its own. What is done
/// may be left anywhere: it must hold nothing that would have to be dropped then.
pub(crate) unsafe fn run<F: FnMut()>(subject: &Subject<'_>, mut done: F) {
    let place = subject.walking;
    // A walk that was left by a jump of somebody else's has left its mark, too: its frame was below
    // this one.
    if place.load(Ordering::Relaxed) < (&raw const place) as usize {
        place.store(0, Ordering::Relaxed);
    }
    // SAFETY: the context is the calling thread's ucontext, by the caller's promise.
    let _faults = unsafe { Unblocked::of(subject.context) };
    // SAFETY: by the caller's promise.
    unsafe { guarded_by(place, &mut done) };
}

/// Copies words of this process's memory, which may be unmapped; false if any of it is. Some words
/// may have been copied by then. It takes a hundredth of the time of [`crate::kernel::peek`].
///
/// # Safety
/// The place must be the one that [`watch`]'s function returns for the calling thread, and
/// [`on_fault`] must be the first handler of faults.
pub unsafe fn copy(place: &AtomicUsize, from: usize, into: &mut [usize]) -> bool {
    let mut done = false;
    let mut words = || {
        for (index, word) in into.iter_mut().enumerate() {
            let address = from.wrapping_add(index.wrapping_mul(size_of::<usize>()));
            // SAFETY: where there is no memory the guard ends the copy; others may write it at any
            // time, which a volatile read allows.
            *word = unsafe { (address as *const usize).read_volatile() };
        }
        done = true;
    };
    // SAFETY: by the caller's promise; nothing has to be dropped of what is left, and `done` is
    // then still false.
    unsafe { guarded_by(place, &mut words) };
    done
}

/// Calls a function that a fault ends.
///
/// # Safety
/// As for [`copy`]; and the function may be left anywhere.
unsafe fn guarded_by<F: FnMut()>(place: &AtomicUsize, done: &mut F) {
    // SAFETY: the place lives longer than this call, which the function gets as it wants it.
    unsafe { context::guarded(place, called::<F>, core::ptr::from_mut(done).cast()) };
}

/// What is done inside of the guard.
unsafe extern "C" fn called<F: FnMut()>(done: *mut c_void) {
    // SAFETY: `run` passes its own.
    unsafe { (*done.cast::<F>())() };
}

/// The handler of SIGSEGV and SIGBUS, for `sigaction` with SA_SIGINFO.
///
/// # Safety
/// To be called by the kernel, as a signal handler, or by a handler that passes on what it was
/// called with.
pub unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `info` and `context` are the kernel's.
    if unsafe { ends_walk(info, context) } {
        return;
    }
    let fault = usize::from(signal == libc::SIGBUS);
    let before = BEFORE.get(fault).map_or(0, |before| before.load(Ordering::Acquire));
    if before != 0 {
        // SAFETY: `go_on_to` put a handler there, which is called as the kernel would have called
        // it.
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
    let Some(place) = own_place() else { return false };
    let sp = place.load(Ordering::Relaxed);
    // SAFETY: `context` is that of the instruction that faulted at `address`.
    if sp == 0 || unsafe { !context::is_below(context, sp) || context::is_safe_fetch(context, address) } {
        return false;
    }
    // SAFETY: this thread is inside of `guarded`, which left `sp` in its place.
    unsafe { context::leave(context, sp) };
    true
}

/// Lets the faults of a thread through that has them blocked: blocked ones the kernel answers with
/// the process's end.
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::zeroed;
    use core::ptr::null_mut;
    use core::sync::atomic::AtomicU32;

    static PLACE: AtomicUsize = AtomicUsize::new(0);
    static TID: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn a_copy_of_memory_that_is_not_there_ends_and_nothing_else_does() {
        TID.store(own_tid(), Ordering::Relaxed);
        let copied = |from: usize, into: &mut [usize]| {
            // SAFETY: the place is this thread's alone, and the handler is installed below.
            unsafe { copy(&PLACE, from, into) }
        };
        // SAFETY: it only compares and looks at statics; the handler is called by the kernel, with
        // what it asks for.
        unsafe {
            watch(|tid| (tid == TID.load(Ordering::Relaxed)).then_some(&PLACE));
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()), 0);
        }
        let (words, mut into) = ([7, 8, 9], [0; 3]);
        for _ in 0..3 {
            assert!(!copied(0x1000, &mut into), "the first pages are nobody's");
            assert!(copied((&raw const words).addr(), &mut into));
            assert_eq!((into, PLACE.load(Ordering::Relaxed)), (words, 0));
            into = [0; 3];
        }
    }
}
