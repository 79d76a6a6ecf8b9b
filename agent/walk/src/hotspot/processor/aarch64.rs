//! aarch64: frames that are just being made or taken down, told by the instructions around them,
//! and the interpreter's.
//!
//! A call leaves its return address in a register. A frame of code has it, and the caller's frame
//! pointer, as its last two words.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

/// This processor's frames are known.
pub const WALKS: bool = true;

/// How many words below an interpreter's frame pointer there is what.
pub mod slots {
    /// The caller's stack pointer, before it made room for the callee's locals.
    pub const SENDER: usize = 1;
    /// Its expression stack's end when it called another method; 0 when none is called.
    pub const LAST_SP: usize = 2;
    pub const METHOD: usize = 3;
    /// Where it is in the bytecode: until JDK 9, and since then.
    pub const BYTECODE: [usize; 2] = [7, 9];
    /// In a frame that begins what the VM has called: who holds the anchor.
    pub const HOLDER: usize = 8;
}

const INSTRUCTION: usize = 4;

/// An instruction: those bits of it that are its own, and what they are.
#[derive(Debug, Clone, Copy)]
struct Code {
    mask: usize,
    is: usize,
}

const fn exactly(is: usize) -> Code {
    Code { mask: 0xffff_ffff, is }
}

/// stp x29, x30, [sp, #…], and the same that takes the room for it.
const SAVE: Code = Code { mask: 0xffc0_7fff, is: 0xa900_7bfd };
const PUSH: Code = exactly(0xa9bf_7bfd);
/// ldp x29, x30, [sp, #…], and the same that gives its room back.
const RESTORE: Code = Code { mask: 0xffc0_7fff, is: 0xa940_7bfd };
const POP: Code = exactly(0xa8c1_7bfd);
/// sub sp, sp, #…; sub sp, sp, x8.
const ROOM: [Code; 2] = [Code { mask: 0xff80_03ff, is: 0xd100_03ff }, exactly(0xcb28_63ff)];
/// add sp, sp, #…; add sp, sp, x8.
const DROP: [Code; 2] = [Code { mask: 0xff80_03ff, is: 0x9100_03ff }, exactly(0x8b28_63ff)];
/// add x29, sp, #…, of which mov is one.
const SET_FP: Code = Code { mask: 0xff80_03ff, is: 0x9100_03fd };
const RETURN: Code = exactly(0xd65f_03c0);

/// What stands in code that makes a frame, and does nothing to it.
const BESIDE: [Code; 9] = [
    SET_FP,
    // nop.
    exactly(0xd503_201f),
    // Whether the stack is large enough: sub x9, sp, #…; mov x9, #…; sub x9, sp, x9; str xzr, [x9].
    Code { mask: 0xff80_03ff, is: 0xd100_03e9 },
    Code { mask: 0xff80_001f, is: 0xd280_0009 },
    exactly(0xcb29_63e9),
    exactly(0xf900_013f),
    // How much room it needs: mov x8, #… in two ways; movk x8, #….
    Code { mask: 0xff80_03ff, is: 0xb200_03e8 },
    Code { mask: 0xff80_001f, is: 0xd280_0008 },
    Code { mask: 0xff80_001f, is: 0xf280_0008 },
];

/// What looks at the poll behind the frame: ldr x8, [x28, #…]; cmp sp, x8; a branch on that; adrp
/// x8; ldr wzr, [x8, #…]; tbz and tbnz.
const AFTER: [Code; 6] = [
    Code { mask: 0xffc0_03ff, is: 0xf940_0388 },
    exactly(0xeb28_63ff),
    Code { mask: 0xff00_0010, is: 0x5400_0000 },
    Code { mask: 0x9f00_001f, is: 0x9000_0008 },
    Code { mask: 0xffc0_03ff, is: 0xb940_011f },
    Code { mask: 0x7e00_001f, is: 0x3600_0008 },
];

/// Around a call into C++ its return address is on the stack, two words below what the frame has:
/// stp xzr, x9, [sp, #-16]!, and behind the call add sp, sp, #16.
const LEAVES_MARK: Code = exactly(0xa9bf_27ff);
const TAKES_MARK: Code = exactly(0x9100_43ff);
/// stp xzr, x13 or x19, [sp, #64]: an interpreter's frame gets its caller's stack pointer, long
/// after its own frame pointer.
const SENDER: [Code; 2] = [exactly(0xa904_37ff), exactly(0xa904_4fff)];
/// So far behind the instruction that is the first of a frame's that this stands.
const MAKING: usize = 24;

/// More are never needed.
const INSTRUCTIONS: usize = 32;
const POLLS: usize = 8;

/// The frame at an interrupted instruction of code that is making it: which of the instructions
/// before have been done. `None` where one of them is not known.
pub fn prologue(memory: &impl Memory, begin: usize, pc: usize) -> Option<Shape> {
    let (mut at, mut shape) = (begin, Shape::Returning);
    for _ in 0..INSTRUCTIONS {
        // What follows then does nothing to it.
        if at >= pc || shape == Shape::Whole {
            break;
        }
        let is = |code: Code| is(memory, at, code);
        shape = match shape {
            Shape::Returning if is(PUSH) => Shape::Pushed,
            Shape::Returning if is(ROOM[0]) => Shape::Unsaved,
            Shape::Unsaved if is(SAVE) => Shape::Whole,
            Shape::Pushed if ROOM.into_iter().any(is) => Shape::Whole,
            shape if BESIDE.into_iter().any(is) => shape,
            _ => return None,
        };
        at = at.wrapping_add(INSTRUCTION);
    }
    (at == pc || pc < begin || shape == Shape::Whole).then_some(shape)
}

/// The frame at an interrupted instruction behind that.
pub fn shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let before = |back: usize, code: Code| is(memory, pc.wrapping_sub(back.wrapping_mul(INSTRUCTION)), code);
    memory.bytes(pc, INSTRUCTION)?;
    if before(0, DROP[0]) && before(1, RESTORE) {
        return Some(Shape::Unsaved);
    }
    if before(0, POP) && DROP.into_iter().any(|drop| before(1, drop)) {
        return Some(Shape::Pushed);
    }
    if before(0, RETURN) {
        return Some(Shape::Returning);
    }
    if before(0, TAKES_MARK) || before(1, LEAVES_MARK) {
        return None;
    }
    let mut known = true;
    for back in 1..POLLS {
        if before(back, POP) || before(back, DROP[0]) && before(back.wrapping_add(1), RESTORE) {
            // Behind what is not known it may have been anything, as behind a return.
            return if known { Some(Shape::Returning) } else { None };
        }
        if before(back, RETURN) {
            break;
        }
        known &= AFTER.into_iter().any(|code| before(back, code));
    }
    Some(Shape::Whole)
}

/// True where the interpreter makes a frame that does not say yet where its caller's stack ends.
pub fn lacks_sender(memory: &impl Memory, pc: usize) -> bool {
    let sets = |at: usize| SENDER.into_iter().any(|code| is(memory, at, code));
    (0..MAKING).any(|ahead| sets(pc.wrapping_add(ahead.wrapping_mul(INSTRUCTION))))
}

/// What a method returns to is never on the stack while it is being left.
pub fn leaves(_: &impl Memory, _: usize) -> bool {
    false
}

/// The frame at an interrupted instruction of code of which no size of a frame is known; `None` if
/// it does not tell.
pub fn stub_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let at = |code| is(memory, pc, code);
    if at(PUSH) || at(RETURN) {
        return Some(Shape::Returning);
    }
    (at(SET_FP) && is(memory, pc.wrapping_sub(INSTRUCTION), PUSH)).then_some(Shape::Pushed)
}

fn is(memory: &impl Memory, at: usize, code: Code) -> bool {
    memory.bytes(at, INSTRUCTION).is_some_and(|found| found & code.mask == code.is)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: usize = 0x1000;

    /// Memory that has this code, and words of zeros around it.
    fn memory(code: &[u32]) -> impl Fn(usize) -> Option<usize> {
        move |at: usize| {
            let at = at.wrapping_sub(BEGIN) / INSTRUCTION;
            let word = |at: usize| usize::try_from(code.get(at).copied().unwrap_or(0)).unwrap();
            Some(word(at) | word(at + 1) << 32)
        }
    }

    fn in_prologue(code: &[u32], at: usize) -> Option<Shape> {
        prologue(&memory(code), BEGIN, BEGIN + at * INSTRUCTION)
    }

    fn behind(code: &[u32], at: usize) -> Option<Shape> {
        shape(&memory(code), BEGIN + at * INSTRUCTION)
    }

    #[test]
    fn a_small_frame_has_its_room_first_and_then_what_is_saved_in_it() {
        // nop; sub x9, sp, #0x14000; str xzr, [x9]; sub sp, sp, #0x30; stp x29, x30, [sp, #0x20];
        // anything.
        let code = [0xd503_201f, 0xd140_53e9, 0xf900_013f, 0xd100_c3ff, 0xa902_7bfd, 0x1234_5678];
        let shapes = core::array::from_fn(|at| in_prologue(&code, at));
        let returning = Some(Shape::Returning);
        let expected = [returning, returning, returning, returning, Some(Shape::Unsaved), Some(Shape::Whole)];
        assert_eq!(shapes, expected);
        // Its code may be entered before, to see whether it is the right one.
        assert_eq!(prologue(&memory(&code), BEGIN, BEGIN - 8), returning);
        assert_eq!(in_prologue(&[0x1234_5678, 0xd100_c3ff], 1), None, "what that does nobody knows");
    }

    #[test]
    fn a_large_frame_has_what_is_saved_first_and_then_its_room() {
        // stp x29, x30, [sp, #-16]!; mov x29, sp; mov x8, #0x2000; sub sp, sp, x8.
        let code = [0xa9bf_7bfd, 0x9100_03fd, 0xb273_03e8, 0xcb28_63ff];
        let shapes = core::array::from_fn(|at| in_prologue(&code, at).unwrap());
        let expected = [Shape::Returning, Shape::Pushed, Shape::Pushed, Shape::Pushed, Shape::Whole];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn a_frame_that_is_taken_down_is_told_until_the_return() {
        // Anything; ldp x29, x30, [sp, #0x20]; add sp, sp, #0x30; ldr x8, [x28, #0x48]; cmp sp, x8;
        // b.hi; ret; anything.
        let code = [
            0x1234_5678,
            0xa942_7bfd,
            0x9100_c3ff,
            0xf940_2788,
            0xeb28_63ff,
            0x5400_0068,
            0xd65f_03c0,
            0x1234_5678,
        ];
        let shapes = core::array::from_fn(|at| behind(&code, at).unwrap());
        let (whole, returning) = (Shape::Whole, Shape::Returning);
        let expected = [whole, whole, Shape::Unsaved, returning, returning, returning, returning, whole];
        assert_eq!(shapes, expected);
        // add sp, sp, #0x1000; ldp x29, x30, [sp], #16; ret.
        let code = [0x9140_07ff, 0xa8c1_7bfd, 0xd65f_03c0];
        let shapes = core::array::from_fn(|at| behind(&code, at).unwrap());
        assert_eq!(shapes, [whole, Shape::Pushed, returning]);
        // As before, but with older code's poll, adrp x8 and ldr wzr, [x8, #16], or with what
        // nobody knows in the place of one.
        let code = [0xa942_7bfd, 0x9100_c3ff, 0x9000_0008, 0xb940_111f, 0xd65f_03c0];
        assert!((2..5).all(|at| behind(&code, at) == Some(returning)));
        let code = [0xa942_7bfd, 0x9100_c3ff, 0x1234_5678, 0x1234_5678];
        assert_eq!([behind(&code, 2), behind(&code, 3)], [Some(returning), None]);
        // Behind a return there is other code.
        let code = [0xa942_7bfd, 0x9100_c3ff, 0xd65f_03c0, 0x1234_5678, 0x1234_5678];
        assert_eq!([behind(&code, 3), behind(&code, 4)], [Some(whole); 2]);
    }

    #[test]
    fn around_a_call_that_leaves_a_mark_nothing_tells_where_the_frame_is() {
        // Anything; stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16; anything.
        let code = [0x1234_5678, 0xa9bf_27ff, 0xd63f_0100, 0x9100_43ff, 0x1234_5678];
        let shapes = core::array::from_fn(|at| behind(&code, at));
        let whole = Some(Shape::Whole);
        assert_eq!(shapes, [whole, whole, None, None, whole]);
    }

    #[test]
    fn a_frame_of_the_interpreters_lacks_its_sender_until_that_is_stored() {
        // sub sp, sp, #0x60; stp x29, x30, [sp, #0x50]; add x29, sp, #0x50; stp xzr, x19, [sp,
        // #64]; anything.
        let code = [0xd101_83ff, 0xa905_7bfd, 0x9101_43fd, 0xa904_4fff, 0x1234_5678];
        let lacking = core::array::from_fn(|at| lacks_sender(&memory(&code), BEGIN + at * INSTRUCTION));
        assert_eq!(lacking, [true, true, true, true, false]);
    }

    #[test]
    fn a_stub_tells_only_where_it_makes_its_frame_or_has_none() {
        // stp x29, x30, [sp, #-16]!; mov x29, sp; anything; ret.
        let code = [0xa9bf_7bfd, 0x9100_03fd, 0x1234_5678, 0xd65f_03c0];
        let shapes = core::array::from_fn(|at| stub_shape(&memory(&code), BEGIN + at * INSTRUCTION));
        assert_eq!(shapes, [Some(Shape::Returning), Some(Shape::Pushed), None, Some(Shape::Returning)]);
    }
}
