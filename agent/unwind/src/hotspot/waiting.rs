//! Walks another thread, which waits, from its last Java frame.
//!
//! The memory may change at any time, as for each walk: the thread may begin to run. So the caller
//! must check afterwards that the thread has not run, and must drop the stack if it has.

use vouch_sample::{Cut, Reason};

use super::HotspotWalker;
use super::frames::Frames;
use super::walk::{Interrupted, walk};
use crate::context::{InterpreterRegisters, Registers};
use crate::memory::Memory;
use crate::walker::{RawFrame, Room};

/// The stack of a thread that waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingStack {
    /// The number of frames that were written to the buffer.
    pub count: u32,
    /// Where frames are missing because the buffer was too small.
    pub cut: Option<Cut>,
    /// True if the thread waits to enter a monitor.
    pub is_entering_monitor: bool,
}

impl HotspotWalker {
    /// Walks the thread with this JavaThread from its last Java frame. It must not be the calling
    /// thread, and must not end meanwhile.
    pub fn walk_waiting(
        &self,
        memory: &impl Memory,
        java_thread: usize,
        buffer: &mut [RawFrame],
    ) -> Result<WaitingStack, Reason> {
        if self.is_stopped() {
            return Err(Reason::STOPPED);
        }
        let Self { layout, .. } = self;
        let field = |offset: usize| memory.word(java_thread.wrapping_add(offset));
        let state = memory.int(java_thread.wrapping_add(layout.state)).ok_or(Reason::UNKNOWN_STATE)?;
        // A thread in Java has no last Java frame. It waits for a processor, and only a signal
        // could find its stack.
        if state == layout.in_java {
            return Err(Reason::UNKNOWN_JAVA);
        }
        let sp = field(layout.jvm.last_sp).ok_or(Reason::UNKNOWN_STATE)?;
        if sp == 0 {
            return Err(Reason::NO_JAVA_FRAME);
        }
        let fp = field(layout.jvm.last_fp).unwrap_or(0);
        let at = Registers { pc: 0, sp, fp };
        let interrupted = Interrupted { at, interpreting: InterpreterRegisters::default(), is_caller: false };
        // The buffer's last frame shows that a stack is deeper.
        let depth = i32::try_from(buffer.len().saturating_sub(1)).unwrap_or(i32::MAX);
        let room = Room { frames: buffer.as_mut_ptr(), depth };
        // SAFETY: the buffer is borrowed exclusively, and is longer than `depth`.
        let mut frames = unsafe { Frames::new(room) };
        let env = java_thread.wrapping_add(layout.jvm.env);
        walk(memory, self.layouts(), env, interrupted, &mut frames)?;
        let (count, info) = frames.finish();
        let pending = layout.pending_monitor.and_then(field);
        Ok(WaitingStack {
            count,
            cut: info.cut,
            is_entering_monitor: pending.is_some_and(|monitor| monitor != 0),
        })
    }
}
