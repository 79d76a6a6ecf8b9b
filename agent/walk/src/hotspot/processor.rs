//! What of frames depends on the processor: a file for each architecture, all with the same
//! functions.

#[cfg_attr(target_arch = "x86_64", path = "processor/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "processor/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "processor/other.rs")]
mod architecture;

pub use architecture::{WALKS, lacks_sender, leaves, prologue, shape, slots, stub_shape};
