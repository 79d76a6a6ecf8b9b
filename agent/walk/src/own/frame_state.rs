//! In which state a walk finds a frame: how much of it is there, and how the walk has come to it.

/// How much of a frame there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Whole,
    /// As large as it will be, but the caller's frame pointer is still in its register, and what no
    /// call pushes.
    Unsaved,
    /// The return address alone, on top, or where a call leaves it.
    Returning,
    /// The return address, and the caller's frame pointer on top.
    Pushed,
}

/// How a frame is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// The thread was interrupted in it.
    Interrupted,
    /// The thread has left Java from there, and has said so.
    Left,
    /// It has called what was met before, and goes on at this address.
    Called,
    /// It has called what has no method, or was left out: of such a call nothing may be described.
    /// The address is where it goes on.
    Calling,
}
