//! How an event lies in a lane, and how it gets there from wherever it happens: a callback of the
//! JVM's, a thread of the agent's.
//!
//! Five words, its figures and a word of lengths, then the frames of its stack, if it has one, and
//! a text. Events have lanes of their own, so that many of them cost no sample its room, and a gate
//! of their own. Whoever publishes one waits for nobody: where no lane has room it is counted as
//! lost.
//!
//! # Invariants
//!
//! **Invariant 16.** There is no lock that a handler could wait for. No lock is held while JVMTI
//! may call back into the agent, except for the session's own, which callbacks do not take. What
//! callbacks hand on goes as an event (this module). (The thread that makes the first virtual
//! thread waits for the agent's own thread, which may hold the session's lock: for 200 ms at most,
//! `agent/src/hotspot/virtual_threads.rs`.) Held by: no test of its own.

use core::sync::atomic::{AtomicU64, Ordering};

use vouch_sample::{Event, Frame, MethodId, VALUES};

use crate::gate::Gate;
use crate::lane::{Claim, Entry};
use crate::outlet::Outlet;
use crate::sample_layout::{pair, split};

/// The gate through which events come.
pub static EVENT_GATE: Gate<EventLanes> = Gate::new();

/// Words of an event without a stack and without a text.
pub const EVENT_WORDS: usize = LENGTHS + 1;
/// Where the lengths of stack and text stand.
const LENGTHS: usize = 5 + VALUES;
/// Words of a frame: its method and where that stands.
const FRAME: usize = 2;
const WORD: usize = size_of::<u64>();

/// Where events go.
#[derive(Debug)]
pub struct EventLanes {
    pub outlet: Outlet,
    /// Events for which no lane had room.
    pub lost: AtomicU64,
}

/// What an event may have with it.
#[derive(Debug, Clone, Copy, Default)]
pub struct More<'m> {
    /// Where its thread stood, leaf first; none if nobody has looked.
    pub frames: &'m [Frame],
    /// What it was about.
    pub text: &'m str,
}

impl More<'_> {
    const fn words(self) -> usize {
        EVENT_WORDS + self.frames.len() * FRAME + self.text.len().div_ceil(WORD)
    }
}

/// Hands an event on, if anybody records; false if there was no room for it.
pub fn publish(event: &Event, more: More<'_>) -> bool {
    let Some(entered) = EVENT_GATE.enter() else { return true };
    // SAFETY: the agent keeps what it publishes alive until the gate is closed and empty.
    let EventLanes { outlet, lost } = unsafe { &*entered.value() };
    let Some(claim) = outlet.claim(event.tid, more.words()) else {
        lost.fetch_add(1, Ordering::Relaxed);
        return false;
    };
    write(claim, event, more);
    true
}

/// Publishes an event in a claim of as many words as it takes.
pub fn write(claim: Claim<'_, '_>, event: &Event, more: More<'_>) {
    claim.set(1, event.began);
    claim.set(2, event.ended);
    claim.set(3, pair(event.tid, event.serial));
    claim.set(4, event.kind);
    for (at, value) in (5..).zip(event.values) {
        claim.set(at, value);
    }
    claim.set(LENGTHS, pair(length(more.frames.len()), length(more.text.len())));
    for (at, frame) in (EVENT_WORDS..).step_by(FRAME).zip(more.frames) {
        claim.set(at, frame.method().0 as u64);
        claim.set(at + 1, frame.bci().cast_unsigned().into());
    }
    let text = EVENT_WORDS + more.frames.len() * FRAME;
    for (at, bytes) in (text..).zip(more.text.as_bytes().chunks(WORD)) {
        let mut word = [0; WORD];
        for (byte, text) in word.iter_mut().zip(bytes) {
            *byte = *text;
        }
        claim.set(at, u64::from_le_bytes(word));
    }
    claim.publish(more.words());
}

/// No lane is so long that a length would not fit.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Reads an event; `None` if the entry is too short to be one.
#[must_use]
pub fn read(entry: &Entry<'_>) -> Option<Event> {
    let mut values = [0; VALUES];
    for (at, value) in (5..).zip(&mut values) {
        *value = entry.word(at)?;
    }
    entry.word(LENGTHS)?;
    let (tid, serial) = split(entry.word(3)?);
    Some(Event { kind: entry.word(4)?, began: entry.word(1)?, ended: entry.word(2)?, tid, serial, values })
}

/// Where its thread stood, leaf first.
pub fn frames(entry: &Entry<'_>) -> impl Iterator<Item = Frame> {
    let (count, _) = lengths(entry);
    (EVENT_WORDS..).step_by(FRAME).take(count).map_while(|at| {
        let (method, bci) = (entry.word(at)?, entry.word(at + 1)?);
        #[expect(clippy::cast_possible_truncation, reason = "words that were numbers of these sizes")]
        Some(Frame::of(MethodId(method as usize), bci as i32))
    })
}

/// The bytes of what it was about.
pub fn text(entry: &Entry<'_>) -> impl Iterator<Item = u8> {
    let (frames, bytes) = lengths(entry);
    let words = (EVENT_WORDS.saturating_add(frames.saturating_mul(FRAME))..).map_while(|at| entry.word(at));
    words.flat_map(u64::to_le_bytes).take(bytes)
}

fn lengths(entry: &Entry<'_>) -> (usize, usize) {
    let (frames, text) = split(entry.word(LENGTHS).unwrap_or(0));
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

    const EVENT: Event = Event {
        kind: 3,
        began: u64::MAX,
        ended: 7,
        tid: u32::MAX,
        serial: 9,
        values: [1, 2, 3, u64::MAX, 5, 6, 7, u64::MAX],
    };

    const FRAMES: [Frame; 2] = [Frame::Native { method: MethodId(usize::MAX) }, Frame::of(MethodId(7), -1)];

    #[test]
    fn an_event_comes_out_as_it_went_in_and_what_has_no_room_is_counted() {
        let more = [
            More::default(),
            More { frames: &FRAMES, text: "Löcher, 17 bytes" },
            More { frames: &[], text: "seven b" },
            More { frames: &FRAMES[1..], text: "" },
        ];
        publish(&EVENT, More::default());
        let size: usize = more.iter().map(|more| more.words()).sum::<usize>() + EVENT_WORDS;
        let words: &[Word] = Vec::leak((0..size).map(|_| Word::default()).collect());
        let lanes: &[Lane<'_>] = Vec::leak([Lane::new(words)].into());
        // SAFETY: a semaphore of zeroes is one that nobody has posted, on Linux.
        let wake = Box::leak(Box::new(unsafe { core::mem::zeroed::<libc::sem_t>() }));
        let outlet = Outlet { lanes, wake };
        let room = Box::into_raw(Box::new(EventLanes { outlet, lost: AtomicU64::new(0) }));
        EVENT_GATE.open(room);
        assert!(more.into_iter().all(|more| publish(&EVENT, more)));
        assert!(!publish(&EVENT, More { frames: &FRAMES, text: "" }));
        EVENT_GATE.close();
        publish(&EVENT, More::default());
        let mut seen = Vec::new();
        lanes[0].drain(|entry| {
            let text = String::from_utf8(text(entry).collect()).unwrap();
            seen.push((read(entry), frames(entry).collect::<Vec<_>>(), text));
        });
        let expected = more.map(|More { frames, text }| (Some(EVENT), frames.to_vec(), text.to_owned()));
        assert_eq!(seen, expected);
        // SAFETY: the gate is closed, and nobody was inside.
        assert_eq!(unsafe { Box::from_raw(room) }.lost.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_is_too_short_is_no_event_and_what_lacks_its_end_has_less_of_it() {
        let words: Vec<Word> = (0..100).map(|_| Word::default()).collect();
        let lane = Lane::new(&words);
        for length in 1..EVENT_WORDS {
            lane.claim(EVENT_WORDS).unwrap().publish(length);
            lane.drain(|entry| assert_eq!(read(entry), None));
        }
        let claim = lane.claim(EVENT_WORDS + 3).unwrap();
        claim.set(LENGTHS, pair(u32::MAX, u32::MAX));
        claim.publish(EVENT_WORDS + 3);
        lane.drain(|entry| assert_eq!((frames(entry).count(), text(entry).count()), (1, 0)));
    }
}
