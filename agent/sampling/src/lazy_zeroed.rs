//! Maps zeroed memory for large, sparsely used tables. A page takes memory only once it is touched.
//!
//! The memory comes from the kernel and must never come from the allocator. Once the program has
//! freed a block as large, the allocator clears it again, and so touches every page.

use std::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};

/// A slice of n values in one mapping. Its drop unmaps it.
#[derive(Debug)]
pub struct LazyZeroed<T>(NonNull<[T]>);

// SAFETY: it owns the memory that it points to, as a box does.
unsafe impl<T: Send> Send for LazyZeroed<T> {}

impl<T> LazyZeroed<T> {
    /// Maps `count` zeroed values.
    ///
    /// # Safety
    /// All zero must be a valid `T`, and `T` must not need a drop.
    pub unsafe fn new(count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<T>());
        // SAFETY: asks for fresh pages that no other code uses.
        let memory = unsafe {
            libc::mmap(
                null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(
            memory,
            libc::MAP_FAILED,
            "no memory for {bytes} bytes: {}",
            std::io::Error::last_os_error()
        );
        let values = NonNull::new(slice_from_raw_parts_mut(memory.cast(), count));
        Self(values.unwrap_or_else(|| unreachable!("a mapping is not at address 0")))
    }

    /// Returns the values as a `'static` slice.
    ///
    /// # Safety
    /// No code may use the slice after this was dropped.
    pub unsafe fn as_static(&self) -> &'static [T] {
        // SAFETY: the memory is mapped until the drop. A page is aligned for any type, and all zero
        // is valid. The caller promises the rest.
        unsafe { self.0.as_ref() }
    }

    /// Returns the values, which are never unmapped.
    pub fn leak(self) -> &'static [T] {
        // SAFETY: it is never dropped.
        unsafe { std::mem::ManuallyDrop::new(self).as_static() }
    }
}

impl<T> Drop for LazyZeroed<T> {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this memory with this length, and it is unmapped once.
        unsafe { libc::munmap(self.0.as_ptr().cast(), self.0.len() * size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Returns how many pages of the slice are in memory.
    fn pages(of: &[AtomicU64]) -> usize {
        // SAFETY: the call only reads a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        let mut there = vec![0_u8; size_of_val(of).div_ceil(page)];
        // SAFETY: the mapping starts at a page, and the vector has a byte for each page.
        let told =
            unsafe { libc::mincore(of.as_ptr().cast_mut().cast(), size_of_val(of), there.as_mut_ptr()) };
        assert_eq!(told, 0);
        there.iter().filter(|page| **page & 1 != 0).count()
    }

    #[test]
    fn it_takes_nothing_until_it_is_touched_whatever_was_freed_before() {
        const WORDS: usize = 2 << 20;
        // From now on glibc serves such blocks from its free memory, and clears them.
        drop(std::hint::black_box(vec![1_u64; WORDS + WORDS / 2]));
        // SAFETY: zero is a valid number.
        let memory = unsafe { LazyZeroed::<AtomicU64>::new(WORDS) };
        // SAFETY: the memory is dropped at this function's end.
        let words = unsafe { memory.as_static() };
        assert_eq!(pages(words), 0);
        words[WORDS - 1].store(1, Ordering::Relaxed);
        assert!((1..=512).contains(&pages(words)), "a page, be it a large one: {}", pages(words));
        assert_eq!(words[0].load(Ordering::Relaxed), 0);
    }
}
