//! In which state a walk finds a frame: how much of it is there, and how the walk found it.

/// How much of a frame is there.
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

/// How the walk found a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameState {
    /// The thread was interrupted in it.
    Interrupted,
    /// The thread left Java from it: the JVM has recorded it as the last Java frame.
    LastJavaFrame,
    /// It called the frame that was found before. It continues at this address.
    Caller,
    /// It called code that has no method, or that was left out, so the debug information may lack
    /// this call. It continues at this address.
    UnverifiedCaller,
}
