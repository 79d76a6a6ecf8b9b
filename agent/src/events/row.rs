//! A kind of events: how it is told, and how it is shown.
//!
//! Whoever publishes an event waits for nobody, be it a callback of the JVM's in the midst of something.

use vouch_recording::MarkKind;
use vouch_sample::{Event, VALUES};
use vouch_signal::event::publish;

use crate::facade::Told;

/// A kind of events.
#[derive(Debug)]
pub struct Row {
    /// How it stands in a timeline.
    pub mark: MarkKind,
    /// How the JVM tells of it. What is the agent's own has none.
    pub told: &'static [Told],
}

impl Row {
    /// It happened to all of the process, from a time to a time.
    pub fn happened(&'static self, began: u64, ended: u64, values: [u64; VALUES]) {
        publish(&Event { kind: self.number(), began, ended, tid: 0, serial: 0, values });
    }

    /// By which an event says that it is one of these.
    pub fn number(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }
}
