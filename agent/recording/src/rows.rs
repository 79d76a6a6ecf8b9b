//! The rows of a recording's tables: functions, frames, stacks.
//!
//! A row is stored once if all of its fields are equal. So overloads at different lines have
//! different rows, and so have equal names from two jars.

use std::num::NonZeroU32;

use vouch_sample::Certainty;

use crate::category::Category;
use crate::ids::{FrameId, FuncId, ResourceId, SourceId, StackId, StringId};
use crate::trust::Trust;

/// A function that is added to the table, with its name as text.
#[derive(Debug, Clone, Copy)]
pub struct Func<'a> {
    pub name: &'a str,
    pub category: Category,
    pub source: Option<SourceId>,
    /// The line at which the function begins in its source file. Lines begin at 1, and 0 is
    /// unknown.
    pub line: Option<u32>,
    pub resource: Option<ResourceId>,
    /// True if the function is a Java method.
    pub java: bool,
}

/// A row of the table of functions: a Java method, or a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FuncRow {
    pub name: StringId,
    pub category: Category,
    pub source: Option<SourceId>,
    pub line: Option<NonZeroU32>,
    pub resource: Option<ResourceId>,
    pub java: bool,
}

/// A row of the table of frames: a function at the line that it was executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameRow {
    pub func: FuncId,
    pub line: Option<NonZeroU32>,
    /// The state of the samples with this frame as their leaf. `None` if the frame is no leaf, or
    /// if its category has the state.
    pub leaf: Option<Leaf>,
}

/// The properties that all samples with the same leaf frame share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// How far the stack can be trusted.
    pub trust: Trust,
    /// The certainty of the top frame, or `None` if it was not judged.
    pub top_frame: Option<Certainty>,
}

impl Leaf {
    /// Makes the leaf of stacks without a judged top frame.
    pub fn new(trust: Trust) -> Self {
        Self { trust, top_frame: None }
    }
}

/// A row of the table of stacks: a frame, and the stack of its callers, which has an earlier row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StackRow {
    pub parent: Option<StackId>,
    pub frame: FrameId,
}
