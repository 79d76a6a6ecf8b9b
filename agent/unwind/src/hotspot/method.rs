//! Reads a HotSpot `Method` from the JVM's memory: its jmethodID, and the bci of an address in its
//! bytecodes.

use vouch_sample::{Bci, MethodId, NATIVE};

use super::layout::MethodLayout;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// The access flag of native methods, as in class files.
const ACC_NATIVE: u16 = 0x100;

/// True if `id` may be a jmethodID. Where ids are pointers, the method there must have this id. The
/// value may be anything, so the memory must accept any address.
pub fn is_id(memory: &impl Memory, layout: &MethodLayout, id: usize) -> bool {
    let id_at = || Method::at(memory, layout, memory.word(id)?)?.id(memory, layout);
    !layout.ids_are_pointers || id_at() == Some(id)
}

/// A HotSpot `Method` and its `ConstMethod`.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    method: usize,
    const_method: usize,
}

impl Method {
    /// Reads the `Method` at an address. The result is `None` if no method can be there.
    pub fn at(memory: &impl Memory, layout: &MethodLayout, method: usize) -> Option<Self> {
        let const_method = memory.word(method.wrapping_add(layout.const_method))?;
        (const_method != 0).then_some(Self { method, const_method })
    }

    /// True if this `Method` is a native method.
    pub fn is_native(self, memory: &impl Memory, layout: &MethodLayout) -> Option<bool> {
        Some(memory.short(self.method.wrapping_add(layout.access_flags))? & ACC_NATIVE != 0)
    }

    /// Returns a frame of the method at a bci, as walkers write it.
    pub fn frame(self, memory: &impl Memory, layout: &MethodLayout, bci: Bci) -> Option<RawFrame> {
        let bci = if self.is_native(memory, layout)? { NATIVE } else { bci };
        let method = match self.id(memory, layout)? {
            0 => MethodId::UNNUMBERED.0,
            id => id,
        };
        Some(RawFrame { bci, method })
    }

    /// Reads the jmethodID of the method. It is 0 if the method has none, for example after its
    /// class was redefined.
    fn id(self, memory: &impl Memory, layout: &MethodLayout) -> Option<usize> {
        let pool = memory.word(self.const_method.wrapping_add(layout.constants))?;
        let class = memory.word(pool.wrapping_add(layout.pool_holder))?;
        let ids = memory.word(class.wrapping_add(layout.jmethod_ids))?;
        if ids == 0 {
            return Some(0);
        }
        let number = usize::from(memory.short(self.const_method.wrapping_add(layout.idnum))?);
        // The first word of the array is its length.
        if number >= memory.word(ids)? {
            return Some(0);
        }
        let id = memory.word(ids.wrapping_add(number.wrapping_add(1).wrapping_mul(size_of::<usize>())))?;
        let is_own = id != 0
            && (!layout.ids_are_pointers || self.is_same_method(memory, layout, memory.word(id)?, number)?);
        Some(if is_own { id } else { 0 })
    }

    /// True if `method` is this method, or the method that replaced it with the same number. A
    /// replacement happens when the class was redefined and this method was not changed.
    fn is_same_method(
        self,
        memory: &impl Memory,
        layout: &MethodLayout,
        method: usize,
        number: usize,
    ) -> Option<bool> {
        if method == self.method {
            return Some(true);
        }
        let const_method = memory.word(method.wrapping_add(layout.const_method))?;
        let class = |const_method: usize| {
            memory.word(
                memory.word(const_method.wrapping_add(layout.constants))?.wrapping_add(layout.pool_holder),
            )
        };
        let other = usize::from(memory.short(const_method.wrapping_add(layout.idnum))?);
        Some(other == number && class(const_method)? == class(self.const_method)?)
    }

    /// Converts the address of a bytecode to its index (bci). The result is `None` for an address
    /// outside of the method's bytecodes.
    pub fn bci(self, memory: &impl Memory, layout: &MethodLayout, address: usize) -> Option<Bci> {
        let bci = address.checked_sub(self.const_method.wrapping_add(layout.bytecodes))?;
        let size = memory.short(self.const_method.wrapping_add(layout.code_size))?;
        Bci::try_from(bci).ok().filter(|_| bci < usize::from(size))
    }
}
