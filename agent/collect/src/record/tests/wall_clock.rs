//! Tests how waits enter the recording: their stacks, their states, and their time.

use vouch_recording::measures::WALL_CLOCK;
use vouch_recording::{Amount, Leaf, Trust, WaitState};
use vouch_sample::{Frame, Head, MethodId, NATIVE};

use super::bench::{Bench, MAIN, READ, STORE, TID, WRITE};
use crate::jvm::fake::STEP;
use crate::record::wall_clock::{SystemCall, WaitingThread};
use crate::record::wall_clock_times::WallClockTimes;
use crate::wall_clock::Part;

const SLEEP: usize = 40;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.jvm.add_native(SLEEP, "java/lang/Thread", "sleep");
    bench.recorder.wall_clock = Some(WallClockTimes::new(1_000_000));
    bench
}

/// Records 5 ms in which the thread `main` waits at this stack. Returns its state.
fn waits(
    bench: &mut Bench,
    frames: &[(usize, i32)],
    is_entering_monitor: bool,
    call: Option<SystemCall>,
) -> WaitState {
    let frames: Vec<Frame> = frames.iter().map(|(id, bci)| Frame::new(MethodId(*id), *bci)).collect();
    let waiting = WaitingThread {
        tid: TID,
        serial: bench.serial,
        time: 10,
        frames: &frames,
        cut: None,
        is_entering_monitor,
        context: 0,
        trace: [1, 2, 3],
    };
    let at = bench.recorder.waiting_at(&waiting, || call, &mut bench.jvm);
    let part =
        Part { began: 10, length: 5_000_000, stack: Some(at.stack), state: at.state, context: at.context };
    bench.recorder.take_part(bench.serial, part);
    at.state
}

/// The stacks with wall-clock time, leaf last, and their time in milliseconds.
fn timed(bench: &Bench) -> Vec<(String, u64)> {
    let recording = &bench.recorder.recording;
    let amounts = recording.threads()[0].amounts().get(&WALL_CLOCK).iter();
    let name = |stack| {
        let mut names = Vec::new();
        let mut next = Some(stack);
        while let Some(stack) = next {
            let row = recording.stacks().get(stack);
            let func = recording.funcs().get(recording.frames().get(row.frame).func);
            names.push(recording.strings().get(func.name));
            next = row.parent;
        }
        names.reverse();
        names.join(";")
    };
    amounts.map(|amount| (name(amount.stack), amount.amount / 1_000_000)).collect()
}

#[test]
fn the_state_of_a_wait_is_the_leaf_of_its_stack() {
    let mut bench = bench();
    let below = [(STORE, STEP), (MAIN, 0)];
    let native = |top: usize| [&[(top, NATIVE)], &below[..]].concat();
    let other = || Some(SystemCall::Other("ppoll".to_owned()));
    assert_eq!(waits(&mut bench, &native(SLEEP), false, None), WaitState::Sleeping);
    assert_eq!(waits(&mut bench, &native(READ), false, other()), WaitState::SystemCall);
    assert_eq!(waits(&mut bench, &native(READ), false, Some(SystemCall::Futex)), WaitState::NativeLock);
    assert_eq!(waits(&mut bench, &below, true, None), WaitState::Monitor);
    assert_eq!(waits(&mut bench, &below, false, Some(SystemCall::Futex)), WaitState::Stopped);
    assert_eq!(waits(&mut bench, &[], false, None), WaitState::SystemCall);
    let in_trace = |amount: &Amount| amount.context.is_some();
    assert!(bench.recorder.recording.threads()[0].amounts().get(&WALL_CLOCK).iter().all(in_trace));
    let stacks = timed(&bench);
    let leaf = |at: usize| stacks[at].0.rsplit(';').next().unwrap();
    assert_eq!(
        stacks[1],
        ("shop.Main.main;shop.Main.store;shop.Main.read;[system call ppoll]".to_owned(), 5)
    );
    assert_eq!(
        [0, 2, 3, 4].map(leaf),
        ["[sleeping]", "[blocked on a native lock]", "[blocked on a monitor]", "[stopped by the JVM]"]
    );
    assert_eq!(stacks[5].0, "[outside Java];[system call]");
    let report = bench.recorder.wall_clock.as_ref().unwrap().report(6, 40_000_000, 10_000_000);
    assert!((report.state_ms.values().sum::<f64>() + report.running_ms - report.elapsed_ms).abs() < 1e-9);
}

#[test]
fn the_stack_of_a_wait_is_checked_like_a_samples() {
    let mut bench = bench();
    // `main` calls `lost` at this bytecode index.
    waits(&mut bench, &[(WRITE, 0), (STORE, 0), (MAIN, STEP)], true, None);
    let stack = bench.recorder.recording.threads()[0].amounts().get(&WALL_CLOCK)[0].stack;
    let leaf = bench.recorder.recording.leaf(stack).leaf;
    assert_eq!(leaf, Some(Leaf::new(Trust::Refuted)));
    assert!(timed(&bench)[0].0.starts_with("[refuted: "), "{:?}", timed(&bench));
    assert_eq!(bench.tally().samples.sum(), 0, "a wait is no sample");
}

#[test]
fn a_sample_of_cpu_time_counts_as_wall_clock_time_without_a_state() {
    let mut bench = bench();
    bench.publish(&Head { weight: 3, ..bench.head(10) }, &[Ok(&[(WRITE, 0), (STORE, 0), (MAIN, 0)])]);
    bench.sample(20, &[(WRITE, 0), (STORE, 0), (MAIN, 0)]);
    assert_eq!(bench.tally().weight.proven, 4);
    assert_eq!(
        timed(&bench),
        [3, 1].map(|ms| ("shop.Main.main;shop.Main.store;shop.Main.write".to_owned(), ms))
    );
}
