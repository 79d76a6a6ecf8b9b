//! How an event lies in a lane, and how it gets there from wherever it happens: a callback of the JVM's, a thread of the agent's.
//!
//! Events have lanes of their own, so that many of them cost no sample its room, and a gate of their own. Whoever publishes one
//! waits for nobody: where no lane has room it is counted as lost.

use core::sync::atomic::{AtomicU64, Ordering};

use vouch_sample::{Event, VALUES};

use crate::gate::Gate;
use crate::lane::{Claim, Entry, Lane, claim_any};
use crate::record::{pair, split};

/// The gate through which events come.
pub static EVENT_GATE: Gate<EventLanes> = Gate::new();

/// Words of an event.
pub const EVENT_WORDS: usize = 5 + VALUES;

/// Where events go.
#[derive(Debug)]
pub struct EventLanes {
    pub lanes: &'static [Lane<'static>],
    /// Events for which no lane had room.
    pub lost: AtomicU64,
}

/// Hands an event on, if anybody records.
pub fn publish(event: &Event) {
    let Some(entered) = EVENT_GATE.enter() else { return };
    // SAFETY: the agent keeps what it publishes alive until the gate is closed and empty.
    let EventLanes { lanes, lost } = unsafe { &*entered.value() };
    let Some(claim) = claim_any(lanes, event.tid as usize, EVENT_WORDS) else {
        lost.fetch_add(1, Ordering::Relaxed);
        return;
    };
    write(claim, event);
}

/// Publishes an event in a claim of [`EVENT_WORDS`].
pub fn write(claim: Claim<'_, '_>, event: &Event) {
    claim.set(1, event.began);
    claim.set(2, event.ended);
    claim.set(3, pair(event.tid, event.serial));
    claim.set(4, event.kind);
    for (at, value) in (5..).zip(event.values) {
        claim.set(at, value);
    }
    claim.publish(EVENT_WORDS);
}

/// Reads an event; `None` if the entry is too short to be one.
#[must_use]
pub fn read(entry: &Entry<'_>) -> Option<Event> {
    let mut values = [0; VALUES];
    for (at, value) in (5..).zip(&mut values) {
        *value = entry.word(at)?;
    }
    let (tid, serial) = split(entry.word(3)?);
    Some(Event { kind: entry.word(4)?, began: entry.word(1)?, ended: entry.word(2)?, tid, serial, values })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::lane::Word;
    use std::boxed::Box;
    use std::vec::Vec;

    const EVENT: Event =
        Event { kind: 3, began: u64::MAX, ended: 7, tid: u32::MAX, serial: 9, values: [1, 2, 3, u64::MAX] };

    #[test]
    fn an_event_comes_out_as_it_went_in_and_what_has_no_room_is_counted() {
        publish(&EVENT);
        let words: &[Word] = Vec::leak((0..=EVENT_WORDS * 2).map(|_| Word::default()).collect());
        let lanes: &[Lane<'_>] = Vec::leak([Lane::new(words)].into());
        let room = Box::into_raw(Box::new(EventLanes { lanes, lost: AtomicU64::new(0) }));
        EVENT_GATE.open(room);
        for _ in 0..3 {
            publish(&EVENT);
        }
        EVENT_GATE.close();
        publish(&EVENT);
        let mut seen = Vec::new();
        lanes[0].drain(|entry| seen.push(read(entry)));
        assert_eq!(seen, [Some(EVENT), Some(EVENT)]);
        // SAFETY: the gate is closed, and nobody was inside.
        assert_eq!(unsafe { Box::from_raw(room) }.lost.load(Ordering::Relaxed), 1);
        for length in 1..EVENT_WORDS {
            lanes[0].claim(EVENT_WORDS).unwrap().publish(length);
            lanes[0].drain(|entry| assert_eq!(read(entry), None));
        }
    }
}
