//! A page by which a thread sees whether it was taken off its processor, so that it need not ask the kernel for its CPU time.
//!
//! A page's address is never given back: a thread that should not may still look at it.

use std::io;
use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};

use parking_lot::Mutex;

use crate::engine::perf::Event;

/// So much of a page the library reads: the versions of its layout, and how often the kernel has written it.
pub const READ: usize = 16;
const PAGE: usize = 4096;

/// Addresses of pages whose threads are gone.
static FREE: Mutex<Vec<Address>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Address(NonNull<libc::c_void>);

// SAFETY: the address of a page that may be read by anybody, at any time.
unsafe impl Send for Address {}

/// A page in which the kernel counts how often a thread gets a processor, for as long as the thread lives.
#[derive(Debug)]
pub struct Switches {
    /// Whose page it is.
    _event: Event,
    page: Address,
}

impl Switches {
    /// The calling thread's, whose id is given.
    pub fn of(tid: u32) -> io::Result<Self> {
        let event = Event::idle(tid)?;
        let free = FREE.lock().pop();
        let page = match map(free.as_ref(), Some(event.descriptor())) {
            Ok(page) => page,
            Err(error) => {
                // The address is still one that may be read.
                FREE.lock().extend(free);
                return Err(error);
            }
        };
        Ok(Self { _event: event, page })
    }

    pub fn page(&self) -> NonNull<u8> {
        self.page.0.cast()
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        if let Ok(page) = map(Some(&self.page), None) {
            FREE.lock().push(page);
        }
    }
}

/// Maps an event's page, or one of zeroes, over a page of ours, or where there is nothing.
fn map(over: Option<&Address>, event: Option<RawFd>) -> io::Result<Address> {
    let (at, fixed) = over.map_or((null_mut(), 0), |over| (over.0.as_ptr(), libc::MAP_FIXED));
    let kind = if event.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
    // SAFETY: what is mapped over is a page of ours, which nobody writes and anybody may go on reading.
    let page = unsafe { libc::mmap(at, PAGE, libc::PROT_READ, kind | fixed, event.unwrap_or(-1), 0) };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(page).map(Address).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
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
        drop(switches);
        count(page);
    }
}
