//! Describes a wait that has not ended when the recording ends.

use vouch_sample::Frame;
use vouch_signal::slots::Waiting;

use crate::jvm::WaitTarget;

/// An unfinished wait, what the thread waits for, and its stack. The thread may have stopped
/// waiting by now.
#[derive(Debug)]
pub struct Still {
    pub waiting: Waiting,
    pub(super) wanted: WaitTarget,
    pub(super) frames: Vec<Frame>,
}
