//! The debug information of a compiled method: which methods were inlined at each of its
//! instructions, as HotSpot's PcDescs say.
//!
//! This is for the agent's own thread. It reads any memory, so the code may be gone, or other code
//! may be there by now.

use super::compiled::{Compiled, FLAGS, MAX_INLINING, OBJECTS, PcDescs, SCOPE, ScopeDesc, number};
use super::layout::Layout;
use crate::code_cache::Blob;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// Other code lies there by now if a method seems to have more.
const MAX_PC_DESCS: usize = 1 << 16;

/// A PcDesc: the state of the JVM at the end of a run of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcDesc {
    /// The address at which the run ends.
    pub end: usize,
    /// Where its innermost scope is; 0 if it has none.
    pub scope: usize,
    /// It has scalar-replaced objects or flags: only a safepoint's has.
    pub has_values: bool,
}

/// A method and a bytecode index in it, as the debug information names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScopeFrame {
    /// The method's number in the compiled method's metadata.
    pub method: usize,
    pub bci: i32,
    /// The debug information has locals, an expression stack or monitors of it: only a safepoint's
    /// has.
    pub has_values: bool,
}

/// The debug information of one compiled method.
#[derive(Debug)]
pub struct DebugInfo<'m, M> {
    memory: &'m M,
    layout: &'m Layout,
    compiled: Compiled,
    descs: PcDescs,
}

impl<'m, M: Memory> DebugInfo<'m, M> {
    /// That of a compiled method; `None` for a native method's wrapper.
    pub(super) fn read(memory: &'m M, layout: &'m Layout, nmethod: usize) -> Option<Self> {
        let compiled = Compiled::at(memory, layout, nmethod)?;
        if compiled.is_native(memory, layout)? {
            return None;
        }
        let descs = PcDescs::of_nmethod(memory, &layout.compiled, nmethod)?;
        (descs.count <= MAX_PC_DESCS).then_some(DebugInfo { memory, layout, compiled, descs })
    }

    /// The address of its first instruction.
    pub fn code(&self) -> usize {
        self.compiled.code
    }

    /// Where its code ends: the handler that deoptimised frames return to stands behind all that is
    /// executed otherwise.
    pub fn code_end(&self) -> Option<usize> {
        let Self { memory, layout, compiled, .. } = self;
        let size = memory.int(compiled.blob.wrapping_add(layout.ground.blobs.size))?;
        let end = compiled.blob.wrapping_add(usize::try_from(size).ok()?);
        let handler = layout.compiled.given_up.first().copied().flatten()?.of(*memory, compiled.blob)?;
        (compiled.code..end).contains(&handler).then_some(handler)
    }

    /// True if the uncommon trap is called at this address: a call of it does not return.
    pub fn is_uncommon_trap(&self, target: usize) -> bool {
        let blobs = &self.layout.ground.blobs;
        let found = blobs.find(target, self.memory).filter(|(_, kind)| *kind == Blob::Other);
        let name = found.and_then(|(blob, _)| self.memory.word(blob.wrapping_add(blobs.name)));
        name.and_then(|name| self.memory.bytes(name, 8)) == Some(usize::from_le_bytes(*b"Uncommon"))
    }

    /// How many PcDescs there are. The first and the last are no places in the code.
    pub fn count(&self) -> usize {
        self.descs.count
    }

    /// One of the PcDescs, which are in the order of their addresses.
    pub fn desc(&self, index: usize) -> Option<PcDesc> {
        let at = self.descs.address(index);
        let field = |offset: usize| self.memory.int(at.wrapping_add(offset));
        let end = self.compiled.code.wrapping_add_signed(isize::try_from(field(0)?).ok()?);
        let scope = self.scope_offset(index)?;
        let has_values = field(OBJECTS)? | field(FLAGS)? != 0;
        (index < self.descs.count).then_some(PcDesc { end, scope, has_values })
    }

    /// Where the innermost scope of a PcDesc is; 0 if it has none.
    pub fn scope_offset(&self, index: usize) -> Option<usize> {
        let scope = self.memory.int(self.descs.address(index).wrapping_add(SCOPE))?;
        usize::try_from(scope).ok()
    }

    /// The index of the first PcDesc whose run ends at this address or later.
    pub fn index_at(&self, address: usize) -> Option<usize> {
        let offset = i32::try_from(address.wrapping_sub(self.compiled.code).cast_signed()).ok()?;
        let index = self.descs.index_at(self.memory, offset)?;
        (index < self.descs.count).then_some(index)
    }

    /// Visits the frames of a scope, innermost first; `None` if they cannot be read.
    pub fn frames(&self, desc: PcDesc, mut visit: impl FnMut(ScopeFrame)) -> Option<()> {
        let Self { memory, layout, compiled, .. } = self;
        let scopes = layout.compiled.scopes.of(*memory, compiled.blob)?;
        let mut scope = Some(desc.scope).filter(|scope| *scope != 0)?;
        for _ in 0..MAX_INLINING {
            let zeroless = layout.compiled.zeroless;
            let desc = ScopeDesc::read(*memory, scopes.wrapping_add(scope), zeroless)?;
            let mut at = desc.values;
            let mut value = || number(*memory, &mut at, zeroless);
            let has_values = value()? | value()? | value()? != 0;
            visit(ScopeFrame { method: desc.method, bci: desc.bci, has_values });
            if desc.caller == 0 {
                return Some(());
            }
            scope = desc.caller;
        }
        None
    }

    /// The memory that it is read from.
    pub fn memory(&self) -> &M {
        self.memory
    }

    /// The frame as a walker writes it: with the id of its method.
    pub fn raw(&self, method: usize, bci: i32) -> Option<RawFrame> {
        let Self { memory, layout, compiled, .. } = self;
        let metadata = layout.compiled.metadata.of(*memory, compiled.blob)?;
        ScopeDesc { caller: 0, method, bci, values: 0 }.frame(*memory, layout, metadata)
    }
}
