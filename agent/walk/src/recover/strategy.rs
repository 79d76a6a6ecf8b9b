//! The type of a recovery strategy and of its proposals.

use super::interrupted_thread::InterruptedThread;
use crate::context::Registers;

/// One way to repair a context.
#[derive(Debug)]
pub struct Strategy {
    pub name: &'static str,
    /// True if a candidate is the thread's topmost Java frame instead of one of its callers.
    pub keeps_leaf: bool,
    /// True if no frame can be between the interrupted frame and the proposed caller.
    pub sure: bool,
    /// Returns the strategy's candidate with this number.
    pub(super) propose: fn(&InterruptedThread<'_>, usize) -> Step,
}

/// What a strategy proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Walk from these registers.
    Try(Registers),
    /// No candidate has this number. Later numbers may have one.
    Skip,
    /// The strategy has no more candidates.
    End,
}
