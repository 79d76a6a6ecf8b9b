//! The stack that a sample keeps, of those that its walkers found.

use vouch_sample::Cut;

use super::recovered::Began;
use crate::jvm::Site;

/// The stack that a sample keeps, and how it was found.
pub(super) struct Taken {
    pub walker: u8,
    pub began: Began,
    pub cut: Option<Cut>,
    /// True if the stack differs from the other walker's stack, and proof refutes it.
    pub refuted: bool,
    /// The instruction at which the stack's innermost frames were found, if it may be in compiled
    /// code.
    pub site: Option<Site>,
    /// True if AsyncGetCallTrace found the stack, and Vouch's own walker found none or did not run.
    /// If the thread was in code that compiled code called, AsyncGetCallTrace uses the instruction
    /// after that call.
    pub is_asgct_alone: bool,
}
