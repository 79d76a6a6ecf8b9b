//! Functions for processors that Vouch's own walker does not support. It walks nothing there.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

/// False: Vouch's own walker does not support this processor.
pub const WALKS: bool = false;

/// Slots of an interpreted frame as on x86-64, so that the other modules compile. Nothing uses
/// them, because no layout is created on this processor.
pub mod slots {
    pub const SENDER_SP: usize = 1;
    pub const LAST_SP: usize = 2;
    pub const METHOD: usize = 3;
    pub const BCP: [usize; 2] = [7, 8];
    pub const CALL_WRAPPER: usize = 6;
}

/// Returns `None`, because no frame is recognised on this processor.
pub fn prologue_shape(_: &impl Memory, _: usize, _: usize) -> Option<Shape> {
    None
}

/// Returns `None`, because no frame is recognised on this processor.
pub fn body_shape(_: &impl Memory, _: usize) -> Option<Shape> {
    None
}

/// Returns false, because no interpreted frame is read on this processor.
pub fn has_popped_frame(_: &impl Memory, _: usize) -> bool {
    false
}

/// Returns false, because no interpreted frame is read on this processor.
pub fn lacks_sender_sp(_: &impl Memory, _: usize) -> bool {
    false
}

/// Returns `None`, because no frame is recognised on this processor.
pub fn stub_shape(_: &impl Memory, _: usize) -> Option<Shape> {
    None
}
