//! What a recording does to all threads: it arms and disarms them. At the end it counts the
//! intervals for which no signal came.
//!
//! It must never count them while a handler may still take a sample, because that time would be
//! counted twice.

use std::mem::take;

use vouch_sample::Unsignalled;

use super::brief_threads::{self, BriefThreads};
use super::life::Life;
use super::sampling::{Arming, Sampling};
use super::{Inner, Registry};
use crate::clock;
use crate::engine::Engine;

impl Registry {
    /// Starts the engine for all threads, including threads that begin later.
    pub fn begin_sampling(&self, sampling: Sampling) {
        let mut inner = self.inner.lock();
        let now = clock::monotonic();
        let Inner { live, lives, arming, .. } = &mut *inner;
        arming.brief = BriefThreads::default();
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

    /// Stops the engine for all threads, and records the CPU time that each has used.
    pub fn end_sampling(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        // The engine may have been stopped already. CPU time after that is not part of the
        // recording.
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

    /// Pauses the interrupts. CPU time during the pause counts for each thread's next sample.
    pub fn pause(&self) {
        self.set_paused(true);
    }

    /// Ends a pause.
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

    /// Sets the longer period after signals became rarer. Handlers set it themselves, except for
    /// threads without a slot.
    pub fn lengthen(&self) {
        let inner = self.inner.lock();
        let Some(sampling) = &inner.arming.sampling else { return };
        for live in inner.live.values().filter(|live| live.slot.is_none()) {
            live.repeat(sampling.interval);
        }
    }

    /// Replaces perf events by timers, also for threads that begin later. A thread keeps its event
    /// if no timer is available.
    pub fn relieve(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, arming, .. } = &mut *inner;
        let Some(sampling) = &mut arming.sampling else { return };
        sampling.engine = Engine::Timer;
        let interval = sampling.interval;
        for (tid, live) in live {
            // A thread that has just ended needs no timer.
            let _ = live.relieve(*tid, interval);
        }
    }

    /// Opens perf events for the threads that began with a timer and have outlived it. A thread
    /// keeps its timer if it has ended meanwhile, or if no event is available.
    pub fn replace_timers(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, arming, .. } = &mut *inner;
        let Arming { sampling: Some(sampling), brief, .. } = arming else { return };
        if sampling.paused || !sampling.uses_events() {
            return;
        }
        brief.waiting.retain(|(tid, serial)| {
            // The id may be another thread's by now.
            let Some(live) = live.get_mut(tid).filter(|live| live.serial == *serial) else { return false };
            let (Some(life), Some(cpu)) = (lives.get(serial), clock::thread_cpu(*tid)) else { return false };
            let is_grown = brief_threads::is_grown(life.cpu_start, cpu, sampling.period_nanos());
            if is_grown {
                // A thread that has just ended needs no event.
                let _ = live.replace_timer(*tid, cpu, sampling);
            }
            !is_grown
        });
    }

    /// Returns the intervals that were due and had no signal. The period ends at the engine's stop,
    /// or covers a closed gate or paused sampler while the engine runs on. Call this only after the
    /// last handler has returned.
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
            if let Some(pending_intervals) = live.settle(interval) {
                owed.push(pending_intervals.of_thread(*tid, live.serial, life.java));
            }
        }
        arming.ending = None;
        owed
    }

    /// Ends a recording that has been written, and removes the ended threads.
    pub fn end_recording(&self) {
        let mut inner = self.inner.lock();
        let Inner { live, lives, ended, arming, .. } = &mut *inner;
        arming.recording = false;
        ended.clear();
        lives.retain(|_, life| live.get(&life.tid).is_some_and(|live| live.serial == life.serial));
    }

    /// Reads the CPU clocks of all live threads. Does nothing if the engine has been stopped,
    /// because later CPU time is not part of the recording.
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

    /// Begins a period of the recording, which goes on. Visits each thread record before its names
    /// and CPU times begin anew. No CPU time is between the two, because the lock is held.
    pub fn begin_period(&self, now: u64, mut see: impl FnMut(&Life)) {
        let mut inner = self.inner.lock();
        let Inner { lives, arming, .. } = &mut *inner;
        arming.began = now;
        let mut lives: Vec<&mut Life> = lives.values_mut().collect();
        lives.sort_by_key(|life| life.serial);
        for life in lives {
            see(life);
            life.begin_period(now);
        }
    }

    /// Returns how many threads of the present or last recording began with a timer.
    pub fn begun_with_timer(&self) -> u64 {
        self.inner.lock().arming.brief.begun
    }

    /// Returns how many threads the engine could not be armed for, and the last reason.
    pub fn unarmed(&self) -> Option<(u64, String)> {
        let inner = self.inner.lock();
        let Arming { unarmed, unarmed_why, .. } = &inner.arming;
        unarmed_why.clone().map(|why| (*unarmed, why))
    }
}
