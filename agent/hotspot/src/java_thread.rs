//! Reads words of another thread's JavaThread.

use crate::vmstructs;

/// A JavaThread, by its address.
#[derive(Debug)]
pub struct JavaThread {
    address: usize,
    may_be_freed: bool,
}

impl JavaThread {
    /// A JavaThread that the JVM may free at any time. The kernel reads its memory, so that a freed
    /// one causes no fault.
    pub fn that_may_be_freed(address: usize) -> Self {
        Self { address, may_be_freed: true }
    }

    /// A JavaThread that stays allocated while its words are read.
    ///
    /// # Safety
    /// The JVM must not free it as long as the result is used.
    pub unsafe fn that_stays(address: usize) -> Self {
        Self { address, may_be_freed: false }
    }

    /// The JavaThread's address.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The word at `offset`, or `None` if the memory is gone.
    pub fn word(&self, offset: usize) -> Option<usize> {
        let address = self.address.checked_add(offset)?;
        if self.may_be_freed {
            return vmstructs::read(address);
        }
        // SAFETY: `that_stays` requires the JavaThread to stay allocated. The word is aligned, and
        // other threads write whole words.
        Some(unsafe { (address as *const usize).read_volatile() })
    }

    /// The low 32 bits of the word at `offset`, or `None` if the memory is gone.
    pub fn low_u32(&self, offset: usize) -> Option<u32> {
        u32::try_from(self.word(offset)? & 0xffff_ffff).ok()
    }
}
