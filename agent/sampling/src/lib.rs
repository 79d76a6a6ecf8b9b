//! Who is sampled, when, and by which clock.
//!
//! * [`engine`] makes the kernel send the sampling signal to a thread that uses the CPU.
//!   [`sampling_signal`] finds the owner of that signal.
//! * [`threads`] is the registry of the process's threads, from their first instruction to their
//!   last. It fills a thread's slot for the handler, and arms its engine.
//! * [`governor`] measures what the engine costs, and limits it.
//! * [`own_thread`] marks the agent's own threads, which are never sampled.
//! * [`clock`] reads clocks and ids from the kernel.
//! * [`task_sums`], [`thread_contexts`] and [`context_switches`] are memory that a thread's Java
//!   code uses, and that the registry takes back at the thread's end.
//!
//! This crate must never call JNI or JVMTI, see a stack, or count a thread's time twice. What it
//! needs of the agent is in the one trait of [`services`]. So its tests run without a JVM.
//!
//! Each interval of a thread's time is in a sample, or is settled at the end:
//!
//! ```
//! use std::time::Duration;
//! use vouch_sampling::clock;
//! use vouch_sampling::engine::Engine;
//! use vouch_sampling::threads::{Registry, Sampling};
//!
//! let registry = Registry::new(64);
//! let interval = Duration::from_millis(1);
//! registry.begin_sampling(Sampling { engine: Engine::Itimer, interval, filter: None, paused: false });
//! registry.enter(clock::own_tid());
//! let until = clock::own_cpu() + 5_000_000;
//! while clock::own_cpu() < until {}
//! registry.end_sampling();
//! // No handler took a sample, so all of the thread's intervals are still due.
//! let unsignalled = registry.settle();
//! assert!(unsignalled[0].weight >= 5);
//! ```

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
