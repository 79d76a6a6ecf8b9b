//! Whose a sample is: a thread has a track for each of its names, until there are too many.
//!
//! A sample gets the name that its thread had at the sample's time, whatever the thread is called
//! by now. A thread that has ended is forgotten when nothing can come of it any more. It must never
//! be so before.

use std::collections::{HashMap, HashSet};

use vouch_recording::{Category, OutsideJava, Recording, ThreadId, outside_java};
use vouch_sample::{Event, Head};

use super::shared::{OWN, Shared};
use crate::threads::{Life, NameId, Registry, scan};

/// The tracks of all threads that have any.
#[derive(Debug)]
pub struct Tracks {
    registry: &'static Registry,
    interval_ns: u64,
    known: Known,
    /// Of threads that nobody knows but by the kernel's id.
    strays: HashMap<u32, ThreadId>,
}

/// By serial and name: those of threads that live, or have just ended.
#[derive(Debug)]
struct Known {
    tracks: HashMap<(u32, NameId), ThreadId>,
    adding: Adding,
}

/// Who gets a track.
#[derive(Debug)]
struct Adding {
    /// How many more may be a thread's own.
    room: usize,
    shared: Shared,
}

impl Adding {
    fn add(&mut self, name: &str, tid: u32, time: u64, recording: &mut Recording) -> ThreadId {
        let Some(less) = self.room.checked_sub(1) else {
            return self.shared.track(name, time, recording);
        };
        self.room = less;
        recording.add_thread(name, tid.into(), time)
    }
}

impl Known {
    /// The track of a thread under one of its names.
    fn of(&mut self, life: &Life, name: NameId, recording: &mut Recording) -> ThreadId {
        let Self { tracks, adding, .. } = self;
        *tracks
            .entry((life.serial, name))
            .or_insert_with(|| adding.add(&life.name(name), life.tid, life.started, recording))
    }

    /// Name, end and CPU time under each name. What it was charged on a track that it shares goes
    /// to `charge`.
    fn tell(&mut self, life: &Life, recording: &mut Recording, charge: fn(&mut Shared, ThreadId, u64)) {
        if life.own || !life.sampled {
            return;
        }
        for name in 0..life.names() {
            // The launcher's first thread, say: it only waits, and is nobody's.
            let native = !life.java && is_native(&life.name(name));
            if native && !self.tracks.contains_key(&(life.serial, name)) {
                continue;
            }
            let track = self.of(life, name, recording);
            let cpu = life.cpu_under(name);
            if self.adding.shared.has(track) {
                charge(&mut self.adding.shared, track, cpu);
                continue;
            }
            recording.set_thread_name(track, &life.name(name));
            recording.set_thread_cpu(track, cpu);
            if let Some(ended) = life.ended {
                recording.end_thread(track, ended);
            }
        }
    }
}

impl Tracks {
    pub fn new(registry: &'static Registry, interval_ns: u64) -> Self {
        Self::with_room(registry, interval_ns, OWN)
    }

    /// With so many tracks that are threads' own.
    fn with_room(registry: &'static Registry, interval_ns: u64, room: usize) -> Self {
        let adding = Adding { room, shared: Shared::default() };
        let known = Known { tracks: HashMap::new(), adding };
        Self { registry, interval_ns, known, strays: HashMap::new() }
    }

    /// The track that a sample belongs to, and what its thread does when it runs no Java.
    pub fn of(&mut self, head: &Head, recording: &mut Recording) -> (ThreadId, OutsideJava) {
        let Self { registry, known, strays, .. } = self;
        let nameless = |life: &Life| !life.java && !life.is_named(head.time);
        if registry.life_at_sample(head.serial, head.cpu, nameless) == Some(true) {
            // Its name tells what it does, and until it has given itself one it has that of the
            // thread that made it: the VM's own thread makes the collector's.
            scan::name(registry, head.tid);
        }
        let of_life = registry.life(head.serial, |life| {
            let name = life.name_at(head.time);
            (known.of(life, name, recording), outside_java(life.java, &life.name(name)))
        });
        of_life.unwrap_or_else(|| {
            let name = format!("thread {}", head.tid);
            let track = strays
                .entry(head.tid)
                .or_insert_with(|| known.adding.add(&name, head.tid, head.time, recording));
            (*track, outside_java(false, &name))
        })
    }

    /// Where the CPU clock of a sample's track is then: the thread's own, if it has the track to
    /// itself. Else what its samples stand for, since its threads' clocks know nothing of each
    /// other.
    pub fn clock(&mut self, head: &Head, track: ThreadId) -> u64 {
        self.known.adding.shared.run(track, self.interval_ns * u64::from(head.weight)).unwrap_or(head.cpu)
    }

    /// What a thread was called at a time; `None` if it is none of this recording's.
    pub fn name(&self, serial: u32, time: u64) -> Option<String> {
        self.registry.life(serial, |life| life.name(life.name_at(time)))
    }

    /// The track of the thread that an event happened to; `None` if it is none that anybody wants
    /// to see.
    pub fn of_event(&mut self, event: &Event, recording: &mut Recording) -> Option<ThreadId> {
        let Self { registry, known, .. } = self;
        let of_life = registry.life(event.serial, |life| {
            if life.own || !life.sampled {
                return None;
            }
            Some(known.of(life, life.name_at(event.began), recording))
        });
        of_life.flatten()
    }

    /// Names, ends and CPU times, as far as they are known now. Threads that had no sample get
    /// their track here.
    pub fn complete(&mut self, recording: &mut Recording) {
        let Self { registry, known, .. } = self;
        known.adding.shared.reckon();
        registry.each_life(|life| known.tell(life, recording, Shared::lives));
        known.adding.shared.tell(recording);
    }

    /// The same once and for all of threads that had ended at a time before which everything has
    /// come; and who they were.
    pub fn forget(&mut self, time: u64, recording: &mut Recording) -> HashSet<u32> {
        let Self { registry, known, .. } = self;
        let mut ended = HashSet::new();
        for life in registry.take_ended(time) {
            known.tell(&life, recording, Shared::ended);
            for name in 0..life.names() {
                known.tracks.remove(&(life.serial, name));
            }
            ended.insert(life.serial);
        }
        ended
    }

    /// How many threads share tracks with others, since there were so many.
    pub fn shared(&self) -> u64 {
        self.known.adding.shared.puts()
    }
}

/// True if a thread without Java is none of the VM's, as far as its name tells.
fn is_native(name: &str) -> bool {
    outside_java(false, name).category == Category::Native
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::threads::Sampling;
    use std::time::Duration;

    /// Beyond what the kernel gives to threads.
    const GONE: u32 = 5_000_000;

    fn recording() -> &'static Registry {
        let registry: &'static Registry = Box::leak(Box::new(Registry::new(256)));
        let interval = Duration::from_millis(1);
        registry.begin_sampling(Sampling { engine: Engine::Itimer, interval, filter: None, paused: false });
        registry
    }

    /// A thread that begins, has two samples, and ends: where its track's clock was at each.
    fn run(registry: &Registry, tracks: &mut Tracks, recording: &mut Recording, tid: u32) -> Vec<u64> {
        registry.begin_thread(tid, 0);
        registry.java_start(tid, std::ptr::null_mut(), tid as usize, Some(&format!("pool-1-thread-{tid}")));
        let serial = registry.youngest();
        let clocks = [3_000_000, 5_000_000].map(|cpu| {
            let head = Head { serial, tid, cpu, weight: 2, ..head() };
            let (track, _) = tracks.of(&head, recording);
            tracks.clock(&head, track)
        });
        registry.leave(tid);
        clocks.to_vec()
    }

    fn head() -> Head {
        Head { time: 1, cpu: 0, tid: 0, serial: 0, weight: 1, ..Head::default() }
    }

    #[test]
    fn threads_beyond_the_most_share_a_track_that_has_all_their_time_when_they_are_forgotten() {
        let registry = recording();
        let (mut tracks, mut recording) = (Tracks::with_room(registry, 1_000_000, 2), Recording::new());
        let mut clocks = Vec::new();
        for tid in GONE..GONE + 5 {
            clocks.push(run(registry, &mut tracks, &mut recording, tid));
            // The first is forgotten while others come.
            tracks.complete(&mut recording);
            if tid == GONE || tid == GONE + 3 {
                assert!(!tracks.forget(u64::MAX, &mut recording).is_empty());
            }
        }
        let told = |recording: &Recording| -> Vec<(String, Option<u64>, bool)> {
            let rows = recording.threads().iter();
            rows.map(|row| (row.name().to_owned(), row.cpu_ns(), row.ended_ns().is_some())).collect()
        };
        let own = |tid| (format!("pool-1-thread-{tid}"), Some(5_000_000), true);
        let shared = ("pool-#-thread-#, further threads".to_owned(), Some(15_000_000), false);
        let expected = [own(GONE), own(GONE + 1), shared];
        tracks.complete(&mut recording);
        assert_eq!(told(&recording), expected);
        tracks.forget(u64::MAX, &mut recording);
        tracks.complete(&mut recording);
        assert_eq!(told(&recording), expected);
        registry.each_life(|life| panic!("{life:?} is remembered"));
        assert_eq!(tracks.shared(), 3);
        // The shared track's own clock goes by what the samples stand for.
        let [own, shared] = [&clocks[..2], &clocks[2..]].map(<[_]>::concat);
        assert_eq!(own, [3_000_000, 5_000_000, 3_000_000, 5_000_000]);
        assert_eq!(shared, [2, 4, 6, 8, 10, 12].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn who_ended_after_the_time_is_remembered() {
        let registry = recording();
        let (mut tracks, mut recording) = (Tracks::new(registry, 1_000_000), Recording::new());
        run(registry, &mut tracks, &mut recording, GONE);
        assert!(tracks.forget(0, &mut recording).is_empty());
        let head = Head { serial: registry.youngest(), tid: GONE, cpu: 6_000_000, ..head() };
        tracks.of(&head, &mut recording);
        assert_eq!(recording.threads().len(), 1);
    }
}
