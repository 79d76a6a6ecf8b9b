//! The threads of the process, from their first instruction to their last.
//!
//! A thread is met in one of four ways: its `pthread_create` goes through [`hook`], JVMTI tells of its start,
//! [`scan`] finds it in the kernel's list, or it was there before the agent ([`late`]). Whichever comes first makes
//! its entry here; the others complete it. This file keeps the entries, their slots for the handler, and their
//! engines. Of samples it knows only what is owed where no signal came.

pub mod hook;
mod kernel_name;
pub mod late;
mod life;
mod live;
pub mod rename;
pub mod scan;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::c_void;
use std::time::Duration;

use fastrand::Rng;
use once_cell::sync::Lazy;
use parking_lot::Mutex;
use regex_lite::Regex;
use vouch_signal::slots::{Slot, Slots};

use crate::clock;
use crate::engine::Engine;

pub use life::{Life, NameId};
use live::{Arming, Live};

/// How many threads can be alive at once and still be known to the handler; beyond, they are sampled without a
/// Java stack.
const SLOTS: usize = 1 << 16;

static REGISTRY: Lazy<Registry> = Lazy::new(Registry::new);

/// The one registry of the process.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// How threads are sampled while a recording runs.
#[derive(Debug, Clone)]
pub struct Sampling {
    pub engine: Engine,
    pub interval: Duration,
    pub filter: Option<Regex>,
}

/// A sample that was due while no signal was taken.
#[derive(Debug, Clone, Copy)]
pub struct Unsignalled {
    pub tid: u32,
    pub serial: u32,
    pub cpu: u64,
    pub weight: u32,
    pub java: bool,
}

/// All entries.
#[derive(Debug)]
pub struct Registry {
    slots: Slots<'static>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last_serial: u32,
    live: HashMap<u32, Live>,
    /// By serial: the threads of this recording, those that ended included.
    lives: HashMap<u32, Life>,
    sampling: Option<Sampling>,
    /// That of a recording whose engine was stopped, until it is settled what its threads owe.
    ending: Option<Sampling>,
    /// What threads owed that ended while no signal was taken.
    unsignalled: Vec<Unsignalled>,
    /// CLOCK_MONOTONIC when the recording began.
    began: u64,
    /// Threads for which the engine refused, and its last reason.
    unarmed: u64,
    unarmed_why: Option<String>,
    random: Rng,
    compilers_together: bool,
    /// Threads that have said farewell, and that the kernel still lists, with their serials: they are not to be met
    /// again.
    left: HashMap<u32, u32>,
    /// A recording is on, or being written: what ended meanwhile is still asked for.
    recording: bool,
}

impl Registry {
    fn new() -> Self {
        let memory = Vec::leak((0..SLOTS).map(|_| Slot::default()).collect());
        let inner = Inner { random: Rng::with_seed(clock::epoch()), ..Inner::default() };
        Self { slots: Slots::new(memory), inner: Mutex::new(inner) }
    }

    /// The table that the handler reads.
    pub fn slots(&self) -> Slots<'static> {
        self.slots
    }

    /// A thread is there: by its own call, or found. Nothing happens if it is known.
    pub fn enter(&self, tid: u32) {
        let mut inner = self.inner.lock();
        if !inner.left.contains_key(&tid) {
            self.with_live_of(&mut inner, tid, |_, _, _| {});
        }
    }

    /// A new thread says that it begins: whatever is known under its id belongs to one that is gone.
    pub fn begin_thread(&self, tid: u32, routine: usize) {
        let mut inner = self.inner.lock();
        inner.left.remove(&tid);
        if inner.live.contains_key(&tid) {
            self.forget(&mut inner, tid);
        }
        self.with_live_of(&mut inner, tid, |_, life, _| life.routine = Some(routine));
    }

    /// A Java thread begins, on itself: from here on its stack can be walked.
    pub fn java_start(&self, tid: u32, env: *mut c_void, java_thread: usize, name: Option<&str>) {
        self.with_live(tid, |live, life, sampling| {
            live.java_thread = java_thread;
            match name {
                // It was a Java thread before, and has attached anew: the main thread does at the end.
                Some(name) if life.java => {
                    life.rename(name, clock::monotonic(), clock::thread_cpu(tid).unwrap_or(0));
                }
                Some(name) => life.first_name(name),
                None => {}
            }
            life.java = true;
            live.choose(tid, life, sampling);
            if let Some(slot) = live.slot {
                slot.set_env(env);
            }
        });
    }

    /// A Java thread ends, on itself: its JNIEnv is about to be freed.
    pub fn java_end(&self, tid: u32) {
        if let Some(slot) = self.slots.find(tid) {
            slot.set_env(std::ptr::null_mut());
        }
        let cpu = clock::thread_cpu(tid).unwrap_or(0);
        self.with_known(tid, |live, life, arming| {
            // The JVM gives the place to another thread soon, maybe before this one leaves.
            live.java_thread = 0;
            if arming.sampling.is_some() {
                life.ran_until(cpu);
            }
        });
    }

    /// The thread with this id and serial has this name since `now`.
    pub fn renamed(&self, (tid, serial): (u32, u32), name: &str, mut now: u64) {
        self.with_known(tid, |live, life, arming| {
            if live.serial != serial {
                return;
            }
            let filter = arming.sampling.and_then(|sampling| Some((sampling, sampling.filter.as_ref()?)));
            if let Some((sampling, _)) = filter.filter(|(_, filter)| !filter.is_match(name))
                && tid == clock::own_tid()
            {
                // It leaves the recording, and is not to take with it what it owes under its old name.
                live.pay(tid, sampling.interval);
                now = clock::monotonic();
            }
            let recorded = arming.sampling.is_some();
            let cpu = if recorded { clock::thread_cpu(tid).unwrap_or(0) } else { life.cpu_now };
            life.rename(name, now, cpu);
            live.choose(tid, life, arming);
        });
    }

    /// The kernel's name of a thread that has no Java name. Nothing happens if the thread has left meanwhile.
    pub fn native_name(&self, tid: u32, kernel: &str) {
        let mut place = 0;
        {
            let inner = self.inner.lock();
            for life in inner.lives.values().filter(|life| life.ended.is_none()) {
                let alike = kernel_name::alike(kernel, &life.kernel_name, inner.compilers_together);
                // The kernel's ids tell who was made first; they may have begun to run in another order.
                place += usize::from(alike && life.tid < tid);
            }
        }
        let whole = kernel_name::whole(kernel, place);
        self.with_known(tid, |live, life, sampling| {
            if !life.java && (life.kernel_name != kernel || life.name(0) != whole) {
                life.native_name(kernel, &whole);
                live.choose(tid, life, sampling);
            }
        });
    }

    /// How this JVM numbers its compilers' threads.
    pub fn set_compilers_together(&self, together: bool) {
        self.inner.lock().compilers_together = together;
    }

    /// Makes the calling thread the agent's own.
    pub fn own(&self, tid: u32) {
        self.with_live(tid, |live, life, sampling| {
            live.own = true;
            life.own = true;
            live.choose(tid, life, sampling);
        });
    }

    /// A thread ends, on itself. What its engine still owes is signalled first; then it is forgotten.
    pub fn leave(&self, tid: u32) {
        if let Some(name) = hook::own_kernel_name() {
            self.native_name(tid, &name);
        }
        let mut inner = self.inner.lock();
        let Inner { live, sampling, ending, unsignalled, .. } = &mut *inner;
        let Some(live) = live.get_mut(&tid) else { return };
        let serial = live.serial;
        if let Some(sampling) = sampling.as_ref().or(ending.as_ref())
            && let Some(weight) = live.pay(tid, sampling.interval)
        {
            unsignalled.push(Unsignalled { tid, serial, cpu: clock::own_cpu(), weight, java: false });
        }
        self.forget(&mut inner, tid);
        inner.left.insert(tid, serial);
    }

    /// The serial of the youngest thread.
    pub fn youngest(&self) -> u32 {
        self.inner.lock().last_serial
    }

    /// Drops the entries of threads that `list`, the kernel's, no longer has. Who came after `youngest`, as it was before
    /// the list was read, need not be in it. And where a thread ends while the list is read, the kernel leaves out some
    /// that live: so who is not in it is asked for by itself.
    pub fn retain(&self, youngest: u32, list: impl Fn(u32) -> bool) {
        let mut inner = self.inner.lock();
        let stays =
            |tid: u32, serial: u32| serial > youngest || list(tid) || clock::thread_cpu(tid).is_some();
        inner.left.retain(|tid, serial| stays(*tid, *serial));
        let gone = inner.live.iter().filter(|(tid, live)| !stays(**tid, live.serial));
        let gone: Vec<u32> = gone.map(|(tid, _)| *tid).collect();
        for tid in gone {
            self.forget(&mut inner, tid);
        }
    }

    /// True if the thread has an entry, and a name to stay.
    pub fn known(&self, tid: u32) -> bool {
        let now = clock::monotonic();
        let inner = self.inner.lock();
        inner
            .live
            .get(&tid)
            .and_then(|live| inner.lives.get(&live.serial))
            .is_some_and(|life| life.is_named(now))
    }

    /// Starts the engine for all threads, and for those to come.
    pub fn begin_sampling(&self, sampling: Sampling) {
        let mut inner = self.inner.lock();
        let now = clock::monotonic();
        inner.unarmed = 0;
        inner.unarmed_why = None;
        inner.sampling = Some(sampling);
        inner.unsignalled.clear();
        inner.began = now;
        inner.recording = true;
        let Inner { live, lives, .. } = &mut *inner;
        for (tid, live) in live {
            if let Some(life) = lives.get_mut(&live.serial) {
                life.restart(now, clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
        let tids: Vec<u32> = inner.live.keys().copied().collect();
        drop(inner);
        for tid in tids {
            self.with_known(tid, |live, life, sampling| live.choose(tid, life, sampling));
        }
    }

    /// Stops the engine for all threads, and notes what CPU time they had.
    pub fn end_sampling(&self) {
        let mut inner = self.inner.lock();
        inner.ending = inner.sampling.take();
        let Inner { live, lives, .. } = &mut *inner;
        for (tid, live) in live {
            live.stop(*tid);
            if let Some(life) = lives.get_mut(&live.serial) {
                life.ran_until(clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
    }

    /// What was due, and was not signalled: until the engine was stopped, or, where it goes on, while the gate was closed. To be
    /// asked when the last handler has ended.
    pub fn settle(&self) -> Vec<Unsignalled> {
        let mut inner = self.inner.lock();
        let Inner { live, lives, sampling, ending, unsignalled, .. } = &mut *inner;
        let mut owed = std::mem::take(unsignalled);
        let ending = ending.take();
        for (tid, live) in live {
            let weight = match (&*sampling, &ending) {
                (Some(sampling), _) => live.settle_so_far(*tid, sampling.interval),
                (None, Some(ending)) => live.settle(ending.interval),
                (None, None) => None,
            };
            if let (Some(weight), Some(life)) = (weight, lives.get_mut(&live.serial)) {
                if sampling.is_some() {
                    life.ran_until(clock::thread_cpu(*tid).unwrap_or(0));
                }
                let (serial, cpu, java) = (live.serial, life.cpu_now, life.java);
                owed.push(Unsignalled { tid: *tid, serial, cpu, weight, java });
            }
        }
        owed
    }

    /// The recording has been written: those that have ended are forgotten.
    pub fn end_recording(&self) {
        let mut inner = self.inner.lock();
        inner.recording = false;
        let Inner { live, lives, .. } = &mut *inner;
        lives.retain(|_, life| live.get(&life.tid).is_some_and(|live| live.serial == life.serial));
    }

    /// Reads the CPU clocks of all live threads, for a report in the middle of a recording.
    pub fn refresh_cpu(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, .. } = &mut *inner;
        for (tid, live) in live {
            if let Some(life) = lives.get_mut(&live.serial) {
                life.ran_until(clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
    }

    /// What the recorder asks: the thread's life, by serial. What it tells: the thread's CPU clock at a sample.
    pub fn with_life<R>(&self, serial: u32, cpu: u64, ask: impl FnOnce(&Life) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        let life = inner.lives.get_mut(&serial)?;
        life.ran_until(cpu);
        Some(ask(life))
    }

    /// All lives of this recording, in the order in which they began.
    pub fn each_life(&self, mut see: impl FnMut(&Life)) {
        let inner = self.inner.lock();
        let mut lives: Vec<_> = inner.lives.values().collect();
        lives.sort_by_key(|life| life.serial);
        lives.into_iter().for_each(&mut see);
    }

    /// The kernel's id and the JNIEnv of a Java thread, by the JVM's side of it; `None` if it has ended or is unknown.
    pub fn java(&self, java_thread: usize) -> Option<(u32, *mut c_void)> {
        let inner = self.inner.lock();
        let is_it = |live: &Live| java_thread != 0 && live.java_thread == java_thread;
        let (tid, live) = inner.live.iter().find(|(_, live)| is_it(live))?;
        let env = live.slot?.env();
        (!env.is_null()).then_some((*tid, env))
    }

    /// The kernel's id and our serial of a Java thread, by the JVM's side of it. Another thread may have that place as soon as
    /// this one has ended.
    pub fn java_serial(&self, java_thread: usize) -> Option<(u32, u32)> {
        let inner = self.inner.lock();
        let is_it = |live: &Live| java_thread != 0 && live.java_thread == java_thread;
        // Mostly a thread asks about itself.
        let own = inner.live.get_key_value(&clock::own_tid()).filter(|(_, live)| is_it(live));
        let found = own.or_else(|| inner.live.iter().find(|(_, live)| is_it(live)));
        found.map(|(tid, live)| (*tid, live.serial))
    }

    /// The slot of a thread, and the JVM's side of it, by serial; `None` if it has ended.
    pub fn slot(&self, tid: u32, serial: u32) -> Option<(&'static Slot, usize)> {
        let inner = self.inner.lock();
        let live = inner.live.get(&tid).filter(|live| live.serial == serial)?;
        Some((live.slot?, live.java_thread))
    }

    /// How many threads the engine could not be armed for, and why.
    pub fn unarmed(&self) -> Option<(u64, String)> {
        let inner = self.inner.lock();
        inner.unarmed_why.clone().map(|why| (inner.unarmed, why))
    }

    /// Runs `change` on the thread's entry, which is made if there is none.
    fn with_live(&self, tid: u32, change: impl FnOnce(&mut Live, &mut Life, &mut Arming<'_>)) {
        self.with_live_of(&mut self.inner.lock(), tid, change);
    }

    fn with_live_of(
        &self,
        inner: &mut Inner,
        tid: u32,
        change: impl FnOnce(&mut Live, &mut Life, &mut Arming<'_>),
    ) {
        let Inner { last_serial, live, lives, sampling, began, unarmed, unarmed_why, random, .. } = inner;
        let mut arming = Arming { sampling: sampling.as_ref(), unarmed, unarmed_why, random };
        let live = live.entry(tid).or_insert_with(|| {
            *last_serial += 1;
            let serial = *last_serial;
            // What a thread has run since the recording began is the recording's, even if it is found late.
            let now = clock::monotonic();
            let since = if arming.sampling.is_some() { now.saturating_sub(*began) } else { 0 };
            let cpu = clock::thread_cpu(tid).unwrap_or(0).saturating_sub(since);
            let mut fresh = Live::new(serial, self.slots.insert(tid, serial));
            let life = lives.entry(serial).or_insert(Life::new(serial, tid, now, cpu));
            fresh.choose(tid, life, &mut arming);
            fresh
        });
        if let Some(life) = lives.get_mut(&live.serial) {
            change(live, life, &mut arming);
        }
    }

    /// Runs `change` on the thread's entry, if there is one: what is told of a thread may be told when it has left.
    fn with_known(&self, tid: u32, change: impl FnOnce(&mut Live, &mut Life, &mut Arming<'_>)) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, sampling, unarmed, unarmed_why, random, .. } = &mut *inner;
        let mut arming = Arming { sampling: sampling.as_ref(), unarmed, unarmed_why, random };
        if let Some(live) = live.get_mut(&tid)
            && let Some(life) = lives.get_mut(&live.serial)
        {
            change(live, life, &mut arming);
        }
    }

    fn forget(&self, inner: &mut Inner, tid: u32) {
        let Some(mut live) = inner.live.remove(&tid) else { return };
        live.disarm();
        self.slots.remove(tid);
        let (recording, sampled) = (inner.recording, inner.sampling.is_some());
        if let Some(life) = inner.lives.get_mut(&live.serial) {
            if sampled {
                life.ran_until(clock::thread_cpu(tid).unwrap_or(0));
            }
            life.ended = Some(clock::monotonic());
        }
        if !recording {
            inner.lives.remove(&live.serial);
        }
    }
}

/// Sends SIGPROF to a thread of this process.
pub fn signal(tid: u32) {
    // SAFETY: a signal with a handler of ours; that the thread may have ended is the kernel's to tell.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGPROF) };
}
