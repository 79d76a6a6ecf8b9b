//! The gate: how the agent opens and closes a handler's access to a sampler, or anybody's to the
//! lanes of events.
//!
//! A handler enters, takes the pointer that is published at that moment, and leaves when its guard
//! is dropped. The agent closes the gate and waits until nobody is inside; from then on no handler
//! can hold the pointer, and what it points to may be freed. Both sides change the same counter,
//! the agent by adding nothing, so one of them comes second: either the agent sees the handler
//! inside, or the handler's change reads the agent's and with it that the gate is closed. Plain
//! loads could miss each other. Loom checks it.
//!
//! The handler's side must never wait.

use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Guards one `T` that handlers borrow and the agent publishes.
#[derive(Debug)]
pub struct Gate<T> {
    published: AtomicPtr<T>,
    inside: AtomicUsize,
}

/// A handler's stay inside the gate.
#[derive(Debug)]
pub struct Entered<'g, T> {
    gate: &'g Gate<T>,
    value: *mut T,
}

impl<T> Gate<T> {
    /// A gate that is closed.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self { published: AtomicPtr::new(core::ptr::null_mut()), inside: AtomicUsize::new(0) }
    }

    /// A gate that is closed (loom's atomics cannot be made in a constant).
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self { published: AtomicPtr::new(core::ptr::null_mut()), inside: AtomicUsize::new(0) }
    }

    /// Goes in, if the gate is open.
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

    /// True if something is published; it may be over as soon as it is said.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.published.load(Ordering::Relaxed).is_null()
    }

    /// Opens the gate for `value`, which must stay valid until the gate was closed and found
    /// `empty`.
    pub fn open(&self, value: *mut T) {
        self.published.store(value, Ordering::Release);
    }

    /// Closes the gate and gives back what was published. Handlers may still be inside.
    pub fn close(&self) -> *mut T {
        self.published.swap(core::ptr::null_mut(), Ordering::AcqRel)
    }

    /// True once no handler is inside. To be asked after `close`; or after something was written
    /// that whoever comes in later goes by.
    pub fn empty(&self) -> bool {
        // A change, not a load (see the top). Its acquire pairs with each leaver's release: what a
        // handler did inside happened before.
        self.inside.fetch_add(0, Ordering::AcqRel) == 0
    }
}

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Entered<'_, T> {
    /// What the agent published.
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
