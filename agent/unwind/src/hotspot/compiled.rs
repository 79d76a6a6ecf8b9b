//! The frame of a compiled method. The debug information at its pc says which methods are inlined
//! there.
//!
//! The compiler writes a `PcDesc` for each pc at which a thread can be stopped. A PcDesc refers to
//! a scope in the scopes data, and a scope refers to the scope of its caller. Numbers in the scopes
//! data are UNSIGNED5, with one to five bytes.

use vouch_sample::ENTRY;

use super::frames::Frames;
use super::layout::{BlobAddress, CompiledLayout, Layout, VerifiedEntry};
use super::method::Method;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// The size of a `PcDesc` in bytes. Its first field is `_pc_offset`.
const PC_DESC: usize = 16;
/// Offset of `PcDesc::_scope_decode_offset`.
pub const SCOPE: usize = 4;
/// Offset of `PcDesc::_obj_decode_offset`.
pub const OBJECTS: usize = 8;
/// Offset of `PcDesc::_flags`.
pub const FLAGS: usize = 12;
/// The maximal number of scopes at a PcDesc. No compiler inlines deeper.
pub const MAX_INLINING: usize = 1 << 10;

/// The PcDescs of an nmethod, in the order of their pcs. The first and the last are sentinels
/// without an address in the code.
#[derive(Debug, Clone, Copy)]
pub struct PcDescs {
    begin: usize,
    pub count: usize,
}

impl PcDescs {
    /// Reads the range of an nmethod's PcDescs.
    pub fn read(memory: &impl Memory, layout: &CompiledLayout, nmethod: usize) -> Option<Self> {
        let (begin, end) =
            (layout.scopes_pcs.read(memory, nmethod)?, layout.scopes_pcs_end.read(memory, nmethod)?);
        Some(Self { begin, count: end.checked_sub(begin)?.wrapping_div(PC_DESC) })
    }

    /// Returns the address of the PcDesc with this index. An index of `count` gives the end of the
    /// PcDescs.
    pub fn address(self, index: usize) -> usize {
        self.begin.wrapping_add(index.wrapping_mul(PC_DESC))
    }

    /// Finds the first PcDesc with this pc offset or a larger one. The result is `count` if there
    /// is no such PcDesc.
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

/// A `ScopeDesc`: one of the methods that are inlined at a PcDesc.
#[derive(Debug, Clone, Copy)]
pub struct ScopeDesc {
    /// Offset of the caller's scope in the scopes data, or 0 for the outermost scope.
    pub caller: usize,
    /// Number of the method in the nmethod's metadata, counted from 1.
    pub method: usize,
    pub bci: i32,
    /// The address of the values that follow in the scopes data: locals, expression stack and
    /// monitors.
    pub values: usize,
}

impl ScopeDesc {
    /// Decodes the scope at an address of the scopes data.
    pub fn read(memory: &impl Memory, address: usize, excludes_zero: bool) -> Option<Self> {
        let mut at = address;
        let mut number = || read_unsigned5(memory, &mut at, excludes_zero);
        let (caller, method, bci) = (number()?, number()?, number()?);
        Some(Self {
            caller: usize::try_from(caller).ok()?,
            method: usize::try_from(method).ok()?,
            bci: bci.cast_signed().wrapping_add(ENTRY),
            values: at,
        })
    }

    /// Returns the Java frame that the scope describes, with the method's jmethodID.
    pub fn frame(self, memory: &impl Memory, layout: &Layout, metadata: usize) -> Option<RawFrame> {
        let method = self.method.checked_sub(1)?.wrapping_mul(size_of::<usize>());
        let method = memory.word(metadata.wrapping_add(method))?;
        Method::at(memory, &layout.method, method)?.frame(memory, &layout.method, self.bci)
    }
}

/// The rule by which a PcDesc is chosen for a pc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcDescMatch {
    /// Chooses the PcDesc of a call that returns to this pc.
    Exact,
    /// Chooses the first PcDesc at this pc or after it, for a pc at any instruction.
    Next,
}

/// An nmethod with a frame on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Compiled {
    /// Address of the nmethod of the compiled method.
    pub blob: usize,
    /// Address of the nmethod's first instruction.
    pub code: usize,
    method: Method,
}

impl Compiled {
    /// Reads the nmethod at an address.
    pub fn at(memory: &impl Memory, layout: &Layout, blob: usize) -> Option<Self> {
        let code = layout.blob.code_begin.read(memory, blob)?;
        let method = memory.word(blob.wrapping_add(layout.compiled.method))?;
        Some(Self { blob, code, method: Method::at(memory, &layout.method, method)? })
    }

    /// True if the nmethod is the wrapper of a native method, which has no debug information.
    pub fn is_native(self, memory: &impl Memory, layout: &Layout) -> Option<bool> {
        self.method.is_native(memory, &layout.method)
    }

    /// Returns a frame for the nmethod's own method at its entry.
    pub fn own_frame(self, memory: &impl Memory, layout: &Layout) -> Option<RawFrame> {
        self.method.frame(memory, &layout.method, ENTRY)
    }

    /// Adds a frame for the nmethod's own method, without inlined methods. The method has not
    /// begun, has ended, or is native.
    pub fn push_method(self, memory: &impl Memory, layout: &Layout, frames: &mut Frames<'_>) -> Option<()> {
        frames.push(self.own_frame(memory, layout)?);
        Some(())
    }

    /// Returns the nmethod's verified entry point. The code before it only checks the receiver's
    /// klass.
    pub fn verified_entry_point(self, memory: &impl Memory, layout: &Layout) -> Option<usize> {
        match layout.compiled.verified_entry {
            VerifiedEntry::Pointer(pointer) => memory.word(self.blob.wrapping_add(pointer)),
            VerifiedEntry::Offset(number) => Some(self.code.wrapping_add(number.read(memory, self.blob)?)),
        }
    }

    /// Finds the offset of a pc's innermost scope. The result is 0 if the pc has no PcDesc, and
    /// `None` if the memory cannot be read.
    pub fn find_scope(
        self,
        memory: &impl Memory,
        layout: &CompiledLayout,
        pc: usize,
        which: PcDescMatch,
    ) -> Option<usize> {
        let descs = PcDescs::read(memory, layout, self.blob)?;
        let sought = i32::try_from(pc.checked_sub(self.code)?).ok()?;
        let index = descs.index_at(memory, sought)?;
        let found = descs.address(index);
        if index >= descs.count || which == PcDescMatch::Exact && memory.int(found)? != sought {
            return Some(0);
        }
        usize::try_from(memory.int(found.wrapping_add(SCOPE))?).ok()
    }

    /// Adds the frames of a scope and of its callers, innermost first.
    pub fn push_scope(
        self,
        memory: &impl Memory,
        layout: &Layout,
        innermost: usize,
        frames: &mut Frames<'_>,
    ) -> Option<()> {
        let scopes = layout.compiled.scopes_data.read(memory, self.blob)?;
        let metadata = layout.compiled.metadata.read(memory, self.blob)?;
        let mut scope = innermost;
        for _ in 0..MAX_INLINING {
            let desc =
                ScopeDesc::read(memory, scopes.wrapping_add(scope), layout.compiled.unsigned5_excludes_zero)?;
            frames.push(desc.frame(memory, layout, metadata)?);
            if desc.caller == 0 {
                return Some(());
            }
            scope = desc.caller;
        }
        None
    }

    /// True if `pc` is a deopt handler, to which deoptimised frames return.
    pub fn is_deopt_handler(self, memory: &impl Memory, layout: &CompiledLayout, pc: usize) -> bool {
        let is = |address: BlobAddress| address.read(memory, self.blob) == Some(pc);
        layout.deopt_handlers.into_iter().flatten().any(is)
    }
}

/// Reads an UNSIGNED5 number and advances `at`. Each byte but the last is at least 192 and adds six
/// bits.
pub fn read_unsigned5(memory: &impl Memory, at: &mut usize, excludes_zero: bool) -> Option<u32> {
    const LOW: u32 = 6;
    const HIGH: u32 = 192;
    let excluded = u32::from(excludes_zero);
    let mut sum = 0_u32;
    for index in 0..5_u32 {
        let byte = u32::from(memory.byte(*at)?);
        *at = at.wrapping_add(1);
        sum = sum.wrapping_add(byte.checked_sub(excluded)?.wrapping_shl(index.wrapping_mul(LOW)));
        if byte < HIGH {
            break;
        }
    }
    Some(sum)
}
