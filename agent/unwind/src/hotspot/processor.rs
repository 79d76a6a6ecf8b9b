//! The parts of frames that depend on the processor. Each architecture has a file here with the
//! same functions.

#[cfg_attr(target_arch = "x86_64", path = "processor/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "processor/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "processor/other.rs")]
mod architecture;

pub use architecture::{
    WALKS, body_shape, has_popped_frame, lacks_sender_sp, prologue_shape, slots, stub_shape,
};
