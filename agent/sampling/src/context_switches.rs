//! A page from which a thread reads whether it was taken off its processor. So it need not ask the
//! kernel for its CPU time.
//!
//! The thread's Java code may read the page at any time. So a page is never unmapped before the
//! kernel has no thread with its id, whatever the JVM reports.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use crate::clock;
use crate::engine::perf::Event;

/// The number of bytes of a page that the library reads. They contain the versions of the page's
/// layout, and a counter of the kernel's writes.
pub const READ_BYTES: usize = 16;
const PAGE_BYTES: usize = 4096;
/// The kernel's default limit of locked memory for perf events per processor and user, in KiB.
const DEFAULT_MLOCK_KIB: usize = 516;

/// The maximum number of pages. Other programs of the same user share the kernel's limit, so half
/// of it is left to them.
static MAX_PAGES: Lazy<usize> = Lazy::new(|| {
    let kib = fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb");
    let kib = kib.ok().and_then(|kib| kib.trim().parse().ok()).unwrap_or(DEFAULT_MLOCK_KIB);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (kib / 4).saturating_mul(processors) / 2
});
static MAPPED_PAGES: AtomicUsize = AtomicUsize::new(0);

/// Pages of threads that have been reported as exited.
static PAGES_OF_EXITED_THREADS: Mutex<Vec<Page>> = Mutex::new(Vec::new());

/// A page in which the kernel counts how often a thread is put on a processor.
#[derive(Debug)]
struct Page {
    address: NonNull<libc::c_void>,
    tid: u32,
}

// SAFETY: any thread may read the page at this address while it is mapped.
unsafe impl Send for Page {}

impl Page {
    fn map(tid: u32) -> io::Result<Self> {
        // The mapping keeps the event after its descriptor is closed.
        let event = Event::idle(tid)?;
        let (kind, file) = (libc::MAP_SHARED, event.descriptor());
        // SAFETY: this makes a new mapping at an address that the kernel chooses.
        let page = unsafe { libc::mmap(null_mut(), PAGE_BYTES, libc::PROT_READ, kind, file, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(page).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        MAPPED_PAGES.fetch_add(1, Relaxed);
        Ok(Self { address, tid })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours and has no reader: it was not handed out, or its thread has
        // exited.
        unsafe { libc::munmap(self.address.as_ptr(), PAGE_BYTES) };
        MAPPED_PAGES.fetch_sub(1, Relaxed);
    }
}

/// A thread's page, which is kept until the thread has exited.
#[derive(Debug)]
pub struct ContextSwitchPage(ManuallyDrop<Page>);

impl ContextSwitchPage {
    /// Maps a page for the calling thread, which has the id `tid`.
    pub fn for_calling_thread(tid: u32) -> io::Result<Self> {
        // This unmaps only pages of threads that do not exist any more.
        PAGES_OF_EXITED_THREADS.lock().retain(|page| clock::thread_cpu(page.tid).is_some());
        if MAPPED_PAGES.load(Relaxed) >= *MAX_PAGES {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        Page::map(tid).map(|page| Self(ManuallyDrop::new(page)))
    }

    pub fn page(&self) -> NonNull<u8> {
        self.0.address.cast()
    }
}

impl Drop for ContextSwitchPage {
    fn drop(&mut self) {
        // SAFETY: the field is not used again.
        PAGES_OF_EXITED_THREADS.lock().push(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Reads the counter in the same way as the library.
    fn count(page: NonNull<u8>) -> u32 {
        // SAFETY: the counter is the third word of the page. The kernel may write it at any time.
        unsafe { page.cast::<u32>().add(2).read_volatile() }
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_have_been_taken_off() {
        let Ok(switches) = ContextSwitchPage::for_calling_thread(clock::own_tid()) else {
            assert!(Event::idle(clock::own_tid()).is_err(), "an event can be had, and no page of it");
            return;
        };
        let page = switches.page();
        let before = count(page);
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(count(page).wrapping_sub(before) >= 3, "{before}, then {}", count(page));
        // The thread lives while other threads come and go, so its page is still mapped.
        drop(switches);
        for _ in 0..20 {
            std::thread::spawn(|| drop(ContextSwitchPage::for_calling_thread(clock::own_tid())))
                .join()
                .unwrap();
        }
        count(page);
        let page_count =
            PAGES_OF_EXITED_THREADS.lock().iter().filter(|page| page.tid == clock::own_tid()).count();
        assert_eq!(page_count, 1);
        assert!(PAGES_OF_EXITED_THREADS.lock().len() < 10, "pages of threads that are gone are kept");
    }
}
