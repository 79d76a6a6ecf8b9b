//! The debug information of an nmethod: which methods are inlined at each of its instructions,
//! according to HotSpot's PcDescs.
//!
//! The agent's own thread uses this module. The nmethod may have been freed, and other code may be
//! in its memory, so the functions accept memory with any content.

use super::compiled::{Compiled, FLAGS, OBJECTS, PcDescs, SCOPE, ScopeDesc, read_unsigned5};
use super::layout::Layout;
use crate::code_cache::BlobKind;
use crate::memory::Memory;
use crate::walker::RawFrame;

pub use super::compiled::MAX_INLINING;

/// The maximal number of PcDescs of an nmethod. Memory that has more cannot be an nmethod any more.
const MAX_PC_DESCS: usize = 1 << 16;

/// A `PcDesc`: HotSpot's description of the methods and values at the end of a run of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcDesc {
    /// The address at which the PcDesc's run of instructions ends.
    pub end: usize,
    /// The offset of the innermost scope in the scopes data, or 0 if the PcDesc has no scope.
    pub scope: usize,
    /// True if the PcDesc has scalar-replaced objects or flags. Only a safepoint has them.
    pub has_values: bool,
}

/// A method and a bytecode index in it, as the debug information names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScopeFrame {
    /// Number of the method in the nmethod's metadata, counted from 1.
    pub method: usize,
    pub bci: i32,
    /// True if the scope has locals, an expression stack or monitors. Only a safepoint has them.
    pub has_values: bool,
}

/// The debug information of one nmethod.
#[derive(Debug)]
pub struct DebugInfo<'m, M> {
    memory: &'m M,
    layout: &'m Layout,
    compiled: Compiled,
    descs: PcDescs,
    /// The address of the scopes data, or `None` if it cannot be read.
    scopes: Option<usize>,
}

impl<'m, M: Memory> DebugInfo<'m, M> {
    /// Reads the debug information of an nmethod. The result is `None` for a native method's
    /// wrapper.
    pub(super) fn read(memory: &'m M, layout: &'m Layout, nmethod: usize) -> Option<Self> {
        let compiled = Compiled::at(memory, layout, nmethod)?;
        if compiled.is_native(memory, layout)? {
            return None;
        }
        let descs = PcDescs::read(memory, &layout.compiled, nmethod)?;
        let scopes = layout.compiled.scopes_data.read(memory, compiled.blob);
        (descs.count <= MAX_PC_DESCS).then_some(DebugInfo { memory, layout, compiled, descs, scopes })
    }

    /// Returns the address of the nmethod's first instruction.
    pub fn code(&self) -> usize {
        self.compiled.code
    }

    /// Returns the address at which the nmethod's code ends. The deopt handler follows all other
    /// code.
    pub fn code_end(&self) -> Option<usize> {
        let Self { memory, layout, compiled, .. } = self;
        let size = memory.int(compiled.blob.wrapping_add(layout.jvm.code_cache.size))?;
        let end = compiled.blob.wrapping_add(usize::try_from(size).ok()?);
        let handler =
            layout.compiled.deopt_handlers.first().copied().flatten()?.read(*memory, compiled.blob)?;
        (compiled.code..end).contains(&handler).then_some(handler)
    }

    /// True if `target` is the uncommon trap blob. A call of that blob does not return.
    pub fn is_uncommon_trap(&self, target: usize) -> bool {
        let code_cache = &self.layout.jvm.code_cache;
        let found = code_cache.find(target, self.memory).filter(|(_, kind)| *kind == BlobKind::Other);
        let name = found.and_then(|(blob, _)| self.memory.word(blob.wrapping_add(code_cache.name)));
        name.and_then(|name| self.memory.bytes(name, 8)) == Some(usize::from_le_bytes(*b"Uncommon"))
    }

    /// Returns the number of the nmethod's PcDescs. The first and the last are sentinels.
    pub fn count(&self) -> usize {
        self.descs.count
    }

    /// Reads the PcDesc with this index. PcDescs are in the order of their addresses.
    pub fn desc(&self, index: usize) -> Option<PcDesc> {
        let at = self.descs.address(index);
        let field = |offset: usize| self.memory.int(at.wrapping_add(offset));
        let end = self.compiled.code.wrapping_add_signed(isize::try_from(field(0)?).ok()?);
        let scope = self.scope_offset(index)?;
        let has_values = field(OBJECTS)? | field(FLAGS)? != 0;
        (index < self.descs.count).then_some(PcDesc { end, scope, has_values })
    }

    /// Returns the offset of a PcDesc's innermost scope, or 0 if it has no scope.
    pub fn scope_offset(&self, index: usize) -> Option<usize> {
        let scope = self.memory.int(self.descs.address(index).wrapping_add(SCOPE))?;
        usize::try_from(scope).ok()
    }

    /// Finds the first PcDesc that ends at this address or later.
    pub fn index_at(&self, address: usize) -> Option<usize> {
        let offset = i32::try_from(address.wrapping_sub(self.compiled.code).cast_signed()).ok()?;
        let index = self.descs.index_at(self.memory, offset)?;
        (index < self.descs.count).then_some(index)
    }

    /// Calls `visit` for each frame of a PcDesc, innermost first. The result is `None` if the
    /// frames cannot be read.
    pub fn frames(&self, desc: PcDesc, mut visit: impl FnMut(ScopeFrame)) -> Option<()> {
        let mut scope = Some(desc.scope).filter(|scope| *scope != 0)?;
        for _ in 0..MAX_INLINING {
            let (frame, caller) = self.frame(scope)?;
            visit(frame);
            if caller == 0 {
                return Some(());
            }
            scope = caller;
        }
        None
    }

    /// Reads the frame of a scope, and the offset of its caller's scope, or 0 for the outermost
    /// one.
    pub fn frame(&self, scope: usize) -> Option<(ScopeFrame, usize)> {
        let Self { memory, layout, .. } = self;
        let excludes_zero = layout.compiled.unsigned5_excludes_zero;
        let desc = ScopeDesc::read(*memory, self.scopes?.wrapping_add(scope), excludes_zero)?;
        let mut at = desc.values;
        let mut value = || read_unsigned5(*memory, &mut at, excludes_zero);
        let has_values = value()? | value()? | value()? != 0;
        Some((ScopeFrame { method: desc.method, bci: desc.bci, has_values }, desc.caller))
    }

    /// Returns the number of frames at an address. PcDescs without a scope say nothing, so the next
    /// one that has a scope does.
    pub(super) fn frames_at(&self, address: usize) -> Option<usize> {
        let descs = (self.index_at(address)?..self.count()).map_while(|index| self.desc(index));
        let desc = descs.into_iter().find(|desc| desc.scope != 0)?;
        let mut frames = 0;
        self.frames(desc, |_| frames += 1)?;
        Some(frames)
    }

    /// Returns the memory that the debug information is read from.
    pub fn memory(&self) -> &M {
        self.memory
    }

    /// Converts a method's number in the metadata and a bci to a frame as walkers write it, with
    /// the method's jmethodID.
    pub fn raw(&self, method: usize, bci: i32) -> Option<RawFrame> {
        let Self { memory, layout, compiled, .. } = self;
        let metadata = layout.compiled.metadata.read(*memory, compiled.blob)?;
        ScopeDesc { caller: 0, method, bci, values: 0 }.frame(*memory, layout, metadata)
    }
}
