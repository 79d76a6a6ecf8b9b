//! x86-64: frames that are just being made or taken down, told by the instructions around them, and
//! the interpreter's.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

/// This processor's frames are known.
pub const WALKS: bool = true;

/// How many words below an interpreter's frame pointer there is what.
pub mod slots {
    /// The caller's stack pointer, before it made room for the callee's locals.
    pub const SENDER: usize = 1;
    /// Its stack pointer when it called another method; 0 when none is called.
    pub const LAST_SP: usize = 2;
    pub const METHOD: usize = 3;
    /// Where it is in the bytecode: until JDK 9, and since then.
    pub const BYTECODE: [usize; 2] = [7, 8];
    /// In a frame that begins what the VM has called: who holds the anchor.
    pub const HOLDER: usize = 6;
}

const PUSH_FP: u8 = 0x55;
const POP_FP: u8 = 0x5d;
const LEAVE: u8 = 0xc9;
const RETURN: u8 = 0xc3;
const JUMP: u8 = 0xe9;
/// add rsp, of one byte and of four.
const DROP: [[u8; 3]; 2] = [[0x48, 0x83, 0xc4], [0x48, 0x81, 0xc4]];
/// mov rbp, rsp, as two assemblers write it.
const SET_FP: [[u8; 3]; 2] = [[0x48, 0x8b, 0xec], [0x48, 0x89, 0xe5]];
/// cmp [r15 + …], 0: what looks for an exception, of one byte and of four.
const EXCEPTION: [[u8; 3]; 2] = [[0x49, 0x83, 0x7f], [0x49, 0x83, 0xbf]];
/// What looks at the poll, or for an exception, behind the frame: cmp rsp, [r15 + …]; mov r10, [r15
/// + …]; cmp [r15 + …], 0: each of one byte and of four; and how long it is.
const POLLS: [([u8; 3], usize); 6] = [
    ([0x49, 0x3b, 0x67], 4),
    ([0x49, 0x3b, 0xa7], 7),
    ([0x4d, 0x8b, 0x57], 4),
    ([0x4d, 0x8b, 0x97], 7),
    (EXCEPTION[0], 5),
    (EXCEPTION[1], 8),
];
/// And what comes behind that: ja; test [r10], eax; jne. Older code has one instruction: test eax,
/// [rip + …].
const AFTER_POLL: [&[u8]; 3] = [&[0x0f, 0x87], &[0x41, 0x85, 0x02], &[0x0f, 0x85]];
const POLL_PAGE: [u8; 2] = [0x85, 0x05];
/// The interpreter takes what it returns to from the stack: leave; pop r13.
const LEAVES: [u8; 2] = [0x41, 0x5d];

/// What an instruction does that makes a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    Nothing,
    Push,
    Room,
    Saved,
}

/// The instructions that make frames: their first bytes, how long they are, what they do. None is
/// the beginning of another one.
const MAKING: [(&[u8], usize, Makes); 22] = [
    // mov [rsp - …], eax: whether the stack is large enough.
    (&[0x89, 0x84, 0x24], 7, Makes::Nothing),
    (&[0x55], 1, Makes::Push),
    (&SET_FP[0], 3, Makes::Nothing),
    (&SET_FP[1], 3, Makes::Nothing),
    // sub rsp, of one byte and of four.
    (&[0x48, 0x83, 0xec], 4, Makes::Room),
    (&[0x48, 0x81, 0xec], 7, Makes::Room),
    // mov [rsp + …], rbp, likewise.
    (&[0x48, 0x89, 0x6c, 0x24], 5, Makes::Saved),
    (&[0x48, 0x89, 0xac, 0x24], 8, Makes::Saved),
    // Whether the code may still be entered: cmp [r15 + …], …; a jump, of one byte and of four.
    (&[0x41, 0x81, 0x7f], 8, Makes::Nothing),
    (&[0x41, 0x81, 0xbf], 11, Makes::Nothing),
    (&[0x74], 2, Makes::Nothing),
    (&[0x75], 2, Makes::Nothing),
    (&[0x0f, 0x84], 6, Makes::Nothing),
    (&[0x0f, 0x85], 6, Makes::Nothing),
    // Nothing at all, of one byte and of more.
    (&[0x90], 1, Makes::Nothing),
    (&[0x66, 0x90], 2, Makes::Nothing),
    (&[0x0f, 0x1f, 0x00], 3, Makes::Nothing),
    (&[0x0f, 0x1f, 0x40], 4, Makes::Nothing),
    (&[0x0f, 0x1f, 0x44], 5, Makes::Nothing),
    (&[0x66, 0x0f, 0x1f, 0x44], 6, Makes::Nothing),
    (&[0x0f, 0x1f, 0x80], 7, Makes::Nothing),
    (&[0x0f, 0x1f, 0x84], 8, Makes::Nothing),
];
/// More are never needed.
const INSTRUCTIONS: usize = 32;

/// The frame at an interrupted instruction of code that is making it: which of the instructions
/// before have been done. `None` where one of them is not known.
pub fn prologue(memory: &impl Memory, begin: usize, pc: usize) -> Option<Shape> {
    let (mut at, mut shape) = (begin, Shape::Returning);
    for _ in 0..INSTRUCTIONS {
        if at >= pc {
            break;
        }
        let (_, length, makes) = MAKING.iter().find(|(bytes, ..)| is(memory, at, bytes))?;
        shape = match (makes, shape) {
            (Makes::Push, Shape::Returning) => Shape::Pushed,
            (Makes::Room, Shape::Pushed) | (Makes::Saved, Shape::Unsaved | Shape::Whole) => Shape::Whole,
            (Makes::Room, Shape::Returning) => Shape::Unsaved,
            (Makes::Nothing, shape) => shape,
            _ => return None,
        };
        at = at.wrapping_add(*length);
    }
    (at == pc || pc < begin).then_some(shape)
}

/// The frame at an interrupted instruction behind that.
pub fn shape(memory: &impl Memory, pc: usize) -> Option<Shape> {
    let byte = |at: usize| memory.byte(at);
    let before = |back: usize, what: &[u8]| is(memory, pc.wrapping_sub(back), what);
    let at = |what: &[u8]| is(memory, pc, what);
    let dropped =
        |back: usize| before(back.wrapping_add(4), &DROP[0]) || before(back.wrapping_add(7), &DROP[1]);
    // One byte alone is the end of many an instruction: what stands around it has to be what takes
    // a frame down.
    let popped = |back: usize| before(back.wrapping_add(1), &[POP_FP]) && dropped(back.wrapping_add(1));
    // Only code around native methods leaves its frame, and looks for an exception then.
    let left = |back: usize| before(back.wrapping_add(1), &[LEAVE]);
    let taken_down = |back: usize, poll: &[u8; 3]| popped(back) || EXCEPTION.contains(poll) && left(back);
    let after_poll = || POLLS.iter().any(|(poll, length)| before(*length, poll) && taken_down(*length, poll));
    let returning = byte(pc)? == RETURN
        || POLLS.iter().any(|(poll, _)| at(poll) && taken_down(0, poll))
        || (at(&POLL_PAGE) || at(&[JUMP])) && popped(0)
        || AFTER_POLL.iter().any(|after| at(after)) && after_poll();
    let pushed = byte(pc)? == POP_FP && dropped(0);
    Some(match (returning, pushed) {
        (true, _) => Shape::Returning,
        (false, true) => Shape::Pushed,
        (false, false) => Shape::Whole,
    })
}

/// True where the interpreter has taken a frame down, and what it returns to is on top.
pub fn leaves(memory: &impl Memory, pc: usize) -> bool {
    memory.byte(pc.wrapping_sub(1)) == Some(LEAVE) && is(memory, pc, &LEAVES)
}

/// Of such a frame its registers tell what it lacks.
pub fn lacks_sender(_: &impl Memory, _: usize) -> bool {
    false
}

/// The frame at an interrupted instruction of code of which no size of a frame is known; `None` if
/// it does not tell.
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
