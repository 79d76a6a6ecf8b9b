//! Who is sampled, when, and by which clock.
//!
//! An [`engine`] makes the kernel send the sampling signal to a thread that uses the CPU. The
//! registry of [`threads`] has each thread from its first instruction to its last, and arms its
//! engine. The [`governor`] measures what the engine costs, and limits it.

pub mod clock;
pub mod context_switches;
pub mod engine;
mod error;
pub mod governor;
pub mod lazy_zeroed;
pub mod own_thread;
pub mod present;
pub mod sampling_signal;
pub mod services;
pub mod signal;
pub mod signal_handlers;
pub mod task_sums;
pub mod thread_contexts;
pub mod threads;

pub use error::{Error, Obstacle};
