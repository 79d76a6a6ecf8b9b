//! Reads words of another thread's JavaThread.

use crate::vmstructs;

/// A HotSpot JavaThread at an address, with a way to read its words.
#[derive(Debug)]
pub struct JavaThread {
    address: usize,
    may_be_freed: bool,
}

impl JavaThread {
    /// Wraps a JavaThread that the JVM may free at any time. Its words are read through the kernel,
    /// so a freed JavaThread causes no fault.
    pub fn unprotected(address: usize) -> Self {
        Self { address, may_be_freed: true }
    }

    /// Wraps a JavaThread that the JVM does not free meanwhile. Its words are read directly.
    ///
    /// # Safety
    /// The JVM must not free it as long as the result is used.
    pub unsafe fn protected(address: usize) -> Self {
        Self { address, may_be_freed: false }
    }

    /// Returns the address of the JavaThread.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Reads the JavaThread's word at `offset`. `None` if the memory is not mapped.
    pub fn word(&self, offset: usize) -> Option<usize> {
        let address = self.address.checked_add(offset)?;
        if self.may_be_freed {
            return vmstructs::read_word(address);
        }
        // SAFETY: `protected` requires the JavaThread to stay allocated. The word is aligned, and
        // other threads write whole words.
        Some(unsafe { (address as *const usize).read_volatile() })
    }

    /// Reads the low 32 bits of the JavaThread's word at `offset`. `None` if the memory is not
    /// mapped.
    pub fn low_u32(&self, offset: usize) -> Option<u32> {
        u32::try_from(self.word(offset)? & 0xffff_ffff).ok()
    }
}
