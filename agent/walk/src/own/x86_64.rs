//! x86-64: frames that are just being made or taken down, told by the instructions around them, and the interpreter's.

use crate::memory::Memory;

/// This processor's frames are known.
pub const WALKS: bool = true;

/// How many words below an interpreter's frame pointer there is what.
pub mod slots {
    /// The caller's stack pointer, before it made room for the callee's locals.
    pub const SENDER: usize = 1;
    pub const METHOD: usize = 3;
    /// Where it is in the bytecode: until JDK 9, and since then.
    pub const BYTECODE: [usize; 2] = [7, 8];
    /// In a frame that begins what the VM has called: who holds the anchor.
    pub const HOLDER: usize = 6;
}

/// How much of a frame there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Whole,
    /// The return address alone, on top.
    Returning,
    /// The return address, and the caller's frame pointer on top.
    Pushed,
}

const PUSH_FP: u8 = 0x55;
const POP_FP: u8 = 0x5d;
const RETURN: u8 = 0xc3;
/// sub rsp, of one byte and of four; add likewise.
const MAKE: [[u8; 3]; 2] = [[0x48, 0x83, 0xec], [0x48, 0x81, 0xec]];
const DROP: [[u8; 3]; 2] = [[0x48, 0x83, 0xc4], [0x48, 0x81, 0xc4]];
/// mov rbp, rsp, as two assemblers write it.
const SET_FP: [[u8; 3]; 2] = [[0x48, 0x8b, 0xec], [0x48, 0x89, 0xe5]];
/// What looks at the poll behind the frame: cmp rsp, [r15 + …]; mov r10, [r15 + …], of one byte and of four; and how long it is.
const POLLS: [([u8; 3], usize); 4] =
    [([0x49, 0x3b, 0x67], 4), ([0x49, 0x3b, 0xa7], 7), ([0x4d, 0x8b, 0x57], 4), ([0x4d, 0x8b, 0x97], 7)];
/// And what comes behind that: ja; test [r10], eax. Older code has one instruction: test eax, [rip + …].
const AFTER_POLL: [&[u8]; 2] = [&[0x0f, 0x87], &[0x41, 0x85, 0x02]];
const POLL_PAGE: [u8; 2] = [0x85, 0x05];

/// The frame at an interrupted instruction of code that makes one; behind this point it has been made.
pub fn shape(memory: &impl Memory, pc: usize, made: bool) -> Option<Shape> {
    let byte = |at: usize| memory.byte(at);
    let before = |back: usize, what: &[u8]| is(memory, pc.wrapping_sub(back), what);
    if !made {
        let has_room = before(4, &MAKE[0]) || before(7, &MAKE[1]);
        let pushed = byte(pc.wrapping_sub(1))? == PUSH_FP || SET_FP.iter().any(|set| before(3, set));
        return Some(match (has_room, pushed) {
            (true, _) => Shape::Whole,
            (false, true) => Shape::Pushed,
            (false, false) => Shape::Returning,
        });
    }
    let at = |what: &[u8]| is(memory, pc, what);
    let popped = |back: usize| byte(pc.wrapping_sub(back).wrapping_sub(1)) == Some(POP_FP);
    let after_poll = || POLLS.iter().any(|(poll, length)| before(*length, poll) && popped(*length));
    let returning = byte(pc)? == RETURN
        || (POLLS.iter().any(|(poll, _)| at(poll)) || at(&POLL_PAGE)) && popped(0)
        || AFTER_POLL.iter().any(|after| at(after)) && after_poll();
    let pushed = byte(pc)? == POP_FP && (before(4, &DROP[0]) || before(7, &DROP[1]));
    Some(match (returning, pushed) {
        (true, _) => Shape::Returning,
        (false, true) => Shape::Pushed,
        (false, false) => Shape::Whole,
    })
}

/// The frame at an interrupted instruction of code of which no size of a frame is known; `None` if it does not tell.
pub fn stub_shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let byte = |at: usize| memory.byte(at);
    if byte(pc)? == PUSH_FP || byte(pc)? == RETURN {
        return Some(Shape::Returning);
    }
    let sets = SET_FP.iter().any(|set| is(memory, pc, set));
    (sets && byte(pc.wrapping_sub(1))? == PUSH_FP).then_some(Shape::Pushed)
}

/// True if a call ends at this address of code.
pub fn follows_call(memory: &impl Memory, pc: usize) -> bool {
    let byte = |back: usize| memory.byte(pc.wrapping_sub(back));
    // call r/m: FF /2, and as many bytes more as its operand needs.
    let indirect = |back: usize| {
        let Some(operand) = byte(back.wrapping_sub(1)) else { return false };
        let length = match (operand >> 6, operand & 7) {
            (3, _) | (0, 0..=3 | 6..) => 2,
            (0, 4) | (1, 0..=3 | 5..) => 3,
            (1, _) => 4,
            (2, 4) => 7,
            _ => 6,
        };
        byte(back) == Some(0xff) && operand & 0x38 == 0x10 && length == back
    };
    // call rel32.
    byte(5) == Some(0xe8) || [2, 3, 4, 6, 7].into_iter().any(indirect)
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
