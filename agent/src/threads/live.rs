//! A thread that exists: its slot for the handler, and its engine.
//!
//! Here it is decided whether a thread is sampled, and what its engine still owes it at its end.

use std::time::Duration;

use vouch_signal::slots::Slot;

use super::{Life, Sampling};
use crate::clock;
use crate::engine::Armed;

/// A thread that exists.
#[derive(Debug)]
pub struct Live {
    pub serial: u32,
    pub slot: Option<&'static Slot>,
    armed: Option<Armed>,
    /// Where the JVM keeps its side of a Java thread, as a number; 0 if unknown.
    pub java_thread: usize,
    /// The agent's own: never sampled, never shown.
    pub own: bool,
}

/// What is needed to arm a thread.
pub struct Arming<'a> {
    pub sampling: Option<&'a Sampling>,
    pub unarmed: &'a mut u64,
    pub unarmed_why: &'a mut Option<String>,
    pub random: &'a mut u64,
}

impl Live {
    pub fn new(serial: u32, slot: Option<&'static Slot>) -> Self {
        Self { serial, slot, armed: None, java_thread: 0, own: false }
    }

    /// Arms or disarms the thread, by what is known of it.
    pub fn choose(&mut self, tid: u32, life: &mut Life, arming: &mut Arming<'_>) {
        let wanted = arming.sampling.filter(|sampling| {
            // Under a filter a thread without a name yet is not sampled.
            !self.own && sampling.filter.as_ref().is_none_or(|filter| life.name_matches(filter))
        });
        if let Some(slot) = self.slot {
            slot.set_excluded(wanted.is_none());
        }
        life.sampled |= wanted.is_some();
        match wanted {
            None => self.disarm(),
            Some(sampling) if self.armed.is_none() => self.arm(tid, sampling, arming),
            Some(_) => {}
        }
    }

    /// Starts the engine, with a random first period.
    fn arm(&mut self, tid: u32, sampling: &Sampling, arming: &mut Arming<'_>) {
        let interval = nanos(sampling.interval);
        let phase = random_phase(arming.random, interval);
        if let Some(slot) = self.slot {
            let lacking = interval.saturating_sub(phase);
            slot.begin(clock::thread_cpu(tid).unwrap_or(0).wrapping_sub(lacking));
        }
        match sampling.engine.arm(tid, sampling.interval, Duration::from_nanos(phase)) {
            Ok(armed) => self.armed = Some(armed),
            // A thread that has just ended is no failure of the engine's; the kernel has more than one word for it.
            Err(_) if clock::thread_cpu(tid).is_none() => {}
            Err(error) => {
                *arming.unarmed += 1;
                *arming.unarmed_why = Some(error.to_string());
            }
        }
        if let (Some(Armed::Perf(event)), Some(slot)) = (&self.armed, self.slot) {
            slot.set_first_period(event.descriptor());
        }
    }

    pub fn disarm(&mut self) {
        if let Some(slot) = self.slot {
            slot.set_first_period(-1);
        }
        self.armed = None;
    }

    /// The intervals that no sample stands for: those since the kernel last looked, or, with perf, those that the
    /// handler kept for the next sample.
    pub fn owed(&self, tid: u32, interval: Duration) -> Option<u32> {
        let slot = self.slot?;
        let owed = match self.armed.as_ref()? {
            Armed::Perf(_) => slot.take_folded(),
            Armed::Timer(_) | Armed::Process => slot.due(clock::thread_cpu(tid)?, nanos(interval)),
        };
        Some(owed).filter(|owed| *owed > 0)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// A time from 10 µs (less the kernel rounds up) to the interval. Without it, threads that live for less than an
/// interval would never be seen, and all others for one interval too little.
fn random_phase(state: &mut u64, interval: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % interval).max(10_000)
}
