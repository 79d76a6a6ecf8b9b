//! Threads for tests. Each is a Java thread that the recording samples.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vouch_sample::Head;

use super::{NamedThread, Thread, ThreadStart, ThreadTimes, Threads};

/// The threads of a test.
#[derive(Debug, Default)]
pub struct FakeThreads(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    last_serial: u32,
    threads: Vec<FakeThread>,
}

#[derive(Debug)]
struct FakeThread {
    thread: Thread,
    routine: usize,
    ended: Option<u64>,
    /// The names of the thread, each with the time since when the thread has it, and the CPU time
    /// under it.
    names: Vec<(String, u64, u64)>,
    cpu: u64,
}

impl FakeThread {
    fn at(&self, time: u64) -> NamedThread {
        let name_index = self.names.iter().rposition(|(_, since, _)| *since <= time).unwrap_or(0);
        NamedThread { thread: self.thread, name_index, name: self.names[name_index].0.clone() }
    }

    fn times(&self) -> ThreadTimes {
        let names = self.names.iter().map(|(name, _, cpu)| (name.clone(), *cpu)).collect();
        ThreadTimes { thread: self.thread, ended: self.ended, names }
    }

    fn runs_until(&mut self, cpu: u64) {
        if let Some((.., under_name)) = self.names.last_mut() {
            *under_name += cpu.saturating_sub(self.cpu);
            self.cpu = self.cpu.max(cpu);
        }
    }
}

impl FakeThreads {
    /// Makes an empty list of threads that lasts as long as the process.
    pub fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a thread with this start routine and name, and returns its serial.
    pub fn begin(&self, tid: u32, routine: usize, name: &str) -> u32 {
        let mut inner = self.inner();
        inner.last_serial += 1;
        let serial = inner.last_serial;
        let thread = Thread { serial, tid, started: 0, is_java: true, is_own: false, is_sampled: true };
        let names = vec![(name.to_owned(), 0, 0)];
        inner.threads.push(FakeThread { thread, routine, ended: None, names, cpu: 0 });
        serial
    }

    /// Gives a thread another name from a time on.
    pub fn rename(&self, serial: u32, name: &str, time: u64) {
        self.with(serial, |thread| thread.names.push((name.to_owned(), time, 0)));
    }

    /// Ends a thread, one nanosecond after its start.
    pub fn end(&self, serial: u32) {
        self.with(serial, |thread| thread.ended = Some(1));
    }

    /// Returns the serial of the thread that began last.
    pub fn youngest(&self) -> u32 {
        self.inner().last_serial
    }

    fn with<R>(&self, serial: u32, act: impl FnOnce(&mut FakeThread) -> R) -> Option<R> {
        self.inner().threads.iter_mut().find(|known| known.thread.serial == serial).map(act)
    }
}

impl Threads for FakeThreads {
    fn at_sample(&self, head: &Head) -> Option<NamedThread> {
        self.with(head.serial, |thread| {
            thread.runs_until(head.cpu);
            thread.at(head.time)
        })
    }

    fn at(&self, serial: u32, time: u64) -> Option<NamedThread> {
        self.with(serial, |thread| thread.at(time))
    }

    fn start(&self, serial: u32) -> Option<ThreadStart> {
        self.with(serial, |thread| ThreadStart {
            routine: Some(thread.routine),
            first_name: thread.names[0].0.clone(),
        })
    }

    fn each(&self, visit: &mut dyn FnMut(&ThreadTimes)) {
        self.inner().threads.iter().for_each(|thread| visit(&thread.times()));
    }

    fn begin_period(&self, time: u64, visit: &mut dyn FnMut(&ThreadTimes)) {
        for thread in &mut self.inner().threads {
            visit(&thread.times());
            let present = thread.names.pop().map(|(name, ..)| (name, 0, 0));
            thread.names = present.into_iter().collect();
            thread.thread.started = time;
        }
    }

    fn take_ended(&self, time: u64) -> Vec<ThreadTimes> {
        let mut inner = self.inner();
        let ended = inner.threads.extract_if(.., |thread| thread.ended.is_some_and(|ended| ended <= time));
        ended.map(|thread| thread.times()).collect()
    }
}
