//! The tracks that threads share once so many have had one of their own: a server that makes a
//! thread for each request would have millions, and no memory would do.
//!
//! Threads of one family share a track, and families beyond the most share the last. It must never
//! take a thread's time from the sum: what those that have ended were charged is kept.

use std::collections::HashMap;

use vouch_recording::{Recording, ThreadId, family};

/// So many tracks are threads' own: with all that is kept of each, some 16 MiB.
pub const OWN: usize = 1 << 14;
/// And so many are of families.
const FAMILIES: usize = 1_000;
const OTHERS: &str = "other threads";

/// They are of no thread that the kernel knows.
const TID: u64 = 0;

#[derive(Debug, Default)]
pub struct Shared {
    families: HashMap<String, ThreadId>,
    charged: HashMap<ThreadId, Charged>,
    /// How often somebody was put on one of them.
    puts: u64,
}

/// Nanoseconds of CPU time, of all threads of a track.
#[derive(Debug, Default)]
struct Charged {
    /// What those were charged that have ended.
    ended: u64,
    /// The same and of those that live, as it was reckoned last.
    all: u64,
    /// What its samples stand for so far: the track's clock.
    clock: u64,
}

impl Shared {
    /// The track for a thread of this name that is met at this time.
    pub fn track(&mut self, name: &str, time: u64, recording: &mut Recording) -> ThreadId {
        self.puts += 1;
        let mut family = family(name);
        if !self.families.contains_key(&family) && self.families.len() >= FAMILIES {
            OTHERS.clone_into(&mut family);
        }
        let Self { families, charged, .. } = self;
        *families.entry(family).or_insert_with_key(|family| {
            let track = recording.add_thread(&format!("{family}, further threads"), TID, time);
            charged.insert(track, Charged::default());
            track
        })
    }

    pub fn has(&self, track: ThreadId) -> bool {
        self.charged.contains_key(&track)
    }

    /// How many threads share tracks; one that renames itself counts for each name.
    pub fn puts(&self) -> u64 {
        self.puts
    }

    /// A sample of the track stands for so much: where the track's clock is now; `None` if it is
    /// not shared.
    pub fn run(&mut self, track: ThreadId, ran: u64) -> Option<u64> {
        let charged = self.charged.get_mut(&track)?;
        charged.clock += ran;
        Some(charged.clock)
    }

    /// What has ended was charged so much.
    pub fn ended(&mut self, track: ThreadId, cpu: u64) {
        if let Some(charged) = self.charged.get_mut(&track) {
            charged.ended += cpu;
        }
    }

    /// Those that live are reckoned anew.
    pub fn reckon(&mut self) {
        for charged in self.charged.values_mut() {
            charged.all = charged.ended;
        }
    }

    /// One that lives has been charged so much.
    pub fn lives(&mut self, track: ThreadId, cpu: u64) {
        if let Some(charged) = self.charged.get_mut(&track) {
            charged.all += cpu;
        }
    }

    /// The tracks have what their threads were charged.
    pub fn tell(&self, recording: &mut Recording) {
        for (track, charged) in &self.charged {
            recording.set_thread_cpu(*track, charged.all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_share_a_track_and_beyond_the_most_they_share_the_last() {
        let (mut shared, mut recording) = (Shared::default(), Recording::new());
        let first = shared.track("pool-1-thread-9", 5, &mut recording);
        assert_eq!(shared.track("pool-22-thread-3", 6, &mut recording), first);
        assert_eq!(recording.thread_name(first), "pool-#-thread-#, further threads");
        let letters = |number: usize| -> String {
            format!("{number:04}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
        };
        for number in 0..2 * FAMILIES {
            shared.track(&letters(number), 7, &mut recording);
        }
        assert_eq!(recording.threads().len(), FAMILIES + 1);
        let last = shared.track("whoever comes", 8, &mut recording);
        assert_eq!(recording.thread_name(last), "other threads, further threads");
        assert_eq!(shared.puts(), 3 + 2 * FAMILIES as u64);
    }

    #[test]
    fn what_has_ended_is_charged_once_and_what_lives_anew() {
        let (mut shared, mut recording) = (Shared::default(), Recording::new());
        let track = shared.track("worker", 5, &mut recording);
        shared.ended(track, 100);
        for lives in [10, 30] {
            shared.reckon();
            shared.lives(track, lives);
            shared.tell(&mut recording);
            assert_eq!(recording.threads()[0].cpu_ns(), Some(100 + lives));
        }
        assert_eq!(shared.run(track, 4), Some(4));
        assert_eq!(shared.run(track, 5), Some(9));
    }
}
