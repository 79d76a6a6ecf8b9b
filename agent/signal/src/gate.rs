//! The gate through which handlers borrow a sampler, and other code borrows the lanes of events. It
//! keeps them out while that memory is freed.
//!
//! A handler enters, reads the published pointer, and leaves when its guard is dropped. The agent
//! closes the gate and waits until no handler is inside. From then on no handler can hold the
//! pointer, and its target may be freed.
//!
//! Handler and agent both change the same counter, the agent by adding 0, so one change comes
//! second. If the handler's is second, it sees that the gate is closed. Otherwise the agent sees
//! the handler inside. Plain loads could miss each other. Loom checks it.
//!
//! A handler must never wait at the gate.

use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Guards a `T` that the agent publishes and handlers borrow.
#[derive(Debug)]
pub struct Gate<T> {
    published: AtomicPtr<T>,
    inside: AtomicUsize,
}

/// A guard that keeps a handler inside the gate until it is dropped.
#[derive(Debug)]
pub struct Entered<'g, T> {
    gate: &'g Gate<T>,
    value: *mut T,
}

impl<T> Gate<T> {
    /// Makes a gate that is closed, so that nothing can enter.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self { published: AtomicPtr::new(core::ptr::null_mut()), inside: AtomicUsize::new(0) }
    }

    /// Makes a closed gate for loom. Its atomics cannot be made in a constant.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self { published: AtomicPtr::new(core::ptr::null_mut()), inside: AtomicUsize::new(0) }
    }

    /// Enters the gate, if it is open. The handler is inside until it drops the result.
    #[inline]
    pub fn enter(&self) -> Option<Entered<'_, T>> {
        self.inside.fetch_add(1, Ordering::AcqRel);
        let value = self.published.load(Ordering::Acquire);
        if value.is_null() {
            self.inside.fetch_sub(1, Ordering::Release);
            return None;
        }
        Some(Entered { gate: self, value })
    }

    /// True if the gate is open. Another thread may close it at any time.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.published.load(Ordering::Relaxed).is_null()
    }

    /// Opens the gate for `value`, which must stay valid until the gate is closed and `is_empty`.
    pub fn open(&self, value: *mut T) {
        self.published.store(value, Ordering::Release);
    }

    /// Closes the gate and returns the published pointer. Handlers may still be inside.
    pub fn close(&self) -> *mut T {
        self.published.swap(core::ptr::null_mut(), Ordering::AcqRel)
    }

    /// True if no handler is inside the gate. The result is meaningful after `close`, or after a
    /// write that later handlers must observe.
    pub fn is_empty(&self) -> bool {
        // This changes the counter instead of loading it, as the module's comment explains. Its
        // acquire pairs with the release of each leaving handler. That handler's work inside
        // happened before.
        self.inside.fetch_add(0, Ordering::AcqRel) == 0
    }
}

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Entered<'_, T> {
    /// Returns the pointer that the agent has published through the gate.
    #[inline]
    pub fn value(&self) -> *mut T {
        self.value
    }
}

impl<T> Drop for Entered<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.gate.inside.fetch_sub(1, Ordering::Release);
    }
}
