//! A wait that has not ended when the recording does.

use vouch_sample::Frame;

use crate::jvm::WaitTarget;
use crate::threads::Waiting;

/// A thread that may have stopped waiting by now, and what it was asked.
#[derive(Debug)]
pub struct Still {
    pub waiting: Waiting,
    pub(super) wanted: WaitTarget,
    pub(super) frames: Vec<Frame>,
}
