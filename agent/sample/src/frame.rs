//! One frame of a stack, in whichever language it came. Stacks are leaf first.
//!
//! AsyncGetCallTrace and GetStackTrace have each their own numbers for what is no bytecode index.
//! Those of the first are Vouch's own, in files and to people; here is the only place that has
//! them.

/// Ids of methods, as opaque numbers.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl $name {
            /// What stands where there is no method.
            pub const NONE: Self = Self(0);
            /// What our own walker has in the place of an id that the JVM has not given: it knows a
            /// method there, and no number for it.
            pub const UNNUMBERED: Self = Self(usize::MAX - (1 << 33));

            /// True for the id of no method, and for one that was not given.
            #[inline]
            #[must_use]
            pub const fn is_none(self) -> bool {
                self.0 == Self::NONE.0 || self.0 == Self::UNNUMBERED.0
            }
        }
    )*};
}

ids! {
    /// A `jmethodID`: it is never dereferenced (from JDK 26 on it is no pointer), and may come to
    /// mean another method.
    MethodId;
    /// A method as an id meant it at some time: it never means anything else.
    Meaning;
}

/// Where in its bytecode a method stands.
pub type Bci = i32;

/// What a native method has in the place of a bci.
pub const NATIVE: Bci = -3;
/// What a compiled method has there that has not come to its first instruction.
pub const ENTRY: Bci = -1;

/// A method, and where in it the thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame<Id = MethodId> {
    /// At a bytecode index; or what the walker took for one.
    Java { method: Id, bci: Bci },
    /// In a native method.
    Native { method: Id },
}

/// A frame of which it is known what its id meant.
pub type Meant = Frame<Meaning>;

impl<Id: Copy> Frame<Id> {
    /// The frame of this method and bci, which may be [`NATIVE`].
    #[inline]
    #[must_use]
    pub const fn of(method: Id, bci: Bci) -> Self {
        if bci == NATIVE { Self::Native { method } } else { Self::Java { method, bci } }
    }

    /// Whose frame it is.
    #[inline]
    #[must_use]
    pub const fn method(self) -> Id {
        match self {
            Self::Java { method, .. } | Self::Native { method } => method,
        }
    }

    /// Its bci; [`NATIVE`] for a native method.
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
    fn a_frame_is_what_its_parts_say() {
        for bci in [0, 17, ENTRY, -2, -4, Bci::MAX, Bci::MIN] {
            let frame = Frame::of(MethodId(7), bci);
            assert_eq!(frame, Frame::Java { method: MethodId(7), bci });
            assert_eq!((frame.method(), frame.bci()), (MethodId(7), bci));
        }
        let native = Frame::of(MethodId(7), NATIVE);
        assert_eq!(native, Frame::Native { method: MethodId(7) });
        assert_eq!((native.method(), native.bci()), (MethodId(7), NATIVE));
    }
}
