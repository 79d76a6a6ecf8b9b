//! What runs inside the SIGPROF handler, and what a handler could interrupt in the midst of the
//! same.
//!
//! A signal can stop a thread anywhere: inside malloc, with a lock held, with a page of stack left.
//! So this crate allocates nothing, locks nothing, cannot panic, calls no libc function that is not
//! async-signal-safe, touches no thread-local, and leaves errno as it found it. It is `no_std` and
//! depends on `libc` and on its own kind alone.
//!
//! * [`handler`] is the way in: one signal, one sample; [`sampler`] is what it samples with.
//! * [`phase`] says when a thread's first signals come.
//! * [`pending_intervals`] is what of a thread is due, and what was answered.
//! * [`slots`] tells it who the interrupted thread is.
//! * [`thread_context`] is for whom a thread works, as the program says, and
//!   [`otel_thread_context`] what a tracer says of it.
//! * [`sample_layout`] is the shape in which a sample leaves, [`lane`] the ring that carries it to
//!   the drain, [`outlet`] the way to one of them.
//! * [`event`] is how what happened meanwhile goes the same way, from outside of a signal, too.
//! * [`witness_rendezvous`] keeps a thread in its handler until the JVM is told to stop it.
//! * [`smoothed_cost`] is how long walks usually take.
//! * [`walk_request`] is a single question, outside of a recording.
//! * [`gate`] lets the rest of the agent stop the handler and know that none is still running.
//!
//! Duties of the caller (the agent): thread slots are filled before a thread's engine is armed, a
//! [`Sampler`] outlives its publication in the gate, and each lane has one reader. The same holds
//! for the lanes of events and their own gate.
//!
//! [`Sampler`]: sampler::Sampler
//!
//! # Invariants
//!
//! **Invariant 1.** This crate, and `vouch-walk` and `vouch-sample` below it, allocate nothing,
//! lock nothing and cannot panic. They call only async-signal-safe functions, touch no
//! thread-local, and restore errno. Held by: `scripts/test signal` (the object files of these
//! crates may refer only to a closed list of functions); `scripts/test trap` (no allocation in any
//! handler of a real JVM, on every JDK, with a control that must be seen).
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
