//! The stack that a sample keeps, of those that its walkers found.

use vouch_sample::Cut;

use super::recovered::Began;
use crate::jvm::Site;

/// What is known of the stack that a sample keeps.
pub(super) struct Taken {
    pub walker: u8,
    pub began: Began,
    pub cut: Option<Cut>,
    /// It differs from the other walker's stack, and proof refutes it.
    pub refuted: bool,
    /// Where its innermost frames were found, if that may be in compiled code.
    pub site: Option<Site>,
    /// AsyncGetCallTrace found it, and Vouch's own walker found none or was not asked. At a leaf
    /// call without debug information AsyncGetCallTrace takes the instruction after the call.
    pub is_asgct_alone: bool,
}
