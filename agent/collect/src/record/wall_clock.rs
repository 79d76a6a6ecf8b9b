//! Records wall-clock time: the stacks at which threads wait, and how long.
//!
//! The stack of a wait is checked against the bytecode like a sample's stack. Its leaf is the
//! state of the thread. The time for which a thread runs comes from the samples of its CPU time.

use vouch_recording::measures::WALL_CLOCK;
use vouch_recording::{Amount, Category, Leaf, OutsideJava, Trust, WaitState, outside_java};
use vouch_sample::{Cut, Frame, Head, NATIVE, Stack};
use vouch_signal::thread_context::Trace;

use super::Recorder;
use crate::jvm::Jvm;
use crate::wall_clock::{Part, WaitingAt};

/// The methods in which the JVM lets a thread wait, and the states of these threads.
const WAITS: [(&str, WaitState); 7] = [
    ("java.lang.Thread.sleep", WaitState::Sleeping),
    ("java.lang.Thread.sleep0", WaitState::Sleeping),
    ("java.lang.Thread.sleepNanos0", WaitState::Sleeping),
    ("java.lang.Object.wait", WaitState::Waiting),
    ("java.lang.Object.wait0", WaitState::Waiting),
    ("sun.misc.Unsafe.park", WaitState::Parked),
    ("jdk.internal.misc.Unsafe.park", WaitState::Parked),
];

/// A system call that a thread is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemCall {
    /// It waits for a futex, which locks and condition variables use.
    Futex,
    /// Another system call, with its name.
    Other(String),
}

/// A thread that waits, as it was walked.
#[derive(Debug)]
pub struct WaitingThread<'f> {
    pub tid: u32,
    pub serial: u32,
    /// The time of the walk: CLOCK_MONOTONIC, in nanoseconds.
    pub time: u64,
    pub frames: &'f [Frame],
    pub cut: Option<Cut>,
    pub is_entering_monitor: bool,
    /// The number of the context that the program had set for the thread, and its trace.
    pub context: u32,
    pub trace: Trace,
}

impl Recorder {
    /// Makes ids for the methods of a thread that was walked, if some have none. Returns true if
    /// another walk may find them.
    pub fn make_ids_of(&mut self, waiting: &WaitingThread<'_>, jvm: &mut dyn Jvm) -> bool {
        let lacks = waiting.frames.iter().any(|frame| frame.method().is_none());
        if lacks {
            let head = Head { tid: waiting.tid, serial: waiting.serial, ..Head::default() };
            self.witness.make_ids(&head, jvm);
        }
        lacks
    }

    /// Returns the stack at which a thread waits, with its state as the leaf. `system_call` reads
    /// the system call that the thread is in; it is called only if the stack does not show why the
    /// thread waits.
    pub fn waiting_at(
        &mut self,
        waiting: &WaitingThread<'_>,
        system_call: impl FnOnce() -> Option<SystemCall>,
        jvm: &mut dyn Jvm,
    ) -> WaitingAt {
        let WaitingThread { tid, serial, time, frames, cut, is_entering_monitor, context, trace } = *waiting;
        let top = frames.first().copied();
        let by_method = top.and_then(|top| self.state_in(top, time, jvm));
        let (state, name) = match by_method {
            _ if is_entering_monitor => (WaitState::Monitor, None),
            Some(state) => (state, None),
            // Java code waits only where the JVM makes it wait.
            None if top.is_some_and(|top| top.bci() != NATIVE) => (WaitState::Stopped, None),
            None => match system_call() {
                Some(SystemCall::Futex) => (WaitState::NativeLock, None),
                Some(SystemCall::Other(name)) => {
                    (WaitState::SystemCall, Some(format!("[system call {name}]")))
                }
                None => (WaitState::SystemCall, None),
            },
        };
        let judged = self.judged_stack(Stack { frames, cut }, time, jvm);
        let (stack, trust) = judged.unwrap_or_else(|| {
            let OutsideJava { name, category, .. } = outside_java(true, "");
            (self.recording.placeholder_stack(None, name, category), Trust::Unchecked)
        });
        let name = name.as_deref().unwrap_or(state.leaf());
        let func = self.recording.placeholder_func(name, Category::Waiting);
        let leaf = Leaf::new(trust);
        let frame = self.recording.leaf_frame(func, None, leaf);
        let head = Head { tid, serial, context, trace, ..Head::default() };
        let context = self.contexts.context(&head, &mut self.recording);
        WaitingAt { stack: self.recording.stack(Some(stack), frame), state, context }
    }

    /// Records a part of a thread's wall-clock time. Does nothing if the thread is not recorded.
    pub fn take_part(&mut self, serial: u32, part: Part) {
        let Part { began, length, stack, state, context } = part;
        let Some(track) = self.tracks.of_thread(serial, began, &mut self.recording) else { return };
        let Some(times) = &mut self.wall_clock else { return };
        *times.by_state.entry(state).or_default() += length;
        let stack =
            stack.unwrap_or_else(|| self.recording.placeholder_stack(None, state.leaf(), Category::Waiting));
        let amount = Amount { time_ns: began, stack, amount: length, events: 1, context };
        self.recording.amount(track, &WALL_CLOCK, amount);
    }

    /// Returns the state of threads in this method, or `None` if the method does not show it.
    fn state_in(&mut self, top: Frame, time: u64, jvm: &mut dyn Jvm) -> Option<WaitState> {
        let known = self.wall_clock.as_ref().and_then(|times| times.methods.get(&top.method()).copied());
        known.unwrap_or_else(|| {
            let resolved = jvm.resolve(top.method(), time);
            let name = jvm.method(resolved)?.full_name();
            let state = WAITS.iter().find(|(method, _)| *method == name).map(|(_, state)| *state);
            if let Some(times) = &mut self.wall_clock {
                times.methods.insert(top.method(), state);
            }
            state
        })
    }
}
