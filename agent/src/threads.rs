//! The threads of the process, from their first instruction to their last.
//!
//! A thread is met in one of four ways: its `pthread_create` goes through [`hook`], JVMTI tells of its start,
//! [`scan`] finds it in the kernel's list, or it was there before the agent ([`late`]). Whichever comes first makes
//! its entry here; the others complete it. This file keeps the entries, their slots for the handler, and their
//! engines. It knows nothing of samples.

pub mod hook;
mod kernel_name;
pub mod late;
mod life;
mod live;
pub mod rename;
pub mod scan;

use std::collections::HashMap;
use std::ffi::c_void;
use std::time::Duration;

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
    /// Threads for which the engine refused, and its last reason.
    unarmed: u64,
    unarmed_why: Option<String>,
    random: u64,
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
        let inner = Inner { random: clock::epoch() | 1, ..Inner::default() };
        Self { slots: Slots::new(memory), inner: Mutex::new(inner) }
    }

    /// The table that the handler reads.
    pub fn slots(&self) -> Slots<'static> {
        self.slots
    }

    /// A thread is there: by its own call, or found. Nothing happens if it is known.
    pub fn enter(&self, tid: u32) {
        if !self.inner.lock().left.contains_key(&tid) {
            self.with_live(tid, |_, _, _| {});
        }
    }

    /// A new thread says that it begins: whatever is known under its id belongs to one that is gone.
    pub fn begin_thread(&self, tid: u32, routine: usize) {
        let mut inner = self.inner.lock();
        inner.left.remove(&tid);
        if inner.live.contains_key(&tid) {
            self.forget(&mut inner, tid);
        }
        drop(inner);
        self.with_live(tid, |_, life, _| life.routine = Some(routine));
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
        self.with_live(tid, |_, life, _| life.ran_until(cpu));
    }

    /// A thread has this name since `now`; `java_thread` says which thread.
    pub fn renamed(&self, java_thread: usize, name: &str, now: u64) {
        let inner = self.inner.lock();
        let is_it = |tid: &u32| inner.live.get(tid).is_some_and(|live| live.java_thread == java_thread);
        // Mostly a thread renames itself.
        let own = Some(clock::own_tid()).filter(is_it);
        let tid = own.or_else(|| inner.live.keys().copied().find(is_it));
        drop(inner);
        if let Some(tid) = tid {
            self.with_live(tid, |live, life, sampling| {
                life.rename(name, now, clock::thread_cpu(tid).unwrap_or(0));
                live.choose(tid, life, sampling);
            });
        }
    }

    /// The kernel's name of a thread that has no Java name.
    pub fn native_name(&self, tid: u32, kernel: &str) {
        let mut place = 0;
        {
            let inner = self.inner.lock();
            if inner.left.contains_key(&tid) {
                return;
            }
            for life in inner.lives.values().filter(|life| life.ended.is_none()) {
                let alike = kernel_name::alike(kernel, &life.kernel_name, inner.compilers_together);
                // The kernel's ids tell who was made first; they may have begun to run in another order.
                place += usize::from(alike && life.tid < tid);
            }
        }
        let whole = kernel_name::whole(kernel, place);
        self.with_live(tid, |live, life, sampling| {
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
        let Some(live) = inner.live.get(&tid) else { return };
        let owed = inner.sampling.as_ref().and_then(|sampling| live.owed(tid, sampling.interval));
        let (slot, serial) = (live.slot, live.serial);
        if let (Some(weight), Some(slot)) = (owed, slot) {
            slot.owe(weight);
            // The handler takes no lock, so it may run while this thread holds one; it does so before this returns.
            signal(tid);
            slot.take_owed();
        }
        self.forget(&mut inner, tid);
        inner.left.insert(tid, serial);
    }

    /// The serial of the youngest thread.
    pub fn youngest(&self) -> u32 {
        self.inner.lock().last_serial
    }

    /// Drops the entries of threads that the kernel's list no longer has. Who came after `youngest`, as it was before
    /// the list was read, need not be in it.
    pub fn retain(&self, youngest: u32, exists: impl Fn(u32) -> bool) {
        let mut inner = self.inner.lock();
        let stays = |tid: u32, serial: u32| serial > youngest || exists(tid);
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
            self.with_live(tid, |live, life, sampling| live.choose(tid, life, sampling));
        }
    }

    /// Stops the engine for all threads, and notes what CPU time they had.
    pub fn end_sampling(&self) {
        let mut inner = self.inner.lock();
        inner.sampling = None;
        let Inner { live, lives, .. } = &mut *inner;
        for (tid, live) in live {
            live.disarm();
            if let Some(life) = lives.get_mut(&live.serial) {
                life.ran_until(clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
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

    /// The kernel's id and our serial of a Java thread, by the JVM's side of it.
    pub fn java_serial(&self, java_thread: usize) -> Option<(u32, u32)> {
        let inner = self.inner.lock();
        let is_it = |live: &Live| java_thread != 0 && live.java_thread == java_thread;
        inner.live.iter().find(|(_, live)| is_it(live)).map(|(tid, live)| (*tid, live.serial))
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
        let mut inner = self.inner.lock();
        let Inner { last_serial, live, lives, sampling, unarmed, unarmed_why, random, .. } = &mut *inner;
        let mut arming = Arming { sampling: sampling.as_ref(), unarmed, unarmed_why, random };
        let live = live.entry(tid).or_insert_with(|| {
            *last_serial += 1;
            let serial = *last_serial;
            // A thread that comes to be while a recording runs is all the recording's, even if it is found late.
            let cpu = if arming.sampling.is_some() { 0 } else { clock::thread_cpu(tid).unwrap_or(0) };
            let mut fresh = Live::new(serial, self.slots.insert(tid, serial));
            let life = lives.entry(serial).or_insert(Life::new(serial, tid, clock::monotonic(), cpu));
            fresh.choose(tid, life, &mut arming);
            fresh
        });
        if let Some(life) = lives.get_mut(&live.serial) {
            change(live, life, &mut arming);
        }
    }

    fn forget(&self, inner: &mut Inner, tid: u32) {
        let Some(mut live) = inner.live.remove(&tid) else { return };
        live.disarm();
        self.slots.remove(tid);
        let recording = inner.recording;
        if let Some(life) = inner.lives.get_mut(&live.serial) {
            life.ran_until(clock::thread_cpu(tid).unwrap_or(0));
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
