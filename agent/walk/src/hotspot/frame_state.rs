//! The state of a frame: how much of it exists, and how the walk found it.

/// How much of a frame exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The frame is complete.
    Whole,
    /// The frame has its full size. The caller's frame pointer, and the link register where calls
    /// push nothing, are not saved yet.
    Unsaved,
    /// Only the return address exists, on top of the stack or in the link register.
    Returning,
    /// The return address exists, and the caller's frame pointer is on top.
    Pushed,
}

/// How the walk found a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameState {
    /// The thread was interrupted in it.
    Interrupted,
    /// The thread left Java from it: the JVM has recorded it as the last Java frame.
    LastJavaFrame,
    /// The frame called the frame that was found before. It continues at this address.
    Caller,
    /// The frame called code without a method or code that was skipped, so its debug information
    /// may lack this call. It continues at this address.
    UnverifiedCaller,
}
