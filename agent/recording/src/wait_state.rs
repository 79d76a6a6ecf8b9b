//! The states of a thread that uses no CPU time, and their names.

/// The state of a thread that uses no CPU time. It is the leaf of the stack to which the elapsed
/// time belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitState {
    /// In `Thread.sleep`.
    Sleeping,
    /// In `Object.wait`.
    Waiting,
    /// In `LockSupport.park`, as locks and queues of `java.util.concurrent` are.
    Parked,
    /// Waiting to enter a monitor that another thread holds.
    Monitor,
    /// In a system call of native code, such as one for input or output.
    SystemCall,
    /// On a futex in native code, such as a lock of the C library.
    NativeLock,
    /// Stopped by the JVM, for example at a safepoint or while another thread initialises a class.
    Stopped,
    /// Ready to run while no processor was free.
    Runnable,
    /// In a wait that ended before its stack was found.
    Unseen,
}

impl WaitState {
    /// All states, in the order in which texts list them.
    pub const ALL: [Self; 9] = [
        Self::Sleeping,
        Self::Waiting,
        Self::Parked,
        Self::Monitor,
        Self::SystemCall,
        Self::NativeLock,
        Self::Stopped,
        Self::Runnable,
        Self::Unseen,
    ];

    /// Returns the state's key in the report.
    pub fn key(self) -> &'static str {
        match self {
            Self::Sleeping => "sleeping",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Monitor => "monitor",
            Self::SystemCall => "system_call",
            Self::NativeLock => "native_lock",
            Self::Stopped => "stopped",
            Self::Runnable => "runnable",
            Self::Unseen => "unseen",
        }
    }

    /// Returns the name of the placeholder that is the leaf of stacks in this state. Stacks in
    /// system calls have the call's name instead.
    pub fn leaf(self) -> &'static str {
        match self {
            Self::Sleeping => "[sleeping]",
            Self::Waiting => "[waiting]",
            Self::Parked => "[parked]",
            Self::Monitor => "[blocked on a monitor]",
            Self::SystemCall => "[system call]",
            Self::NativeLock => "[blocked on a native lock]",
            Self::Stopped => "[stopped by the JVM]",
            Self::Runnable => "[ready to run, no free processor]",
            Self::Unseen => "[waited, stack unknown]",
        }
    }
}
