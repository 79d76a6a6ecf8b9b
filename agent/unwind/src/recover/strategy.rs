//! The type of a recovery strategy and of its proposals.

use super::interrupted_thread::InterruptedThread;
use crate::context::Registers;

/// A way to repair a context, from which a failed walk is walked again.
#[derive(Debug)]
pub struct Strategy {
    pub name: &'static str,
    /// True if a candidate is the thread's topmost Java frame instead of one of its callers.
    pub keeps_leaf: bool,
    /// True if no frame can be between the interrupted frame and the proposed caller.
    pub sure: bool,
    /// Returns the candidate of this strategy with a number, counted from 0.
    pub(super) propose: fn(&InterruptedThread<'_>, usize) -> Step,
}

/// What a recovery strategy proposes for a candidate's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Recovery should walk from these registers.
    Try(Registers),
    /// No candidate has this number, but later numbers may have one.
    Skip,
    /// The strategy has no more candidates.
    End,
}
