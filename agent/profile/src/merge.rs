//! Adds the events of a Flight Recorder file to a profile. They become markers on the profile's
//! clock, in the tracks of their threads.
//!
//! The profile's own samples, stacks and trust report must not change.
//!
//! # Invariants
//!
//! **Invariant 24.** What a JFR recording adds to a profile changes nothing of what the profile
//! says: no sample, and not the report. Its stacks say that they were not checked. No event's time
//! is more exact than stated. Held by: `profile/src/merge/tests`;
//! `java-tests/events/FlightRecorderMerge.java`.

mod anchors;
mod choice;
mod clock;
mod events;
mod kept;
mod merged;
mod names;
mod profile;
mod show;
mod stacks;
mod survey;
#[cfg(test)]
mod tests;
mod threads;

pub use choice::{Choice, MAX_SHOWN_PER_KIND};
pub use events::merge;
pub use merged::{Clock, KindSummary, Merged};
pub use show::field_key;
pub use vouch_jfr::is_recording;
