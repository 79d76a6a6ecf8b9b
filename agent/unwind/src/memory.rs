//! Reads memory for walkers: word by word, with `None` where no memory is mapped. An aligned word
//! never crosses the end of a page.
//!
//! Memory may have any content and may change at any time. A reader must check each value, and must
//! terminate for all of them.

use crate::context::ADDRESS_BITS;
use crate::kernel::peek;

/// Memory that walkers can read word by word.
pub trait Memory {
    /// Reads the word at an aligned address. The result is `None` if there is no memory.
    fn word(&self, at: usize) -> Option<usize>;

    /// Reads the word at an address that may be garbage. The read must not fault.
    fn word_if_mapped(&self, at: usize) -> Option<usize> {
        self.word(at)
    }

    /// Reads `count` bytes, eight at most, at any address. The result is a little-endian number.
    fn bytes(&self, at: usize, count: usize) -> Option<usize> {
        let shift = u32::try_from(at & 7).unwrap_or(0).wrapping_mul(8);
        let low = self.word(at & !7)?.wrapping_shr(shift);
        let here = 8_usize.wrapping_sub(at & 7);
        let high =
            if count > here { self.word((at & !7).wrapping_add(8))?.wrapping_shl(64 - shift) } else { 0 };
        let unused = u32::try_from(8_usize.wrapping_sub(count)).unwrap_or(0).wrapping_mul(8);
        Some((low | high).wrapping_shl(unused).wrapping_shr(unused))
    }

    /// Reads the u8 at an address.
    fn byte(&self, at: usize) -> Option<u8> {
        u8::try_from(self.bytes(at, 1)?).ok()
    }

    /// Reads the u16 at an address.
    fn short(&self, at: usize) -> Option<u16> {
        u16::try_from(self.bytes(at, 2)?).ok()
    }

    /// Reads the i32 at an address.
    fn int(&self, at: usize) -> Option<i32> {
        u32::try_from(self.bytes(at, 4)?).ok().map(u32::cast_signed)
    }
}

impl<F: Fn(usize) -> Option<usize>> Memory for F {
    fn word(&self, at: usize) -> Option<usize> {
        self(at)
    }
}

/// A view of this process's memory that reads it directly. A read of unmapped memory faults.
#[derive(Debug)]
pub struct LiveMemory(());

impl LiveMemory {
    /// Creates a reader of this process's memory for code that runs under the guard, which ends the
    /// walk at a fault.
    ///
    /// # Safety
    /// Each read must run under the guard.
    #[must_use]
    pub unsafe fn guarded() -> Self {
        Self(())
    }
}

impl Memory for LiveMemory {
    fn word(&self, at: usize) -> Option<usize> {
        // No memory is mapped in the first page, or above the addresses of user space.
        let may_be = at.is_multiple_of(size_of::<usize>()) && at >= 0x1000 && at >> ADDRESS_BITS == 0;
        // SAFETY: the caller of `guarded` promised to read under the guard. The guard ends the walk
        // if the address is unmapped.
        may_be.then(|| unsafe { (at as *const usize).read_volatile() })
    }

    /// Reads the word at an address through the kernel, which does not fault.
    fn word_if_mapped(&self, at: usize) -> Option<usize> {
        peek::<1>(at).map(|[word]| word)
    }
}

/// A view of this process's memory that reads it through the kernel. Any address is allowed, and
/// each word costs a system call.
#[derive(Debug)]
pub struct PeekedMemory(());

impl PeekedMemory {
    /// Creates a reader of memory through the kernel. The result is `None` if the system forbids
    /// such reads: all memory would seem unmapped.
    #[must_use]
    pub fn allowed() -> Option<Self> {
        let word = 7_usize;
        (peek::<1>((&raw const word).addr()) == Some([7])).then_some(Self(()))
    }
}

impl Memory for PeekedMemory {
    fn word(&self, at: usize) -> Option<usize> {
        peek::<1>(at).filter(|_| at.is_multiple_of(size_of::<usize>())).map(|[word]| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmapped_word_is_none_and_does_not_fault() {
        let word = 7_usize;
        // SAFETY: the test reads only through the kernel, which does not fault.
        let live = unsafe { LiveMemory::guarded() };
        assert_eq!(live.word_if_mapped(&raw const word as usize), Some(7));
        assert_eq!([live.word_if_mapped(0x10000), live.word_if_mapped(usize::MAX - 7)], [None, None]);
    }

    #[test]
    fn numbers_are_read_at_any_address() {
        let words = [0x0807_0605_0403_0201, 0xff0f_0e0d_0c0b_0a09_usize];
        let memory = |at: usize| {
            assert!(at.is_multiple_of(8));
            words.get((at - 64) / 8).copied()
        };
        assert_eq!(memory.byte(64), Some(1));
        assert_eq!(memory.short(71), Some(0x0908));
        assert_eq!(memory.bytes(67, 8), Some(0x0b0a_0908_0706_0504));
        assert_eq!(memory.int(76), Some(-0x00f0_f1f3));
        assert_eq!(memory.int(77), None, "its second half is unmapped");
        assert_eq!(memory.bytes(72, 8), Some(words[1]));
    }
}
