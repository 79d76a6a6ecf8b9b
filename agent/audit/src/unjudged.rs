//! The verdict on an edge or a leaf, or the reason why it was not judged.

use vouch_verify::proof::Verdict;

use crate::generated_class::Rule;

/// The reason why an edge or a leaf was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unjudged {
    /// The caller's class was not found.
    NotFound,
    /// The caller's class was found only in another version.
    OtherVersion,
    /// The caller's class was generated at run time, and its rule does not say what it calls.
    Generated(Rule),
    /// Frames are missing between the two methods.
    Unnamed,
    /// The recorder filters frames out of such stacks.
    Filtered,
    /// The bytecode refutes the edge, but nothing confirms that this bytecode ran.
    Unconfirmed,
    /// The callee's class was not found, so its overloads cannot be distinguished.
    Overload,
    /// A lambda may be between the two, because the recording has no frames of hidden classes.
    Hidden,
}

impl Unjudged {
    /// Returns the reason's name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "class_not_found",
            Self::OtherVersion => "other_version",
            Self::Generated(_) => "generated_class",
            Self::Unnamed => "unnamed_method",
            Self::Filtered => "filtered_by_recorder",
            Self::Unconfirmed => "unconfirmed_version",
            Self::Overload => "unknown_overload",
            Self::Hidden => "hidden_frames",
        }
    }
}

/// The verdict on an edge or a leaf, or the reason why it was not judged.
pub type Judged = Result<Verdict, Unjudged>;
