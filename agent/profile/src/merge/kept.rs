//! Selects the events that become markers: the longest of each kind. Events without a length are
//! selected evenly from all parts of the recording.
//!
//! It must never hold more than twice the limit, however long the recording is.

use std::cmp::Reverse;

use crate::merge::show::Data;

/// An event that may become a marker.
#[derive(Debug)]
pub struct Kept {
    /// The start of the event, in nanoseconds of the recording's clock since the start of the
    /// recording.
    pub at: f64,
    /// The length of the event in nanoseconds. `None` for an event without a length.
    pub took: Option<f64>,
    pub owner: EventOwner,
    /// The row of the event's stack in the table of JFR's stacks.
    pub stack: Option<usize>,
    pub data: Data,
    rank: (u64, u64),
}

/// The thread or process that an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOwner {
    Process,
    /// A thread, by its row in the recording's threads.
    Thread(usize),
    /// A thread that the file does not name.
    UnknownThread,
}

/// The selected events of one kind.
#[derive(Debug, Default)]
pub struct Keep {
    rows: Vec<Kept>,
    most: usize,
    /// Events with a lower rank are not kept.
    least: (u64, u64),
    /// The number of all events of the kind, selected or not.
    pub seen: u64,
}

impl Keep {
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts an event. Returns the event's rank if it may be kept.
    pub fn rank(&mut self, took_ns: u64) -> Option<(u64, u64)> {
        self.seen += 1;
        // The second part of the rank is pseudo-random, and the same in each run.
        let rank = (took_ns, self.seen.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32));
        (rank >= self.least).then_some(rank)
    }

    pub fn add(
        &mut self,
        rank: (u64, u64),
        (at, took): (f64, Option<f64>),
        owner: EventOwner,
        stack: Option<usize>,
        data: Data,
    ) {
        self.rows.push(Kept { at, took, owner, stack, data, rank });
        if self.rows.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.rows.len() > self.most {
            self.rows.select_nth_unstable_by_key(self.most, |row| Reverse(row.rank));
            self.least = self.rows[self.most].rank;
            self.rows.truncate(self.most);
        }
    }

    pub fn into_rows(mut self) -> Vec<Kept> {
        self.cut();
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(events: impl Iterator<Item = u64>) -> Vec<(u32, u64)> {
        let mut keep = Keep::new(100);
        for (at, took) in (0_u32..).zip(events) {
            if let Some(rank) = keep.rank(took) {
                keep.add(rank, (f64::from(at), None), EventOwner::Process, None, Data::new());
            }
            assert!(keep.rows.len() < 200);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u32")]
        keep.into_rows().into_iter().map(|row| (row.at as u32, row.rank.0)).collect()
    }

    #[test]
    fn the_longest_are_kept() {
        let mut took: Vec<u64> =
            kept((0..10_000).map(|row| row * 7_919 % 10_000)).into_iter().map(|(_, took)| took).collect();
        took.sort_unstable();
        assert_eq!(took, (9_900..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn instants_are_kept_from_all_parts_of_the_recording() {
        let kept = kept((0..10_000).map(|_| 0));
        assert_eq!(kept.len(), 100);
        for part in 0..10 {
            let within = kept.iter().filter(|(at, _)| at / 1_000 == part).count();
            assert!((3..=25).contains(&within), "{within} of a tenth");
        }
    }
}
