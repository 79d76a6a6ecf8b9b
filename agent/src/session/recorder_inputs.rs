//! Makes a session's recorder, and what it is passed: the process's threads, and the event types.

use once_cell::sync::Lazy;
use vouch_collect::events::EventTypes;
use vouch_collect::record::Recorder;
use vouch_collect::threads::{NamedThread, Thread, ThreadStart, ThreadTimes, Threads};
use vouch_collect::witness::Witness;
use vouch_sample::Head;
use vouch_sampling::threads::{Life, Registry, registry, scan};

use crate::contexts::contexts;
use crate::events;
use crate::markers::markers;
use crate::options::fields::Options;

static THREADS: Lazy<RegisteredThreads> = Lazy::new(|| RegisteredThreads(registry()));

/// Returns the threads of the process.
pub fn threads() -> &'static dyn Threads {
    &*THREADS
}

/// Returns all event types.
pub fn event_types() -> EventTypes {
    let of_agent = events::ROWS.iter().map(|row| row.as_recorded()).collect();
    EventTypes { of_agent, of_program: |number| Some(markers().row_of_event(number)?.as_recorded()) }
}

/// Makes a recorder without samples.
pub fn new_recorder(options: &Options) -> Recorder {
    Recorder::new(
        options.depth,
        options.showing,
        Witness::new(options.witness),
        threads(),
        contexts(),
        event_types(),
        options.interval,
    )
}

/// The threads of a registry, as the stages ask about them.
#[derive(Debug)]
struct RegisteredThreads(&'static Registry);

impl Threads for RegisteredThreads {
    fn at_sample(&self, head: &Head) -> Option<NamedThread> {
        let nameless = |life: &Life| !life.java && !life.is_named(head.time);
        if self.0.life_at_sample(head.serial, head.cpu, nameless) == Some(true) {
            // The name decides the thread's category. A new thread has its creator's name until it
            // sets its own: VM threads create GC threads.
            scan::name(self.0, head.tid);
        }
        self.at(head.serial, head.time)
    }

    fn at(&self, serial: u32, time: u64) -> Option<NamedThread> {
        self.0.life(serial, |life| {
            let name_index = life.name_at(time);
            NamedThread { thread: thread(life), name_index, name: life.name(name_index) }
        })
    }

    fn start(&self, serial: u32) -> Option<ThreadStart> {
        self.0.life(serial, |life| ThreadStart { routine: life.routine, first_name: life.name(0) })
    }

    fn each(&self, visit: &mut dyn FnMut(&ThreadTimes)) {
        self.0.each_life(|life| visit(&times(life)));
    }

    fn begin_period(&self, time: u64, visit: &mut dyn FnMut(&ThreadTimes)) {
        self.0.begin_period(time, |life| visit(&times(life)));
    }

    fn take_ended(&self, time: u64) -> Vec<ThreadTimes> {
        self.0.take_ended(time).iter().map(times).collect()
    }
}

fn thread(life: &Life) -> Thread {
    Thread {
        serial: life.serial,
        tid: life.tid,
        started: life.started,
        is_java: life.java,
        is_own: life.own,
        is_sampled: life.sampled,
    }
}

fn times(life: &Life) -> ThreadTimes {
    let names = (0..life.names()).map(|name| (life.name(name), life.cpu_under(name))).collect();
    ThreadTimes { thread: thread(life), ended: life.ended, names }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;
    use std::time::Duration;

    use vouch_sampling::clock;
    use vouch_sampling::engine::Engine;
    use vouch_sampling::threads::Sampling;

    use super::*;

    /// A thread id greater than any that the kernel assigns.
    const GONE: u32 = 5_000_000;

    fn registered() -> RegisteredThreads {
        RegisteredThreads(Box::leak(Box::new(Registry::new(64))))
    }

    #[test]
    fn a_thread_has_the_name_of_the_time_until_it_is_taken_at_its_end() {
        let threads = registered();
        threads.0.begin_sampling(Sampling {
            engine: Engine::Itimer,
            interval: Duration::from_millis(1),
            filter: None,
            paused: false,
        });
        threads.0.begin_thread(GONE, 0x1000);
        threads.0.java_start(GONE, null_mut(), 7, Some("pool-1"));
        let known = threads.0.java_serial(7).unwrap();
        let (serial, renamed) = (known.1, clock::monotonic() + 1);
        threads.0.renamed(known, "request", renamed);
        let named = |time| threads.at(serial, time).map(|named| (named.name_index, named.name));
        assert_eq!(named(renamed - 1), Some((0, "pool-1".to_owned())));
        assert_eq!(named(renamed), Some((1, "request".to_owned())));
        let start = ThreadStart { routine: Some(0x1000), first_name: "pool-1".to_owned() };
        assert_eq!(threads.start(serial), Some(start));
        let mut seen = Vec::new();
        threads.each(&mut |times| seen.push(times.clone()));
        assert_eq!(seen.iter().map(|times| times.names.len()).collect::<Vec<_>>(), [2]);
        assert!(seen[0].thread.is_java && seen[0].thread.is_sampled && seen[0].ended.is_none());
        threads.0.java_end(GONE);
        threads.0.leave(GONE);
        let ended = threads.take_ended(clock::monotonic());
        assert!(ended.len() == 1 && ended[0].thread.serial == serial && ended[0].ended.is_some());
        assert_eq!((threads.at(serial, renamed), threads.start(serial)), (None, None));
    }

    #[test]
    fn a_native_thread_without_a_name_gets_the_kernels_at_its_sample() {
        let threads = registered();
        let tid = clock::own_tid();
        threads.0.enter(tid);
        let serial = threads.0.youngest();
        let time = clock::monotonic();
        assert_eq!(threads.at(serial, time).unwrap().name, format!("thread {tid}"));
        let head = Head { time, tid, serial, ..Head::default() };
        let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap();
        assert_eq!(threads.at_sample(&head).unwrap().name, name.trim_end());
    }
}
