//! A walker that is broken on purpose, to show that each kind of difference is recognised as itself.
//!
//! It lets the true walker walk and then spoils what it wrote. It runs where the walker runs, so it keeps to the same
//! rules. It must never be used unless a test asked for it.

use core::ffi::c_void;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

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
}

/// Every way, by its name.
pub const WAYS: [(&str, Break); 8] = [
    ("truncated", Break::Truncated),
    ("gap", Break::Gap),
    ("extra", Break::Extra),
    ("wrong_method", Break::WrongMethod),
    ("wrong_bci", Break::WrongBci),
    ("null_method", Break::NullMethod),
    ("nativeness", Break::Nativeness),
    ("unwalked", Break::Unwalked),
];

static TRUE_WALKER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static HOW: AtomicU32 = AtomicU32::new(0);

/// From here on the walker that is given back is broken in this way.
pub fn broken(walker: AsyncGetCallTrace, how: Break) -> AsyncGetCallTrace {
    TRUE_WALKER.store(walker as *mut c_void, Ordering::Release);
    HOW.store(how as u32, Ordering::Release);
    walk
}

/// The walker that spoils. The code of a failed walk is left as it is.
unsafe extern "C" fn walk(trace: *mut CallTrace, depth: i32, context: *mut c_void) {
    let walker = TRUE_WALKER.load(Ordering::Acquire);
    // SAFETY: only `broken` hands this function out, and it put a walker there before.
    let walker = unsafe { transmute::<*mut c_void, AsyncGetCallTrace>(walker) };
    // SAFETY: the arguments are our own caller's.
    unsafe { walker(trace, depth, context) };
    // SAFETY: the caller's trace is its own, and the walker wrote `count` frames into it.
    let (count, frames) = unsafe { (&mut (*trace).count, (*trace).frames) };
    let Ok(length) = usize::try_from(*count) else { return };
    // SAFETY: as above.
    let frames = unsafe { core::slice::from_raw_parts_mut(frames, length) };
    *count = spoil(frames, HOW.load(Ordering::Acquire), usize::try_from(depth).unwrap_or(0));
}

/// Spoils the middle frame of a walk, or its root; gives its new count.
fn spoil(frames: &mut [Frame], how: u32, depth: usize) -> i32 {
    let length = frames.len();
    let all = i32::try_from(length).unwrap_or(i32::MAX);
    let middle = length / 2;
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
            all - i32::from(middle + 1 < length)
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
