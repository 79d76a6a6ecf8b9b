//! One frame of a stack: of Java, of native code, or of the kernel. Stacks are leaf first.
//!
//! AsyncGetCallTrace and GetStackTrace use different numbers where a frame has no bytecode index.
//! Vouch uses those of AsyncGetCallTrace everywhere, also in files. Only this file defines them.
//!
//! A frame is written as two numbers, a tag and a word. The tag of a Java frame is its bci, and the
//! word is its method. The other frames have tags that no walker of Java frames is asked for.

/// Declares types for ids of methods, which are opaque numbers.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub usize);

        impl $name {
            /// The id that means "no method".
            pub const NONE: Self = Self(0);
            /// The id of a method for which the JVM has not created a `jmethodID` yet. Vouch's own
            /// walker found the method, but has no id for it.
            pub const UNNUMBERED: Self = Self(usize::MAX - (1 << 33));

            /// True if no method is known by this id: it is [`Self::NONE`] or [`Self::UNNUMBERED`].
            #[inline]
            #[must_use]
            pub const fn is_none(self) -> bool {
                self.0 == Self::NONE.0 || self.0 == Self::UNNUMBERED.0
            }
        }

        impl FrameMethod for $name {
            const NONE: Self = Self::NONE;

            #[inline]
            fn number(self) -> usize {
                self.0
            }

            #[inline]
            fn from_number(number: usize) -> Self {
                Self(number)
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

/// The tag that a frame of native code has in its encoding as two numbers.
const NATIVE_CODE: i32 = i32::MIN;
/// The tag that a frame of the kernel has in its encoding as two numbers.
const KERNEL_CODE: i32 = i32::MIN + 1;

/// A function, and the location in it that its thread has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame<Id = MethodId> {
    /// A frame of a Java method, at the bytecode index that a walker read.
    Java { method: Id, bci: Bci },
    /// A frame of a Java method that is native.
    JavaNative { method: Id },
    /// A frame of code in a library, at an address inside the instruction that runs or calls.
    Native { pc: usize },
    /// A frame of the kernel's code, at an address inside the instruction that runs or calls.
    Kernel { pc: usize },
}

/// A frame with its resolved method instead of a `jmethodID`.
pub type ResolvedFrame = Frame<ResolvedMethod>;

/// A type of ids that identify the method of a Java frame.
pub trait FrameMethod: Copy {
    /// The id of no method. Frames without a Java method have it.
    const NONE: Self;

    /// Converts the id to a number and back.
    fn number(self) -> usize;
    fn from_number(number: usize) -> Self;
}

impl<Id: FrameMethod> Frame<Id> {
    /// Makes a frame of a method and a bci. The bci [`NATIVE`] makes a frame of a native method.
    #[inline]
    #[must_use]
    pub const fn new(method: Id, bci: Bci) -> Self {
        if bci == NATIVE { Self::JavaNative { method } } else { Self::Java { method, bci } }
    }

    /// Makes a frame of code at an address: of the kernel if the address is in the upper half of
    /// all addresses, otherwise of native code.
    #[inline]
    #[must_use]
    pub const fn from_pc(pc: usize) -> Self {
        if pc.cast_signed() < 0 { Self::Kernel { pc } } else { Self::Native { pc } }
    }

    /// Returns the method of the frame, or the id of no method if the frame is not of Java.
    #[inline]
    #[must_use]
    pub const fn method(self) -> Id {
        match self {
            Self::Java { method, .. } | Self::JavaNative { method } => method,
            Self::Native { .. } | Self::Kernel { .. } => Id::NONE,
        }
    }

    /// Returns the bci of the frame, or [`NATIVE`] for any code without bytecode.
    #[inline]
    #[must_use]
    pub const fn bci(self) -> Bci {
        match self {
            Self::Java { bci, .. } => bci,
            Self::JavaNative { .. } | Self::Native { .. } | Self::Kernel { .. } => NATIVE,
        }
    }

    /// True for a frame of a Java method, with bytecode or native.
    #[inline]
    #[must_use]
    pub const fn is_java(self) -> bool {
        matches!(self, Self::Java { .. } | Self::JavaNative { .. })
    }

    /// True if proof can judge whether this frame called `callee`. Only frames of Java have
    /// bytecode, and only Java's own frames are in the class files. Any other pair is neither
    /// proven nor refuted.
    #[inline]
    #[must_use]
    pub const fn is_judged_caller_of(self, callee: Self) -> bool {
        self.is_java() && callee.is_java()
    }

    /// Encodes the frame as a tag and a word.
    #[inline]
    #[must_use]
    pub fn to_words(self) -> (i32, usize) {
        match self {
            Self::Java { method, bci } => (bci, method.number()),
            Self::JavaNative { method } => (NATIVE, method.number()),
            Self::Native { pc } => (NATIVE_CODE, pc),
            Self::Kernel { pc } => (KERNEL_CODE, pc),
        }
    }

    /// Decodes a frame from its tag and its word.
    #[inline]
    #[must_use]
    pub fn from_words(tag: i32, word: usize) -> Self {
        match tag {
            NATIVE_CODE => Self::Native { pc: word },
            KERNEL_CODE => Self::Kernel { pc: word },
            bci => Self::new(Id::from_number(word), bci),
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
        assert_eq!(native, Frame::JavaNative { method: MethodId(7) });
        assert_eq!((native.method(), native.bci()), (MethodId(7), NATIVE));
    }

    #[test]
    fn an_address_is_of_the_kernel_in_the_upper_half_and_never_of_a_method() {
        let (code, kernel) = (Frame::<MethodId>::from_pc(0x7fff_f000), Frame::from_pc(usize::MAX << 40));
        assert_eq!(code, Frame::Native { pc: 0x7fff_f000 });
        assert_eq!(kernel, Frame::Kernel { pc: usize::MAX << 40 });
        for frame in [code, kernel] {
            assert_eq!((frame.method(), frame.bci(), frame.is_java()), (MethodId::NONE, NATIVE, false));
        }
    }

    #[test]
    fn each_frame_is_read_from_its_words() {
        let method = MethodId(usize::MAX);
        let frames = [
            Frame::Java { method, bci: 0 },
            Frame::Java { method, bci: ENTRY },
            Frame::JavaNative { method },
            Frame::Native { pc: 0x7fff_f000 },
            Frame::Kernel { pc: usize::MAX },
        ];
        for frame in frames {
            let (tag, word) = frame.to_words();
            assert_eq!(Frame::from_words(tag, word), frame);
        }
    }
}
