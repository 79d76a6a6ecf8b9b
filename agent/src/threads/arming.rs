//! What a recording does to all threads: it has them armed, disarmed, and settles what they owe
//! where no signal came.
//!
//! It must never settle while a handler may still take a sample: that time would be counted twice.

use std::mem::take;

use super::sampling::{Arming, Sampling, Unsignalled};
use super::{Inner, Registry};
use crate::clock;
use crate::engine::Engine;

impl Registry {
    /// Starts the engine for all threads, and for those to come.
    pub fn begin_sampling(&self, sampling: Sampling) {
        let mut inner = self.inner.lock();
        let now = clock::monotonic();
        let Inner { live, lives, arming, .. } = &mut *inner;
        arming.unarmed = 0;
        arming.unarmed_why = None;
        arming.sampling = Some(sampling);
        arming.unsignalled.clear();
        arming.began = now;
        arming.recording = true;
        for (tid, live) in live.iter() {
            if let Some(life) = lives.get_mut(&live.serial) {
                life.restart(now, clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
        let tids: Vec<u32> = live.keys().copied().collect();
        drop(inner);
        for tid in tids {
            self.with_known(tid, |live, life, arming| live.choose(tid, life, arming));
        }
    }

    /// Stops the engine for all threads, and notes what CPU time they had.
    pub fn end_sampling(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        // It may have been stopped already: what the threads ran since then is none of the
        // recording's.
        let Some(sampling) = arming.sampling.take() else { return };
        arming.ending = Some(sampling);
        for (tid, live) in live {
            let cpu = clock::thread_cpu(*tid);
            live.stop(cpu);
            if let Some(life) = lives.get_mut(&live.serial) {
                life.ran_until(cpu.unwrap_or(0));
            }
        }
    }

    /// No interrupts for a while. What threads run meanwhile is their next samples'.
    pub fn pause(&self) {
        self.set_paused(true);
    }

    /// The end of a pause.
    pub fn resume(&self) {
        self.set_paused(false);
    }

    fn set_paused(&self, paused: bool) {
        let mut inner = self.inner.lock();
        let Inner { live, arming, .. } = &mut *inner;
        let Some(sampling) = &mut arming.sampling else { return };
        sampling.paused = paused;
        for live in live.values() {
            live.pause(paused);
        }
    }

    /// Signals have become rarer. Handlers see to it themselves, but for threads without a slot.
    pub fn lengthen(&self) {
        let inner = self.inner.lock();
        let Some(sampling) = &inner.arming.sampling else { return };
        for live in inner.live.values().filter(|live| live.slot.is_none()) {
            live.repeat(sampling.interval);
        }
    }

    /// Timers take the place of perf's events, also of threads to come. A thread for which there is
    /// none keeps its event.
    pub fn relieve(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, arming, .. } = &mut *inner;
        let Some(sampling) = &mut arming.sampling else { return };
        sampling.engine = Engine::Timer;
        let interval = sampling.interval;
        for (tid, live) in live {
            // One that has just ended needs none.
            let _ = live.relieve(*tid, interval);
        }
    }

    /// What was due, and was not signalled: until the engine was stopped, or, where it goes on,
    /// while the gate was closed or the rig paused. To be asked when the last handler has ended.
    pub fn settle(&self) -> Vec<Unsignalled> {
        self.refresh_cpu();
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        let mut owed = take(&mut arming.unsignalled);
        let Some(interval) = arming.present().map(|sampling| sampling.interval) else { return owed };
        for (tid, live) in live {
            let Some(life) = lives.get(&live.serial) else { continue };
            if arming.sampling.is_some() {
                live.come_to(life.cpu_now);
            }
            if let Some(debt) = live.settle(interval) {
                owed.push(Unsignalled { tid: *tid, serial: live.serial, debt, java: life.java });
            }
        }
        arming.ending = None;
        owed
    }

    /// The recording has been written: those that have ended are forgotten.
    pub fn end_recording(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, ended, arming, .. } = &mut *inner;
        arming.recording = false;
        ended.clear();
        lives.retain(|_, life| live.get(&life.tid).is_some_and(|live| live.serial == life.serial));
    }

    /// Reads the CPU clocks of all live threads, unless the engine has been stopped: then what they
    /// run is none of the recording's any more.
    pub fn refresh_cpu(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        if arming.sampling.is_none() {
            return;
        }
        for (tid, live) in live {
            if let Some(life) = lives.get_mut(&live.serial) {
                life.ran_until(clock::thread_cpu(*tid).unwrap_or(0));
            }
        }
    }

    /// How many threads the engine could not be armed for, and why.
    pub fn unarmed(&self) -> Option<(u64, String)> {
        let inner = self.inner.lock();
        let Arming { unarmed, unarmed_why, .. } = &inner.arming;
        unarmed_why.clone().map(|why| (*unarmed, why))
    }
}
