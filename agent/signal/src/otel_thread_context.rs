//! The trace that a thread works in, as a tracer publishes it for whichever profiler there is:
//! OpenTelemetry's thread context record (OTEP 4947).
//!
//! A variable of a library's, which each thread has for itself, leads to the record; its own thread
//! writes both, so a handler of that thread reads what is whole, or that it is not. It must never
//! be read but by the kernel: whoever publishes may have gone.

use core::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use vouch_walk::context::{DTV_OFFSET, thread_pointer};
use vouch_walk::kernel::peek;

use crate::thread_context::Trace;

/// Where a thread has the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In each thread so far from its thread pointer.
    Fixed(isize),
    /// In the memory that each thread has for a library of this number, once it has used it, so far
    /// in. (glibc alone.)
    Within { module: usize, offset: isize },
}

/// Where the process's threads have it.
#[derive(Debug)]
pub struct Published {
    /// 0: nobody publishes; 1: it is fixed; or the module's number and one.
    way: AtomicUsize,
    offset: AtomicIsize,
}

/// That of the process.
pub static PUBLISHED: Published = Published::new();

const NOBODY: usize = 0;
const FIXED: usize = 1;
/// What glibc has in its table for what a thread has not used yet.
const UNUSED: usize = usize::MAX;
/// An entry of that table.
const ENTRY: usize = 16;

impl Published {
    /// Nobody publishes.
    #[must_use]
    pub const fn new() -> Self {
        Self { way: AtomicUsize::new(NOBODY), offset: AtomicIsize::new(0) }
    }

    /// From now on handlers look there. Once: it is no lock.
    pub fn watch(&self, place: Place) {
        let (way, offset) = match place {
            Place::Fixed(offset) => (FIXED, offset),
            Place::Within { module, offset } => (module.saturating_add(FIXED), offset),
        };
        self.offset.store(offset, Ordering::Relaxed);
        self.way.store(way, Ordering::Release);
    }

    /// The trace that is published for the calling thread.
    #[inline]
    pub fn read(&self) -> Option<Trace> {
        match self.way.load(Ordering::Acquire) {
            NOBODY => None,
            way => self.of_this_thread(way),
        }
    }

    fn of_this_thread(&self, way: usize) -> Option<Trace> {
        let begin = if way == FIXED { thread_pointer() } else { memory_of(way.checked_sub(FIXED)?)? };
        let [record] = peek(begin.checked_add_signed(self.offset.load(Ordering::Relaxed))?)?;
        if record == 0 {
            return None;
        }
        told(peek(record)?)
    }
}

impl Default for Published {
    fn default() -> Self {
        Self::new()
    }
}

/// What the calling thread has for a module.
fn memory_of(module: usize) -> Option<usize> {
    let [table] = peek(thread_pointer().checked_add(DTV_OFFSET)?)?;
    // In front of it stands how many entries it has.
    let [length] = peek(table.checked_sub(ENTRY)?)?;
    let [memory] = peek(table.checked_add(module.checked_mul(ENTRY)?)?)?;
    (module <= length && memory != UNUSED && memory != 0).then_some(memory)
}

/// What a record says: 16 bytes of a trace's id, 8 of a span's, and a byte that is 1 while these
/// are whole.
fn told([high, low, span, valid]: [usize; 4]) -> Option<Trace> {
    let is_whole = valid.to_ne_bytes().first() == Some(&1);
    // Ids are written as they are read aloud.
    let trace = [high, low, span].map(|word| (word as u64).to_be());
    (is_whole && trace != [0; 3]).then_some(trace)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::cell::Cell;

    #[repr(C)]
    struct Record {
        trace: [u8; 16],
        span: [u8; 8],
        valid: u8,
        reserved: u8,
        length: u16,
        more: [u8; 4],
    }

    std::thread_local! {
        static RECORD: Cell<usize> = const { Cell::new(0) };
    }

    const ID: [u8; 16] =
        [0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c];
    const TOLD: Trace = [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331];

    fn record(valid: u8) -> Record {
        let span = 0xb7ad_6b71_6920_3331_u64.to_be_bytes();
        Record { trace: ID, span, valid, reserved: 0, length: 0, more: [0; 4] }
    }

    #[test]
    fn each_thread_has_its_own_and_only_what_is_whole() {
        let published = Published::new();
        assert_eq!(published.read(), None, "nobody publishes");
        let offset = RECORD.with(|slot| slot.as_ptr().addr().wrapping_sub(thread_pointer()).cast_signed());
        published.watch(Place::Fixed(offset));
        assert_eq!(published.read(), None, "it has none");
        let (whole, half) = (record(1), record(0));
        RECORD.set((&raw const whole).addr());
        assert_eq!(published.read(), Some(TOLD));
        RECORD.set((&raw const half).addr());
        assert_eq!(published.read(), None, "it is being written");
        RECORD.set(0x10);
        assert_eq!(published.read(), None, "there is no memory");
        let none = Record { trace: [0; 16], span: [0; 8], ..record(1) };
        RECORD.set((&raw const none).addr());
        assert_eq!(published.read(), None, "it is in no trace");
        RECORD.set((&raw const whole).addr());
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(published.read(), None, "another thread has none"));
        });
        assert_eq!(published.read(), Some(TOLD));
        RECORD.set(0);
    }

    #[test]
    fn what_no_thread_has_is_not_there() {
        let published = Published::new();
        for module in [1 << 20, usize::MAX / 2, usize::MAX - 1] {
            published.watch(Place::Within { module, offset: 0 });
            assert_eq!(published.read(), None);
        }
    }
}
