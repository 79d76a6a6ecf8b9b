//! The kinds of differences between a walk and its witness.
//!
//! The names of the kinds must not change: the trust report, the truth lab and its expectations use
//! them.

use vouch_sample::Reason;

/// A way in which a walk differs from its witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The outermost frames are missing in the walk.
    Truncated { missing: usize },
    /// Frames are missing within the walk, or at its leaf.
    Gap { missing: usize },
    /// The walk has frames that the witness does not have.
    Extra { frames: usize },
    /// Frames of the walk have another method than the witness's frames.
    WrongMethod { frames: usize },
    /// Frames of the walk have the right method and another bci.
    WrongBci { frames: usize },
    /// Frames of the walk have no method id where the witness's have one.
    NullMethod { frames: usize },
    /// Frames of the walk are native where the witness's are Java, or the reverse.
    Nativeness { frames: usize },
    /// The walk was cut at its maximal depth, and reports that.
    Cut { missing: usize },
    /// The walk found no frames, and the witness did.
    Unwalked { why: Reason },
}

impl Difference {
    /// Returns the name of the kind of difference in the trust report.
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
