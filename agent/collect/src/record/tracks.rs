//! Assigns samples to tracks, the rows of a profile. A thread has a track for each of its names, up
//! to a limit on all tracks.
//!
//! A sample belongs to the name that its thread had at the sample's time, even if it was renamed
//! since. An ended thread is removed once no entry can refer to it any more. It must never be
//! removed earlier.

use std::collections::{HashMap, HashSet};

use vouch_recording::{Category, OutsideJava, Recording, ThreadId, outside_java};
use vouch_sample::{Event, Head};

use super::shared::{MAX_SEPARATE, Shared};
use crate::threads::{NamedThread, Thread, ThreadTimes, Threads};

/// The tracks of all threads that have one.
#[derive(Debug)]
pub struct Tracks {
    threads: &'static dyn Threads,
    interval_ns: u64,
    known: Known,
    /// The tracks of threads that the session does not list, by the kernel's thread id.
    strays: HashMap<u32, ThreadId>,
}

/// The tracks of running and just ended threads, by serial and name.
#[derive(Debug)]
struct Known {
    tracks: HashMap<(u32, usize), ThreadId>,
    adding: Adding,
}

/// Adds new tracks: separate ones up to the limit, then shared ones.
#[derive(Debug)]
struct Adding {
    /// The number of threads that may still get a separate track.
    separate_left: usize,
    shared: Shared,
}

impl Adding {
    fn add(&mut self, name: &str, tid: u32, time: u64, recording: &mut Recording) -> ThreadId {
        let Some(less) = self.separate_left.checked_sub(1) else {
            return self.shared.track(name, time, recording);
        };
        self.separate_left = less;
        recording.add_thread(name, tid.into(), time)
    }
}

impl Known {
    /// Returns the track of a thread under one of its names, and adds it if necessary.
    fn track(
        &mut self,
        thread: &Thread,
        name_index: usize,
        name: &str,
        recording: &mut Recording,
    ) -> ThreadId {
        let Self { tracks, adding, .. } = self;
        *tracks
            .entry((thread.serial, name_index))
            .or_insert_with(|| adding.add(name, thread.tid, thread.started, recording))
    }

    /// Writes a thread's names, end time and CPU times to its tracks. CPU time on a shared track
    /// goes to `charge` instead.
    fn update(
        &mut self,
        times: &ThreadTimes,
        recording: &mut Recording,
        charge: fn(&mut Shared, ThreadId, u64),
    ) {
        let ThreadTimes { thread, ended, names } = times;
        if thread.is_own || !thread.is_sampled {
            return;
        }
        for (name_index, (name, cpu)) in names.iter().enumerate() {
            // A native thread without samples gets no track. The launcher's primordial thread is
            // one: it only waits.
            let native = !thread.is_java && is_native(name);
            if native && !self.tracks.contains_key(&(thread.serial, name_index)) {
                continue;
            }
            let track = self.track(thread, name_index, name, recording);
            if self.adding.shared.has(track) {
                charge(&mut self.adding.shared, track, *cpu);
                continue;
            }
            recording.set_thread_name(track, name);
            recording.set_thread_cpu(track, *cpu);
            if let Some(ended) = ended {
                recording.end_thread(track, *ended);
            }
        }
    }
}

impl Tracks {
    pub fn new(threads: &'static dyn Threads, interval_ns: u64) -> Self {
        Self::with_limit(threads, interval_ns, MAX_SEPARATE)
    }

    /// Makes tracks with a limit on the number of separate ones. Tests pass a low limit.
    fn with_limit(threads: &'static dyn Threads, interval_ns: u64, limit: usize) -> Self {
        let adding = Adding { separate_left: limit, shared: Shared::default() };
        let known = Known { tracks: HashMap::new(), adding };
        Self { threads, interval_ns, known, strays: HashMap::new() }
    }

    /// Returns a sample's track, and the category of its thread outside Java.
    pub fn track(&mut self, head: &Head, recording: &mut Recording) -> (ThreadId, OutsideJava) {
        let Self { threads, known, strays, .. } = self;
        let found = threads.at_sample(head).map(|NamedThread { thread, name_index, name }| {
            (known.track(&thread, name_index, &name, recording), outside_java(thread.is_java, &name))
        });
        found.unwrap_or_else(|| {
            let name = format!("thread {}", head.tid);
            let track = strays
                .entry(head.tid)
                .or_insert_with(|| known.adding.add(&name, head.tid, head.time, recording));
            (*track, outside_java(false, &name))
        })
    }

    /// Returns the CPU clock of a sample's track, in nanoseconds. A separate track has its thread's
    /// CPU clock. A shared track adds up its samples' weights, because its threads' clocks are
    /// independent.
    pub fn clock(&mut self, head: &Head, track: ThreadId) -> u64 {
        self.known.adding.shared.run(track, self.interval_ns * u64::from(head.weight)).unwrap_or(head.cpu)
    }

    /// Returns a thread's name at a time. `None` if the thread is not listed.
    pub fn name(&self, serial: u32, time: u64) -> Option<String> {
        Some(self.threads.at(serial, time)?.name)
    }

    /// Returns the track of an event's thread. `None` if the thread is unknown, filtered out, or
    /// one of the agent's.
    pub fn of_event(&mut self, event: &Event, recording: &mut Recording) -> Option<ThreadId> {
        self.of_thread(event.serial, event.began, recording)
    }

    /// Returns the track that a thread had at a time. `None` as for [`Self::of_event`].
    pub fn of_thread(&mut self, serial: u32, time: u64, recording: &mut Recording) -> Option<ThreadId> {
        let NamedThread { thread, name_index, name } = self.threads.at(serial, time)?;
        if thread.is_own || !thread.is_sampled {
            return None;
        }
        Some(self.known.track(&thread, name_index, &name, recording))
    }

    /// Updates the names, end times and CPU times of all tracks. Adds tracks for threads without
    /// samples.
    pub fn complete(&mut self, recording: &mut Recording) {
        let Self { threads, known, .. } = self;
        known.adding.shared.begin_update();
        threads.each(&mut |times| known.update(times, recording, Shared::add_running_thread));
        known.adding.shared.write(recording);
    }

    /// Updates all tracks for the last time. The threads go on in a period that begins at `time`,
    /// in nanoseconds, and has other tracks.
    pub fn end_period(&mut self, time: u64, recording: &mut Recording) {
        let Self { threads, known, .. } = self;
        known.adding.shared.begin_update();
        threads.begin_period(time, &mut |times| known.update(times, recording, Shared::add_running_thread));
        known.adding.shared.write(recording);
    }

    /// Completes and removes threads that had ended at `time`, in nanoseconds. All entries up to
    /// then must have been drained. Returns their serials.
    pub fn forget(&mut self, time: u64, recording: &mut Recording) -> HashSet<u32> {
        let Self { threads, known, .. } = self;
        let mut ended = HashSet::new();
        for times in threads.take_ended(time) {
            known.update(&times, recording, Shared::add_ended_thread);
            let serial = times.thread.serial;
            for name_index in 0..times.names.len() {
                known.tracks.remove(&(serial, name_index));
            }
            ended.insert(serial);
        }
        ended
    }

    /// Returns how many threads share a track, because the limit on separate tracks was reached.
    pub fn shared(&self) -> u64 {
        self.known.adding.shared.assigned()
    }
}

/// Returns true if a non-Java thread's name is not one of the VM's.
fn is_native(name: &str) -> bool {
    outside_java(false, name).category == Category::Native
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::fake::FakeThreads;

    /// A thread id beyond all that the kernel gives to threads.
    const GONE: u32 = 5_000_000;

    /// Runs a thread that begins, has two samples, and ends. Returns the reading of its track's
    /// clock at each sample.
    fn run(threads: &FakeThreads, tracks: &mut Tracks, recording: &mut Recording, tid: u32) -> Vec<u64> {
        let serial = threads.begin(tid, 0, &format!("pool-1-thread-{tid}"));
        let clocks = [3_000_000, 5_000_000].map(|cpu| {
            let head = Head { serial, tid, cpu, weight: 2, ..head() };
            let (track, _) = tracks.track(&head, recording);
            tracks.clock(&head, track)
        });
        threads.end(serial);
        clocks.to_vec()
    }

    fn head() -> Head {
        Head { time: 1, cpu: 0, tid: 0, serial: 0, weight: 1, ..Head::default() }
    }

    #[test]
    fn threads_beyond_the_most_share_a_track_that_has_all_their_time_when_they_are_forgotten() {
        let threads = FakeThreads::leaked();
        let (mut tracks, mut recording) = (Tracks::with_limit(threads, 1_000_000, 2), Recording::new());
        let mut clocks = Vec::new();
        for tid in GONE..GONE + 5 {
            clocks.push(run(threads, &mut tracks, &mut recording, tid));
            // The first is forgotten while others come.
            tracks.complete(&mut recording);
            if tid == GONE || tid == GONE + 3 {
                assert!(!tracks.forget(u64::MAX, &mut recording).is_empty());
            }
        }
        let rows = |recording: &Recording| -> Vec<(String, Option<u64>, bool)> {
            let threads = recording.threads().iter();
            threads.map(|row| (row.name().to_owned(), row.cpu_ns(), row.ended_ns().is_some())).collect()
        };
        let own = |tid| (format!("pool-1-thread-{tid}"), Some(5_000_000), true);
        let shared = ("pool-#-thread-#, further threads".to_owned(), Some(15_000_000), false);
        let expected = [own(GONE), own(GONE + 1), shared];
        tracks.complete(&mut recording);
        assert_eq!(rows(&recording), expected);
        tracks.forget(u64::MAX, &mut recording);
        tracks.complete(&mut recording);
        assert_eq!(rows(&recording), expected);
        threads.each(&mut |times| panic!("{times:?} is remembered"));
        assert_eq!(tracks.shared(), 3);
        // The shared track's own clock goes by what the samples stand for.
        let [own, shared] = [&clocks[..2], &clocks[2..]].map(<[_]>::concat);
        assert_eq!(own, [3_000_000, 5_000_000, 3_000_000, 5_000_000]);
        assert_eq!(shared, [2, 4, 6, 8, 10, 12].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn the_cpu_time_of_two_periods_adds_up_to_that_of_the_thread() {
        let threads = FakeThreads::leaked();
        let (mut tracks, mut recording) = (Tracks::new(threads, 1_000_000), Recording::new());
        let (serial, tid) = (threads.begin(GONE, 0, "main"), GONE);
        let sample = |tracks: &mut Tracks, recording: &mut Recording, cpu| {
            tracks.track(&Head { serial, tid, cpu, ..head() }, recording);
        };
        sample(&mut tracks, &mut recording, 3_000_000);
        tracks.end_period(7, &mut recording);
        let (mut next, mut after) = (Tracks::new(threads, 1_000_000), Recording::new());
        sample(&mut next, &mut after, 5_000_000);
        next.complete(&mut after);
        let cpu = [&recording, &after].map(|recording| recording.threads()[0].cpu_ns());
        assert_eq!(cpu, [Some(3_000_000), Some(2_000_000)]);
        assert_eq!(after.threads()[0].started_ns(), 7);
    }

    #[test]
    fn a_thread_that_ended_after_the_time_is_kept() {
        let threads = FakeThreads::leaked();
        let (mut tracks, mut recording) = (Tracks::new(threads, 1_000_000), Recording::new());
        run(threads, &mut tracks, &mut recording, GONE);
        assert!(tracks.forget(0, &mut recording).is_empty());
        let head = Head { serial: threads.youngest(), tid: GONE, cpu: 6_000_000, ..head() };
        tracks.track(&head, &mut recording);
        assert_eq!(recording.threads().len(), 1);
    }
}
