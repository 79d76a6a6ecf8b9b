//! The state of a frame: how much of it exists, and how the walk found it.

/// How much of a frame exists while its code builds or removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The frame is complete: it was built, and is not being removed yet.
    Whole,
    /// The frame has its full size, but the caller's frame pointer is not saved in it yet. Where
    /// calls push nothing, the link register is not saved either.
    Unsaved,
    /// Only the frame's return address exists, on top of the stack or in the link register.
    Returning,
    /// The frame's return address exists, and the caller's frame pointer was pushed onto it.
    Pushed,
}

/// How a walk found a frame, which decides how its pc is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameState {
    /// The thread was interrupted in this frame.
    Interrupted,
    /// The thread left Java from this frame: the JVM has recorded it as the last Java frame.
    LastJavaFrame,
    /// The frame called the frame that the walk found before. It continues at this address.
    Caller,
    /// The frame called a stub, or code that the walk skipped, so its debug information may lack
    /// this call. It continues at this address.
    UnverifiedCaller,
}
