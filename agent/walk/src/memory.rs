//! Memory, as who walks it reads it: by words, so that nothing is read that a page may cut, and
//! with an answer where there is none.
//!
//! What is read may be anything, and from any moment. Whoever reads must take each value for a
//! claim, and must come to an end whatever it is.

use crate::context::ADDRESS_BITS;
use crate::kernel::peek;

/// Memory that can be read.
pub trait Memory {
    /// The word at an address, which is a multiple of its size; `None` where there is none.
    fn word(&self, at: usize) -> Option<usize>;

    /// The same of an address that may well be none, since anything may have been taken for it.
    fn perhaps(&self, at: usize) -> Option<usize> {
        self.word(at)
    }

    /// So many bytes, eight at most, at any address, as a number whose lowest byte comes first.
    fn bytes(&self, at: usize, count: usize) -> Option<usize> {
        let shift = u32::try_from(at & 7).unwrap_or(0).wrapping_mul(8);
        let low = self.word(at & !7)?.wrapping_shr(shift);
        let here = 8_usize.wrapping_sub(at & 7);
        let high =
            if count > here { self.word((at & !7).wrapping_add(8))?.wrapping_shl(64 - shift) } else { 0 };
        let unused = u32::try_from(8_usize.wrapping_sub(count)).unwrap_or(0).wrapping_mul(8);
        Some((low | high).wrapping_shl(unused).wrapping_shr(unused))
    }

    /// A byte.
    fn byte(&self, at: usize) -> Option<u8> {
        u8::try_from(self.bytes(at, 1)?).ok()
    }

    /// A number of two bytes.
    fn short(&self, at: usize) -> Option<u16> {
        u16::try_from(self.bytes(at, 2)?).ok()
    }

    /// A number of four bytes with a sign.
    fn int(&self, at: usize) -> Option<i32> {
        u32::try_from(self.bytes(at, 4)?).ok().map(u32::cast_signed)
    }
}

impl<F: Fn(usize) -> Option<usize>> Memory for F {
    fn word(&self, at: usize) -> Option<usize> {
        self(at)
    }
}

/// This process's memory, read as it is.
#[derive(Debug)]
pub struct Live(());

impl Live {
    /// To be read under the guard, which ends what faults.
    ///
    /// # Safety
    /// The guard must be around all that is done with it.
    #[must_use]
    pub unsafe fn guarded() -> Self {
        Self(())
    }
}

impl Memory for Live {
    fn word(&self, at: usize) -> Option<usize> {
        // The first page is nobody's, and a program's memory ends below the kernel's.
        let may_be = at.is_multiple_of(size_of::<usize>()) && at >= 0x1000 && at >> ADDRESS_BITS == 0;
        // SAFETY: by the promise of `guarded`: where there is no memory the guard ends the walk.
        may_be.then(|| unsafe { (at as *const usize).read_volatile() })
    }

    /// Asked of the kernel, so that it is no fault.
    fn perhaps(&self, at: usize) -> Option<usize> {
        peek::<1>(at).map(|[word]| word)
    }
}

/// This process's memory, read by the kernel: any address may be asked about, and it takes a system
/// call for each word.
#[derive(Debug)]
pub struct Peeked(());

impl Peeked {
    /// `None` where the system forbids it: every address would seem to be none.
    #[must_use]
    pub fn allowed() -> Option<Self> {
        let word = 7_usize;
        (peek::<1>((&raw const word).addr()) == Some([7])).then_some(Self(()))
    }
}

impl Memory for Peeked {
    fn word(&self, at: usize) -> Option<usize> {
        peek::<1>(at).filter(|_| at.is_multiple_of(size_of::<usize>())).map(|[word]| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_found_out_without_a_fault() {
        let word = 7_usize;
        // SAFETY: nothing is read but by the kernel.
        let live = unsafe { Live::guarded() };
        assert_eq!(live.perhaps(&raw const word as usize), Some(7));
        assert_eq!([live.perhaps(0x10000), live.perhaps(usize::MAX - 7)], [None, None]);
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
        assert_eq!(memory.int(77), None, "half of it is nowhere");
        assert_eq!(memory.bytes(72, 8), Some(words[1]));
    }
}
