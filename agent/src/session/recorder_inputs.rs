//! What a session passes to its recorder: the process's threads, and the event types.

use once_cell::sync::Lazy;
use vouch_collect::events::EventTypes;
use vouch_collect::threads::{NamedThread, Thread, ThreadStart, ThreadTimes, Threads};
use vouch_sample::Head;
use vouch_sampling::threads::{Life, Registry, registry, scan};

use crate::events;
use crate::markers::markers;

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
