//! Memory for much that is hardly ever needed whole: it is zero, and none of it is taken before
//! somebody touches it.
//!
//! It is the kernel's own, and must never be the allocator's: that clears what it hands out once
//! more, and so touches all of it, as soon as the program has freed something as large before.

use std::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};

/// So many of them, by one mapping. It is given back when this is dropped.
#[derive(Debug)]
pub struct Untouched<T>(NonNull<[T]>);

// SAFETY: it owns what it points to, as a box does.
unsafe impl<T: Send> Send for Untouched<T> {}

impl<T> Untouched<T> {
    /// # Safety
    /// A `T` may consist of zeroes, and need not be dropped.
    pub unsafe fn new(count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<T>());
        // SAFETY: asks for pages that are nobody's.
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
        let all = NonNull::new(slice_from_raw_parts_mut(memory.cast(), count));
        Self(all.unwrap_or_else(|| unreachable!("a mapping is not at address 0")))
    }

    /// # Safety
    /// Nobody may use it once this was dropped.
    pub unsafe fn lent(&self) -> &'static [T] {
        // SAFETY: mapped until then, a page is aligned for anything, and all zero is valid; the
        // rest is the caller's promise.
        unsafe { self.0.as_ref() }
    }

    /// Never given back.
    pub fn leak(self) -> &'static [T] {
        // SAFETY: it is never dropped.
        unsafe { std::mem::ManuallyDrop::new(self).lent() }
    }
}

impl<T> Drop for Untouched<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, as long as that, and given back once.
        unsafe { libc::munmap(self.0.as_ptr().cast(), self.0.len() * size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// How many pages of it are there.
    fn pages(of: &[AtomicU64]) -> usize {
        // SAFETY: a question without an answer that could be wrong.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        let mut there = vec![0_u8; size_of_val(of).div_ceil(page)];
        // SAFETY: mapped from a page's beginning, and a byte for each page.
        let told =
            unsafe { libc::mincore(of.as_ptr().cast_mut().cast(), size_of_val(of), there.as_mut_ptr()) };
        assert_eq!(told, 0);
        there.iter().filter(|page| **page & 1 != 0).count()
    }

    #[test]
    fn it_takes_nothing_until_it_is_touched_whatever_was_freed_before() {
        const WORDS: usize = 2 << 20;
        // From here on glibc takes such pieces from what it has, and clears them.
        drop(std::hint::black_box(vec![1_u64; WORDS + WORDS / 2]));
        // SAFETY: a number may be zero.
        let memory = unsafe { Untouched::<AtomicU64>::new(WORDS) };
        // SAFETY: dropped at this function's end.
        let words = unsafe { memory.lent() };
        assert_eq!(pages(words), 0);
        words[WORDS - 1].store(1, Ordering::Relaxed);
        assert!((1..=512).contains(&pages(words)), "a page, be it a large one: {}", pages(words));
        assert_eq!(words[0].load(Ordering::Relaxed), 0);
    }
}
