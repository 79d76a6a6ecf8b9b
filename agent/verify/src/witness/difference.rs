//! The kinds of difference there are.
//!
//! Their names are a contract: the trust report, the truth lab and its expectations use them.

use vouch_sample::Reason;

/// One way in which a walk differs from its witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The outermost frames are missing.
    Truncated { missing: usize },
    /// Frames are missing within the stack, or at its leaf.
    Gap { missing: usize },
    /// The walk has frames that are not there.
    Extra { frames: usize },
    /// A frame is said to be another method.
    WrongMethod { frames: usize },
    /// The method is right, its bci is not.
    WrongBci { frames: usize },
    /// The frame is there without a method.
    NullMethod { frames: usize },
    /// A native frame is taken for a Java one, or the reverse.
    Nativeness { frames: usize },
    /// The walk ended at the depth that was asked for.
    Cut { missing: usize },
    /// No frames came at all, where there are some.
    Unwalked { why: Reason },
}

impl Difference {
    /// The kind's name.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Gap { .. } => "gap",
            Self::Extra { .. } => "extra",
            Self::WrongMethod { .. } => "wrong_method",
            Self::WrongBci { .. } => "wrong_bci",
            Self::NullMethod { .. } => "null_method",
            Self::Nativeness { .. } => "nativeness",
            Self::Cut { .. } => "cut",
            Self::Unwalked { .. } => "unwalked",
        }
    }
}
