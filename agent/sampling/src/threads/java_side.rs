//! The JVM's side of the threads in the registry: their JavaThreads.

use std::ffi::c_void;

use vouch_signal::slots::Slot;

use super::life::{JavaThread, Life};
use super::live::Live;
use super::{Inner, Registry};
use crate::clock;

impl Registry {
    /// Returns the live Java threads that the recording samples.
    pub fn sampled_java_threads(&self) -> Vec<JavaThread> {
        let inner = self.inner.lock();
        let each = inner.live.iter().filter(|(_, live)| live.java_thread != 0 && !live.own);
        each.filter_map(|(tid, live)| {
            let life = inner.lives.get(&live.serial).filter(|life| life.java && life.sampled)?;
            let Life { started, cpu_start, .. } = *life;
            Some(JavaThread { tid: *tid, serial: live.serial, started, cpu_start })
        })
        .collect()
    }

    /// Returns the kernel id, slot and JNIEnv of the thread with this JavaThread. Returns `None` if
    /// the thread has ended or is unknown.
    pub fn java(&self, java_thread: usize) -> Option<(u32, &'static Slot, *mut c_void)> {
        let inner = self.inner.lock();
        let (tid, live) = inner.java(java_thread)?;
        let slot = live.slot?;
        let env = slot.env();
        (!env.is_null()).then_some((tid, slot, env))
    }

    /// Returns the kernel id and serial of the thread with this JavaThread. The JVM may reuse the
    /// address for another thread as soon as this thread has ended.
    pub fn java_serial(&self, java_thread: usize) -> Option<(u32, u32)> {
        let inner = self.inner.lock();
        inner.java(java_thread).map(|(tid, live)| (tid, live.serial))
    }

    /// Returns a thread's slot and JavaThread by serial, or `None` if the thread has ended.
    pub fn slot(&self, tid: u32, serial: u32) -> Option<(&'static Slot, usize)> {
        let inner = self.inner.lock();
        let live = inner.live.get(&tid).filter(|live| live.serial == serial)?;
        Some((live.slot?, live.java_thread))
    }

    /// Runs `ask` on the JavaThread of a thread that was sampled in Java. The thread cannot end
    /// meanwhile. Returns `None` if it has ended.
    pub fn with_java_thread<R>(&self, tid: u32, serial: u32, ask: impl FnOnce(usize) -> R) -> Option<R> {
        let _stays = self.stays.lock();
        let (slot, java_thread) = self.slot(tid, serial)?;
        (java_thread != 0 && !slot.env().is_null()).then(|| ask(java_thread))
    }
}

impl Inner {
    /// Returns the thread with this JavaThread.
    fn java(&self, java_thread: usize) -> Option<(u32, &Live)> {
        let is_it = |live: &Live| java_thread != 0 && live.java_thread == java_thread;
        // A thread mostly asks about itself.
        let own = self.live.get_key_value(&clock::own_tid()).filter(|(_, live)| is_it(live));
        let found = own.or_else(|| self.live.iter().find(|(_, live)| is_it(live)));
        found.map(|(tid, live)| (*tid, live))
    }
}
