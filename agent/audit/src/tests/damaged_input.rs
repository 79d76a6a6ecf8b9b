//! Tests of damaged, truncated and random recordings. Each event has exactly one fate, and nothing
//! panics.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::program::{
    CLASSES, ClassFolder, FIRST, MAIN, MAIN_THREAD, OPEN, SAMPLE, SUM, TestStack, WORKER, at, audited,
    recording, stack,
};

fn stacks() -> Vec<TestStack> {
    vec![
        stack(MAIN_THREAD, 9, &[at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]),
        stack(WORKER, 3, &[at(SUM, FIRST), at(OPEN, FIRST)]),
    ]
}

pub fn any_stack() -> impl Strategy<Value = TestStack> {
    let frame = (1..15_i64, -4..30_i64, 0..60_i64);
    let frames = proptest::collection::vec(frame, 0..9);
    (1..5_i64, frames, any::<bool>(), 1..4_usize).prop_map(|(thread, frames, cut, times)| TestStack {
        kind: SAMPLE,
        thread,
        frames,
        cut,
        times,
    })
}

#[test]
fn a_truncated_recording_gives_its_complete_part() {
    let whole = recording(&stacks(), 0);
    let folder = ClassFolder::new("torn", &CLASSES);
    for length in (0..whole.len()).step_by(3) {
        let Ok(report) = audited(whole[..length].to_vec(), &folder) else { continue };
        assert!(!report.damage.is_empty() && report.samples.signals <= 12, "{length}: {report:?}");
    }
    assert!(audited(whole, &folder).unwrap().damage.is_empty());
}

/// The number of cases for each property is small, because each audit measures its power. That
/// takes most of the time for such small recordings.
const CASES_PER_PROPERTY: u32 = 64;

pub fn check_property<S: Strategy>(
    strategy: S,
    holds: impl Fn(S::Value, &ClassFolder) -> Result<(), TestCaseError>,
    name: &str,
) {
    let folder = ClassFolder::new(name, &CLASSES);
    let config = Config { cases: CASES_PER_PROPERTY.max(Config::default().cases / 4), ..Config::default() };
    TestRunner::new(config).run(&strategy, |value| holds(value, &folder)).unwrap();
}

#[test]
fn each_event_has_one_fate() {
    let holds = |stacks: Vec<TestStack>, folder: &ClassFolder| {
        let report = audited(recording(&stacks, 0), folder).unwrap();
        let events: usize = stacks.iter().map(|stack| stack.times).sum();
        prop_assert_eq!(report.samples.signals, events as u64);
        prop_assert_eq!(report.samples.fates.sum(), events as u64);
        let edges = &report.edges;
        let others: u64 = edges.explained.values().chain(edges.unjudged.values()).sum();
        prop_assert_eq!(edges.distinct, edges.proven + edges.refuted + others);
        prop_assert!(report.summary(vouch_report::Files::default(), &[]).lines().count() <= 8);
        Ok(())
    };
    check_property(proptest::collection::vec(any_stack(), 1..12), holds, "any");
}

#[test]
fn a_damaged_recording_does_not_panic() {
    let holds = |changes: Vec<(usize, u8)>, folder: &ClassFolder| {
        let mut bytes = recording(&stacks(), 5);
        let length = bytes.len();
        for (at, with) in changes {
            bytes[at % length] = with;
        }
        if let Ok(report) = audited(bytes, folder) {
            prop_assert_eq!(report.samples.signals, report.samples.fates.sum());
        }
        Ok(())
    };
    check_property(proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8), holds, "damaged");
}
