//! The threads of the process, from their first instruction to their last.
//!
//! A thread is met in one of four ways: its `pthread_create` goes through [`hook`], JVMTI tells of
//! its start, [`scan`] finds it in the kernel's list, or it was there before the agent ([`late`]).
//! Whichever comes first makes its entry here; the others complete it. This file keeps the entries;
//! [`live`] has a thread's slot for the handler and its engine, [`sampling`] what a recording does
//! to all of them. None knows more of samples than what is owed.

mod arming;
pub mod hook;
mod java_side;
mod kernel_name;
pub mod late;
mod life;
mod live;
pub mod live_java_threads;
pub mod present;
pub mod rename;
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
use vouch_signal::slots::{Slots, Wait};

use crate::clock;
use crate::contexts::Cell;
use crate::groups;
use crate::untouched::Untouched;

pub use life::{Life, MAX_NAME_CHARS, NameId, names_cut};
use live::Live;
use sampling::Arming;
pub use sampling::{Debt, Sampling, Unsignalled};
pub use send::signal;

/// How many threads can be alive at once and still be known to the handler; beyond, they are
/// sampled without a Java stack.
const SLOTS: usize = 1 << 16;

static REGISTRY: Lazy<Registry> = Lazy::new(|| Registry::new(SLOTS));

/// The one registry of the process.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// All entries.
#[derive(Debug)]
pub struct Registry {
    slots: Slots<'static>,
    inner: Mutex<Inner>,
    /// Held while something is asked of a JavaThread: its thread's end waits for it. No JVM event
    /// but that end takes it, so that its holder may wait for a safepoint to end.
    stays: Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    last_serial: u32,
    live: HashMap<u32, Live>,
    /// By serial: the threads of this recording, with those that ended a moment ago.
    lives: HashMap<u32, Life>,
    /// The serials of those that ended, in the order in which they did.
    ended: VecDeque<u32>,
    arming: Arming,
    compilers_together: bool,
    /// Threads that have said farewell, and that the kernel still lists, with their serials: they
    /// are not to be met again.
    left: HashMap<u32, u32>,
}

/// A thread that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub tid: u32,
    pub serial: u32,
    pub wait: Wait,
}

impl Registry {
    /// With so many slots, whose memory is never given back: a handler may look at it at any time.
    pub fn new(slots: usize) -> Self {
        // Most are never used, and no memory is taken for those until then. SAFETY: a slot consists
        // of numbers and pointers, each of which may be zero; and that it is free then a test of
        // its own says.
        let memory = unsafe { Untouched::new(slots) };
        Self { slots: Slots::new(memory.leak()), inner: Mutex::default(), stays: Mutex::default() }
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

    /// A new thread says that it begins: whatever is known under its id belongs to one that is
    /// gone.
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
        self.java_begins(&mut self.inner.lock(), tid, env, java_thread, name);
    }

    /// A Java thread was found that had begun before anybody looked. False for one that has said
    /// meanwhile that it ends, or that it is another now: it knows better.
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
                // It was a Java thread before, and has attached anew: the main thread does at the
                // end. What it owes is of what it was.
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

    /// A Java thread ends, on itself: its JNIEnv is about to be freed.
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
            // Whoever has found it may have been about to enter it.
            live.is_over = true;
            if let Some(slot) = live.slot {
                slot.set_env(std::ptr::null_mut());
            }
            // Only here: what a thread does behind our back at its very end may still be Java. A
            // cell that nobody gives back is lost.
            live.give_cells_back();
            // The JVM gives the place to another thread soon, maybe before this one leaves.
            live.java_thread = 0;
            if arming.sampling.is_some() {
                life.ran_until(cpu);
            }
        });
    }

    /// Where the calling thread's Java code says whose work it does; `None` if it is about to be
    /// gone.
    pub fn cell(&self, tid: u32) -> Option<&'static Cell> {
        self.of_caller(tid, Live::cell)
    }

    /// Where it sees that it was taken off its processor; `None` if it can have none.
    pub fn switches(&self, tid: u32) -> Option<NonNull<u8>> {
        self.of_caller(tid, |live| live.switches(tid)).flatten()
    }

    /// Where it adds up its tasks of a group; the same.
    pub fn sums(&self, tid: u32, group: u32) -> Option<&'static groups::Cell> {
        self.of_caller(tid, |live| live.sums(group)).flatten()
    }

    /// What a thread that runs Java has for itself.
    fn of_caller<T>(&self, tid: u32, ask: impl FnOnce(&mut Live) -> T) -> Option<T> {
        let mut inner = self.inner.lock();
        if inner.left.contains_key(&tid) {
            return None;
        }
        let mut answer = None;
        self.with_live_of(&mut inner, tid, |live, _, _| answer = Some(ask(live)));
        answer
    }

    /// The thread with this id and serial has this name since `now`.
    pub fn renamed(&self, (tid, serial): (u32, u32), name: &str, now: u64) {
        self.with_known(tid, |live, life, arming| {
            if live.serial == serial {
                live.rename(tid, name, now, life, arming);
            }
        });
    }

    /// The kernel's name of a thread that has no Java name. Nothing happens if the thread has left
    /// meanwhile.
    pub fn native_name(&self, tid: u32, kernel: &str) {
        let place = {
            let inner = self.inner.lock();
            let life = |live: &Live| inner.lives.get(&live.serial);
            if inner.live.get(&tid).and_then(life).is_none_or(|life| life.java) {
                return;
            }
            let alike =
                |life: &&Life| kernel_name::alike(kernel, &life.kernel_name, inner.compilers_together);
            // The kernel's ids tell who was made first; they may have begun to run in another
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

    /// A thread ends, on itself. What its engine still owes is signalled first; then it is
    /// forgotten.
    pub fn leave(&self, tid: u32) {
        if let Some(name) = kernel_name::of_calling_thread() {
            self.native_name(tid, &name);
        }
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        let Some(live) = live.get_mut(&tid) else { return };
        let java = lives.get(&live.serial).is_some_and(|life| life.java);
        live.pay(tid, java, arming);
        let serial = live.serial;
        self.forget(&mut inner, tid);
        inner.left.insert(tid, serial);
    }

    /// The serial of the youngest thread.
    pub fn youngest(&self) -> u32 {
        self.inner.lock().last_serial
    }

    /// Drops the entries of threads that `list`, the kernel's, no longer has. Who came after
    /// `youngest`, as it was before the list was read, need not be in it. And where a thread ends
    /// while the list is read, the kernel leaves out some that live: so who is not in it is asked
    /// for by itself.
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

    /// A thread's life, by serial; `None` if it was none of this recording's.
    pub fn life<R>(&self, serial: u32, ask: impl FnOnce(&Life) -> R) -> Option<R> {
        self.inner.lock().lives.get(&serial).map(ask)
    }

    /// The same of a thread that had come so far by its CPU clock when it was sampled.
    pub fn life_at_sample<R>(&self, serial: u32, cpu: u64, ask: impl FnOnce(&Life) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        let life = inner.lives.get_mut(&serial)?;
        life.ran_until(cpu);
        Some(ask(life))
    }

    /// What threads owed that have ended, or become others.
    pub fn take_unsignalled(&self) -> Vec<Unsignalled> {
        take(&mut self.inner.lock().arming.unsignalled)
    }

    /// Threads that had ended at that time are forgotten: their lives, in the order in which they
    /// began.
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

    /// The lives of all threads that have not been forgotten, in the order in which they began.
    pub fn each_life(&self, mut see: impl FnMut(&Life)) {
        let inner = self.inner.lock();
        let mut lives: Vec<_> = inner.lives.values().collect();
        lives.sort_by_key(|life| life.serial);
        lives.into_iter().for_each(&mut see);
    }

    /// Who waits now, and for what.
    pub fn waiting(&self) -> Vec<Waiting> {
        let inner = self.inner.lock();
        let waiting = |(tid, live): (&u32, &Live)| {
            Some(Waiting { tid: *tid, serial: live.serial, wait: live.slot?.wait()? })
        };
        inner.live.iter().filter_map(waiting).collect()
    }

    /// True if that is what the thread waits for still.
    pub fn still_waits(&self, waiting: &Waiting) -> bool {
        let slot = self.slot(waiting.tid, waiting.serial);
        slot.is_some_and(|(slot, _)| slot.wait() == Some(waiting.wait))
    }

    /// Runs `change` on the thread's entry, which is made if there is none.
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

    /// Runs `change` on the thread's entry, if there is one: what is told of a thread may be told
    /// when it has left.
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
