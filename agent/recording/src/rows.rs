//! The rows of the shared tables: functions, frames, stacks.
//!
//! Two rows are one if all of their fields are equal: overloads at different lines stay apart, and
//! so do equal names from two jars.

use std::num::NonZeroU32;

use vouch_sample::Certainty;

use crate::category::Category;
use crate::fate::Fate;
use crate::ids::{FrameId, FuncId, ResourceId, SourceId, StackId, StringId};

/// A function, as a stack walk names it.
#[derive(Debug, Clone, Copy)]
pub struct Func<'a> {
    pub name: &'a str,
    pub category: Category,
    pub source: Option<SourceId>,
    /// Where the function begins in its source; lines count from 1, and 0 is none.
    pub line: Option<u32>,
    pub resource: Option<ResourceId>,
    /// Is it a Java method?
    pub java: bool,
}

/// A function: a Java method, or what stands for something that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FuncRow {
    pub name: StringId,
    pub category: Category,
    pub source: Option<SourceId>,
    pub line: Option<NonZeroU32>,
    pub resource: Option<ResourceId>,
    pub java: bool,
}

/// A function at the line that it was executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameRow {
    pub func: FuncId,
    pub line: Option<NonZeroU32>,
    /// What is known of its samples, if it is a leaf.
    pub leaf: Option<Leaf>,
}

/// What samples with the same leaf have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leaf {
    pub fate: Fate,
    /// How the top frame is known; `None` if that was not judged.
    pub top_frame: Option<Certainty>,
}

impl From<Fate> for Leaf {
    fn from(fate: Fate) -> Self {
        Self { fate, top_frame: None }
    }
}

/// A frame and the stack of its callers, which stands in an earlier row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StackRow {
    pub parent: Option<StackId>,
    pub frame: FrameId,
}
