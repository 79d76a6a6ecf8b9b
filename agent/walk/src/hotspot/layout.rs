//! Where a JVM has what the walker reads: all of it from the tables that it exports, and nothing
//! that depends on the processor.

use core::ops::Range;

use crate::jvm_layout::Ground;
use crate::memory::Memory;

/// An address that a code blob's head tells: of the blob, or of what a pointer in it leads to, and
/// so many bytes behind that as a number in it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub pointer: Option<usize>,
    pub behind: Option<Number>,
}

/// A number in a head, and of how many bytes it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Number {
    pub at: usize,
    pub bytes: usize,
}

impl Number {
    /// A number of four bytes.
    #[must_use]
    pub const fn int(at: usize) -> Self {
        Self { at, bytes: 4 }
    }

    /// What it is in a blob; one that is negative is none.
    pub fn of(self, memory: &impl Memory, blob: usize) -> Option<usize> {
        let value = memory.bytes(blob.wrapping_add(self.at), self.bytes)?;
        let negative = 1_usize << u32::try_from(self.bytes).ok()?.wrapping_mul(8).wrapping_sub(1);
        (value < negative).then_some(value)
    }
}

impl Place {
    /// Where it is in a blob.
    pub fn of(self, memory: &impl Memory, blob: usize) -> Option<usize> {
        let base = match self.pointer {
            Some(pointer) => memory.word(blob.wrapping_add(pointer))?,
            None => blob,
        };
        Some(base.wrapping_add(match self.behind {
            Some(number) => number.of(memory, blob)?,
            None => 0,
        }))
    }
}

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Of a thread, and of code.
    pub ground: Ground,
    /// In a JavaThread: its state, and which one says that it is in Java.
    pub state: usize,
    pub in_java: i32,
    pub blob: BlobLayout,
    pub compiled: CompiledLayout,
    pub method: MethodLayout,
    pub entry: EntryLayout,
    pub anchor: AnchorLayout,
    pub interpreter: InterpreterLayout,
    pub upcall: Option<UpcallLayout>,
    pub unpack: Option<UnpackLayout>,
}

/// The interpreter.
#[derive(Debug, Clone, Default)]
pub struct InterpreterLayout {
    /// In its frame: how many words below the frame pointer it keeps where it is in the bytecode.
    pub bytecode: usize,
    /// Its code that makes the frames of methods.
    pub entries: Range<usize>,
    /// That which callees return to: of its own frames, and of those that it got when compiled code
    /// was given up.
    pub returns: [Range<usize>; 2],
}

impl InterpreterLayout {
    /// True if a callee may return there.
    #[must_use]
    pub fn is_returned_to(&self, pc: usize) -> bool {
        self.returns.iter().any(|piece| piece.contains(&pc))
    }
}

/// Any code blob.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlobLayout {
    /// The size of its frames, in words; from where in its code on they are whole; where that code
    /// begins.
    pub frame_size: usize,
    pub complete: Number,
    pub code: Place,
}

/// A compiled method.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompiledLayout {
    pub method: usize,
    /// Where it is entered by who knows that it is the right one; behind the beginning of its code,
    /// if that is no pointer.
    pub verified: Verified,
    /// In its frame: where it goes on that was given up, as far behind the stack pointer as this
    /// number says.
    pub original: usize,
    /// What is known at which pc, and the end of that; and what that leads to.
    pub pcs: Place,
    pub pcs_end: Place,
    pub scopes: Place,
    pub metadata: Place,
    /// Where the frames return to of code that was given up; the second where there are calls of
    /// method handles.
    pub given_up: [Option<Place>; 2],
    /// Numbers are written without a byte that is 0.
    pub zeroless: bool,
}

/// How a method is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    Pointer(usize),
    BehindCode(Number),
}

impl Default for Verified {
    fn default() -> Self {
        Self::Pointer(0)
    }
}

/// A method, and the way to its id.
#[derive(Debug, Clone, Copy, Default)]
pub struct MethodLayout {
    pub constant: usize,
    pub flags: usize,
    /// In its constant part; its bytecode begins behind that.
    pub pool: usize,
    pub number: usize,
    pub code_size: usize,
    pub code: usize,
    /// In the constants of a class: the class. In a class: the ids of its methods, behind their
    /// count.
    pub class: usize,
    pub ids: usize,
    /// An id leads back to its method.
    pub leads_back: bool,
}

/// The frame that begins what the VM has called.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryLayout {
    /// Where Java returns to.
    pub returns: usize,
    /// How many words below its frame pointer there is the address of what holds the anchor, and
    /// where in that it is.
    pub holder: usize,
    pub anchor: usize,
}

/// What says from where a thread has left Java.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnchorLayout {
    pub sp: usize,
    pub pc: usize,
    pub fp: usize,
}

/// The frame that begins what a foreign function has called.
#[derive(Debug, Clone, Copy, Default)]
pub struct UpcallLayout {
    /// In a blob: its kind, and which one that is.
    pub kind: usize,
    pub upcall: u8,
    /// In such a blob: how far behind the stack pointer the anchor is.
    pub anchor: usize,
}

/// What the interpreter's frames are filled in from that replace one whose code was given up.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnpackLayout {
    /// In a JavaThread: where that is; 0 if there are none.
    pub head: usize,
    /// In it: how many frames there are; the stack pointer of whoever has called the frame; what
    /// there is of the innermost one, and how large that is.
    pub count: usize,
    pub caller: usize,
    pub first: usize,
    pub size: usize,
    /// In what there is of one: its method, and the place in that.
    pub method: usize,
    pub bci: usize,
}
