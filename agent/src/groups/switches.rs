//! A page by which a thread sees whether it was taken off its processor, so that it need not ask
//! the kernel for its CPU time.
//!
//! The thread's Java code reads it as long as there is any. So a page is never unmapped while its
//! thread lives, whatever else has been told of that: not before the kernel has none of this id.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use crate::clock;
use crate::engine::perf::Event;

/// So much of a page the library reads: the versions of its layout, and how often the kernel has
/// written it.
pub const READ: usize = 16;
const PAGE: usize = 4096;
/// What the kernel lets a user have for each processor where nobody has changed it, in KiB.
const USUAL_KIB: usize = 516;

/// Such pages are few, and other programs of the user's have of the same: half of them are left.
static MOST: Lazy<usize> = Lazy::new(|| {
    let kib = fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb");
    let kib = kib.ok().and_then(|kib| kib.trim().parse().ok()).unwrap_or(USUAL_KIB);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (kib / 4).saturating_mul(processors) / 2
});
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Pages of threads that are said to be gone.
static LEFT: Mutex<Vec<Page>> = Mutex::new(Vec::new());

/// A page in which the kernel counts how often a thread gets a processor.
#[derive(Debug)]
struct Page {
    address: NonNull<libc::c_void>,
    tid: u32,
}

// SAFETY: the address of a page that may be read by anybody while it is mapped.
unsafe impl Send for Page {}

impl Page {
    fn map(tid: u32) -> io::Result<Self> {
        // The mapping keeps the event, also when its descriptor is closed.
        let event = Event::idle(tid)?;
        let (kind, file) = (libc::MAP_SHARED, event.descriptor());
        // SAFETY: a new mapping, wherever there is room.
        let page = unsafe { libc::mmap(null_mut(), PAGE, libc::PROT_READ, kind, file, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(page).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        MAPPED.fetch_add(1, Relaxed);
        Ok(Self { address, tid })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and nobody reads it: it was not handed out, or its thread
        // is gone.
        unsafe { libc::munmap(self.address.as_ptr(), PAGE) };
        MAPPED.fetch_sub(1, Relaxed);
    }
}

/// A thread's page, which is kept until the thread is gone.
#[derive(Debug)]
pub struct Switches(ManuallyDrop<Page>);

impl Switches {
    /// The calling thread's, whose id is given.
    pub fn of(tid: u32) -> io::Result<Self> {
        // What is unmapped here was of threads that there are no more.
        LEFT.lock().retain(|page| clock::thread_cpu(page.tid).is_some());
        if MAPPED.load(Relaxed) >= *MOST {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        Page::map(tid).map(|page| Self(ManuallyDrop::new(page)))
    }

    pub fn page(&self) -> NonNull<u8> {
        self.0.address.cast()
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        // SAFETY: it is not looked at again.
        LEFT.lock().push(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// As the library reads it.
    fn count(page: NonNull<u8>) -> u32 {
        // SAFETY: a page, whose third word this is; the kernel may write it at any time.
        unsafe { page.cast::<u32>().add(2).read_volatile() }
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_have_been_taken_off() {
        let Ok(switches) = Switches::of(clock::own_tid()) else {
            assert!(Event::idle(clock::own_tid()).is_err(), "an event can be had, and no page of it");
            return;
        };
        let page = switches.page();
        let before = count(page);
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(count(page).wrapping_sub(before) >= 3, "{before}, then {}", count(page));
        // Its thread lives: others come, and it is still there.
        drop(switches);
        for _ in 0..20 {
            std::thread::spawn(|| drop(Switches::of(clock::own_tid()))).join().unwrap();
        }
        count(page);
        let left = LEFT.lock().iter().filter(|left| left.tid == clock::own_tid()).count();
        assert_eq!(left, 1);
        assert!(LEFT.lock().len() < 10, "pages of threads that are gone are kept");
    }
}
