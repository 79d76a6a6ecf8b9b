//! The debug information of a compiled method: which methods were inlined at each of its instructions, as HotSpot's PcDescs say.
//!
//! This is for the agent's own thread. It reads any memory, so the code may be gone, or other code may be there by now.

use super::Own;
use super::compiled::{Compiled, number};
use super::layout::Layout;
use super::method::Method;
use crate::blobs::Blob;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// Bytes of a PcDesc: the pc's offset, its scope, the objects in it, its flags.
const PC_DESC: usize = 16;
const SCOPE: usize = 4;
/// A method with more is none: other code lies there by now.
const MAX_PC_DESCS: usize = 1 << 16;
/// No compiler inlines deeper.
const MAX_INLINING: usize = 1 << 10;

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
    /// The debug information has locals, an expression stack or monitors of it: only a safepoint's has.
    pub has_values: bool,
}

/// The debug information of one compiled method.
#[derive(Debug)]
pub struct DebugInfo<'m, M> {
    memory: &'m M,
    layout: &'m Layout,
    compiled: Compiled,
    /// The array of PcDescs.
    descs: usize,
    count: usize,
}

impl Own {
    /// Where the code blob of the compiled method around a pc begins; `None` for other code.
    pub fn nmethod_at(&self, memory: &impl Memory, pc: usize) -> Option<usize> {
        match self.layout.ground.blobs.find(pc, memory)? {
            (nmethod, Blob::Method) => Some(nmethod),
            (_, Blob::Dead | Blob::Other) => None,
        }
    }

    /// The debug information of a compiled method; `None` for a native method's wrapper.
    pub fn debug_info<'m, M: Memory>(&'m self, memory: &'m M, nmethod: usize) -> Option<DebugInfo<'m, M>> {
        let layout = &self.layout;
        let compiled = Compiled::at(memory, layout, nmethod)?;
        if compiled.is_native(memory, layout)? {
            return None;
        }
        let descs = layout.compiled.pcs.of(memory, nmethod)?;
        let end = layout.compiled.pcs_end.of(memory, nmethod)?;
        let count = end.checked_sub(descs)?.wrapping_div(PC_DESC);
        (count <= MAX_PC_DESCS).then_some(DebugInfo { memory, layout, compiled, descs, count })
    }
}

impl<M: Memory> DebugInfo<'_, M> {
    /// The address of its first instruction.
    pub fn code(&self) -> usize {
        self.compiled.code
    }

    /// Where its code ends: the handler that deoptimised frames return to stands behind all that is executed otherwise.
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
        self.count
    }

    /// One of the PcDescs, which are in the order of their addresses.
    pub fn desc(&self, index: usize) -> Option<PcDesc> {
        let at = self.descs.wrapping_add(index.wrapping_mul(PC_DESC));
        let offset = self.memory.int(at)?;
        let scope = usize::try_from(self.memory.int(at.wrapping_add(SCOPE))?).ok()?;
        let end = self.compiled.code.wrapping_add_signed(isize::try_from(offset).ok()?);
        let has_values = self.memory.int(at.wrapping_add(8))? | self.memory.int(at.wrapping_add(12))? != 0;
        (index < self.count).then_some(PcDesc { end, scope, has_values })
    }

    /// The index of the first PcDesc whose run ends at this address or later.
    pub fn index_at(&self, address: usize) -> Option<usize> {
        let (mut low, mut high) = (0_usize, self.count);
        while low < high {
            let middle = low.wrapping_add(high.wrapping_sub(low) >> 1);
            if self.desc(middle)?.end.cast_signed() < address.cast_signed() {
                low = middle.wrapping_add(1);
            } else {
                high = middle;
            }
        }
        (low < self.count).then_some(low)
    }

    /// Visits the frames of a scope, innermost first; `None` if they cannot be read.
    pub fn frames(&self, desc: PcDesc, mut visit: impl FnMut(ScopeFrame)) -> Option<()> {
        let Self { memory, layout, compiled, .. } = self;
        let scopes = layout.compiled.scopes.of(*memory, compiled.blob)?;
        let mut scope = Some(desc.scope).filter(|scope| *scope != 0)?;
        for _ in 0..MAX_INLINING {
            let mut at = scopes.wrapping_add(scope);
            let mut number = || number(*memory, &mut at, layout.compiled.zeroless);
            let (caller, method, bci) = (number()?, number()?, number()?);
            let has_values = number()? | number()? | number()? != 0;
            let method = usize::try_from(method).ok()?;
            visit(ScopeFrame {
                method,
                bci: bci.cast_signed().wrapping_add(vouch_sample::ENTRY),
                has_values,
            });
            if caller == 0 {
                return Some(());
            }
            scope = usize::try_from(caller).ok()?;
        }
        None
    }

    /// The memory that it is read from.
    pub fn memory(&self) -> &M {
        self.memory
    }

    /// The frame as a walker writes it: with the id of its method.
    pub fn raw(&self, frame: ScopeFrame) -> Option<RawFrame> {
        let Self { memory, layout, compiled, .. } = self;
        let metadata = layout.compiled.metadata.of(*memory, compiled.blob)?;
        let number = frame.method.checked_sub(1)?.wrapping_mul(size_of::<usize>());
        let method = memory.word(metadata.wrapping_add(number))?;
        Method::at(*memory, &layout.method, method)?.frame(*memory, &layout.method, frame.bci)
    }
}
