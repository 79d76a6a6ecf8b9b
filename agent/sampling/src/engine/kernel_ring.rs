//! The ring into which a thread's perf event writes the kernel's frames, for the thread's handler.
//!
//! A handler may read the ring until it has left the gate. So a ring is unmapped later, when no
//! handler is inside.

use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};

use parking_lot::Mutex;
use vouch_signal::sampler::GATE;

/// Rings of events that are closed. No slot refers to them any more.
static RETIRED: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

/// The ring of an open event. A dropped one is unmapped when no handler reads it.
#[derive(Debug)]
pub struct KernelRing(Option<Mapping>);

/// The page in which the kernel says where the newest record is, and one page of records.
#[derive(Debug)]
struct Mapping {
    address: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: any thread may read or unmap the pages at this address.
unsafe impl Send for Mapping {}

impl KernelRing {
    /// Maps the ring of this event. The result is `None` if the kernel allows no more locked memory
    /// (`perf_event_mlock_kb`).
    pub fn map(event: RawFd) -> Option<Self> {
        // SAFETY: the call has no preconditions.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let bytes = 2 * page;
        // Without PROT_WRITE the kernel overwrites the oldest records.
        // SAFETY: this makes a new mapping at an address that the kernel chooses.
        let address = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, event, 0) };
        if address == libc::MAP_FAILED {
            return None;
        }
        Some(Self(Some(Mapping { address: NonNull::new(address)?, bytes })))
    }

    /// Returns the address at which handlers read the ring.
    pub fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |mapping| mapping.address.addr().get())
    }
}

impl Drop for KernelRing {
    fn drop(&mut self) {
        RETIRED.lock().extend(self.0.take());
        unmap_retired();
    }
}

/// Unmaps the rings of closed events, if no handler can read them any more.
pub fn unmap_retired() {
    let mut retired = RETIRED.lock();
    // A handler that enters later finds no retired ring in a slot.
    if GATE.is_empty() {
        retired.clear();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own. It has no reader, because no slot has it and no
        // handler is inside the gate.
        unsafe { libc::munmap(self.address.as_ptr(), self.bytes) };
    }
}
