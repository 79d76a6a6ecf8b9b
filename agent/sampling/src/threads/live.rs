//! A live thread: its slot for the handler, and its engine.
//!
//! This module decides whether a thread is sampled, and which intervals of its engine are pending
//! at its end.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vouch_signal::phase::Phase;
use vouch_signal::sampler::STRIDE;
use vouch_signal::slots::Slot;

use super::life::Life;
use super::sampling::{Arming, Debt, Sampling};
use super::send::signal;
use crate::clock;
use crate::context_switches::ContextSwitchPage;
use crate::engine::{Armed, Engine, poll};
use crate::services::services;
use crate::task_sums::TaskSums;
use crate::thread_contexts::{PaddedThreadContext, thread_contexts};

/// A live thread.
#[derive(Debug)]
pub struct Live {
    pub serial: u32,
    pub slot: Option<&'static Slot>,
    armed: Option<Armed>,
    /// The checkpoint up to which intervals are pending. It is `Some` until they are settled.
    checkpoint: Option<Checkpoint>,
    /// The address of the JavaThread; 0 if unknown.
    pub java_thread: usize,
    /// True once the thread has reported its end as a Java thread.
    pub is_over: bool,
    /// The context that the thread's Java code writes.
    thread_context: Option<&'static PaddedThreadContext>,
    /// The page that counts the thread's context switches, if it runs tasks of groups.
    switches: Option<ContextSwitchPage>,
    /// The sums of the thread's tasks of each group, by group number.
    sums: Vec<(u32, &'static TaskSums)>,
    /// True for the agent's own threads, which are never sampled and never shown.
    pub own: bool,
}

/// A checkpoint: the thread's CPU clock, the time of the reading, and whether signals or
/// pollers decide what is pending.
#[derive(Debug)]
struct Checkpoint {
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
            checkpoint: None,
            java_thread: 0,
            is_over: false,
            thread_context: None,
            switches: None,
            sums: Vec::new(),
            own: false,
        }
    }

    /// Returns the thread's context, and assigns one if the thread has none.
    pub fn thread_context(&mut self) -> &'static PaddedThreadContext {
        let thread_context = *self.thread_context.get_or_insert_with(|| thread_contexts().take());
        if let Some(slot) = self.slot {
            slot.set_thread_context(Some(thread_context.thread_context()));
        }
        thread_context
    }

    /// Returns the page that counts the thread's context switches, and makes one if needed. Returns
    /// `None` if the thread cannot have one.
    pub fn switches(&mut self, tid: u32) -> Option<NonNull<u8>> {
        if self.switches.is_none() {
            self.switches = ContextSwitchPage::for_calling_thread(tid).ok();
        }
        self.switches.as_ref().map(ContextSwitchPage::page)
    }

    /// Returns the sums of the thread's tasks of a group, and assigns one if needed. Returns
    /// `None` if the thread cannot have one.
    pub fn sums(&mut self, group: u32) -> Option<&'static TaskSums> {
        if let Some((_, sums)) = self.sums.iter().find(|(known, _)| *known == group) {
            return Some(sums);
        }
        let sums = services().take_thread_sums(group)?;
        self.sums.push((group, sums));
        Some(sums)
    }

    /// Gives the context and the sums back for use by other threads, once this thread runs no Java
    /// any more.
    pub fn return_memory(&mut self) {
        for (group, sums) in self.sums.drain(..) {
            services().return_thread_sums(group, sums);
        }
        let Some(thread_context) = self.thread_context.take() else { return };
        if let Some(slot) = self.slot {
            slot.set_thread_context(None);
        }
        thread_contexts().put_back(thread_context);
    }

    /// Arms or disarms the thread, depending on its record and the filter.
    pub fn choose(&mut self, tid: u32, life: &mut Life, arming: &mut Arming) {
        let sampling = arming.sampling.as_ref().filter(|s| !self.own && s.wants(life.present_name()));
        let Some(sampling) = sampling else { return self.disarm() };
        // Under a filter, CPU time before the thread had its name does not count.
        let from = Some(life.cpu_start).filter(|_| !life.sampled && sampling.filter.is_none());
        life.sampled = true;
        if self.armed.is_some() {
            return;
        }
        // No handler finds the event of a thread without a slot, so a timer cannot give way to it.
        let begins_with_timer = sampling.uses_events() && self.slot.is_some() && arming.brief.are_usual();
        let engine = if begins_with_timer { Engine::Timer } else { sampling.engine };
        let armed = self.arm(tid, from, engine, sampling, arming.random.u64(..));
        if begins_with_timer && armed.is_ok() {
            arming.brief.add(tid, self.serial);
        }
        if let Err(error) = armed {
            self.disarm();
            // A thread that has just ended is no engine failure. The kernel reports it with more
            // than one error code.
            if clock::thread_cpu(tid).is_some() {
                arming.unarmed += 1;
                arming.unarmed_why = Some(error.to_string());
            }
        }
    }

    /// Starts the engine. It covers the CPU time since the thread's CPU clock was at `from`, or
    /// since now.
    fn arm(
        &mut self,
        tid: u32,
        from: Option<u64>,
        engine: Engine,
        sampling: &Sampling,
        random: u64,
    ) -> io::Result<()> {
        let now = clock::thread_cpu(tid).unwrap_or(0);
        let stride = STRIDE.load(Ordering::Relaxed);
        let period = nanos(sampling.interval).saturating_mul(stride.into());
        let mut phase = Phase::draw(random, from.unwrap_or(now), now, period);
        if self.slot.is_none() {
            // The handler cannot find the event, so the first period has to stay the right one.
            phase.first = period;
        }
        let first = Duration::from_nanos(phase.first);
        let armed = engine.prepare(tid, first)?;
        if let Some(slot) = self.slot {
            // The slot gets everything that the handler needs before the first signal.
            slot.begin(phase.base, stride);
            slot.set_kernel_ring(armed.kernel_ring());
            slot.set_beginning(armed.descriptor(), phase.late);
            slot.set_excluded(false);
        }
        // `resume` starts a paused engine later.
        if !(sampling.paused && armed.pauses())
            && let Err(error) = armed.start(Duration::from_nanos(period), first)
        {
            // Before the event is closed, so that no handler reads its ring.
            if let Some(slot) = self.slot {
                slot.end_event();
            }
            return Err(error);
        }
        self.armed = Some(armed);
        Ok(())
    }

    /// Pauses or resumes the thread's engine.
    pub fn pause(&self, paused: bool) {
        match &self.armed {
            Some(armed) if paused => armed.pause(),
            Some(armed) => armed.resume(),
            None => {}
        }
    }

    /// Replaces the thread's perf event by a timer. Pending intervals do not change: the thread's
    /// CPU clock decides them under either engine.
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

    /// Returns true if the thread is sampled.
    pub fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Replaces the thread's timer by a perf event, with the thread's CPU clock at `cpu`. Pending
    /// intervals do not change: the thread's CPU clock decides them under either engine. So a
    /// signal of the timer that is still pending counts nothing twice.
    pub fn replace_timer(&mut self, tid: u32, cpu: u64, sampling: &Sampling) -> io::Result<()> {
        let Some(slot) = self.slot.filter(|_| matches!(self.armed, Some(Armed::Timer(_)))) else {
            return Ok(());
        };
        let phase = slot.pending.resume(cpu, nanos(sampling.interval));
        let first = Duration::from_nanos(phase.first);
        let armed = sampling.engine.prepare(tid, first)?;
        // Without a free descriptor it is another timer, and the thread keeps the one that runs.
        if armed.descriptor() < 0 {
            return Ok(());
        }
        slot.set_kernel_ring(armed.kernel_ring());
        slot.set_beginning(armed.descriptor(), phase.late);
        let started = armed.start(sampling.interval, first);
        if started.is_ok() {
            self.armed = Some(armed);
        } else {
            slot.end_event();
        }
        started
    }

    /// Sets the present stride's period, for an event that no handler finds.
    pub fn repeat(&self, interval: Duration) {
        if let Some(armed) = &self.armed {
            armed.repeat(interval * STRIDE.load(Ordering::Relaxed));
        }
    }

    /// Records the thread's name since `now`. A filter may start or stop sampling the thread by its
    /// new name.
    pub fn rename(&mut self, tid: u32, name: &str, now: u64, life: &mut Life, arming: &mut Arming) {
        let leaves = arming.sampling.as_ref().is_some_and(|sampling| !sampling.wants(Some(name)));
        let now = if leaves && tid == clock::own_tid() {
            // The pending intervals belong to the old name.
            self.pay(tid, clock::own_cpu(), life.java, arming);
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

    /// Disarms the thread, with its CPU clock at `cpu`, unless it has ended.
    pub fn stop(&mut self, cpu: Option<u64>) {
        if let Some(cpu) = cpu {
            self.come_to(cpu);
        }
        self.disarm();
    }

    /// Records a checkpoint at `cpu`, so that the intervals until then can be settled.
    pub fn come_to(&mut self, cpu: u64) {
        if let Some(armed) = &self.armed {
            // An engine that cannot see kernel time counts by its signals. The CPU clock decides
            // only what was due before the first signal.
            let begun = self.slot.is_some_and(|slot| slot.beginning().is_none());
            let by_signals = begun && matches!(armed, Armed::Perf(event) if event.user_only());
            let polled = matches!(armed, Armed::Watched(_));
            self.checkpoint = Some(Checkpoint { time: clock::monotonic(), cpu, by_signals, polled });
        }
    }

    /// Returns the intervals up to the checkpoint that no sample covers, and none will cover.
    ///
    /// Call this only when no handler can take a sample of this thread any more. A pending signal
    /// would be counted twice.
    pub fn settle(&mut self, interval: Duration) -> Option<Debt> {
        let (Checkpoint { time, cpu, by_signals, polled }, slot) = (self.checkpoint.take()?, self.slot?);
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

    /// Stops the calling thread's engine, and signals the intervals that no sample covers. `cpu` is
    /// the thread's CPU clock now. If the engine was stopped before, CPU time after the stop is not
    /// pending.
    pub fn pay(&mut self, tid: u32, cpu: u64, java: bool, arming: &mut Arming) {
        self.stop(Some(cpu));
        self.pay_what_is_due(tid, java, arming);
    }

    /// Signals the pending intervals of the calling thread while its engine runs on. CPU time since
    /// the last sample gets no stack, so a thread must not call this in the middle of work.
    pub fn pay_so_far(&mut self, tid: u32, java: bool, arming: &mut Arming) {
        let Some(slot) = self.slot.filter(|slot| self.armed.is_some() && slot.beginning().is_none()) else {
            return;
        };
        slot.set_excluded(true);
        self.come_to(clock::own_cpu());
        self.pay_what_is_due(tid, java, arming);
        slot.set_excluded(false);
    }

    /// Signals the pending intervals up to the checkpoint of the calling thread, which excludes its
    /// own samples meanwhile.
    fn pay_what_is_due(&mut self, tid: u32, java: bool, arming: &mut Arming) {
        // The thread handles its signals itself, and handles none while it is excluded. All earlier
        // samples have therefore been taken.
        let Some(interval) = arming.present().map(|sampling| sampling.interval) else { return };
        let (Some(mut pending_intervals), Some(slot)) = (self.settle(interval), self.slot) else { return };
        if arming.sampling.is_some() {
            slot.set_end_weight(pending_intervals.weight);
            slot.set_excluded(false);
            // The handler takes no lock, so it may run while this thread holds one. It runs before
            // this call returns.
            signal(tid);
            slot.set_excluded(true);
            // Weight remains if the gate is closed, the lane is full, or the thread has the signal
            // blocked.
            pending_intervals.weight = slot.take_end_weight();
        }
        if pending_intervals.weight > 0 {
            arming.unsignalled.push(pending_intervals.of_thread(tid, self.serial, java));
        }
    }
}

fn nanos(time: Duration) -> u64 {
    clock::nanos(time).max(1)
}
