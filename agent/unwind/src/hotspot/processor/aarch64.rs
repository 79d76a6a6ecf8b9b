//! Recognises incomplete frames of aarch64 by the instructions around the pc, and has the layout of
//! interpreted frames.
//!
//! A call leaves its return address in the link register. The last two words of a frame are the
//! caller's frame pointer and the return address.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

/// True: Vouch's own walker supports aarch64.
pub const WALKS: bool = true;

/// Slots of an interpreted frame, in words below its frame pointer.
pub mod slots {
    /// The slot of the sender's stack pointer, as it was before space for the callee's locals was
    /// added.
    pub const SENDER_SP: usize = 1;
    /// The slot of the last stack pointer: the end of the expression stack at a call of another
    /// method. It is 0 outside of calls.
    pub const LAST_SP: usize = 2;
    /// The slot of the frame's `Method`.
    pub const METHOD: usize = 3;
    /// The slot of the bytecode pointer (bcp): before JDK 9, and since JDK 9.
    pub const BCP: [usize; 2] = [7, 9];
    /// The slot of the `JavaCallWrapper`, in a frame of the call stub.
    pub const CALL_WRAPPER: usize = 8;
}

/// The length of an aarch64 instruction, in bytes.
const INSTRUCTION: usize = 4;

/// A pattern of instructions: the bits that are compared, and their value.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    mask: usize,
    value: usize,
}

/// Returns the pattern that matches a single instruction.
const fn exactly(value: usize) -> Pattern {
    Pattern { mask: 0xffff_ffff, value }
}

/// Matches `stp x29, x30, [sp, #…]`, which saves the frame pointer and the return address.
const SAVE: Pattern = Pattern { mask: 0xffc0_7fff, value: 0xa900_7bfd };
/// Matches `stp x29, x30, [sp, #-16]!`, which pushes the frame pointer and the return address.
const PUSH: Pattern = exactly(0xa9bf_7bfd);
/// Matches `ldp x29, x30, [sp, #…]`, which restores the frame pointer and the return address.
const RESTORE: Pattern = Pattern { mask: 0xffc0_7fff, value: 0xa940_7bfd };
/// Matches `ldp x29, x30, [sp], #16`, which pops the frame pointer and the return address.
const POP: Pattern = exactly(0xa8c1_7bfd);
/// Match `sub sp, sp, #…` and `sub sp, sp, x8`, which make space for a frame.
const ALLOCATE: [Pattern; 2] = [Pattern { mask: 0xff80_03ff, value: 0xd100_03ff }, exactly(0xcb28_63ff)];
/// Match `add sp, sp, #…` and `add sp, sp, x8`, which remove a frame.
const DROP: [Pattern; 2] = [Pattern { mask: 0xff80_03ff, value: 0x9100_03ff }, exactly(0x8b28_63ff)];
/// Matches `add x29, sp, #…`, which sets the frame pointer. `mov x29, sp` is the same instruction.
const SET_FP: Pattern = Pattern { mask: 0xff80_03ff, value: 0x9100_03fd };
const RETURN: Pattern = exactly(0xd65f_03c0);

/// Match the instructions of a prologue that do not change the frame.
const NEUTRAL: [Pattern; 9] = [
    SET_FP,
    // nop.
    exactly(0xd503_201f),
    // The stack bang: sub x9, sp, #…; mov x9, #…; sub x9, sp, x9; str xzr, [x9].
    Pattern { mask: 0xff80_03ff, value: 0xd100_03e9 },
    Pattern { mask: 0xff80_001f, value: 0xd280_0009 },
    exactly(0xcb29_63e9),
    exactly(0xf900_013f),
    // The size of a large frame: mov x8, #… in two encodings; movk x8, #….
    Pattern { mask: 0xff80_03ff, value: 0xb200_03e8 },
    Pattern { mask: 0xff80_001f, value: 0xd280_0008 },
    Pattern { mask: 0xff80_001f, value: 0xf280_0008 },
];

/// Match the safepoint poll after a frame was removed: `ldr x8, [x28, #…]`; `cmp sp, x8`; `b.cond`;
/// `adrp x8`; `ldr wzr, [x8, #…]`; `tbz` or `tbnz`.
const POLL: [Pattern; 6] = [
    Pattern { mask: 0xffc0_03ff, value: 0xf940_0388 },
    exactly(0xeb28_63ff),
    Pattern { mask: 0xff00_0010, value: 0x5400_0000 },
    Pattern { mask: 0x9f00_001f, value: 0x9000_0008 },
    Pattern { mask: 0xffc0_03ff, value: 0xb940_011f },
    Pattern { mask: 0x7e00_001f, value: 0x3600_0008 },
];

/// Matches `stp xzr, x9, [sp, #-16]!`. During a call of C++ the return address is in two words
/// below the frame.
const PUSH_RETURN_ADDRESS: Pattern = exactly(0xa9bf_27ff);
/// Matches `add sp, sp, #16`, which follows a call of C++.
const POP_RETURN_ADDRESS: Pattern = exactly(0x9100_43ff);
/// Match `stp xzr, x13, [sp, #64]`, and the same with x19. It stores the sender's stack pointer in
/// an interpreted frame, some instructions after the frame pointer was set.
const STORE_SENDER_SP: [Pattern; 2] = [exactly(0xa904_37ff), exactly(0xa904_4fff)];
/// The maximal number of instructions from the first one of an interpreted frame to
/// [`STORE_SENDER_SP`].
const MAX_BUILDING: usize = 24;

/// The maximal number of instructions in a prologue.
const MAX_INSTRUCTIONS: usize = 32;
/// The maximal number of instructions in a safepoint poll and the return after it.
const MAX_POLL_INSTRUCTIONS: usize = 8;

/// Returns how much of a frame exists at a pc in the prologue, which begins at `begin`. The result
/// is `None` if an instruction before the pc is unknown.
pub fn prologue_shape(memory: &impl Memory, begin: usize, pc: usize) -> Option<Shape> {
    let (mut at, mut shape) = (begin, Shape::Returning);
    for _ in 0..MAX_INSTRUCTIONS {
        // Later instructions do not change a complete frame.
        if at >= pc || shape == Shape::Whole {
            break;
        }
        let is = |code: Pattern| is(memory, at, code);
        shape = match shape {
            Shape::Returning if is(PUSH) => Shape::Pushed,
            Shape::Returning if is(ALLOCATE[0]) => Shape::Unsaved,
            Shape::Unsaved if is(SAVE) => Shape::Whole,
            Shape::Pushed if ALLOCATE.into_iter().any(is) => Shape::Whole,
            shape if NEUTRAL.into_iter().any(is) => shape,
            _ => return None,
        };
        at = at.wrapping_add(INSTRUCTION);
    }
    (at == pc || pc < begin || shape == Shape::Whole).then_some(shape)
}

/// Returns how much of a frame exists at a pc after the prologue.
pub fn body_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let before =
        |back: usize, code: Pattern| is(memory, pc.wrapping_sub(back.wrapping_mul(INSTRUCTION)), code);
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
    if before(0, POP_RETURN_ADDRESS) || before(1, PUSH_RETURN_ADDRESS) {
        return None;
    }
    let mut known = true;
    for back in 1..MAX_POLL_INSTRUCTIONS {
        if before(back, POP) || before(back, DROP[0]) && before(back.wrapping_add(1), RESTORE) {
            // After an unknown instruction the frame may have any shape.
            return if known { Some(Shape::Returning) } else { None };
        }
        if before(back, RETURN) {
            break;
        }
        known &= POLL.into_iter().any(|code| before(back, code));
    }
    Some(Shape::Whole)
}

/// True if the interpreter is building a frame and has not stored the sender's stack pointer yet.
pub fn lacks_sender_sp(memory: &impl Memory, pc: usize) -> bool {
    let sets = |at: usize| STORE_SENDER_SP.into_iter().any(|code| is(memory, at, code));
    (0..MAX_BUILDING).any(|ahead| sets(pc.wrapping_add(ahead.wrapping_mul(INSTRUCTION))))
}

/// Returns false: on aarch64, a method that is being left has its return address in the link
/// register.
pub fn has_popped_frame(_: &impl Memory, _: usize) -> bool {
    false
}

/// Returns how much of a frame exists at a pc in code without a known frame size. The result is
/// `None` if the instructions do not show it.
pub fn stub_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let at = |code| is(memory, pc, code);
    if at(PUSH) || at(RETURN) {
        return Some(Shape::Returning);
    }
    (at(SET_FP) && is(memory, pc.wrapping_sub(INSTRUCTION), PUSH)).then_some(Shape::Pushed)
}

fn is(memory: &impl Memory, at: usize, code: Pattern) -> bool {
    memory.bytes(at, INSTRUCTION).is_some_and(|found| found & code.mask == code.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: usize = 0x1000;

    /// Returns memory that contains this code and has zeros around it.
    fn memory(code: &[u32]) -> impl Fn(usize) -> Option<usize> {
        move |at: usize| {
            let at = at.wrapping_sub(BEGIN) / INSTRUCTION;
            let word = |at: usize| usize::try_from(code.get(at).copied().unwrap_or(0)).unwrap();
            Some(word(at) | word(at + 1) << 32)
        }
    }

    fn in_prologue(code: &[u32], at: usize) -> Option<Shape> {
        prologue_shape(&memory(code), BEGIN, BEGIN + at * INSTRUCTION)
    }

    fn in_body(code: &[u32], at: usize) -> Option<Shape> {
        body_shape(&memory(code), BEGIN + at * INSTRUCTION)
    }

    #[test]
    fn a_small_frame_is_allocated_before_registers_are_saved() {
        // nop; sub x9, sp, #0x14000; str xzr, [x9]; sub sp, sp, #0x30; stp x29, x30, [sp, #0x20];
        // anything.
        let code = [0xd503_201f, 0xd140_53e9, 0xf900_013f, 0xd100_c3ff, 0xa902_7bfd, 0x1234_5678];
        let shapes = core::array::from_fn(|at| in_prologue(&code, at));
        let returning = Some(Shape::Returning);
        let expected = [returning, returning, returning, returning, Some(Shape::Unsaved), Some(Shape::Whole)];
        assert_eq!(shapes, expected);
        // A pc before the verified entry point has no frame, too.
        assert_eq!(prologue_shape(&memory(&code), BEGIN, BEGIN - 8), returning);
        assert_eq!(in_prologue(&[0x1234_5678, 0xd100_c3ff], 1), None, "the first instruction is unknown");
    }

    #[test]
    fn a_large_frame_is_allocated_after_registers_are_saved() {
        // stp x29, x30, [sp, #-16]!; mov x29, sp; mov x8, #0x2000; sub sp, sp, x8.
        let code = [0xa9bf_7bfd, 0x9100_03fd, 0xb273_03e8, 0xcb28_63ff];
        let shapes = core::array::from_fn(|at| in_prologue(&code, at).unwrap());
        let expected = [Shape::Returning, Shape::Pushed, Shape::Pushed, Shape::Pushed, Shape::Whole];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn a_frame_that_is_being_removed_is_recognised_up_to_the_return() {
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
        let shapes = core::array::from_fn(|at| in_body(&code, at).unwrap());
        let (whole, returning) = (Shape::Whole, Shape::Returning);
        let expected = [whole, whole, Shape::Unsaved, returning, returning, returning, returning, whole];
        assert_eq!(shapes, expected);
        // add sp, sp, #0x1000; ldp x29, x30, [sp], #16; ret.
        let code = [0x9140_07ff, 0xa8c1_7bfd, 0xd65f_03c0];
        let shapes = core::array::from_fn(|at| in_body(&code, at).unwrap());
        assert_eq!(shapes, [whole, Shape::Pushed, returning]);
        // The same with the poll of older code, adrp x8 and ldr wzr, [x8, #16], and with unknown
        // instructions instead of a poll.
        let code = [0xa942_7bfd, 0x9100_c3ff, 0x9000_0008, 0xb940_111f, 0xd65f_03c0];
        assert!((2..5).all(|at| in_body(&code, at) == Some(returning)));
        let code = [0xa942_7bfd, 0x9100_c3ff, 0x1234_5678, 0x1234_5678];
        assert_eq!([in_body(&code, 2), in_body(&code, 3)], [Some(returning), None]);
        // Other code follows a return.
        let code = [0xa942_7bfd, 0x9100_c3ff, 0xd65f_03c0, 0x1234_5678, 0x1234_5678];
        assert_eq!([in_body(&code, 3), in_body(&code, 4)], [Some(whole); 2]);
    }

    #[test]
    fn around_a_call_that_pushes_its_return_address_the_shape_is_unknown() {
        // Anything; stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16; anything.
        let code = [0x1234_5678, 0xa9bf_27ff, 0xd63f_0100, 0x9100_43ff, 0x1234_5678];
        let shapes = core::array::from_fn(|at| in_body(&code, at));
        let whole = Some(Shape::Whole);
        assert_eq!(shapes, [whole, whole, None, None, whole]);
    }

    #[test]
    fn an_interpreted_frame_lacks_its_sender_sp_until_it_is_stored() {
        // sub sp, sp, #0x60; stp x29, x30, [sp, #0x50]; add x29, sp, #0x50; stp xzr, x19, [sp,
        // #64]; anything.
        let code = [0xd101_83ff, 0xa905_7bfd, 0x9101_43fd, 0xa904_4fff, 0x1234_5678];
        let lacking = core::array::from_fn(|at| lacks_sender_sp(&memory(&code), BEGIN + at * INSTRUCTION));
        assert_eq!(lacking, [true, true, true, true, false]);
    }

    #[test]
    fn the_shape_of_a_stub_frame_is_known_only_at_its_push_and_return() {
        // stp x29, x30, [sp, #-16]!; mov x29, sp; anything; ret.
        let code = [0xa9bf_7bfd, 0x9100_03fd, 0x1234_5678, 0xd65f_03c0];
        let shapes = core::array::from_fn(|at| stub_shape(&memory(&code), BEGIN + at * INSTRUCTION));
        assert_eq!(shapes, [Some(Shape::Returning), Some(Shape::Pushed), None, Some(Shape::Returning)]);
    }
}
