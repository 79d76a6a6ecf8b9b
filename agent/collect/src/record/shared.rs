//! Lets threads share tracks once the separate tracks are used up. A server that creates a thread
//! for each request would otherwise need memory for millions of tracks.
//!
//! Threads of one family share a track, and families beyond `FAMILIES` share the last one. CPU time
//! must never be lost from the sum, so ended threads' time is kept.

use std::collections::HashMap;

use vouch_recording::{Recording, ThreadId, family};

/// The maximum number of separate tracks of threads. With their thread data they use about 16 MiB.
pub const MAX_SEPARATE: usize = 1 << 14;
/// The maximum number of tracks that families of threads share.
const FAMILIES: usize = 1_000;
const OTHERS: &str = "other threads";

/// The kernel's thread id that a shared track has. No thread has it.
const TID: u64 = 0;

#[derive(Debug, Default)]
pub struct Shared {
    families: HashMap<String, ThreadId>,
    charged: HashMap<ThreadId, Charged>,
    /// The number of times that a thread was assigned to a shared track.
    assigned: u64,
}

/// The CPU time of all threads of a shared track, in nanoseconds.
#[derive(Debug, Default)]
struct Charged {
    /// The CPU time of the track's ended threads.
    ended: u64,
    /// The CPU time of the track's ended and running threads, as of the last update.
    all: u64,
    /// The CPU time of the track by its samples' weights so far. It is the track's clock.
    clock: u64,
}

impl Shared {
    /// Returns the shared track for a thread with this name. `time`, in nanoseconds, is when a new
    /// track begins.
    pub fn track(&mut self, name: &str, time: u64, recording: &mut Recording) -> ThreadId {
        self.assigned += 1;
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

    /// Returns how many threads share tracks. A renamed thread counts once for each name.
    pub fn assigned(&self) -> u64 {
        self.assigned
    }

    /// Advances a track's clock by a sample's CPU time. Returns the clock in nanoseconds, or `None`
    /// if the track is not shared.
    pub fn run(&mut self, track: ThreadId, ran: u64) -> Option<u64> {
        let charged = self.charged.get_mut(&track)?;
        charged.clock += ran;
        Some(charged.clock)
    }

    /// Adds the CPU time of an ended thread to its shared track.
    pub fn add_ended_thread(&mut self, track: ThreadId, cpu: u64) {
        if let Some(charged) = self.charged.get_mut(&track) {
            charged.ended += cpu;
        }
    }

    /// Begins an update of CPU times: resets each shared track to its ended threads' CPU time.
    pub fn begin_update(&mut self) {
        for charged in self.charged.values_mut() {
            charged.all = charged.ended;
        }
    }

    /// Adds the CPU time of a running thread to its shared track, within an update.
    pub fn add_running_thread(&mut self, track: ThreadId, cpu: u64) {
        if let Some(charged) = self.charged.get_mut(&track) {
            charged.all += cpu;
        }
    }

    /// Writes the CPU time of all shared tracks to the recording.
    pub fn write(&self, recording: &mut Recording) {
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
        assert_eq!(shared.assigned(), 3 + 2 * FAMILIES as u64);
    }

    #[test]
    fn what_has_ended_is_charged_once_and_what_lives_anew() {
        let (mut shared, mut recording) = (Shared::default(), Recording::new());
        let track = shared.track("worker", 5, &mut recording);
        shared.add_ended_thread(track, 100);
        for lives in [10, 30] {
            shared.begin_update();
            shared.add_running_thread(track, lives);
            shared.write(&mut recording);
            assert_eq!(recording.threads()[0].cpu_ns(), Some(100 + lives));
        }
        assert_eq!(shared.run(track, 4), Some(4));
        assert_eq!(shared.run(track, 5), Some(9));
    }
}
