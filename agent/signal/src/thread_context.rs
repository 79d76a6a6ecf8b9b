//! For whom a thread works, as its own Java code says through the Java library: the number of a
//! context, and a trace.
//!
//! A thread writes it, or whoever runs a virtual thread on it, and its own handler reads it: so a
//! trace is never read while half of it is written, for then it says that there is none.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Both halves of a trace's id, and the id of the span in it. All zero: there is none.
pub type Trace = [u64; 3];

/// The memory of a thread. The Java library knows where what lies.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Purpose {
    /// The number of its context; 0: it has none.
    context: AtomicU32,
    /// So many traces it is in, one within the other. 0: in none, or it is just about to be in
    /// another one.
    depth: AtomicU32,
    /// The innermost one.
    trace: [AtomicU64; 3],
}

impl Purpose {
    /// In no context and no trace, in a static.
    #[cfg(test)]
    pub(crate) const fn none() -> Self {
        let trace = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        Self { context: AtomicU32::new(0), depth: AtomicU32::new(0), trace }
    }

    /// What there is to read, in a handler of the thread that writes it; no trace where it has said
    /// nothing of one.
    #[inline]
    pub fn read(&self) -> (u32, Option<Trace>) {
        let context = self.context.load(Ordering::Relaxed);
        // What the thread had written before it was interrupted is there as it was written.
        let is_told = self.depth.load(Ordering::Acquire) != 0;
        (context, is_told.then(|| self.trace.each_ref().map(|word| word.load(Ordering::Relaxed))))
    }

    /// Nobody's any more.
    pub fn clear(&self) {
        self.depth.store(0, Ordering::Relaxed);
        self.context.store(0, Ordering::Relaxed);
    }

    /// As the library would, which no handler of a test interrupts.
    #[cfg(test)]
    pub(crate) fn write(&self, context: u32, depth: u32, trace: Trace) {
        self.context.store(context, Ordering::Relaxed);
        for (word, value) in self.trace.iter().zip(trace) {
            word.store(value, Ordering::Relaxed);
        }
        self.depth.store(depth, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn a_trace_that_is_being_written_is_none() {
        let purpose = Purpose::none();
        purpose.write(5, 1, [1, 2, 3]);
        assert_eq!(purpose.read(), (5, Some([1, 2, 3])));
        purpose.write(5, 0, [9, 2, 3]);
        assert_eq!(purpose.read(), (5, None));
        purpose.write(5, 2, [0; 3]);
        assert_eq!(purpose.read(), (5, Some([0; 3])), "it says that it is in none");
        purpose.write(6, 2, [9, 8, 7]);
        purpose.clear();
        assert_eq!(purpose.read(), (0, None));
    }

    #[test]
    fn the_java_library_knows_where_what_lies() {
        let places = [offset_of!(Purpose, context), offset_of!(Purpose, depth), offset_of!(Purpose, trace)];
        assert_eq!((size_of::<Purpose>(), places), (32, [0, 4, 8]));
    }
}
