//! Recognises incomplete frames of x86-64 by the instructions around the pc, and has the layout of
//! interpreted frames.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

/// True: Vouch's own walker supports x86-64.
pub const WALKS: bool = true;

/// Slots of an interpreted frame, in words below its frame pointer.
pub mod slots {
    /// The slot of the sender's stack pointer, as it was before space for the callee's locals was
    /// added.
    pub const SENDER_SP: usize = 1;
    /// The slot of the last stack pointer: the stack pointer at a call of another method. It is 0
    /// outside of calls.
    pub const LAST_SP: usize = 2;
    /// The slot of the frame's `Method`.
    pub const METHOD: usize = 3;
    /// The slot of the bytecode pointer (bcp): before JDK 9, and since JDK 9.
    pub const BCP: [usize; 2] = [7, 8];
    /// The slot of the `JavaCallWrapper`, in a frame of the call stub.
    pub const CALL_WRAPPER: usize = 6;
}

const PUSH_FP: u8 = 0x55;
const POP_FP: u8 = 0x5d;
const LEAVE: u8 = 0xc9;
const RETURN: u8 = 0xc3;
const JUMP: u8 = 0xe9;
/// The first bytes of `add rsp`, which removes a frame, with an operand of one byte and of four.
const DROP: [[u8; 3]; 2] = [[0x48, 0x83, 0xc4], [0x48, 0x81, 0xc4]];
/// The two encodings of `mov rbp, rsp`, which sets the frame pointer.
const SET_FP: [[u8; 3]; 2] = [[0x48, 0x8b, 0xec], [0x48, 0x89, 0xe5]];
/// The first bytes of `cmp [r15 + …], 0`, the check for a pending exception. The displacement has
/// one byte or four.
const EXCEPTION: [[u8; 3]; 2] = [[0x49, 0x83, 0x7f], [0x49, 0x83, 0xbf]];
/// The safepoint polls and exception checks after a frame was removed, with their lengths. They are
/// `cmp rsp, [r15 + …]`; `mov r10, [r15 + …]`; `cmp [r15 + …], 0`. Each has a displacement of one
/// byte or four.
const POLLS: [([u8; 3], usize); 6] = [
    ([0x49, 0x3b, 0x67], 4),
    ([0x49, 0x3b, 0xa7], 7),
    ([0x4d, 0x8b, 0x57], 4),
    ([0x4d, 0x8b, 0x97], 7),
    (EXCEPTION[0], 5),
    (EXCEPTION[1], 8),
];
/// The first bytes of the instructions that may follow a safepoint poll: `ja`; `test [r10], eax`;
/// `jne`.
const AFTER_POLL: [&[u8]; 3] = [&[0x0f, 0x87], &[0x41, 0x85, 0x02], &[0x0f, 0x85]];
/// The first bytes of `test eax, [rip + …]`, the safepoint poll of older code, which is a single
/// instruction.
const POLL_PAGE: [u8; 2] = [0x85, 0x05];
/// The instruction `pop r13`, by which the interpreter pops its return address after `leave`.
const POP_RETURN_ADDRESS: [u8; 2] = [0x41, 0x5d];

/// What an instruction of a prologue does to the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrologueStep {
    Nothing,
    /// The instruction pushes the frame pointer.
    Push,
    /// The instruction lowers the stack pointer by the frame's size.
    Allocate,
    /// The instruction saves the frame pointer in the frame.
    Save,
}

/// The instructions of prologues: their first bytes, their length, and what they do to the frame.
/// No entry is a prefix of another one.
const PROLOGUE: [(&[u8], usize, PrologueStep); 22] = [
    // mov [rsp - …], eax: the stack bang.
    (&[0x89, 0x84, 0x24], 7, PrologueStep::Nothing),
    (&[0x55], 1, PrologueStep::Push),
    (&SET_FP[0], 3, PrologueStep::Nothing),
    (&SET_FP[1], 3, PrologueStep::Nothing),
    // sub rsp, with an operand of one byte and of four.
    (&[0x48, 0x83, 0xec], 4, PrologueStep::Allocate),
    (&[0x48, 0x81, 0xec], 7, PrologueStep::Allocate),
    // mov [rsp + …], rbp, with a displacement of one byte and of four.
    (&[0x48, 0x89, 0x6c, 0x24], 5, PrologueStep::Save),
    (&[0x48, 0x89, 0xac, 0x24], 8, PrologueStep::Save),
    // The nmethod entry barrier: cmp [r15 + …], …; je or jne, with an operand of one byte and of
    // four.
    (&[0x41, 0x81, 0x7f], 8, PrologueStep::Nothing),
    (&[0x41, 0x81, 0xbf], 11, PrologueStep::Nothing),
    (&[0x74], 2, PrologueStep::Nothing),
    (&[0x75], 2, PrologueStep::Nothing),
    (&[0x0f, 0x84], 6, PrologueStep::Nothing),
    (&[0x0f, 0x85], 6, PrologueStep::Nothing),
    // nop, with one byte or more.
    (&[0x90], 1, PrologueStep::Nothing),
    (&[0x66, 0x90], 2, PrologueStep::Nothing),
    (&[0x0f, 0x1f, 0x00], 3, PrologueStep::Nothing),
    (&[0x0f, 0x1f, 0x40], 4, PrologueStep::Nothing),
    (&[0x0f, 0x1f, 0x44], 5, PrologueStep::Nothing),
    (&[0x66, 0x0f, 0x1f, 0x44], 6, PrologueStep::Nothing),
    (&[0x0f, 0x1f, 0x80], 7, PrologueStep::Nothing),
    (&[0x0f, 0x1f, 0x84], 8, PrologueStep::Nothing),
];
/// The maximal number of instructions in a prologue.
const MAX_INSTRUCTIONS: usize = 32;

/// Returns how much of a frame exists at a pc in the prologue, which begins at `begin`. The result
/// is `None` if an instruction before the pc is unknown.
pub fn prologue_shape(memory: &impl Memory, begin: usize, pc: usize) -> Option<Shape> {
    let (mut at, mut shape) = (begin, Shape::Returning);
    for _ in 0..MAX_INSTRUCTIONS {
        if at >= pc {
            break;
        }
        let (_, length, step) = PROLOGUE.iter().find(|(bytes, ..)| is(memory, at, bytes))?;
        shape = match (step, shape) {
            (PrologueStep::Push, Shape::Returning) => Shape::Pushed,
            (PrologueStep::Allocate, Shape::Pushed) | (PrologueStep::Save, Shape::Unsaved | Shape::Whole) => {
                Shape::Whole
            }
            (PrologueStep::Allocate, Shape::Returning) => Shape::Unsaved,
            (PrologueStep::Nothing, shape) => shape,
            _ => return None,
        };
        at = at.wrapping_add(*length);
    }
    (at == pc || pc < begin).then_some(shape)
}

/// Returns how much of a frame exists at a pc after the prologue.
pub fn body_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let byte = |at: usize| memory.byte(at);
    let before = |back: usize, what: &[u8]| is(memory, pc.wrapping_sub(back), what);
    let at = |what: &[u8]| is(memory, pc, what);
    let is_dropped =
        |back: usize| before(back.wrapping_add(4), &DROP[0]) || before(back.wrapping_add(7), &DROP[1]);
    // A single byte may be the end of another instruction. So the bytes around it must be the
    // epilogue's, too.
    let is_popped = |back: usize| before(back.wrapping_add(1), &[POP_FP]) && is_dropped(back.wrapping_add(1));
    // Only wrappers of native methods use leave, and they check for an exception afterwards.
    let has_left = |back: usize| before(back.wrapping_add(1), &[LEAVE]);
    let is_removed =
        |back: usize, poll: &[u8; 3]| is_popped(back) || EXCEPTION.contains(poll) && has_left(back);
    let after_poll = || POLLS.iter().any(|(poll, length)| before(*length, poll) && is_removed(*length, poll));
    let returning = byte(pc)? == RETURN
        || POLLS.iter().any(|(poll, _)| at(poll) && is_removed(0, poll))
        || (at(&POLL_PAGE) || at(&[JUMP])) && is_popped(0)
        || AFTER_POLL.iter().any(|after| at(after)) && after_poll();
    let pushed = byte(pc)? == POP_FP && is_dropped(0);
    Some(match (returning, pushed) {
        (true, _) => Shape::Returning,
        (false, true) => Shape::Pushed,
        (false, false) => Shape::Whole,
    })
}

/// True if the interpreter has removed its frame, and the return address is on top of the stack.
pub fn has_popped_frame(memory: &impl Memory, pc: usize) -> bool {
    memory.byte(pc.wrapping_sub(1)) == Some(LEAVE) && is(memory, pc, &POP_RETURN_ADDRESS)
}

/// Returns false: on x86-64, registers have the values that a new interpreted frame lacks.
pub fn lacks_sender_sp(_: &impl Memory, _: usize) -> bool {
    false
}

/// Returns how much of a frame exists at a pc in code without a known frame size. The result is
/// `None` if the instructions do not show it.
pub fn stub_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let byte = |at: usize| memory.byte(at);
    if byte(pc)? == PUSH_FP || byte(pc)? == RETURN {
        return Some(Shape::Returning);
    }
    let sets = SET_FP.iter().any(|set| is(memory, pc, set));
    (sets && byte(pc.wrapping_sub(1))? == PUSH_FP).then_some(Shape::Pushed)
}

fn is(memory: &impl Memory, at: usize, what: &[u8]) -> bool {
    let mut at = at;
    for byte in what {
        if memory.byte(at) != Some(*byte) {
            return false;
        }
        at = at.wrapping_add(1);
    }
    true
}
