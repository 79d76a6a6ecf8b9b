//! Walks a thread's stack from one frame to its caller, up to the thread's first frame.
//!
//! A walk terminates because each caller is further out on the thread's stack, or in the same
//! chunk, and the number of chunks is limited.

mod callers;
mod chunks;
mod state;

use core::cell::Cell;

use vouch_sample::Reason;

use super::call_site_cache::CallSiteCache;
use super::continuation::{ContinuationLayout, Lookup};
use super::frame_state::FrameState;
use super::frames::Frames;
use super::layout::Layout;
use super::stack::Stack;
use crate::context::{InterpreterRegisters, Registers as Position};
use crate::memory::Memory;
use crate::walker::OwnFrames;
use callers::{LastJavaFrame, NextFrame};
use state::Walk;

/// The maximal number of frames without a method that follow each other.
const MAX_STUBS: usize = 64;

/// The registers at which a walk begins, and what they belong to.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    pub at: Position,
    /// The interpreter's registers. They are valid if the thread was interpreting.
    pub interpreting: InterpreterRegisters,
    /// True if the registers are a caller's instead of the interrupted frame's. The pc is then
    /// inside the call instruction.
    pub is_caller: bool,
}

/// The offsets of the JVM's fields that a walk needs.
#[derive(Debug, Clone, Copy)]
pub struct Layouts<'l> {
    pub layout: &'l Layout,
    /// The layout of virtual threads' frames. It is `None` until a virtual thread may exist.
    pub continuations: Option<&'l ContinuationLayout>,
}

/// Walks the stack of the thread with this JNIEnv.
pub fn walk<M: Memory>(
    memory: &M,
    layouts: Layouts<'_>,
    env: usize,
    interrupted: Interrupted,
    frames: &mut Frames<'_>,
) -> Result<(), Reason> {
    let layout = layouts.layout;
    let thread = env.wrapping_sub(layout.jvm.env);
    let Interrupted { at, interpreting, is_caller } = interrupted;
    let field = |offset: usize| memory.word(thread.wrapping_add(offset));
    let jvm = &layout.jvm;
    let (base, size) = (field(jvm.stack_base), field(jvm.stack_size));
    let (Some(base), Some(size)) = (base, size) else { return Err(Reason::UNKNOWN_STATE) };
    // The memory below the stack pointer has no frames.
    if at.sp >= base || at.sp < base.saturating_sub(size) {
        return Err(Reason::UNKNOWN_JAVA);
    }
    let in_java = memory.int(thread.wrapping_add(layout.state)) == Some(layout.in_java);
    let walk = Walk {
        memory,
        layout,
        continuations: layouts.continuations,
        thread,
        in_java,
        stack: Stack::new(memory, at.sp..base),
        interpreting,
        whole: Cell::new(false),
        call_sites: CallSiteCache::default(),
        epoch: Cell::new(None),
        yielding: Cell::new(None),
        chunks_entered: Cell::new(0),
    };
    let (last_pc, last_fp) = (field(jvm.last_pc), field(jvm.last_fp));
    let last_java_frame = match walk.last_java_frame(field(jvm.last_sp), last_pc, last_fp) {
        LastJavaFrame::None if in_java && !is_caller => {
            walk.last_java_frame_of_deopt(last_pc, last_fp).map_or(LastJavaFrame::None, LastJavaFrame::At)
        }
        anchor => anchor,
    };
    let (mut here, mut state) = match last_java_frame {
        LastJavaFrame::At(position) => (position, FrameState::LastJavaFrame),
        LastJavaFrame::NoPc => return Err(Reason::UNKNOWN_JAVA),
        LastJavaFrame::None if is_caller => {
            (Position { pc: at.pc.wrapping_add(1), ..at }, FrameState::UnverifiedCaller)
        }
        LastJavaFrame::None if in_java => (at, FrameState::Interrupted),
        LastJavaFrame::None => return Err(Reason::NO_JAVA_FRAME),
    };
    // The thread is in the return barrier's code. The youngest frame on the stack has returned to
    // it.
    if state != FrameState::LastJavaFrame && walk.continues_in_chunk(here) {
        let Some(Lookup::Found(youngest)) = walk.enter_next_chunk(here, true) else {
            return Err(Reason::UNKNOWN_JAVA);
        };
        (here, state) = (youngest, FrameState::Caller);
    }
    let mut stubs = 0_usize;
    loop {
        let before = frames.count();
        let Some(next) = walk.unwind(here, state, frames) else {
            return Err(if state == FrameState::Interrupted {
                Reason::UNKNOWN_JAVA
            } else {
                Reason::NOT_WALKABLE_JAVA
            });
        };
        let all = OwnFrames::All;
        match layouts.continuations.map_or(all, |layout| layout.own_frames_since(before, frames)) {
            OwnFrames::All => {}
            OwnFrames::First(count) => {
                frames.truncate(count);
                break;
            }
            OwnFrames::Torn => return Err(Reason::NOT_WALKABLE_JAVA),
        }
        if frames.is_full() {
            break;
        }
        let (caller, left_java) = match next {
            NextFrame::Caller(caller) => (caller, false),
            NextFrame::LastJavaFrame(caller) => (caller, true),
            NextFrame::None => break,
        };
        let (caller, in_chunk) = match walk.resolve_caller(caller, frames) {
            Some(Lookup::Found(found)) => found,
            Some(Lookup::End) => break,
            None => return Err(Reason::NOT_WALKABLE_JAVA),
        };
        if state == FrameState::Interrupted && !walk.whole.get() {
            frames.set_resume_point(caller.pc);
        }
        stubs = if frames.count() == before { stubs.wrapping_add(1) } else { 0 };
        // An interrupted frame may have been removed already, so its caller has the same stack
        // pointer.
        let is_further_out =
            in_chunk || caller.sp > here.sp || caller.sp == here.sp && state == FrameState::Interrupted;
        if !is_further_out || stubs > MAX_STUBS {
            return Err(Reason::NOT_WALKABLE_JAVA);
        }
        let is_without_method = frames.count() == 0 && state == FrameState::Interrupted;
        (here, state) = match (left_java, is_without_method) {
            (true, _) => (caller, FrameState::LastJavaFrame),
            (false, true) => (caller, FrameState::UnverifiedCaller),
            (false, false) => (caller, FrameState::Caller),
        };
    }
    match () {
        () if !walk.is_heap_unchanged() => Err(Reason::NOT_WALKABLE_JAVA),
        () if frames.count() == 0 => Err(Reason::NO_JAVA_FRAME),
        () => Ok(()),
    }
}
