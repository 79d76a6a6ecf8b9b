//! Divides the elapsed time of a thread: running, ready to run, and waiting at a stack.
//!
//! A thread that used no CPU time between two readings has not run, so it waited at one stack all
//! the time. Nothing needs to interrupt it. The parts of a thread's time add up to the elapsed
//! time.

use vouch_recording::{ContextId, StackId, WaitState};

/// The first wait of a thread is recorded after this time, even if it goes on. Each further part is
/// twice as long, up to `MAX_PART`.
const FIRST_PART: u64 = 1_000_000_000;
/// The longest part of a wait that is recorded at once.
const MAX_PART: u64 = 60_000_000_000;

/// What the kernel says of a thread at one time. All values are in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// CLOCK_MONOTONIC.
    pub time: u64,
    /// The thread's CPU clock.
    pub cpu: u64,
    /// The time for which the thread was ready to run and had no processor. `None` if the kernel
    /// does not count it, or if it was not read.
    pub run_delay: Option<u64>,
}

/// The stack at which a thread waits, its state, and the context that the program had set for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingAt {
    pub stack: StackId,
    pub state: WaitState,
    pub context: Option<ContextId>,
}

/// Elapsed time that belongs to one state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// When the time began: CLOCK_MONOTONIC, in nanoseconds.
    pub began: u64,
    pub length: u64,
    /// The stack of a wait. `None` for [`WaitState::Runnable`] and [`WaitState::Unseen`].
    pub stack: Option<StackId>,
    pub state: WaitState,
    /// The context of a wait.
    pub context: Option<ContextId>,
}

/// A thread, and the parts of its elapsed time.
#[derive(Debug)]
pub struct WatchedThread {
    last: Reading,
    last_run_delay: u64,
    at: Option<WaitingAt>,
    /// The time that the thread waited at `at`, and that is in no part yet.
    waited: u64,
    /// The time that the thread waited before its stack was found.
    pending: u64,
    next_part: u64,
    elapsed: u64,
    ran: u64,
}

impl WatchedThread {
    /// Makes a thread that is watched from this reading on.
    pub fn new(first: Reading) -> Self {
        Self {
            last: first,
            last_run_delay: first.run_delay.unwrap_or(0),
            at: None,
            waited: 0,
            pending: 0,
            next_part: FIRST_PART,
            elapsed: 0,
            ran: 0,
        }
    }

    /// Begins a period at the last reading. All time before it must have been flushed. The stack at
    /// which the thread waits belongs to the period before.
    pub fn begin_period(&mut self) {
        let run_delay = Some(self.last_run_delay);
        *self = Self::new(Reading { run_delay, ..self.last });
    }

    /// Returns true if the thread has run since the last reading.
    pub fn has_run(&self, cpu: u64) -> bool {
        cpu > self.last.cpu
    }

    /// Returns true if the stack at which the thread waits is unknown.
    pub fn needs_stack(&self) -> bool {
        self.at.is_none()
    }

    /// Returns the elapsed time so far, and the part of it that the thread ran, in nanoseconds.
    pub fn times(&self) -> (u64, u64) {
        (self.elapsed, self.ran)
    }

    /// Adds a reading. Returns the parts of the elapsed time that are complete. If the thread has
    /// run, the reading should have the run delay.
    pub fn read(&mut self, now: Reading) -> Vec<Part> {
        let mut parts = Vec::new();
        let (elapsed, ran) = self.advance(now.time, now.cpu);
        if ran == 0 {
            *if self.at.is_some() { &mut self.waited } else { &mut self.pending } += elapsed;
            if self.waited >= self.next_part {
                self.next_part = (self.next_part * 2).min(MAX_PART);
                parts.extend(self.take_waited(now.time));
            }
        } else {
            let unknown = elapsed - ran;
            let run_delay = now.run_delay.unwrap_or(self.last_run_delay);
            // The kernel counts a delay when the thread runs again, so it may have begun earlier.
            let delay = run_delay.saturating_sub(self.last_run_delay).min(self.pending + unknown);
            self.last_run_delay = run_delay;
            let unknown = (self.pending + unknown) - delay;
            // When the thread ran is unknown, so the waits before and after it get half each.
            let before = if self.at.is_some() { unknown / 2 } else { 0 };
            self.waited += before;
            parts.extend(self.take_waited(self.last.time + before));
            self.pending = unknown - before;
            self.at = None;
            self.next_part = FIRST_PART;
            parts.extend(part(now.time, delay, None, WaitState::Runnable));
        }
        self.last = now;
        parts
    }

    /// Sets the stack at which the thread waits since it ran last.
    pub fn found(&mut self, at: WaitingAt) {
        self.at = Some(at);
        self.waited = std::mem::take(&mut self.pending);
    }

    /// Adds the time up to the thread's end. What the thread did not run belongs to the stack at
    /// which it waited last.
    pub fn end(&mut self, time: u64, cpu: u64) {
        let (elapsed, ran) = self.advance(time, cpu);
        *if self.at.is_some() { &mut self.waited } else { &mut self.pending } += elapsed - ran;
        self.last = Reading { time, cpu, run_delay: None };
    }

    /// Returns the time up to the last reading that is in no part yet.
    pub fn flush(&mut self) -> impl Iterator<Item = Part> {
        let pending = std::mem::take(&mut self.pending);
        let unseen = part(self.last.time, pending, None, WaitState::Unseen);
        self.take_waited(self.last.time).into_iter().chain(unseen)
    }

    /// Counts the time since the last reading, and the part of it that the thread ran.
    fn advance(&mut self, time: u64, cpu: u64) -> (u64, u64) {
        let elapsed = time.saturating_sub(self.last.time);
        let ran = cpu.saturating_sub(self.last.cpu).min(elapsed);
        self.elapsed += elapsed;
        self.ran += ran;
        (elapsed, ran)
    }

    fn take_waited(&mut self, ended: u64) -> Option<Part> {
        let WaitingAt { stack, state, context } = self.at?;
        let part = part(ended, std::mem::take(&mut self.waited), Some(stack), state)?;
        Some(Part { context, ..part })
    }
}

fn part(ended: u64, length: u64, stack: Option<StackId>, state: WaitState) -> Option<Part> {
    let began = ended.saturating_sub(length);
    (length > 0).then_some(Part { began, length, stack, state, context: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use vouch_recording::Id;

    const MS: u64 = 1_000_000;

    fn reading(time_ms: u64, cpu_ms: u64, delay_ms: u64) -> Reading {
        Reading { time: time_ms * MS, cpu: cpu_ms * MS, run_delay: Some(delay_ms * MS) }
    }

    fn at(row: usize, state: WaitState) -> WaitingAt {
        WaitingAt { stack: StackId::from_row(row), state, context: Some(ContextId::from_row(row)) }
    }

    #[test]
    fn the_time_around_a_short_run_is_divided_between_the_waits_before_and_after() {
        let mut thread = WatchedThread::new(reading(0, 0, 0));
        assert_eq!(
            thread.read(reading(10, 4, 1)),
            [Part { began: 9 * MS, length: MS, stack: None, state: WaitState::Runnable, context: None }]
        );
        thread.found(at(7, WaitState::Parked));
        assert_eq!(thread.read(reading(50, 4, 1)), []);
        // The thread ran for 3 ms, and was found at another stack.
        let parked = thread.read(reading(60, 7, 1));
        let (stack, context) = (Some(StackId::from_row(7)), Some(ContextId::from_row(7)));
        let state = WaitState::Parked;
        assert_eq!(parked, [Part { began: 5 * MS, length: 48 * MS + MS / 2, stack, state, context }]);
        thread.found(at(8, WaitState::Sleeping));
        let slept: Vec<Part> = thread.flush().collect();
        let (stack, context) = (Some(StackId::from_row(8)), Some(ContextId::from_row(8)));
        let state = WaitState::Sleeping;
        assert_eq!(slept, [Part { began: 56 * MS + MS / 2, length: 3 * MS + MS / 2, stack, state, context }]);
        assert_eq!(thread.times(), (60 * MS, 7 * MS));
    }

    #[test]
    fn a_long_wait_is_recorded_while_it_goes_on_in_ever_longer_parts() {
        let mut thread = WatchedThread::new(reading(0, 0, 0));
        thread.found(at(1, WaitState::Waiting));
        let parts: Vec<u64> = (1..=600)
            .flat_map(|at| thread.read(reading(at * 1_000, 0, 0)))
            .map(|part| part.length / (1_000 * MS))
            .collect();
        assert_eq!(parts[..7], [1, 2, 4, 8, 16, 32, 60]);
        assert!(parts.len() < 20, "{parts:?}");
    }

    #[test]
    fn the_last_wait_of_a_thread_that_ended_lasts_until_it_ran() {
        let mut thread = WatchedThread::new(reading(0, 0, 0));
        thread.found(at(3, WaitState::Monitor));
        thread.read(reading(10, 0, 0));
        thread.end(100 * MS, 2 * MS);
        let parts: Vec<_> = thread.flush().map(|part| (part.length / MS, part.state)).collect();
        assert_eq!(parts, [(98, WaitState::Monitor)]);
        assert_eq!(thread.times(), (100 * MS, 2 * MS));
    }

    #[test]
    fn a_delay_that_the_kernel_counts_late_is_taken_from_the_time_before() {
        let mut thread = WatchedThread::new(reading(0, 0, 0));
        // Ready to run, without a processor and without a stack.
        assert_eq!(thread.read(reading(20, 0, 0)), []);
        let parts = thread.read(reading(30, 5, 24));
        assert_eq!(parts.iter().map(|part| part.length / MS).collect::<Vec<_>>(), [24]);
        assert_eq!(thread.flush().map(|part| part.length / MS).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_period_begins_at_the_last_reading_of_the_one_before() {
        let mut thread = WatchedThread::new(reading(0, 0, 0));
        thread.read(reading(10, 0, 0));
        thread.found(at(1, WaitState::Parked));
        assert_eq!(thread.flush().map(|part| part.length / MS).sum::<u64>(), 10);
        thread.begin_period();
        assert!(thread.needs_stack());
        thread.read(reading(30, 5, 0));
        assert_eq!(thread.flush().map(|part| part.length / MS).sum::<u64>(), 15);
        assert_eq!(thread.times(), (20 * MS, 5 * MS));
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_elapsed_time(
            steps in vec((0..50_u64, 0..60_u64, 0..60_u64, any::<bool>()), 0..60)
        ) {
            let mut thread = WatchedThread::new(Reading::default());
            let (mut now, mut parts) = (Reading { run_delay: Some(0), ..Reading::default() }, Vec::new());
            for (row, (time, cpu, delay, is_found)) in steps.into_iter().enumerate() {
                now.time += time;
                now.cpu += cpu;
                now.run_delay = now.run_delay.map(|before| before + delay);
                parts.extend(thread.read(now));
                if is_found && thread.needs_stack() {
                    thread.found(at(row, WaitState::Parked));
                }
            }
            parts.extend(thread.flush());
            let (elapsed, ran) = thread.times();
            prop_assert_eq!(elapsed, now.time);
            prop_assert_eq!(parts.iter().map(|part| part.length).sum::<u64>() + ran, elapsed);
        }
    }
}
