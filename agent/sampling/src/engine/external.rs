//! An engine that another crate adds. It calls [`queue::signal`](super::queue::signal) to signal a
//! thread, and [`add_cpu`](super::add_cpu) to count its CPU time.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// An engine that this crate does not contain. It works for the whole process.
pub trait ExternalEngine: Debug + Sync {
    /// Returns the engine's name in options and report.
    fn name(&self) -> &'static str;

    /// Returns a warning for readers of the profile.
    fn warning(&self) -> &'static str;

    /// Returns true if threads rest after a slow walk.
    fn rests(&self) -> bool;

    /// Starts the signals: one after each `interval` of a thread's CPU time.
    fn start(&self, interval: Duration) -> io::Result<()>;

    /// Stops the engine. It sends no more signals once this returns.
    fn stop(&self);
}

impl PartialEq for dyn ExternalEngine {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn ExternalEngine {}
