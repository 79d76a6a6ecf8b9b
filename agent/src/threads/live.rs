//! A thread that exists: its slot for the handler, and its engine.
//!
//! Here it is decided whether a thread is sampled, and what its engine still owes it at its end.

use std::time::Duration;

use fastrand::Rng;
use vouch_signal::phase::Phase;
use vouch_signal::slots::Slot;

use super::{Life, Sampling, signal};
use crate::clock;
use crate::engine::Armed;

/// A thread that exists.
#[derive(Debug)]
pub struct Live {
    pub serial: u32,
    pub slot: Option<&'static Slot>,
    armed: Option<Armed>,
    /// Until it is settled what the thread owes.
    stopped: Option<Stopped>,
    /// Where the JVM keeps its side of a Java thread, as a number; 0 if unknown.
    pub java_thread: usize,
    /// The agent's own: never sampled, never shown.
    pub own: bool,
}

/// What is to be known of a thread that was stopped.
#[derive(Debug)]
struct Stopped {
    /// Its CPU clock then.
    cpu: u64,
    by_signals: bool,
}

/// What is needed to arm a thread.
pub struct Arming<'a> {
    pub sampling: Option<&'a Sampling>,
    pub unarmed: &'a mut u64,
    pub unarmed_why: &'a mut Option<String>,
    pub random: &'a mut Rng,
}

impl Live {
    pub fn new(serial: u32, slot: Option<&'static Slot>) -> Self {
        Self { serial, slot, armed: None, stopped: None, java_thread: 0, own: false }
    }

    /// Arms or disarms the thread, by what is known of it.
    pub fn choose(&mut self, tid: u32, life: &mut Life, arming: &mut Arming<'_>) {
        let wanted = arming.sampling.filter(|sampling| {
            // Under a filter a thread without a name yet is not sampled.
            !self.own && sampling.filter.as_ref().is_none_or(|filter| life.name_matches(filter))
        });
        let first = !life.sampled;
        life.sampled |= wanted.is_some();
        match wanted {
            None => self.disarm(),
            Some(sampling) if self.armed.is_none() => {
                // Under a filter, what the thread ran before it had its name is not asked for.
                let from = Some(life.cpu_start).filter(|_| first && sampling.filter.is_none());
                self.arm(tid, from, sampling, arming);
            }
            Some(_) => {}
        }
    }

    /// Starts the engine, for all that the thread runs since its CPU clock was at `from`, or since now.
    fn arm(&mut self, tid: u32, from: Option<u64>, sampling: &Sampling, arming: &mut Arming<'_>) {
        let interval = nanos(sampling.interval);
        let now = clock::thread_cpu(tid).unwrap_or(0);
        let mut phase = Phase::draw(arming.random.u64(..), from.unwrap_or(now), now, interval);
        if self.slot.is_none() {
            // Its handler cannot find the event, so the first period has to stay the right one.
            phase.first = interval;
        }
        let first = Duration::from_nanos(phase.first);
        let armed = sampling.engine.prepare(tid, first).and_then(|armed| {
            if let Some(slot) = self.slot {
                // All that the handler needs, before the first signal.
                slot.begin(phase.base);
                slot.set_beginning(armed.descriptor(), phase.late);
                slot.set_excluded(false);
            }
            armed.start(sampling.interval, first).map(|()| armed)
        });
        match armed {
            Ok(armed) => self.armed = Some(armed),
            Err(error) => {
                self.disarm();
                // A thread that has just ended is no failure of the engine's; the kernel has more than one word for it.
                if clock::thread_cpu(tid).is_some() {
                    *arming.unarmed += 1;
                    *arming.unarmed_why = Some(error.to_string());
                }
            }
        }
    }

    pub fn disarm(&mut self) {
        if let Some(slot) = self.slot {
            slot.set_excluded(true);
            slot.end_beginning();
        }
        self.armed = None;
    }

    /// Disarms the thread, and notes how far it has come.
    pub fn stop(&mut self, tid: u32) {
        if self.armed.is_some()
            && let Some(cpu) = clock::thread_cpu(tid)
        {
            self.stopped = Some(Stopped { cpu, by_signals: self.by_signals() });
        }
        self.disarm();
    }

    /// The intervals until the stop that no sample stands for.
    ///
    /// To be asked when no handler can take a sample of this thread any more: a signal that was on its way at the stop
    /// would be counted twice.
    pub fn settle(&mut self, interval: Duration) -> Option<u32> {
        let Stopped { cpu, by_signals } = self.stopped.take()?;
        self.owed(cpu, by_signals, interval)
    }

    /// Stops the calling thread's engine, and signals what no sample stands for. Gives what the signal's handler could not
    /// take, with the gate closed or the signal blocked.
    pub fn pay(&mut self, tid: u32, interval: Duration) -> Option<u32> {
        self.stop(tid);
        // Its signals are handled by itself, and from the stop on it is excluded: all that were to be taken have been.
        let weight = self.settle(interval)?;
        let slot = self.slot?;
        slot.owe(weight);
        slot.set_excluded(false);
        // The handler takes no lock, so it may run while this thread holds one; it does so before this returns.
        signal(tid);
        slot.set_excluded(true);
        Some(slot.take_owed()).filter(|owed| *owed > 0)
    }

    /// What `settle` tells, of a thread that goes on: its next sample does not stand for it. No handler may run meanwhile.
    pub fn settle_so_far(&self, tid: u32, interval: Duration) -> Option<u32> {
        self.armed.as_ref()?;
        let owed = self.owed(clock::thread_cpu(tid)?, self.by_signals(), interval)?;
        self.slot?.add_weight(owed);
        Some(owed)
    }

    /// An engine that is blind inside the kernel tells by its signals what there was to see, and by the clock only what was
    /// due before the first of them.
    fn by_signals(&self) -> bool {
        let blind = matches!(&self.armed, Some(Armed::Perf(event)) if event.user_only());
        blind && self.slot.is_some_and(|slot| slot.beginning().is_none())
    }

    fn owed(&self, cpu: u64, by_signals: bool, interval: Duration) -> Option<u32> {
        let slot = self.slot?;
        let owed = if by_signals { slot.take_signals() } else { slot.due(cpu, nanos(interval)) };
        Some(owed).filter(|owed| *owed > 0)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}
