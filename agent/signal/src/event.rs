//! The layout of an event in a lane (a ring of words), and how code anywhere in the agent publishes
//! an event.
//!
//! An event is five words, its values, a word of lengths, the frames of its stack, and a text.
//! Events have separate lanes, so that many events take no space from samples, and a separate gate.
//! A publisher never waits: if no lane has space, the event is counted as lost.
//!
//! # Invariants
//!
//! **Invariant 16.** There is no lock that a handler could wait for. No lock is held while JVMTI
//! may call back into the agent, except for the session's own, which callbacks do not take.
//! Callbacks pass their results on as events (this module). (The thread that makes the first
//! virtual thread waits for the agent's own thread, which may hold the session's lock: for 200 ms
//! at most, `agent/src/virtual_threads.rs`.) Held by: no separate test.

use core::sync::atomic::{AtomicU64, Ordering};

use vouch_sample::{Event, Frame, MAX_VALUES};

use crate::gate::Gate;
use crate::lane::{Claim, Entry};
use crate::outlet::Outlet;
use crate::sample_layout::{pair, split};

/// The gate through which publishers borrow the lanes of events.
pub static EVENT_GATE: Gate<EventLanes> = Gate::new();

/// The number of words of an event without a stack and a text.
pub const EVENT_WORDS: usize = LENGTHS_INDEX + 1;
/// The index in an event of the word with the lengths of stack and text.
const LENGTHS_INDEX: usize = 5 + MAX_VALUES;
/// The maximum number of frames of an event's stack. More would make a callback too slow.
pub const MAX_EVENT_FRAMES: usize = 2_048;
/// The number of words that a frame takes in an event: its word and its tag.
const FRAME_WORDS: usize = 2;
const WORD: usize = size_of::<u64>();

/// The lanes that carry events to the agent's thread, and a count of lost events.
#[derive(Debug)]
pub struct EventLanes {
    pub outlet: Outlet,
    /// The number of events that found no space in any lane.
    pub lost: AtomicU64,
}

/// The optional parts of an event: a stack and a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventDetails<'m> {
    /// The stack of the event's thread, leaf first. It is empty if no stack was taken.
    pub frames: &'m [Frame],
    /// The text of the event: what it is about, such as the name of a class.
    pub text: &'m str,
}

impl EventDetails<'_> {
    const fn words(self) -> usize {
        EVENT_WORDS + self.frames.len() * FRAME_WORDS + self.text.len().div_ceil(WORD)
    }
}

/// What became of an event that was to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publication {
    /// The agent's thread will read the event.
    Published,
    /// The event was counted as lost, because no lane had space.
    NoSpace,
    /// No recording runs, so the event is not missing from one.
    NoRecording,
}

/// Publishes an event, if a recording runs.
pub fn publish(event: &Event, details: EventDetails<'_>) -> Publication {
    let Some(entered) = EVENT_GATE.enter() else { return Publication::NoRecording };
    // SAFETY: the agent keeps the lanes alive until the gate is closed and empty.
    let EventLanes { outlet, lost } = unsafe { &*entered.value() };
    let Some(claim) = outlet.claim(event.tid, details.words()) else {
        lost.fetch_add(1, Ordering::Relaxed);
        return Publication::NoSpace;
    };
    write(claim, event, details);
    Publication::Published
}

/// Writes and publishes an event in a claim, which must be large enough for the event.
pub fn write(claim: Claim<'_, '_>, event: &Event, details: EventDetails<'_>) {
    claim.set(1, event.began);
    claim.set(2, event.ended);
    claim.set(3, pair(event.tid, event.serial));
    claim.set(4, event.kind);
    for (at, value) in (5..).zip(event.values) {
        claim.set(at, value);
    }
    claim.set(LENGTHS_INDEX, pair(length(details.frames.len()), length(details.text.len())));
    for (at, frame) in (EVENT_WORDS..).step_by(FRAME_WORDS).zip(details.frames) {
        let (tag, word) = frame.to_words();
        claim.set(at, word as u64);
        claim.set(at + 1, tag.cast_unsigned().into());
    }
    let text = EVENT_WORDS + details.frames.len() * FRAME_WORDS;
    for (at, bytes) in (text..).zip(details.text.as_bytes().chunks(WORD)) {
        let mut word = [0; WORD];
        for (byte, text) in word.iter_mut().zip(bytes) {
            *byte = *text;
        }
        claim.set(at, u64::from_le_bytes(word));
    }
    claim.publish(details.words());
}

/// Converts a length, which always fits because no lane is that long.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Reads an event from a lane's entry. The result is `None` if the entry is too short.
#[must_use]
pub fn read(entry: &Entry<'_>) -> Option<Event> {
    let mut values = [0; MAX_VALUES];
    for (at, value) in (5..).zip(&mut values) {
        *value = entry.word(at)?;
    }
    entry.word(LENGTHS_INDEX)?;
    let (tid, serial) = split(entry.word(3)?);
    Some(Event { kind: entry.word(4)?, began: entry.word(1)?, ended: entry.word(2)?, tid, serial, values })
}

/// Returns the frames of an event's stack, leaf first.
pub fn frames(entry: &Entry<'_>) -> impl Iterator<Item = Frame> {
    let (count, _) = lengths(entry);
    (EVENT_WORDS..).step_by(FRAME_WORDS).take(count).map_while(|at| {
        let (word, tag) = (entry.word(at)?, entry.word(at + 1)?);
        #[expect(clippy::cast_possible_truncation, reason = "words that were numbers of these sizes")]
        Some(Frame::from_words(tag as i32, word as usize))
    })
}

/// Returns the bytes of an event's text.
pub fn text(entry: &Entry<'_>) -> impl Iterator<Item = u8> {
    let (frames, bytes) = lengths(entry);
    let words =
        (EVENT_WORDS.saturating_add(frames.saturating_mul(FRAME_WORDS))..).map_while(|at| entry.word(at));
    words.flat_map(u64::to_le_bytes).take(bytes)
}

fn lengths(entry: &Entry<'_>) -> (usize, usize) {
    let (frames, text) = split(entry.word(LENGTHS_INDEX).unwrap_or(0));
    (frames as usize, text as usize)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::lane::{Lane, Word};
    use std::borrow::ToOwned;
    use std::boxed::Box;
    use std::string::String;
    use std::vec::Vec;
    use vouch_sample::MethodId;

    const EVENT: Event = Event {
        kind: 3,
        began: u64::MAX,
        ended: 7,
        tid: u32::MAX,
        serial: 9,
        values: [1, 2, 3, u64::MAX, 5, 6, 7, u64::MAX],
    };

    const FRAMES: [Frame; 4] = [
        Frame::Kernel { pc: usize::MAX },
        Frame::Native { pc: 7 },
        Frame::JavaNative { method: MethodId(usize::MAX) },
        Frame::new(MethodId(7), -1),
    ];

    #[test]
    fn events_are_read_as_written_and_counted_as_lost_without_space() {
        let details = [
            EventDetails::default(),
            EventDetails { frames: &FRAMES, text: "Löcher, 17 bytes" },
            EventDetails { frames: &[], text: "seven b" },
            EventDetails { frames: &FRAMES[1..], text: "" },
        ];
        assert_eq!(publish(&EVENT, EventDetails::default()), Publication::NoRecording);
        let size: usize = details.iter().map(|details| details.words()).sum::<usize>() + EVENT_WORDS;
        let words: &[Word] = Vec::leak((0..size).map(|_| Word::default()).collect());
        let lanes: &[Lane<'_>] = Vec::leak([Lane::new(words)].into());
        // SAFETY: on Linux, a semaphore of zeroes is valid and has the value 0.
        let wake = Box::leak(Box::new(unsafe { core::mem::zeroed::<libc::sem_t>() }));
        let outlet = Outlet { lanes, wake };
        let lanes_of_events = Box::into_raw(Box::new(EventLanes { outlet, lost: AtomicU64::new(0) }));
        EVENT_GATE.open(lanes_of_events);
        for details in details {
            assert_eq!(publish(&EVENT, details), Publication::Published);
        }
        let without_space = publish(&EVENT, EventDetails { frames: &FRAMES, text: "" });
        assert_eq!(without_space, Publication::NoSpace);
        EVENT_GATE.close();
        assert_eq!(publish(&EVENT, EventDetails::default()), Publication::NoRecording);
        let mut seen = Vec::new();
        lanes[0].drain(|entry| {
            let text = String::from_utf8(text(entry).collect()).unwrap();
            seen.push((read(entry), frames(entry).collect::<Vec<_>>(), text));
        });
        let expected =
            details.map(|EventDetails { frames, text }| (Some(EVENT), frames.to_vec(), text.to_owned()));
        assert_eq!(seen, expected);
        // SAFETY: the gate is closed, and no other thread uses it in this test.
        assert_eq!(unsafe { Box::from_raw(lanes_of_events) }.lost.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_short_entry_is_no_event_and_a_truncated_one_ends_early() {
        let words: Vec<Word> = (0..100).map(|_| Word::default()).collect();
        let lane = Lane::new(&words);
        for length in 1..EVENT_WORDS {
            lane.claim(EVENT_WORDS).unwrap().publish(length);
            lane.drain(|entry| assert_eq!(read(entry), None));
        }
        let claim = lane.claim(EVENT_WORDS + 3).unwrap();
        claim.set(LENGTHS_INDEX, pair(u32::MAX, u32::MAX));
        claim.publish(EVENT_WORDS + 3);
        lane.drain(|entry| assert_eq!((frames(entry).count(), text(entry).count()), (1, 0)));
    }
}
