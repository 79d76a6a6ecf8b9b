//! The registry of the process's threads, from their first instruction to their last.
//!
//! A thread is found in one of four ways. Its `pthread_create` goes through [`hook`], JVMTI reports
//! its start, [`scan`] finds it in the kernel's list, or it ran before the agent, which finds it by
//! JVMTI. The first of these makes the entry here, and the others complete it. This file keeps the
//! entries. [`live`] has a thread's slot for the handler and its engine, and [`arming`] has what a
//! recording does to all threads. These modules use samples only for CPU time that no signal
//! accounted for.

mod arming;
mod brief_threads;
pub mod hook;
mod java_side;
mod kernel_name;
mod life;
mod live;
pub mod live_java_threads;
mod sampling;
pub mod scan;
mod send;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::mem::take;
use std::ptr::NonNull;

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use vouch_sample::Unsignalled;
use vouch_signal::slots::{Slots, Waiting};

pub use life::{JavaThread, Life, MAX_NAME_CHARS, names_cut};
use live::Live;
use sampling::Arming;

use crate::clock;
use crate::lazy_zeroed::LazyZeroed;
use crate::task_sums::TaskSums;
use crate::thread_contexts::PaddedThreadContext;
pub use sampling::Sampling;
pub use send::signal;

/// The maximum number of live threads that the handler can look up. Threads beyond it are sampled
/// without a Java stack.
const SLOTS: usize = 1 << 16;

static REGISTRY: Lazy<Registry> = Lazy::new(|| Registry::new(SLOTS));

/// Returns the one registry of the process.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// The entries of all threads.
#[derive(Debug)]
pub struct Registry {
    slots: Slots<'static>,
    inner: Mutex<Inner>,
    /// Locked during a query on a JavaThread, so that the end of its thread waits. That end is the
    /// only JVM event that takes the lock, so its holder may wait for a safepoint to end.
    stays: Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    last_serial: u32,
    live: HashMap<u32, Live>,
    /// Thread records by serial: the threads of this recording, and those that ended a moment ago.
    lives: HashMap<u32, Life>,
    /// The serials of ended threads, in the order in which they ended.
    ended: VecDeque<u32>,
    arming: Arming,
    compilers_together: bool,
    /// Threads that have left the registry but are still in the kernel's list, with their serials.
    /// A scan must not enter them again.
    left: HashMap<u32, u32>,
}

impl Registry {
    /// Makes a registry with this number of slots. Their memory is never freed, because a handler
    /// may read it at any time.
    pub fn new(slots: usize) -> Self {
        // Most slots are never used, and use no memory until then. SAFETY: a slot consists of
        // numbers and pointers that may all be zero. A separate test checks that a zeroed
        // slot is free.
        let memory = unsafe { LazyZeroed::new(slots) };
        Self { slots: Slots::new(memory.leak()), inner: Mutex::default(), stays: Mutex::default() }
    }

    /// Returns the table that the handler reads.
    pub fn slots(&self) -> Slots<'static> {
        self.slots
    }

    /// Enters a thread that was created or found. Does nothing if the thread has an entry.
    pub fn enter(&self, tid: u32) {
        let mut inner = self.inner.lock();
        if !inner.left.contains_key(&tid) {
            self.with_live_of(&mut inner, tid, |_, _, _| {});
        }
    }

    /// Enters a new thread, on that thread. An entry under the same id belongs to a thread that has
    /// ended.
    pub fn begin_thread(&self, tid: u32, routine: usize) {
        let mut inner = self.inner.lock();
        inner.left.remove(&tid);
        if inner.live.contains_key(&tid) {
            self.forget(&mut inner, tid);
        }
        self.with_live_of(&mut inner, tid, |_, life, _| life.routine = Some(routine));
    }

    /// Enters a Java thread that begins, on that thread. From then on its stack can be walked.
    pub fn java_start(&self, tid: u32, env: *mut c_void, java_thread: usize, name: Option<&str>) {
        self.java_begins(&mut self.inner.lock(), tid, env, java_thread, name);
    }

    /// Enters a Java thread that was found running. Returns false if the thread has meanwhile
    /// ended, or reported its start as another Java thread: its own report takes precedence.
    pub fn java_found(&self, tid: u32, env: *mut c_void, java_thread: usize, name: Option<&str>) -> bool {
        let mut inner = self.inner.lock();
        let knows_better = |live: &Live| live.is_over || ![0, java_thread].contains(&live.java_thread);
        let is_new = !inner.left.contains_key(&tid) && !inner.live.get(&tid).is_some_and(knows_better);
        if is_new {
            self.java_begins(&mut inner, tid, env, java_thread, name);
        }
        is_new
    }

    fn java_begins(
        &self,
        inner: &mut Inner,
        tid: u32,
        env: *mut c_void,
        java_thread: usize,
        name: Option<&str>,
    ) {
        self.with_live_of(inner, tid, |live, life, arming| {
            live.java_thread = java_thread;
            live.is_over = false;
            match name {
                // This thread was a Java thread before and has attached again, as the main thread
                // does at its end. Its pending intervals belong to its old name.
                Some(name) if life.java => {
                    live.pay_so_far(tid, true, arming);
                    live.rename(tid, name, clock::monotonic(), life, arming);
                }
                Some(name) => life.first_name(name),
                None => {}
            }
            life.java = true;
            live.choose(tid, life, arming);
            if let Some(slot) = live.slot {
                slot.set_env(env);
            }
        });
    }

    /// Handles the end of a Java thread, on that thread, before the JVM frees its JNIEnv.
    pub fn java_end(&self, tid: u32) {
        if let Some(slot) = self.slots.find(tid) {
            slot.set_env(std::ptr::null_mut());
        }
        drop(self.stays.lock());
        let cpu = clock::thread_cpu(tid).unwrap_or(0);
        let mut inner = self.inner.lock();
        if inner.left.contains_key(&tid) && !inner.live.contains_key(&tid) {
            return;
        }
        self.with_live_of(&mut inner, tid, |live, life, arming| {
            // A search may have found the thread and be about to enter it.
            live.is_over = true;
            if let Some(slot) = live.slot {
                slot.set_env(std::ptr::null_mut());
            }
            // The memory is returned only here, because a thread may still run Java after its
            // reported end. Memory that is not returned is lost.
            live.return_memory();
            // The JVM may reuse the JavaThread's address for another thread before this thread
            // leaves.
            live.java_thread = 0;
            if arming.sampling.is_some() {
                life.ran_until(cpu);
            }
        });
    }

    /// Returns the context that the calling thread's Java code writes. Returns
    /// `None` if the thread is about to end.
    pub fn thread_context(&self, tid: u32) -> Option<&'static PaddedThreadContext> {
        self.of_caller(tid, Live::thread_context)
    }

    /// Returns the page that counts the calling thread's context switches, or `None` if it cannot
    /// have one.
    pub fn switches(&self, tid: u32) -> Option<NonNull<u8>> {
        self.of_caller(tid, |live| live.switches(tid)).flatten()
    }

    /// Returns the sums of the calling thread's tasks of a group, or `None` if it cannot
    /// have one.
    pub fn sums(&self, tid: u32, group: u32) -> Option<&'static TaskSums> {
        self.of_caller(tid, |live| live.sums(group)).flatten()
    }

    /// Runs `ask` on the calling thread's entry if that thread runs Java.
    fn of_caller<T>(&self, tid: u32, ask: impl FnOnce(&mut Live) -> T) -> Option<T> {
        let mut inner = self.inner.lock();
        if inner.left.contains_key(&tid) {
            return None;
        }
        let mut answer = None;
        self.with_live_of(&mut inner, tid, |live, _, _| answer = Some(ask(live)));
        answer
    }

    /// Records that the thread with this id and serial has this name since `now`.
    pub fn renamed(&self, (tid, serial): (u32, u32), name: &str, now: u64) {
        self.with_known(tid, |live, life, arming| {
            if live.serial == serial {
                live.rename(tid, name, now, life, arming);
            }
        });
    }

    /// Sets the kernel's name of a thread that has no Java name. Does nothing if the thread has
    /// ended meanwhile.
    pub fn native_name(&self, tid: u32, kernel: &str) {
        let place = {
            let inner = self.inner.lock();
            let life = |live: &Live| inner.lives.get(&live.serial);
            if inner.live.get(&tid).and_then(life).is_none_or(|life| life.java) {
                return;
            }
            let alike =
                |life: &&Life| kernel_name::alike(kernel, &life.kernel_name, inner.compilers_together);
            // Kernel ids give the order of creation. The threads may have begun to run in another
            // order.
            inner.live.values().filter_map(life).filter(|life| life.tid < tid).filter(alike).count()
        };
        let whole = kernel_name::whole(kernel, place);
        self.with_known(tid, |live, life, sampling| {
            if !life.java && (life.kernel_name != kernel || life.name(0) != whole) {
                life.native_name(kernel, &whole);
                live.choose(tid, life, sampling);
            }
        });
    }

    /// Sets whether this JVM numbers all its compiler threads together.
    pub fn set_compilers_together(&self, together: bool) {
        self.inner.lock().compilers_together = together;
    }

    /// Marks the calling thread as one of the agent's own threads.
    pub fn own(&self, tid: u32) {
        self.with_live(tid, |live, life, sampling| {
            live.own = true;
            life.own = true;
            live.choose(tid, life, sampling);
        });
    }

    /// Handles the end of a thread, on that thread. It signals the engine's pending intervals
    /// first, then removes the entry.
    pub fn leave(&self, tid: u32) {
        if let Some(name) = kernel_name::of_calling_thread() {
            self.native_name(tid, &name);
        }
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        let Some(live) = live.get_mut(&tid) else { return };
        let life = lives.get(&live.serial);
        let java = life.is_some_and(|life| life.java);
        let cpu = clock::own_cpu();
        let events = arming.sampling.as_ref().filter(|sampling| sampling.uses_events());
        if let (Some(life), Some(sampling)) = (life.filter(|_| live.is_armed()), events) {
            arming.brief.ended(cpu.saturating_sub(life.cpu_start), sampling.period_nanos());
        }
        live.pay(tid, cpu, java, arming);
        let serial = live.serial;
        self.forget(&mut inner, tid);
        inner.left.insert(tid, serial);
    }

    /// Returns the serial of the youngest thread.
    pub fn youngest(&self) -> u32 {
        self.inner.lock().last_serial
    }

    /// Drops the entries of threads that `list`, the kernel's list, no longer has. `youngest` is
    /// read before the list: threads entered later need not be in it. If a thread ends while the
    /// list is read, the kernel may leave out live threads. Each missing thread is therefore
    /// checked separately.
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

    /// Returns true if the thread has an entry and a final name.
    pub fn known(&self, tid: u32) -> bool {
        let now = clock::monotonic();
        let inner = self.inner.lock();
        inner
            .live
            .get(&tid)
            .and_then(|live| inner.lives.get(&live.serial))
            .is_some_and(|life| life.is_named(now))
    }

    /// Runs `ask` on the thread record with this serial. Returns `None` if the thread is not in
    /// this recording.
    pub fn life<R>(&self, serial: u32, ask: impl FnOnce(&Life) -> R) -> Option<R> {
        self.inner.lock().lives.get(&serial).map(ask)
    }

    /// Runs `ask` on the record of a thread. `cpu` is its CPU clock when it was sampled.
    pub fn life_at_sample<R>(&self, serial: u32, cpu: u64, ask: impl FnOnce(&Life) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        let life = inner.lives.get_mut(&serial)?;
        life.ran_until(cpu);
        Some(ask(life))
    }

    /// Takes the pending intervals of threads that have ended, or changed their name or kind.
    pub fn take_unsignalled(&self) -> Vec<Unsignalled> {
        take(&mut self.inner.lock().arming.unsignalled)
    }

    /// Removes the threads that had ended at `time`. Returns their records in the order in which
    /// they began.
    pub fn take_ended(&self, time: u64) -> Vec<Life> {
        let mut inner = self.inner.lock();
        let Inner { lives, ended, .. } = &mut *inner;
        let had_ended = |life: &Life| life.ended.is_some_and(|ended| ended <= time);
        let count = ended.partition_point(|serial| lives.get(serial).is_some_and(had_ended));
        let mut taken: Vec<Life> = ended.drain(..count).filter_map(|serial| lives.remove(&serial)).collect();
        drop(inner);
        taken.sort_unstable_by_key(|life| life.serial);
        taken
    }

    /// Visits all thread records in the registry, in the order in which the threads began.
    pub fn each_life(&self, mut see: impl FnMut(&Life)) {
        let inner = self.inner.lock();
        let mut lives: Vec<_> = inner.lives.values().collect();
        lives.sort_by_key(|life| life.serial);
        lives.into_iter().for_each(&mut see);
    }

    /// Returns the threads that wait now, and what they wait for.
    pub fn waiting(&self) -> Vec<Waiting> {
        let inner = self.inner.lock();
        let waiting = |(tid, live): (&u32, &Live)| {
            Some(Waiting { tid: *tid, serial: live.serial, wait: live.slot?.wait()? })
        };
        inner.live.iter().filter_map(waiting).collect()
    }

    /// Returns true if the thread still waits for the same thing.
    pub fn still_waits(&self, waiting: &Waiting) -> bool {
        let slot = self.slot(waiting.tid, waiting.serial);
        slot.is_some_and(|(slot, _)| slot.wait() == Some(waiting.wait))
    }

    /// Runs `change` on the thread's entry, which is made if it does not exist yet.
    fn with_live(&self, tid: u32, change: impl FnOnce(&mut Live, &mut Life, &mut Arming)) {
        self.with_live_of(&mut self.inner.lock(), tid, change);
    }

    fn with_live_of(
        &self,
        inner: &mut Inner,
        tid: u32,
        change: impl FnOnce(&mut Live, &mut Life, &mut Arming),
    ) {
        let Inner { last_serial, live, lives, arming, .. } = inner;
        let live = live.entry(tid).or_insert_with(|| {
            *last_serial += 1;
            let serial = *last_serial;
            let now = clock::monotonic();
            let cpu = clock::thread_cpu(tid).unwrap_or(0).saturating_sub(arming.age(now));
            let mut fresh = Live::new(serial, self.slots.insert(tid, serial));
            let life = lives.entry(serial).or_insert(Life::new(serial, tid, now, cpu));
            fresh.choose(tid, life, arming);
            fresh
        });
        if let Some(life) = lives.get_mut(&live.serial) {
            change(live, life, arming);
        }
    }

    /// Runs `change` on the thread's entry if there is one. A report about a thread may arrive
    /// after it has ended.
    fn with_known(&self, tid: u32, change: impl FnOnce(&mut Live, &mut Life, &mut Arming)) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        if let Some(live) = live.get_mut(&tid)
            && let Some(life) = lives.get_mut(&live.serial)
        {
            change(live, life, arming);
        }
    }

    fn forget(&self, inner: &mut Inner, tid: u32) {
        let Some(mut live) = inner.live.remove(&tid) else { return };
        live.disarm();
        self.slots.remove(tid);
        let Inner { lives, ended, arming, .. } = inner;
        if let Some(life) = lives.get_mut(&live.serial) {
            if arming.sampling.is_some() {
                life.ran_until(clock::thread_cpu(tid).unwrap_or(0));
            }
            life.ended = Some(clock::monotonic());
        }
        if arming.recording {
            ended.push_back(live.serial);
        } else {
            lives.remove(&live.serial);
        }
    }
}
