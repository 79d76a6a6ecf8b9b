//! Reads the trace that a tracer has published for a thread, as OpenTelemetry's thread context
//! record (OTEP 4947).
//!
//! A thread-local variable of a library points to the record. Only the thread itself writes the
//! variable and the record, so its handler sees either a whole record or its marker for an
//! unfinished one. Both must be read through the kernel alone, because the library may have been
//! unloaded.

use core::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use vouch_unwind::context::{DTV_OFFSET, thread_pointer};
use vouch_unwind::kernel::peek;

use crate::thread_context::Trace;

/// The location of the thread-local variable that points to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVariable {
    /// The variable has this offset from each thread's thread pointer (static TLS).
    Static(isize),
    /// The variable has this offset in the TLS block of a module, which a thread has once it has
    /// used the module. Only glibc's layout is supported.
    Dynamic { module: usize, offset: isize },
}

/// Where handlers find the thread-local variable in the threads of the process.
#[derive(Debug)]
pub struct OtelThreadContext {
    /// The access model of the variable: 0 if no library publishes one, 1 for static TLS, otherwise
    /// one more than the module's number.
    access: AtomicUsize,
    offset: AtomicIsize,
}

/// The location of the thread-local variable in this process.
pub static OTEL_THREAD_CONTEXT: OtelThreadContext = OtelThreadContext::new();

const NONE: usize = 0;
const STATIC: usize = 1;
/// The entry in glibc's dynamic thread vector (DTV) for a module that the thread has not used yet.
const UNUSED_ENTRY: usize = usize::MAX;
/// The size of an entry of glibc's dynamic thread vector (DTV), in bytes.
const ENTRY_SIZE: usize = 16;

impl OtelThreadContext {
    /// Makes the location for a process in which no library publishes a record.
    #[must_use]
    pub const fn new() -> Self {
        Self { access: AtomicUsize::new(NONE), offset: AtomicIsize::new(0) }
    }

    /// Sets the location from which handlers read the variable. It must be called only once,
    /// because two calls could mix their values.
    pub fn set_location(&self, variable: TlsVariable) {
        let (access, offset) = match variable {
            TlsVariable::Static(offset) => (STATIC, offset),
            TlsVariable::Dynamic { module, offset } => (module.saturating_add(STATIC), offset),
        };
        self.offset.store(offset, Ordering::Relaxed);
        self.access.store(access, Ordering::Release);
    }

    /// Returns the trace that a tracer has published for the calling thread.
    #[inline]
    pub fn read(&self) -> Option<Trace> {
        match self.access.load(Ordering::Acquire) {
            NONE => None,
            access => self.read_with(access),
        }
    }

    fn read_with(&self, access: usize) -> Option<Trace> {
        let begin = if access == STATIC { thread_pointer() } else { tls_block(access.checked_sub(STATIC)?)? };
        let [record] = peek(begin.checked_add_signed(self.offset.load(Ordering::Relaxed))?)?;
        if record == 0 {
            return None;
        }
        decode(peek(record)?)
    }
}

impl Default for OtelThreadContext {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the address of the calling thread's TLS block of a module.
fn tls_block(module: usize) -> Option<usize> {
    let [table] = peek(thread_pointer().checked_add(DTV_OFFSET)?)?;
    // The entry before the first one has the number of entries.
    let [length] = peek(table.checked_sub(ENTRY_SIZE)?)?;
    let [memory] = peek(table.checked_add(module.checked_mul(ENTRY_SIZE)?)?)?;
    (module <= length && memory != UNUSED_ENTRY && memory != 0).then_some(memory)
}

/// Decodes a record: 16 bytes of trace id, 8 bytes of span id, and a byte that is 1 while the ids
/// are whole.
fn decode([high, low, span, valid]: [usize; 4]) -> Option<Trace> {
    let is_whole = valid.to_ne_bytes().first() == Some(&1);
    // The record has its ids in big-endian order.
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
    const TRACE: Trace = [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331];

    fn record(valid: u8) -> Record {
        let span = 0xb7ad_6b71_6920_3331_u64.to_be_bytes();
        Record { trace: ID, span, valid, reserved: 0, length: 0, more: [0; 4] }
    }

    #[test]
    fn each_thread_reads_its_own_whole_record() {
        let otel_context = OtelThreadContext::new();
        assert_eq!(otel_context.read(), None, "no library publishes");
        let offset = RECORD.with(|slot| slot.as_ptr().addr().wrapping_sub(thread_pointer()).cast_signed());
        otel_context.set_location(TlsVariable::Static(offset));
        assert_eq!(otel_context.read(), None, "the thread has no record");
        let (whole, half) = (record(1), record(0));
        RECORD.set((&raw const whole).addr());
        assert_eq!(otel_context.read(), Some(TRACE));
        RECORD.set((&raw const half).addr());
        assert_eq!(otel_context.read(), None, "the record is being written");
        RECORD.set(0x10);
        assert_eq!(otel_context.read(), None, "the record is unmapped");
        let none = Record { trace: [0; 16], span: [0; 8], ..record(1) };
        RECORD.set((&raw const none).addr());
        assert_eq!(otel_context.read(), None, "the thread is in no trace");
        RECORD.set((&raw const whole).addr());
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(otel_context.read(), None, "another thread has none"));
        });
        assert_eq!(otel_context.read(), Some(TRACE));
        RECORD.set(0);
    }

    #[test]
    fn a_module_without_a_tls_block_has_no_record() {
        let otel_context = OtelThreadContext::new();
        for module in [1 << 20, usize::MAX / 2, usize::MAX - 1] {
            otel_context.set_location(TlsVariable::Dynamic { module, offset: 0 });
            assert_eq!(otel_context.read(), None);
        }
    }
}
