//! The types of events that a recording can contain, as the stages from lane to recording need
//! them.

use std::sync::atomic::AtomicU64;

use vouch_recording::{MarkerKind, Measure};

/// Defines what the frames and the text of an event contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The event has the thread's stack, and the text of its only text field.
    Stack,
    /// The event has the thread's stack, and the texts of all text fields. The value of such a
    /// field is the length of its text.
    Texts,
    /// The event has one frame: the method that the event is about. The method is named later.
    Method,
    /// The event has the same content as [`Self::Texts`], with frames of Vouch's Java library on
    /// top of the stack.
    Program,
    /// The event has the thread's stack with the constructors of a throwable on top. Its text is
    /// the throwable's class.
    Constructors,
}

/// A type of events, such as monitor waits.
#[derive(Debug, Clone, Copy)]
pub struct EventType {
    /// The number of this type in the heads of events.
    pub number: u64,
    /// The marker that shows an event in a timeline.
    pub marker: &'static MarkerKind<'static>,
    pub payload: Payload,
    /// The measure that the events count, with the first text as the leaf of the stack. The last
    /// values of such an event are a [`Measured`](vouch_sample::Measured).
    pub measure: Option<&'static Measure>,
    /// Counts the events of this type that were added to the recording.
    pub shown: &'static AtomicU64,
}

/// All event types of a recording: those of the agent and those of the program.
#[derive(Debug, Clone)]
pub struct EventTypes {
    /// The event types that the agent itself has.
    pub of_agent: Vec<EventType>,
    /// Finds an event type of the program by its number. The program may declare one at any time.
    pub of_program: fn(u64) -> Option<EventType>,
}

impl EventTypes {
    /// Returns the agent's event type with this number.
    pub fn of_agent(&self, number: u64) -> Option<EventType> {
        self.of_agent.iter().copied().find(|known| known.number == number)
    }

    /// Returns the event type with this number, of the agent or of the program.
    pub fn find(&self, number: u64) -> Option<EventType> {
        self.of_agent(number).or_else(|| (self.of_program)(number))
    }
}
