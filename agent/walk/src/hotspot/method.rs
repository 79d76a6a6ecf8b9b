//! A method as the JVM has it in its memory, told as an id and a place in its bytecode.

use vouch_sample::{Bci, MethodId, NATIVE};

use super::layout::MethodLayout;
use crate::memory::Memory;
use crate::walker::RawFrame;

/// The flag of a native method, as class files have it.
const IS_NATIVE: u16 = 0x100;

/// True if this may be a method's id: where an id leads to its method, it is one that has it.
/// Anything may be asked about, so the memory must be one that answers whatever the address is.
pub fn is_id(memory: &impl Memory, layout: &MethodLayout, id: usize) -> bool {
    let its = || Method::at(memory, layout, memory.word(id)?)?.id(memory, layout);
    !layout.leads_back || its() == Some(id)
}

/// A method that was found somewhere.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    method: usize,
    constant: usize,
}

impl Method {
    /// What lies there, if it may be one.
    pub fn at(memory: &impl Memory, layout: &MethodLayout, method: usize) -> Option<Self> {
        let constant = memory.word(method.wrapping_add(layout.constant))?;
        (constant != 0).then_some(Self { method, constant })
    }

    pub fn is_native(self, memory: &impl Memory, layout: &MethodLayout) -> Option<bool> {
        Some(memory.short(self.method.wrapping_add(layout.flags))? & IS_NATIVE != 0)
    }

    /// Its frame at this place.
    pub fn frame(self, memory: &impl Memory, layout: &MethodLayout, bci: Bci) -> Option<RawFrame> {
        let bci = if self.is_native(memory, layout)? { NATIVE } else { bci };
        let method = match self.id(memory, layout)? {
            0 => MethodId::UNNUMBERED.0,
            id => id,
        };
        Some(RawFrame { bci, method })
    }

    /// Its id; 0 if it has none, as when its class was redefined.
    fn id(self, memory: &impl Memory, layout: &MethodLayout) -> Option<usize> {
        let pool = memory.word(self.constant.wrapping_add(layout.pool))?;
        let class = memory.word(pool.wrapping_add(layout.class))?;
        let ids = memory.word(class.wrapping_add(layout.ids))?;
        if ids == 0 {
            return Some(0);
        }
        let number = usize::from(memory.short(self.constant.wrapping_add(layout.number))?);
        // The first is their count.
        if number >= memory.word(ids)? {
            return Some(0);
        }
        let id = memory.word(ids.wrapping_add(number.wrapping_add(1).wrapping_mul(size_of::<usize>())))?;
        let its = id != 0
            && (!layout.leads_back || self.is_led_back_to(memory, layout, memory.word(id)?, number)?);
        Some(if its { id } else { 0 })
    }

    /// True if that is the method itself, or what has taken its place and number: its class was
    /// redefined, and it was not changed.
    fn is_led_back_to(
        self,
        memory: &impl Memory,
        layout: &MethodLayout,
        method: usize,
        number: usize,
    ) -> Option<bool> {
        if method == self.method {
            return Some(true);
        }
        let constant = memory.word(method.wrapping_add(layout.constant))?;
        let class = |constant: usize| {
            memory.word(memory.word(constant.wrapping_add(layout.pool))?.wrapping_add(layout.class))
        };
        let its = usize::from(memory.short(constant.wrapping_add(layout.number))?);
        Some(its == number && class(constant)? == class(self.constant)?)
    }

    /// The place in its bytecode that lies at this address.
    pub fn bci(self, memory: &impl Memory, layout: &MethodLayout, address: usize) -> Option<Bci> {
        let bci = address.checked_sub(self.constant.wrapping_add(layout.code))?;
        let size = memory.short(self.constant.wrapping_add(layout.code_size))?;
        Bci::try_from(bci).ok().filter(|_| bci < usize::from(size))
    }
}
