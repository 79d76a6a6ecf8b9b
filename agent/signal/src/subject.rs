//! Decides whether an interrupted thread can be walked, and makes the subject of that walk.
//!
//! A thread without its own JNIEnv, or with too little stack for a walk, must never be walked.

use core::cell::Cell;
use core::ffi::c_void;

use vouch_sample::Reason;
use vouch_unwind::walker::{StackInfo, Subject};

use crate::slots::Slot;

/// Returns the subject for a walk of the interrupted thread, or the reason why it cannot be walked.
///
/// # Safety
/// The context must be the one that the kernel passed to the calling handler.
pub unsafe fn subject<'t>(
    slot: Option<&'t Slot>,
    context: *mut c_void,
    info: &'t Cell<StackInfo>,
) -> Result<Subject<'t>, Reason> {
    let slot_and_env = slot.map(|slot| (slot, slot.env())).filter(|(_, env)| !env.is_null());
    let (slot, env) = slot_and_env.ok_or(Reason::NO_JAVA_THREAD)?;
    // SAFETY: the caller promised that this is the handler's own context.
    if unsafe { is_on_small_stack(context) } {
        return Err(Reason::NO_ROOM);
    }
    Ok(Subject::interrupted(env, context, info, slot.walking()))
}

/// True if the handler runs on an alternate signal stack that is too small for a walk.
///
/// # Safety
/// The context must be the one that the kernel passed to the calling handler.
pub unsafe fn is_on_small_stack(context: *mut c_void) -> bool {
    /// The size of the alternate stacks of the Go runtime, in bytes.
    const MIN_SIZE: usize = 32 << 10;
    // SAFETY: the caller promised a context of the kernel, which describes the thread's alternate
    // stack.
    let libc::stack_t { ss_sp, ss_size, .. } = unsafe { (*context.cast::<libc::ucontext_t>()).uc_stack };
    let here = (&raw const ss_size).addr();
    ss_size < MIN_SIZE && here.wrapping_sub(ss_sp.addr()) < ss_size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_alternate_stack_allows_no_walk() {
        let is_small = |begin: usize, size: usize| {
            // SAFETY: all zero is a valid context.
            let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
            context.uc_stack.ss_sp = core::ptr::without_provenance_mut(begin);
            context.uc_stack.ss_size = size;
            // SAFETY: `is_narrow` reads only `uc_stack`, which is set above.
            unsafe { is_on_small_stack((&raw mut context).cast()) }
        };
        let local = 0_u8;
        let here = (&raw const local).addr();
        assert!(is_small(here - (6 << 10), 8 << 10), "this very stack");
        assert!(!is_small(here - (30 << 10), 32 << 10), "a larger one");
        assert!(!is_small(here + (64 << 10), 8 << 10), "another one, which the thread has and is not on");
        assert!(!is_small(0, 0), "none");
    }
}
