//! How a sample lies in a lane: six words of head, then the walk's frames as the walker wrote them.
//!
//! Written by the handler, read by the drain; the one place that knows the layout.

use crate::lane::{Claim, Entry};
use crate::walker::{FRAME_WORDS, Frame};

/// Words before the first frame.
pub const HEAD_WORDS: usize = 6;

/// The `count` of a sample whose thread has no JNI environment: there was nothing to walk.
pub const NO_JAVA_THREAD: i32 = i32::MIN;

/// The `count` of a sample that was due, and for which no signal came in which its stack could have been walked.
pub const NOT_SIGNALLED: i32 = i32::MIN + 1;

/// The `count` of a sample whose walk faulted, and was ended by the guard.
pub const CRASHED: i32 = i32::MIN + 2;

/// The `count` of a sample that came when so many walks had crashed that there are to be no more.
pub const STOPPED: i32 = i32::MIN + 3;

/// The words that the longest sample can need.
#[must_use]
pub const fn longest(depth: usize) -> usize {
    HEAD_WORDS + depth * FRAME_WORDS
}

/// All of a sample but its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    /// The thread's CPU clock, in nanoseconds.
    pub cpu: u64,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The agent's own number of the thread, never used twice; 0 if it knows none.
    pub serial: u32,
    /// How many intervals the sample stands for.
    pub weight: u32,
    /// The walker's answer: frames, or a code, or [`NO_JAVA_THREAD`].
    pub count: i32,
    /// What the handler took, in nanoseconds of CPU time.
    pub took: u32,
    /// The agent is to witness it.
    pub witnessed: bool,
}

impl Head {
    /// Writes the head and publishes it with its frames, which lie behind it already.
    #[inline]
    pub fn publish(&self, claim: Claim<'_, '_>) {
        let frames = usize::try_from(self.count).unwrap_or(0);
        claim.set(1, self.time);
        claim.set(2, self.cpu);
        claim.set(3, pair(self.tid, self.serial));
        claim.set(4, pair(self.weight, self.count.cast_unsigned()));
        claim.set(5, pair(self.took, self.witnessed.into()));
        claim.publish(longest(frames));
    }

    /// Reads the head of an entry; `None` if it is too short to be a sample.
    #[must_use]
    pub fn read(entry: &Entry<'_>) -> Option<Self> {
        let (tid, serial) = split(entry.word(3)?);
        let (weight, count) = split(entry.word(4)?);
        let (took, witnessed) = split(entry.word(5)?);
        Some(Self {
            time: entry.word(1)?,
            cpu: entry.word(2)?,
            tid,
            serial,
            weight,
            count: count.cast_signed(),
            took,
            witnessed: witnessed != 0,
        })
    }
}

/// The frames of a sample, leaf first.
pub fn frames<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = Frame> + 'e {
    (HEAD_WORDS..entry.len()).step_by(FRAME_WORDS).map_while(|at| {
        // The walker leaves the padding behind the bci as it was: only the low half counts.
        let (bci, _) = split(entry.word(at)?);
        let method = usize::try_from(entry.word(at + 1)?).ok()?;
        Some(Frame { bci: bci.cast_signed(), method })
    })
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
fn split(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[cfg(not(target_endian = "little"))]
compile_error!("a frame's bci is read as the low half of a word: little-endian only");

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::lane::{Lane, Word};
    use std::vec::Vec;

    #[test]
    fn a_sample_comes_out_as_it_went_in() {
        let words: Vec<Word> = (0..64).map(|_| Word::default()).collect();
        let lane = Lane::new(&words);
        let head = Head {
            time: u64::MAX - 1,
            cpu: 7,
            tid: u32::MAX,
            serial: 3,
            weight: 9,
            count: 2,
            took: u32::MAX,
            witnessed: true,
        };
        let claim = lane.claim(longest(4)).unwrap();
        let written = [Frame { bci: NATIVE_BCI, method: usize::MAX }, Frame { bci: 17, method: 1 }];
        for (index, frame) in written.iter().enumerate() {
            // SAFETY: the claim reserved room for four frames behind the head.
            unsafe { claim.pointer(HEAD_WORDS + index * FRAME_WORDS).cast::<Frame>().write(*frame) };
        }
        head.publish(claim);
        let mut seen = 0;
        lane.drain(|entry| {
            seen += 1;
            assert_eq!(Head::read(entry), Some(head));
            let read: Vec<_> = frames(entry).map(|f| (f.bci, f.method)).collect();
            assert_eq!(read, [(NATIVE_BCI, usize::MAX), (17, 1)]);
        });
        assert_eq!(seen, 1);
    }

    const NATIVE_BCI: i32 = crate::walker::NATIVE;
}
