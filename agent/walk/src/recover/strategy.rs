//! What a strategy is, and what it proposes.

use super::interrupted_thread::Scene;
use crate::context::Registers;

/// One way to repair a context.
#[derive(Debug)]
pub struct Strategy {
    pub name: &'static str,
    /// Its candidates are the interrupted thread's own topmost Java frame, and no caller's.
    pub keeps_leaf: bool,
    /// Between the interrupted frame and the caller that it proposes no other can lie.
    pub sure: bool,
    /// Its candidate of that number.
    pub(super) propose: fn(&Scene<'_>, usize) -> Step,
}

/// What a strategy proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Try(Registers),
    /// Nothing under this number.
    Skip,
    /// It has nothing more.
    End,
}
