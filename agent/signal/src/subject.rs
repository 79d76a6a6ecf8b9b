//! The thread that a signal has interrupted, as a walker is given it.
//!
//! It must never be given one that has no room for a walk, or no JNIEnv of its own.

use core::cell::Cell;
use core::ffi::c_void;

use vouch_sample::Reason;
use vouch_walk::walker::{StackInfo, Subject};

use crate::slots::Slot;

/// The interrupted thread, to be walked; or why it cannot be.
///
/// # Safety
/// The context must be the one that the kernel has given to the calling handler.
pub unsafe fn subject<'t>(
    slot: Option<&'t Slot>,
    context: *mut c_void,
    told: &'t Cell<StackInfo>,
) -> Result<Subject<'t>, Reason> {
    let slot_and_env = slot.map(|slot| (slot, slot.env())).filter(|(_, env)| !env.is_null());
    let (slot, env) = slot_and_env.ok_or(Reason::NO_JAVA_THREAD)?;
    // SAFETY: the same is demanded.
    if unsafe { is_narrow(context) } {
        return Err(Reason::NO_ROOM);
    }
    Ok(Subject::interrupted(env, context, told, slot.walking()))
}

/// True if the handler runs on an alternate stack, which is too small for a walk.
///
/// # Safety
/// As for [`subject`].
unsafe fn is_narrow(context: *mut c_void) -> bool {
    /// Go's have so much.
    const ROOM: usize = 32 << 10;
    // SAFETY: it is one of the kernel's, which says what alternate stack the thread has, if any.
    let libc::stack_t { ss_sp, ss_size, .. } = unsafe { (*context.cast::<libc::ucontext_t>()).uc_stack };
    let here = (&raw const ss_size).addr();
    ss_size < ROOM && here.wrapping_sub(ss_sp.addr()) < ss_size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_alternate_stack_has_no_room_for_a_walk() {
        let narrow = |begin: usize, size: usize| {
            // SAFETY: all zero is a valid context.
            let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
            context.uc_stack.ss_sp = core::ptr::without_provenance_mut(begin);
            context.uc_stack.ss_size = size;
            // SAFETY: it has all that is asked for.
            unsafe { is_narrow((&raw mut context).cast()) }
        };
        let local = 0_u8;
        let here = (&raw const local).addr();
        assert!(narrow(here - (6 << 10), 8 << 10), "this very stack");
        assert!(!narrow(here - (30 << 10), 32 << 10), "a larger one");
        assert!(!narrow(here + (64 << 10), 8 << 10), "another one, which the thread has and is not on");
        assert!(!narrow(0, 0), "none");
    }
}
