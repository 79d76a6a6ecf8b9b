//! A thread that exists: its slot for the handler, and its engine.
//!
//! Here it is decided whether a thread is sampled, and what its engine still owes it at its end.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vouch_signal::phase::Phase;
use vouch_signal::sampler::STRIDE;
use vouch_signal::slots::Slot;

use super::life::Life;
use super::sampling::{Arming, Debt, Sampling, Unsignalled};
use super::send::signal;
use crate::clock;
use crate::contexts::{Cell, contexts};
use crate::engine::{Armed, Engine, poll};
use crate::groups::switches::Switches;
use crate::groups::{self, groups};

/// A thread that exists.
#[derive(Debug)]
pub struct Live {
    pub serial: u32,
    pub slot: Option<&'static Slot>,
    armed: Option<Armed>,
    /// Until it is settled what the thread owes.
    come: Option<Come>,
    /// Where the JVM keeps its side of a Java thread, as a number; 0 if unknown.
    pub java_thread: usize,
    /// It has said that it is no Java thread any more.
    pub is_over: bool,
    /// Where the thread's Java code says whose work it does.
    cell: Option<&'static Cell>,
    /// Where it sees that it was taken off its processor, if it does tasks of groups.
    switches: Option<Switches>,
    /// Where it adds up its tasks of each group, by their numbers.
    sums: Vec<(u32, &'static groups::Cell)>,
    /// The agent's own: never sampled, never shown.
    pub own: bool,
}

/// How far a thread has come, when that was, by its CPU clock, and whether it is the signals that
/// tell what it owes.
#[derive(Debug)]
struct Come {
    time: u64,
    cpu: u64,
    by_signals: bool,
    polled: bool,
}

impl Live {
    pub fn new(serial: u32, slot: Option<&'static Slot>) -> Self {
        Self {
            serial,
            slot,
            armed: None,
            come: None,
            java_thread: 0,
            is_over: false,
            cell: None,
            switches: None,
            sums: Vec::new(),
            own: false,
        }
    }

    /// Where the thread says for whom it works, which it gets if it has none.
    pub fn cell(&mut self) -> &'static Cell {
        let cell = *self.cell.get_or_insert_with(|| contexts().cell());
        if let Some(slot) = self.slot {
            slot.set_thread_context(Some(cell.purpose()));
        }
        cell
    }

    /// The page in which the thread sees how often it was taken off its processor, which it gets if
    /// it has none; `None` if it can have none.
    pub fn switches(&mut self, tid: u32) -> Option<NonNull<u8>> {
        if self.switches.is_none() {
            self.switches = Switches::of(tid).ok();
        }
        self.switches.as_ref().map(Switches::page)
    }

    /// Where the thread adds up its tasks of a group, which it gets if it has no place; `None` if
    /// it can have none.
    pub fn sums(&mut self, group: u32) -> Option<&'static groups::Cell> {
        if let Some((_, cell)) = self.sums.iter().find(|(known, _)| *known == group) {
            return Some(cell);
        }
        let cell = groups().cell(group)?;
        self.sums.push((group, cell));
        Some(cell)
    }

    /// The thread runs no Java any more: its cells are another one's.
    pub fn give_cells_back(&mut self) {
        for (group, cell) in self.sums.drain(..) {
            groups().give_back(group, cell);
        }
        let Some(cell) = self.cell.take() else { return };
        if let Some(slot) = self.slot {
            slot.set_thread_context(None);
        }
        contexts().give_back(cell);
    }

    /// Arms or disarms the thread, by what is known of it.
    pub fn choose(&mut self, tid: u32, life: &mut Life, arming: &mut Arming) {
        let sampling = arming.sampling.as_ref().filter(|s| !self.own && s.wants(life.present_name()));
        let Some(sampling) = sampling else { return self.disarm() };
        // Under a filter, what the thread ran before it had its name is not asked for.
        let from = Some(life.cpu_start).filter(|_| !life.sampled && sampling.filter.is_none());
        life.sampled = true;
        if self.armed.is_some() {
            return;
        }
        if let Err(error) = self.arm(tid, from, sampling, arming.random.u64(..)) {
            self.disarm();
            // A thread that has just ended is no failure of the engine's; the kernel has more than
            // one word for it.
            if clock::thread_cpu(tid).is_some() {
                arming.unarmed += 1;
                arming.unarmed_why = Some(error.to_string());
            }
        }
    }

    /// Starts the engine, for all that the thread runs since its CPU clock was at `from`, or since
    /// now.
    fn arm(&mut self, tid: u32, from: Option<u64>, sampling: &Sampling, random: u64) -> io::Result<()> {
        let interval = nanos(sampling.interval);
        let now = clock::thread_cpu(tid).unwrap_or(0);
        let stride = STRIDE.load(Ordering::Relaxed);
        let period = interval.saturating_mul(stride.into());
        let mut phase = Phase::draw(random, from.unwrap_or(now), now, period);
        if self.slot.is_none() {
            // Its handler cannot find the event, so the first period has to stay the right one.
            phase.first = period;
        }
        let first = Duration::from_nanos(phase.first);
        let armed = sampling.engine.prepare(tid, first)?;
        if let Some(slot) = self.slot {
            // All that the handler needs, before the first signal.
            slot.begin(phase.base, stride);
            slot.set_beginning(armed.descriptor(), phase.late);
            slot.set_excluded(false);
        }
        // A pause ends by starting what pauses.
        if !(sampling.paused && armed.pauses()) {
            armed.start(Duration::from_nanos(period), first)?;
        }
        self.armed = Some(armed);
        Ok(())
    }

    /// Has the thread's engine pause, or go on.
    pub fn pause(&self, paused: bool) {
        match &self.armed {
            Some(armed) if paused => armed.pause(),
            Some(armed) => armed.resume(),
            None => {}
        }
    }

    /// Has a timer do what the thread's perf event did. What is due stays so: it is told by the
    /// thread's CPU clock, whoever signals.
    pub fn relieve(&mut self, tid: u32, interval: Duration) -> io::Result<()> {
        if !matches!(self.armed, Some(Armed::Perf(_))) {
            return Ok(());
        }
        let period = interval * STRIDE.load(Ordering::Relaxed);
        let timer = Engine::Timer.prepare(tid, period)?;
        timer.start(period, period)?;
        if let Some(slot) = self.slot {
            slot.end_event();
        }
        self.armed = Some(timer);
        Ok(())
    }

    /// The present stride's period, for an event that no handler finds.
    pub fn repeat(&self, interval: Duration) {
        if let Some(armed) = &self.armed {
            armed.repeat(interval * STRIDE.load(Ordering::Relaxed));
        }
    }

    /// The thread has this name since `now`, by which it may come into the recording, or leave it.
    pub fn rename(&mut self, tid: u32, name: &str, now: u64, life: &mut Life, arming: &mut Arming) {
        let leaves = arming.sampling.as_ref().is_some_and(|sampling| !sampling.wants(Some(name)));
        let now = if leaves && tid == clock::own_tid() {
            // What it owes is of its old name.
            self.pay(tid, life.java, arming);
            clock::monotonic()
        } else {
            now
        };
        let cpu = if arming.sampling.is_some() { clock::thread_cpu(tid).unwrap_or(0) } else { life.cpu_now };
        life.rename(name, now, cpu);
        self.choose(tid, life, arming);
    }

    pub fn disarm(&mut self) {
        if let Some(slot) = self.slot {
            slot.set_excluded(true);
            slot.end_event();
        }
        self.armed = None;
    }

    /// Disarms the thread, whose CPU clock is at `cpu`, unless it has ended.
    pub fn stop(&mut self, cpu: Option<u64>) {
        if let Some(cpu) = cpu {
            self.come_to(cpu);
        }
        self.disarm();
    }

    /// Notes how far the thread has come: what it owes until then can be settled.
    pub fn come_to(&mut self, cpu: u64) {
        if let Some(armed) = &self.armed {
            // An engine that is blind inside the kernel tells by its signals what there was to see,
            // and by the clock only what was due before the first of them.
            let begun = self.slot.is_some_and(|slot| slot.beginning().is_none());
            let by_signals = begun && matches!(armed, Armed::Perf(event) if event.user_only());
            let polled = matches!(armed, Armed::Watched(_));
            self.come = Some(Come { time: clock::monotonic(), cpu, by_signals, polled });
        }
    }

    /// The intervals until there that no sample stands for; none will.
    ///
    /// To be asked when no handler can take a sample of this thread any more: a signal that was on
    /// its way would be counted twice.
    pub fn settle(&mut self, interval: Duration) -> Option<Debt> {
        let (Come { time, cpu, by_signals, polled }, slot) = (self.come.take()?, self.slot?);
        let weight = if by_signals {
            let weight = slot.take_signals();
            slot.pending.count(weight);
            weight
        } else if polled {
            let weight = poll::settle(slot.pending.balance(cpu, nanos(interval)));
            slot.pending.flush(cpu, nanos(interval));
            weight
        } else {
            slot.pending.flush(cpu, nanos(interval))
        };
        (weight > 0).then_some(Debt { weight, time, cpu })
    }

    /// Stops the calling thread's engine, and signals what no sample stands for. If the engine was
    /// stopped before, what the thread does now is not what it owes.
    pub fn pay(&mut self, tid: u32, java: bool, arming: &mut Arming) {
        self.stop(Some(clock::own_cpu()));
        self.pay_what_is_due(tid, java, arming);
    }

    /// The same of a thread whose engine goes on. What it did since its last sample gets no stack,
    /// so this is not for a thread that is in the midst of something.
    pub fn pay_so_far(&mut self, tid: u32, java: bool, arming: &mut Arming) {
        let Some(slot) = self.slot.filter(|slot| self.armed.is_some() && slot.beginning().is_none()) else {
            return;
        };
        slot.set_excluded(true);
        self.come_to(clock::own_cpu());
        self.pay_what_is_due(tid, java, arming);
        slot.set_excluded(false);
    }

    /// Of the calling thread, which is excluded, up to where it has come.
    fn pay_what_is_due(&mut self, tid: u32, java: bool, arming: &mut Arming) {
        // It handles its signals itself, and none while it is excluded: all that were to be taken
        // have been.
        let Some(interval) = arming.present().map(|sampling| sampling.interval) else { return };
        let (Some(mut debt), Some(slot)) = (self.settle(interval), self.slot) else { return };
        if arming.sampling.is_some() {
            slot.set_end_weight(debt.weight);
            slot.set_excluded(false);
            // The handler takes no lock, so it may run while this thread holds one; it does so
            // before this returns.
            signal(tid);
            slot.set_excluded(true);
            // Unless the gate is closed, there is no room for it, or the thread has the signal
            // blocked.
            debt.weight = slot.take_end_weight();
        }
        if debt.weight > 0 {
            arming.unsignalled.push(Unsignalled { tid, serial: self.serial, debt, java });
        }
    }
}

fn nanos(time: Duration) -> u64 {
    clock::nanos(time).max(1)
}
