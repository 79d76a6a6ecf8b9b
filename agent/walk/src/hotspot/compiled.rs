//! A frame of a compiled method: which methods were inlined there, by the debug information at its
//! pc.
//!
//! For each place where a thread can be stopped the compiler has written down where in which
//! methods that is: a *description* by pc, which leads to a *scope*, which leads to that of its
//! caller. Numbers in it are of one to five bytes.

use vouch_sample::ENTRY;

use super::frames::Frames;
use super::layout::{CompiledLayout, Layout, Place, Verified};
use super::method::Method;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// Bytes of a PcDesc: the pc's offset, its scope, the objects in it, its flags.
const PC_DESC: usize = 16;
pub const SCOPE: usize = 4;
pub const OBJECTS: usize = 8;
pub const FLAGS: usize = 12;
/// No compiler inlines deeper.
pub const MAX_INLINING: usize = 1 << 10;

/// The PcDescs of a compiled method, in the order of their pcs. The first and the last are no
/// places in the code.
#[derive(Debug, Clone, Copy)]
pub struct PcDescs {
    begin: usize,
    pub count: usize,
}

impl PcDescs {
    pub fn of_nmethod(memory: &impl Memory, layout: &CompiledLayout, nmethod: usize) -> Option<Self> {
        let (begin, end) = (layout.pcs.of(memory, nmethod)?, layout.pcs_end.of(memory, nmethod)?);
        Some(Self { begin, count: end.checked_sub(begin)?.wrapping_div(PC_DESC) })
    }

    /// The address of a PcDesc; that behind the last is their end.
    pub fn address(self, index: usize) -> usize {
        self.begin.wrapping_add(index.wrapping_mul(PC_DESC))
    }

    /// The index of the first whose pc has this offset or a larger one; their count if none has.
    pub fn index_at(self, memory: &impl Memory, offset: i32) -> Option<usize> {
        let (mut low, mut high) = (0_usize, self.count);
        while low < high {
            let middle = low.wrapping_add(high.wrapping_sub(low) >> 1);
            if memory.int(self.address(middle))? < offset {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

/// One method of a scope, as the debug information has it.
#[derive(Debug, Clone, Copy)]
pub struct ScopeDesc {
    /// Where in the debug information its caller is; 0 if it is the outermost.
    pub caller: usize,
    /// Its number in the compiled method's metadata; they count from 1.
    pub method: usize,
    pub bci: i32,
    /// The address of what follows: its locals, expression stack and monitors.
    pub values: usize,
}

impl ScopeDesc {
    pub fn read(memory: &impl Memory, address: usize, zeroless: bool) -> Option<Self> {
        let mut at = address;
        let mut number = || number(memory, &mut at, zeroless);
        let (caller, method, bci) = (number()?, number()?, number()?);
        Some(Self {
            caller: usize::try_from(caller).ok()?,
            method: usize::try_from(method).ok()?,
            bci: bci.cast_signed().wrapping_add(ENTRY),
            values: at,
        })
    }

    /// Its frame, with the id of its method.
    pub fn frame(self, memory: &impl Memory, layout: &Layout, metadata: usize) -> Option<RawFrame> {
        let method = self.method.checked_sub(1)?.wrapping_mul(size_of::<usize>());
        let method = memory.word(metadata.wrapping_add(method))?;
        Method::at(memory, &layout.method, method)?.frame(memory, &layout.method, self.bci)
    }
}

/// Which description of a pc is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// That of a call that returns to the pc.
    Exact,
    /// The next one: of an instruction anywhere.
    Next,
}

/// A compiled method that is running.
#[derive(Debug, Clone, Copy)]
pub struct Compiled {
    pub blob: usize,
    pub code: usize,
    method: Method,
}

impl Compiled {
    pub fn at(memory: &impl Memory, layout: &Layout, blob: usize) -> Option<Self> {
        let code = layout.blob.code.of(memory, blob)?;
        let method = memory.word(blob.wrapping_add(layout.compiled.method))?;
        Some(Self { blob, code, method: Method::at(memory, &layout.method, method)? })
    }

    /// True if it is the code around a native method: nothing is described there.
    pub fn is_native(self, memory: &impl Memory, layout: &Layout) -> Option<bool> {
        self.method.is_native(memory, &layout.method)
    }

    /// Adds the frame of the method itself, which has not begun, has ended or is native.
    pub fn add_itself(self, memory: &impl Memory, layout: &Layout, frames: &mut Frames<'_>) -> Option<()> {
        frames.push(self.method.frame(memory, &layout.method, ENTRY)?);
        Some(())
    }

    /// Where it is entered by who knows that it is meant: before that it is only compared with what
    /// was.
    pub fn verified(self, memory: &impl Memory, layout: &Layout) -> Option<usize> {
        match layout.compiled.verified {
            Verified::Pointer(pointer) => memory.word(self.blob.wrapping_add(pointer)),
            Verified::BehindCode(number) => Some(self.code.wrapping_add(number.of(memory, self.blob)?)),
        }
    }

    /// The scope that the description of a pc leads to: 0 if nothing is described there, `None` if
    /// that cannot be read.
    pub fn scope(
        self,
        memory: &impl Memory,
        layout: &CompiledLayout,
        pc: usize,
        which: Which,
    ) -> Option<usize> {
        let descs = PcDescs::of_nmethod(memory, layout, self.blob)?;
        let sought = i32::try_from(pc.checked_sub(self.code)?).ok()?;
        let index = descs.index_at(memory, sought)?;
        let found = descs.address(index);
        if index >= descs.count || which == Which::Exact && memory.int(found)? != sought {
            return Some(0);
        }
        usize::try_from(memory.int(found.wrapping_add(SCOPE))?).ok()
    }

    /// Adds the frames that are one there, innermost first.
    pub fn add(
        self,
        memory: &impl Memory,
        layout: &Layout,
        innermost: usize,
        frames: &mut Frames<'_>,
    ) -> Option<()> {
        let scopes = layout.compiled.scopes.of(memory, self.blob)?;
        let metadata = layout.compiled.metadata.of(memory, self.blob)?;
        let mut scope = innermost;
        for _ in 0..MAX_INLINING {
            let desc = ScopeDesc::read(memory, scopes.wrapping_add(scope), layout.compiled.zeroless)?;
            frames.push(desc.frame(memory, layout, metadata)?);
            if desc.caller == 0 {
                return Some(());
            }
            scope = desc.caller;
        }
        None
    }

    /// True if `pc` is where the frames of code return to that was given up under them.
    pub fn given_up(self, memory: &impl Memory, layout: &CompiledLayout, pc: usize) -> bool {
        let is = |place: Place| place.of(memory, self.blob) == Some(pc);
        layout.given_up.into_iter().flatten().any(is)
    }
}

/// A number of one to five bytes: of each but the last the low six bits count, and it is no less
/// than 192.
pub fn number(memory: &impl Memory, at: &mut usize, zeroless: bool) -> Option<u32> {
    const LOW: u32 = 6;
    const HIGH: u32 = 192;
    let less = u32::from(zeroless);
    let mut sum = 0_u32;
    for index in 0..5_u32 {
        let byte = u32::from(memory.byte(*at)?);
        *at = at.wrapping_add(1);
        sum = sum.wrapping_add(byte.checked_sub(less)?.wrapping_shl(index.wrapping_mul(LOW)));
        if byte < HIGH {
            break;
        }
    }
    Some(sum)
}
