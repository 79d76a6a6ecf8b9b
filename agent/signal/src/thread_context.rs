//! The memory in which a thread's Java code publishes its context and its trace: what the thread
//! works for.
//!
//! Only the thread itself writes this memory, through the Java library, or the carrier of a virtual
//! thread does. The thread's own handler reads it, and so does the agent's thread while the thread
//! waits. While a trace is being written its depth is 0, so no reader uses half of a trace.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Both halves of a trace id, and the id of the span in it. All zero means that there is no trace.
pub type Trace = [u64; 3];

/// The memory of one thread's context and trace. The Java library writes it by these offsets.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ThreadContext {
    /// The number of the thread's context, or 0 if the thread has none.
    context: AtomicU32,
    /// The number of nested traces that the thread is in. It is 0 outside of all traces, and while
    /// the trace is being changed.
    depth: AtomicU32,
    /// The innermost trace that the thread is in.
    trace: [AtomicU64; 3],
}

impl ThreadContext {
    /// Makes a thread context for a static variable, without a context and a trace.
    #[cfg(test)]
    pub(crate) const fn empty() -> Self {
        let trace = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        Self { context: AtomicU32::new(0), depth: AtomicU32::new(0), trace }
    }

    /// Reads the context's number and the trace. The trace is `None` if the program has set none.
    /// Only a handler of the thread that writes them may call this, or anyone while it waits.
    #[inline]
    pub fn read(&self) -> (u32, Option<Trace>) {
        let context = self.context.load(Ordering::Relaxed);
        // The handler interrupted the writing thread itself, so it sees that thread's writes in
        // their order.
        let has_trace = self.depth.load(Ordering::Acquire) != 0;
        (context, has_trace.then(|| self.trace.each_ref().map(|word| word.load(Ordering::Relaxed))))
    }

    /// Clears the context and the trace, so that another thread can use this memory.
    pub fn clear(&self) {
        self.depth.store(0, Ordering::Relaxed);
        self.context.store(0, Ordering::Relaxed);
    }

    /// Writes a context and a trace like the Java library, for tests. No handler of a test
    /// interrupts it.
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
    fn a_half_written_trace_is_not_read() {
        let thread_context = ThreadContext::empty();
        thread_context.write(5, 1, [1, 2, 3]);
        assert_eq!(thread_context.read(), (5, Some([1, 2, 3])));
        thread_context.write(5, 0, [9, 2, 3]);
        assert_eq!(thread_context.read(), (5, None));
        thread_context.write(5, 2, [0; 3]);
        assert_eq!(thread_context.read(), (5, Some([0; 3])), "it says that it is in none");
        thread_context.write(6, 2, [9, 8, 7]);
        thread_context.clear();
        assert_eq!(thread_context.read(), (0, None));
    }

    #[test]
    fn the_layout_is_what_the_java_library_writes() {
        let offsets = [
            offset_of!(ThreadContext, context),
            offset_of!(ThreadContext, depth),
            offset_of!(ThreadContext, trace),
        ];
        assert_eq!((size_of::<ThreadContext>(), offsets), (32, [0, 4, 8]));
    }
}
