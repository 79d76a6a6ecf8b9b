//! What stands on top of a thread's stack while it stays in its handler: compiled code with what
//! was inlined, or interpreted.
//!
//! The registers say where the thread is, or, where it has left Java, what it left with. It must be
//! asked only while the thread stays; what it cannot tell for certain it does not tell.

use vouch_hotspot::vmstructs::{CodeLayout, read_u32, read_word};
use vouch_walk::code_cache::BlobKind;
use vouch_walk::context::Registers;
use vouch_walk::memory::Memory;

use super::{CodeAt, Top, TopFrame};
use crate::compiled::{self, Place, Stands};

/// The code at an address.
enum Spot {
    Interpreted,
    Compiled(Place),
}

/// What of a thread's stack may go before its next poll.
pub fn top(at: Registers, java_thread: usize, code: &CodeLayout) -> Top {
    // In native code or blocked. Not in the VM: there a native method's wrapper may be already that
    // has looked at its poll for the last time.
    const AWAY: [u32; 2] = [4, 10];
    let state = java_thread.checked_add(code.state).and_then(read_u32);
    Top { frame: frame(at, java_thread, code), away: state.is_some_and(|state| AWAY.contains(&state)) }
}

fn frame(at: Registers, java_thread: usize, code: &CodeLayout) -> Option<TopFrame> {
    let (spot, fp) = match spot(at.pc, Stands::Interrupted, code) {
        Some(spot) => (spot, Some(at.fp)),
        None => left(java_thread, code)?,
    };
    match spot {
        Spot::Compiled(Place { method, frames }) => Some(TopFrame { frames, outermost: Some(method) }),
        // The interpreter polls before it leaves a method, not at its very end: the caller's frame
        // may be gone as well.
        Spot::Interpreted => match self::spot(return_address(fp?)?, Stands::Calling, code)? {
            Spot::Interpreted => Some(TopFrame { frames: 2, outermost: None }),
            Spot::Compiled(Place { method, frames }) => {
                Some(TopFrame { frames: frames + 1, outermost: Some(method) })
            }
        },
    }
}

/// Whose code lies at an address.
pub fn code_at(pc: usize, code: &CodeLayout, memory: &impl Memory) -> CodeAt {
    if is_interpreter(pc, code) {
        return CodeAt::Interpreter;
    }
    let unnamed = || match code.code_cache.and_then(|blobs| blobs.kind_at(pc, memory)) {
        Some(BlobKind::Nmethod | BlobKind::Dead) => CodeAt::Unknown,
        Some(BlobKind::Other) | None => CodeAt::Other,
    };
    compiled::method(pc).map_or_else(unnamed, CodeAt::Method)
}

/// What is one with the frame that calls from there.
pub fn top_at(pc: usize, code: &CodeLayout) -> Option<TopFrame> {
    // What is told of a call stands where it returns to: just behind an address that is within it.
    Some(match spot(pc, Stands::Interrupted, code)? {
        Spot::Interpreted => TopFrame { frames: 1, outermost: None },
        Spot::Compiled(Place { method, frames }) => TopFrame { frames, outermost: Some(method) },
    })
}

fn spot(pc: usize, stands: Stands, code: &CodeLayout) -> Option<Spot> {
    if is_interpreter(pc, code) {
        return Some(Spot::Interpreted);
    }
    compiled::place(pc, stands).map(Spot::Compiled)
}

fn is_interpreter(pc: usize, code: &CodeLayout) -> bool {
    let (begin, end) = code.interpreter;
    (begin..end).contains(&pc)
}

/// Where a thread that runs no Java code has left it, with the frame pointer there.
fn left(java_thread: usize, code: &CodeLayout) -> Option<(Spot, Option<usize>)> {
    let field = |offset: usize| read_word(java_thread.checked_add(offset)?);
    let sp = field(code.last_sp).filter(|sp| *sp != 0)?;
    let pc = match field(code.last_pc)? {
        0 => read_word(sp.checked_sub(size_of::<usize>())?)?,
        pc => pc,
    };
    Some((spot(pc, Stands::Calling, code)?, code.last_fp.and_then(field)))
}

/// What stands above the caller's frame pointer.
fn return_address(fp: usize) -> Option<usize> {
    read_word(fp.checked_add(size_of::<usize>())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_sample::MethodId;

    const INTERPRETER: usize = 0x9_0000_0000;
    /// Compiled code that nobody else tells of: two frames up to its place 0x10, one behind it.
    const CODE: usize = 0x9_1000_0000;
    const METHOD: MethodId = MethodId(0x77);
    /// A JavaThread of four words: its state, and the registers that it left Java with.
    const LAYOUT: CodeLayout = CodeLayout {
        interpreter: (INTERPRETER, INTERPRETER + 0x1000),
        code_cache: None,
        stack: None,
        state: 0,
        last_sp: 8,
        last_pc: 16,
        last_fp: Some(24),
    };
    const JAVA: usize = 8;

    /// A thread in this state, and what it left Java with; interrupted at a pc, with a frame whose
    /// caller is at `caller`.
    fn told(pc: usize, caller: usize, state: usize, left: Option<usize>) -> Top {
        compiled::loaded(METHOD, CODE, 0x40, [(CODE + 0x10, 2), (CODE + 0x20, 1)].into_iter());
        let frame = [0, caller];
        // Its pc may be 0: then it is the word below its stack pointer.
        let stack = [left.unwrap_or(0), 0];
        let last_sp = if left.is_some() { stack.as_ptr() as usize + 8 } else { 0 };
        let java_thread = [state, last_sp, 0, frame.as_ptr() as usize];
        let at = Registers { pc, sp: 0, fp: frame.as_ptr() as usize };
        std::hint::black_box((&frame, &stack));
        top(at, java_thread.as_ptr() as usize, &LAYOUT)
    }

    fn frames(top: Top) -> Option<(usize, Option<MethodId>)> {
        top.frame.map(|frame| (frame.frames, frame.outermost))
    }

    #[test]
    fn compiled_code_is_one_frame_with_what_was_inlined() {
        assert_eq!(frames(told(CODE + 8, 0, JAVA, None)), Some((2, Some(METHOD))));
        // Interrupted at a place it goes on behind it; what was left there ends there.
        assert_eq!(frames(told(CODE + 0x10, 0, JAVA, None)), Some((1, Some(METHOD))));
        assert_eq!(frames(told(1, 0, 6, Some(CODE + 0x10))), Some((2, Some(METHOD))));
        assert_eq!(frames(told(CODE + 0x40, 0, JAVA, None)), None, "behind its end");
    }

    #[test]
    fn an_interpreted_frame_counts_with_its_caller() {
        let place = INTERPRETER + 0x10;
        assert_eq!(frames(told(place, place, JAVA, None)), Some((2, None)));
        assert_eq!(frames(told(place, CODE + 0x10, JAVA, None)), Some((3, Some(METHOD))));
        assert_eq!(frames(told(1, CODE + 0x20, 6, Some(place))), Some((2, Some(METHOD))));
        assert_eq!(frames(told(place, 1, JAVA, None)), None, "a caller that nobody knows");
        assert_eq!(frames(told(1, place, JAVA, None)), None, "it has not left Java");
    }

    #[test]
    fn what_a_caller_stands_for_is_told_where_its_call_returns_to() {
        told(0, 0, JAVA, None);
        let caller = |pc| top_at(pc, &LAYOUT).map(|top| (top.frames, top.outermost));
        // Within the calls that return to 0x10 and to 0x11.
        assert_eq!(caller(CODE + 0xf), Some((2, Some(METHOD))));
        assert_eq!(caller(CODE + 0x10), Some((1, Some(METHOD))));
        assert_eq!((caller(INTERPRETER), caller(1)), (Some((1, None)), None));
        let code = [CODE, INTERPRETER, 1].map(|pc| code_at(pc, &LAYOUT, &read_word));
        assert_eq!(code, [CodeAt::Method(METHOD), CodeAt::Interpreter, CodeAt::Other]);
    }

    #[test]
    fn a_thread_is_away_in_native_code_or_blocked_and_nowhere_else() {
        let away = (0..16).filter(|state| told(CODE, 0, *state, None).away);
        assert_eq!(away.collect::<Vec<usize>>(), [4, 10]);
    }
}
