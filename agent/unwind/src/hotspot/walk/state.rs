//! The state of one stack walk.

use core::cell::Cell;

use crate::context::{InterpreterRegisters, Registers as Position};
use crate::hotspot::call_site_cache::CallSiteCache;
use crate::hotspot::continuation::ContinuationLayout;
use crate::hotspot::heap::HeapEpoch;
use crate::hotspot::layout::Layout;
use crate::hotspot::stack::Stack;

/// The inputs of a stack walk, and what the walk has found so far.
pub(super) struct Walk<'w, M> {
    pub(super) memory: &'w M,
    pub(super) layout: &'w Layout,
    pub(super) continuations: Option<&'w ContinuationLayout>,
    /// The address of the JavaThread that is walked.
    pub(super) thread: usize,
    /// True if the walked thread is in Java.
    pub(super) in_java: bool,
    pub(super) stack: Stack<'w, M>,
    pub(super) interpreting: InterpreterRegisters,
    /// True if the last frame that the walk found is complete and has a method.
    pub(super) whole: Cell<bool>,
    pub(super) call_sites: CallSiteCache,
    /// The heap's epoch when the walk found the first chunk. It is set only for threads outside of
    /// Java.
    pub(super) epoch: Cell<Option<HeapEpoch>>,
    /// The caller of `Continuation.doYield`, if that is the topmost frame. The frames from there on
    /// are being frozen into a chunk.
    pub(super) yielding: Cell<Option<Position>>,
    /// How many chunks the walk has entered.
    pub(super) chunks_entered: Cell<usize>,
}
