//! One Java or native frame of a stack. Stacks are leaf first.
//!
//! AsyncGetCallTrace and GetStackTrace use different numbers where a frame has no bytecode index.
//! Vouch uses those of AsyncGetCallTrace everywhere, also in files. Only this file defines them.

/// Ids of methods, as opaque numbers.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl $name {
            /// The id of no method.
            pub const NONE: Self = Self(0);
            /// Replaces the id of a method for which the JVM has not created a `jmethodID` yet.
            /// Vouch's own walker found the method, but has no id for it.
            pub const UNNUMBERED: Self = Self(usize::MAX - (1 << 33));

            /// True for [`Self::NONE`] and [`Self::UNNUMBERED`].
            #[inline]
            #[must_use]
            pub const fn is_none(self) -> bool {
                self.0 == Self::NONE.0 || self.0 == Self::UNNUMBERED.0
            }
        }
    )*};
}

ids! {
    /// A `jmethodID`. It is never dereferenced: from JDK 26 on it is no pointer. The JVM may use it
    /// again for another method, after the class of the first one is unloaded.
    MethodId;
    /// A method, resolved from its id at some time. It always refers to this method, even when the
    /// JVM uses the id again.
    ResolvedMethod;
}

/// A bytecode index. A negative one is no index: [`NATIVE`], [`ENTRY`], or a walker's mistake.
pub type Bci = i32;

/// The bci of a native method, which has no bytecode.
pub const NATIVE: Bci = -3;
/// The bci of a compiled method that has not reached its first bytecode.
pub const ENTRY: Bci = -1;

/// A method, and the location in it that its thread has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame<Id = MethodId> {
    /// A frame of a Java method, at the bytecode index that a walker read.
    Java { method: Id, bci: Bci },
    /// A frame of a native method.
    Native { method: Id },
}

/// A frame with its resolved method instead of a `jmethodID`.
pub type ResolvedFrame = Frame<ResolvedMethod>;

impl<Id: Copy> Frame<Id> {
    /// Makes a frame of a method and a bci. The bci [`NATIVE`] makes a native frame.
    #[inline]
    #[must_use]
    pub const fn new(method: Id, bci: Bci) -> Self {
        if bci == NATIVE { Self::Native { method } } else { Self::Java { method, bci } }
    }

    /// The method of the frame.
    #[inline]
    #[must_use]
    pub const fn method(self) -> Id {
        match self {
            Self::Java { method, .. } | Self::Native { method } => method,
        }
    }

    /// The bci of the frame, or [`NATIVE`] for a native method.
    #[inline]
    #[must_use]
    pub const fn bci(self) -> Bci {
        match self {
            Self::Java { bci, .. } => bci,
            Self::Native { .. } => NATIVE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_method_and_bci_it_was_made_of() {
        for bci in [0, 17, ENTRY, -2, -4, Bci::MAX, Bci::MIN] {
            let frame = Frame::new(MethodId(7), bci);
            assert_eq!(frame, Frame::Java { method: MethodId(7), bci });
            assert_eq!((frame.method(), frame.bci()), (MethodId(7), bci));
        }
        let native = Frame::new(MethodId(7), NATIVE);
        assert_eq!(native, Frame::Native { method: MethodId(7) });
        assert_eq!((native.method(), native.bci()), (MethodId(7), NATIVE));
    }
}
