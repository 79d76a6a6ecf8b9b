//! The contexts of threads: what a thread's Java code writes, and its signal handler reads.

use parking_lot::Mutex;
use vouch_signal::thread_context::ThreadContext;

static THREAD_CONTEXTS: ThreadContextPool = ThreadContextPool::new();

/// Returns the unused thread contexts of the process.
pub fn thread_contexts() -> &'static ThreadContextPool {
    &THREAD_CONTEXTS
}

/// A thread's present context and trace. It is alone in its cache line, because each change
/// of context writes to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct PaddedThreadContext(ThreadContext);

impl PaddedThreadContext {
    pub fn thread_context(&self) -> &ThreadContext {
        &self.0
    }
}

/// The thread contexts that no thread uses. None is ever freed, because a handler may read it at
/// any time.
#[derive(Debug)]
pub struct ThreadContextPool(Mutex<Vec<&'static PaddedThreadContext>>);

impl ThreadContextPool {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns an empty thread context, for one thread.
    pub fn take(&self) -> &'static PaddedThreadContext {
        let free = self.0.lock().pop();
        let thread_context = free.unwrap_or_else(|| Box::leak(Box::default()));
        thread_context.0.clear();
        thread_context
    }

    /// Takes back the thread context of a thread that runs no Java code any more.
    pub fn put_back(&self, thread_context: &'static PaddedThreadContext) {
        self.0.lock().push(thread_context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_thread_context_is_cleared_for_its_next_thread() {
        let pool = ThreadContextPool::new();
        let first = pool.take();
        let second = pool.take();
        assert!(!std::ptr::eq(first, second));
        let words = [7 | 1 << 32, 1, 2, 3_u64];
        // SAFETY: its words are atomics. The Java library writes them in the same way.
        unsafe {
            std::ptr::from_ref(first.thread_context()).cast_mut().cast::<[u64; 4]>().write_volatile(words);
        };
        assert_eq!(first.thread_context().read(), (7, Some([1, 2, 3])));
        pool.put_back(first);
        let third = pool.take();
        assert!(std::ptr::eq(first, third) && third.thread_context().read() == (0, None));
    }
}
