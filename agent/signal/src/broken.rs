//! A walker that is broken on purpose, to show that each kind of difference is recognised as itself.
//!
//! It lets the true walker walk and then spoils what it wrote; or it faults, in its own code or, on a damaged context, in
//! the true walker's. It runs where the walker runs, so it keeps to the same rules. It must never be used unless a test
//! asked for it.

use core::ffi::c_void;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::context;
use crate::walker::{AsyncGetCallTrace, CallTrace, Frame, NATIVE};

/// A way to be broken. The names are those of the differences that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Break {
    Truncated = 1,
    Gap,
    Extra,
    WrongMethod,
    WrongBci,
    NullMethod,
    Nativeness,
    Unwalked,
    /// It faults, in four ways by turns.
    Crashed,
    /// The true walker gets a context that no thread ever had.
    Damaged,
}

/// Every way, by its name.
pub const WAYS: [(&str, Break); 10] = [
    ("truncated", Break::Truncated),
    ("gap", Break::Gap),
    ("extra", Break::Extra),
    ("wrong_method", Break::WrongMethod),
    ("wrong_bci", Break::WrongBci),
    ("null_method", Break::NullMethod),
    ("nativeness", Break::Nativeness),
    ("unwalked", Break::Unwalked),
    ("crashed", Break::Crashed),
    ("damaged", Break::Damaged),
];

static TRUE_WALKER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static HOW: AtomicU32 = AtomicU32::new(0);
static EVERY: AtomicU32 = AtomicU32::new(1);
static WALKS: AtomicU32 = AtomicU32::new(0);
static PAST_END: AtomicUsize = AtomicUsize::new(0);

/// From here on the walker that is given back breaks one of so many walks in this way. If it breaks all, it does so in
/// the middle; else anywhere but at the leaf. `past_end` is an address behind the end of a mapped file: SIGBUS.
pub fn broken(walker: AsyncGetCallTrace, how: Break, every: u32, past_end: usize) -> AsyncGetCallTrace {
    PAST_END.store(past_end, Ordering::Release);
    TRUE_WALKER.store(walker as *mut c_void, Ordering::Release);
    HOW.store(how as u32, Ordering::Release);
    EVERY.store(every.max(1), Ordering::Release);
    walk
}

/// The walker that spoils. The code of a failed walk is left as it is.
unsafe extern "C" fn walk(trace: *mut CallTrace, depth: i32, context: *mut c_void) {
    let walker = TRUE_WALKER.load(Ordering::Acquire);
    // SAFETY: only `broken` hands this function out, and it put a walker there before.
    let walker = unsafe { transmute::<*mut c_void, AsyncGetCallTrace>(walker) };
    let (how, every) = (HOW.load(Ordering::Acquire), EVERY.load(Ordering::Acquire));
    if how == Break::Crashed as u32 || how == Break::Damaged as u32 {
        let turn = turn(every).map(|number| number.checked_div(every).unwrap_or(0));
        // SAFETY: the arguments are our own caller's.
        unsafe { crash(how, turn, walker, trace, depth, context) };
        return;
    }
    // SAFETY: the arguments are our own caller's.
    unsafe { walker(trace, depth, context) };
    // SAFETY: the caller's trace is its own, and the walker wrote `count` frames into it.
    let (count, frames) = unsafe { (&mut (*trace).count, (*trace).frames) };
    let Ok(length) = usize::try_from(*count) else { return };
    // SAFETY: as above.
    let frames = unsafe { core::slice::from_raw_parts_mut(frames, length) };
    let Some(number) = turn(every) else { return };
    let place = if every == 1 { length / 2 } else { anywhere(number, length) };
    *count = spoil(frames, how, usize::try_from(depth).unwrap_or(0), place);
}

/// The number of this walk, if it is one of those to be broken.
fn turn(every: u32) -> Option<u32> {
    let number = WALKS.fetch_add(1, Ordering::Relaxed);
    (number.checked_rem(every) == Some(0)).then_some(number)
}

/// Faults, or lets the walker fault, for the so manieth time; or walks, if it is not its turn.
///
/// # Safety
/// As for the walker.
unsafe fn crash(
    how: u32,
    turn: Option<u32>,
    walker: AsyncGetCallTrace,
    trace: *mut CallTrace,
    depth: i32,
    context: *mut c_void,
) {
    match turn {
        Some(turn) if how == Break::Crashed as u32 => context::fault(turn, PAST_END.load(Ordering::Acquire)),
        // SAFETY: the kernel's context is a ucontext, by the caller's promise; the copy is nobody's to return to.
        Some(turn) => unsafe {
            let mut copy = context.cast::<libc::ucontext_t>().read();
            context::damage((&raw mut copy).cast(), mixed(turn));
            walker(trace, depth, (&raw mut copy).cast());
        },
        // SAFETY: by the caller's promise.
        None => unsafe { walker(trace, depth, context) },
    }
}

/// A number without a pattern: a step of a linear congruential generator is good enough.
fn mixed(number: u32) -> u64 {
    let mixed =
        u64::from(number).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    mixed ^ mixed >> 29
}

/// A frame other than the leaf, if there is one: another one for each walk.
fn anywhere(number: u32, length: usize) -> usize {
    usize::try_from(mixed(number) >> 33)
        .unwrap_or(0)
        .checked_rem(length.saturating_sub(1))
        .map_or(0, |place| place + 1)
}

/// Spoils one frame of a walk, or its root; gives its new count.
fn spoil(frames: &mut [Frame], how: u32, depth: usize, middle: usize) -> i32 {
    let length = frames.len();
    let all = i32::try_from(length).unwrap_or(i32::MAX);
    match how {
        how if how == Break::Truncated as u32 => all - i32::from(length > 1),
        how if how == Break::Gap as u32 => {
            for at in middle + 1..length {
                if let Some(next) = frames.get(at).copied()
                    && let Some(frame) = frames.get_mut(at - 1)
                {
                    *frame = next;
                }
            }
            all - i32::from(length > 1)
        }
        how if how == Break::Extra as u32 => {
            // The root twice, where the caller's array has room for it. Every id must be one that the JVM knows.
            let Some(root) = frames.last().copied().filter(|_| length < depth) else { return all };
            // SAFETY: the caller's array has room for `depth` frames.
            unsafe { frames.as_mut_ptr().add(length).write(root) };
            all + 1
        }
        how if how == Break::Unwalked as u32 => -5,
        how => {
            let leaf = frames.first().map_or(0, |leaf| leaf.method);
            if let Some(frame) = frames.get_mut(middle) {
                spoil_frame(frame, leaf, how);
            }
            all
        }
    }
}

fn spoil_frame(frame: &mut Frame, leaf: usize, how: u32) {
    match how {
        how if how == Break::WrongMethod as u32 => frame.method = leaf,
        how if how == Break::NullMethod as u32 => frame.method = 0,
        how if how == Break::WrongBci as u32 => frame.bci = if frame.bci == 1 { 2 } else { 1 },
        how if how == Break::Nativeness as u32 => frame.bci = if frame.bci == NATIVE { 0 } else { NATIVE },
        _ => {}
    }
}
