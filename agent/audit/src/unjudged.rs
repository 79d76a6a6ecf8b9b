//! What is said of an edge or a leaf, and why one is not judged.

use vouch_verify::proof::Verdict;

use crate::generated_class::Rule;

/// Why an edge was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unjudged {
    /// The caller's class was not found.
    NotFound,
    /// The one that was found is not the one that ran.
    OtherVersion,
    /// No file has the caller's class, and the rule by which it was made says nothing.
    Generated(Rule),
    /// The recording does not name the methods between the two.
    Unnamed,
    /// The recorder leaves frames out of such stacks.
    Filtered,
    /// Bytecode speaks against it, and no call of the same method says that it is the bytecode that
    /// ran.
    Unconfirmed,
    /// The callee's class was not found, so its overloads cannot be distinguished.
    Overload,
    /// A lambda may be between the two: the recording has no frames of classes that have no name of
    /// their own.
    Hidden,
}

impl Unjudged {
    /// Its name in the report.
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

/// What is to be said of an edge or a leaf.
pub type Judged = Result<Verdict, Unjudged>;
