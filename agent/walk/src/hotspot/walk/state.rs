//! The state of one walk.

use core::cell::Cell;

use crate::context::{Interpreting, Registers as Position};
use crate::hotspot::call_site_cache::Again;
use crate::hotspot::continuation::ContinuationLayout;
use crate::hotspot::heap::Moment;
use crate::hotspot::layout::Layout;
use crate::hotspot::stack::Stack;

/// A walk.
pub(super) struct Walk<'w, M> {
    pub(super) memory: &'w M,
    pub(super) layout: &'w Layout,
    pub(super) continuations: Option<&'w ContinuationLayout>,
    /// The thread's JavaThread, and whether it is in Java.
    pub(super) thread: usize,
    pub(super) in_java: bool,
    pub(super) stack: Stack<'w, M>,
    pub(super) interpreting: Interpreting,
    /// The frame that was met last is a method's, and whole.
    pub(super) whole: Cell<bool>,
    pub(super) again: Again,
    /// When the first chunk was found, of a thread that is outside of Java.
    pub(super) moment: Cell<Option<Moment>>,
    /// The thread is just leaving its carrier, and its frames from there on go into a chunk.
    pub(super) leaving: Cell<Option<Position>>,
    /// How many chunks it has been in.
    pub(super) chunks: Cell<usize>,
}
