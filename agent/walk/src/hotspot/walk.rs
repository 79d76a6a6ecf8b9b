//! From one frame to its caller, until the frame that the thread began with.
//!
//! Each caller stands further out on the thread's own stack than what it called, or in the same
//! chunk, and of chunks there are so many at most: so a walk comes to an end.

mod callers;
mod chunks;
mod state;

use core::cell::Cell;

use vouch_sample::Reason;

use super::call_site_cache::Again;
use super::continuation::{ContinuationLayout, Further};
use super::frame_state::FrameState;
use super::frames::Frames;
use super::layout::Layout;
use super::stack::Stack;
use crate::context::{Interpreting, Registers as Position};
use crate::memory::Memory;
use crate::walker::Part;
use callers::{Left, Next};
use state::Walk;

/// Frames without a method between two with one are few.
const STUBS: usize = 64;

/// A thread where it was interrupted.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    pub at: Position,
    /// What the interpreter keeps, if it was that.
    pub interpreting: Interpreting,
    /// It was not interrupted there: it has called somebody, and the address is within the call.
    pub calls: bool,
}

/// What is known of the JVM.
#[derive(Debug, Clone, Copy)]
pub struct Known<'l> {
    pub layout: &'l Layout,
    /// If there are virtual threads.
    pub continuations: Option<&'l ContinuationLayout>,
}

/// Walks the thread whose JNIEnv this is.
pub fn walk<M: Memory>(
    memory: &M,
    known: Known<'_>,
    env: usize,
    interrupted: Interrupted,
    frames: &mut Frames<'_>,
) -> Result<(), Reason> {
    let layout = known.layout;
    let thread = env.wrapping_sub(layout.ground.env);
    let Interrupted { at, interpreting, calls } = interrupted;
    let field = |offset: usize| memory.word(thread.wrapping_add(offset));
    let ground = &layout.ground;
    let (base, size) = (field(ground.stack_base), field(ground.stack_size));
    let (Some(base), Some(size)) = (base, size) else { return Err(Reason::UNKNOWN_STATE) };
    // Below where it stands there is nothing of its own any more.
    if at.sp >= base || at.sp < base.saturating_sub(size) {
        return Err(Reason::UNKNOWN_JAVA);
    }
    let in_java = memory.int(thread.wrapping_add(layout.state)) == Some(layout.in_java);
    let walk = Walk {
        memory,
        layout,
        continuations: known.continuations,
        thread,
        in_java,
        stack: Stack::new(memory, at.sp..base),
        interpreting,
        whole: Cell::new(false),
        again: Again::default(),
        moment: Cell::new(None),
        leaving: Cell::new(None),
        chunks: Cell::new(0),
    };
    let (last_pc, last_fp) = (field(ground.last_pc), field(ground.last_fp));
    let left = match walk.left(field(ground.last_sp), last_pc, last_fp) {
        Left::No if in_java && !calls => walk.unpacked_from(last_pc, last_fp).map_or(Left::No, Left::At),
        left => left,
    };
    let (mut here, mut state) = match left {
        Left::At(position) => (position, FrameState::LastJavaFrame),
        Left::Unsaid => return Err(Reason::UNKNOWN_JAVA),
        Left::No if calls => (Position { pc: at.pc.wrapping_add(1), ..at }, FrameState::UnverifiedCaller),
        Left::No if in_java => (at, FrameState::Interrupted),
        Left::No => return Err(Reason::NO_JAVA_FRAME),
    };
    // Its youngest frame has returned to the barrier, which may have called somebody.
    if state != FrameState::LastJavaFrame && walk.goes_on_in_chunk(here) {
        let Some(Further::Is(youngest)) = walk.in_chunk(here, true) else {
            return Err(Reason::UNKNOWN_JAVA);
        };
        (here, state) = (youngest, FrameState::Caller);
    }
    let mut stubs = 0_usize;
    loop {
        let before = frames.count();
        let Some(next) = walk.leave(here, state, frames) else {
            return Err(if state == FrameState::Interrupted {
                Reason::UNKNOWN_JAVA
            } else {
                Reason::NOT_WALKABLE_JAVA
            });
        };
        match known.continuations.map_or(Part::All, |known| known.part_since(before, frames)) {
            Part::All => {}
            Part::First(count) => {
                frames.truncate(count);
                break;
            }
            Part::Torn => return Err(Reason::NOT_WALKABLE_JAVA),
        }
        if frames.full() {
            break;
        }
        let (caller, left) = match next {
            Next::Caller(caller) => (caller, false),
            Next::Left(caller) => (caller, true),
            Next::Nobody => break,
        };
        let (caller, in_chunk) = match walk.found(caller, frames) {
            Some(Further::Is(found)) => found,
            Some(Further::Nothing) => break,
            None => return Err(Reason::NOT_WALKABLE_JAVA),
        };
        if state == FrameState::Interrupted && !walk.whole.get() {
            frames.set_out(caller.pc);
        }
        stubs = if frames.count() == before { stubs.wrapping_add(1) } else { 0 };
        // What is interrupted may have taken down all that was its own.
        let further =
            in_chunk || caller.sp > here.sp || caller.sp == here.sp && state == FrameState::Interrupted;
        if !further || stubs > STUBS {
            return Err(Reason::NOT_WALKABLE_JAVA);
        }
        let without = frames.count() == 0 && state == FrameState::Interrupted;
        (here, state) = match (left, without) {
            (true, _) => (caller, FrameState::LastJavaFrame),
            (false, true) => (caller, FrameState::UnverifiedCaller),
            (false, false) => (caller, FrameState::Caller),
        };
    }
    match () {
        () if !walk.is_of_one_moment() => Err(Reason::NOT_WALKABLE_JAVA),
        () if frames.count() == 0 => Err(Reason::NO_JAVA_FRAME),
        () => Ok(()),
    }
}
