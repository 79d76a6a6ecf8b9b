//! Any other processor: nobody knows yet what its frames look like, so nothing is walked.

use crate::hotspot::frame_state::Shape;
use crate::memory::Memory;

pub const WALKS: bool = false;

/// As on x86-64, so that the rest can be read by a compiler; no layout is made where nothing is
/// walked.
pub mod slots {
    pub const SENDER: usize = 1;
    pub const LAST_SP: usize = 2;
    pub const METHOD: usize = 3;
    pub const BYTECODE: [usize; 2] = [7, 8];
    pub const HOLDER: usize = 6;
}

pub fn prologue(_: &impl Memory, _: usize, _: usize) -> Option<Shape> {
    None
}

pub fn shape(_: &impl Memory, _: usize) -> Option<Shape> {
    None
}

pub fn leaves(_: &impl Memory, _: usize) -> bool {
    false
}

/// Of such a frame its registers tell what it lacks.
pub fn lacks_sender(_: &impl Memory, _: usize) -> bool {
    false
}

pub fn stub_shape(_: &impl Memory, _: usize) -> Option<Shape> {
    None
}
