//! Everything that runs inside the SIGPROF handler, except for the walkers.
//!
//! A signal can stop a thread anywhere: inside malloc, with a lock held, or with one page of stack
//! left. So this crate allocates nothing, locks nothing, cannot panic and touches no thread-local.
//! It calls only libc functions that are async-signal-safe, and restores errno. It is `no_std`, and
//! depends only on `libc` and on crates under the same rules.
//!
//! * [`handler`] is the entry point, and takes one sample for each signal. [`sampler`] has what the
//!   handler needs.
//! * [`phase`] computes when the first signals of a thread come.
//! * [`pending_intervals`] counts the intervals of a thread that no sample covers yet.
//! * [`slots`] is the table of threads. `kernel_frames` reads the frames of the kernel.
//! * [`thread_context`] is the context that the program has set for a thread.
//!   [`otel_thread_context`] reads the trace that a tracer has published.
//! * [`sample_layout`] is the layout of a sample in a lane. [`lane`] is the ring that carries
//!   samples to the drain, and [`outlet`] chooses a lane.
//! * [`event`] is the layout of an event in a lane. Events are also published outside of signals.
//! * [`witness_rendezvous`] keeps a thread in its handler until the JVM will stop the thread.
//! * [`smoothed_cost`] is the smoothed cost of walks.
//! * [`walk_request`] walks one thread on request, also without a recording.
//! * [`gate`] shuts handlers out, and reports when none is running any more.
//!
//! The agent must fill a thread's slot before it arms the thread's engine. A [`Sampler`] must
//! outlive its publication in the gate, and each lane has one reader. The same holds for the lanes
//! of events and their separate gate.
//!
//! [`Sampler`]: sampler::Sampler
//!
//! # Invariants
//!
//! **Invariant 1.** This crate, `vouch-unwind` without its normal context, and `vouch-sample`
//! allocate nothing, lock nothing and cannot panic. They call only async-signal-safe functions,
//! touch no thread-local, and restore errno. Held by: `scripts/test signal` (the object files of
//! these crates, without the feature `native`, may refer only to a closed list of functions);
//! `scripts/test trap` (no allocation in any handler of a real JVM, on every JDK, with a control
//! that must be seen).
//!
//! **Invariant 3.** Handler and drain share lanes and gate by two small protocols. Held by:
//! `scripts/test loom`, which tries every interleaving.
#![cfg_attr(not(loom), no_std)]

#[cfg(not(loom))]
pub mod cause;
#[cfg(not(loom))]
pub mod event;
#[cfg(not(loom))]
mod frame_owner;
pub mod gate;
#[cfg(not(loom))]
pub mod handler;
pub mod handler_cost;
#[cfg(not(loom))]
mod jitter;
#[cfg(not(loom))]
mod kernel_frames;
pub mod lane;
#[cfg(not(loom))]
pub mod otel_thread_context;
#[cfg(not(loom))]
pub mod outlet;
#[cfg(not(loom))]
pub mod pending_intervals;
#[cfg(not(loom))]
pub mod phase;
#[cfg(not(loom))]
pub mod sample_layout;
#[cfg(not(loom))]
pub mod sampler;
#[cfg(not(loom))]
pub mod signal_number;
#[cfg(not(loom))]
pub mod slots;
#[cfg(not(loom))]
pub mod smoothed_cost;
#[cfg(not(loom))]
mod subject;
mod sync;
pub mod thread_context;
#[cfg(not(loom))]
pub mod unread_names;
pub mod vthread_contexts;
#[cfg(not(loom))]
pub mod walk_request;
#[cfg(not(loom))]
mod weight;
#[cfg(not(loom))]
pub mod witness_rendezvous;
