//! Tests of the profile of an audited recording.

use std::io::Cursor;

use proptest::prelude::*;
use serde_json::Value;
use vouch_formats::Meta;
use vouch_recording::{Category, Recording, StackId};

use super::damaged_input::{any_stack, check_property};
use super::program::{
    BROKEN, CLASSES, CLEAR, COLLECTOR, CPU_SAMPLE, ClassFolder, FIRST, MAIN, MAIN_THREAD, NATIVE,
    NATIVE_SAMPLE, OPEN, PARK, SAMPLE, STALE, SUM, TestStack, UNKNOWN, WALL, WORKER, at, audit, audit_full,
    depth_setting, monitor_wait, period, recording, recording_after, recording_before, setting, stack,
};

const TRUE: [(i64, i64); 3] = [(SUM, FIRST), (OPEN, FIRST), (MAIN, FIRST)];

fn truth(times: usize) -> TestStack {
    stack(MAIN_THREAD, times, &TRUE.map(|(method, bci)| at(method, bci)))
}

fn wrong(times: usize) -> TestStack {
    stack(MAIN_THREAD, times, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)])
}

/// Makes the profile of a recording. The second pass may read other bytes.
fn profile(
    bytes: Vec<u8>,
    again: Option<Vec<u8>>,
    folder: &ClassFolder,
) -> Result<(Recording, Meta), crate::Error> {
    let mut profile = audit_full(bytes.clone(), folder)?.profile(None)?;
    profile.read("test.jfr", Cursor::new(again.unwrap_or(bytes)), |_| {})?;
    profile.finish()
}

fn profile_of(name: &str, stacks: &[TestStack]) -> (Recording, Meta) {
    profile(recording(stacks, 0), None, &ClassFolder::new(name, &CLASSES)).unwrap()
}

/// Returns the names of a stack's frames, outermost first.
fn names(recording: &Recording, stack: StackId) -> Vec<String> {
    let mut names = Vec::new();
    let mut next = Some(stack);
    while let Some(stack) = next {
        let row = recording.stacks().get(stack);
        let func = recording.funcs().get(recording.frames().get(row.frame).func);
        names.push(recording.strings().get(func.name).to_owned());
        next = row.parent;
    }
    names.reverse();
    names
}

/// Returns the distinct stacks of a thread's samples, in order.
fn stacks_of(recording: &Recording, track: &str) -> Vec<String> {
    let thread = recording.threads().iter().find(|thread| thread.name() == track).unwrap();
    let mut all: Vec<_> =
        thread.samples().iter().map(|sample| names(recording, sample.stack).join(";")).collect();
    all.dedup();
    all
}

#[test]
fn a_refuted_stack_is_separate_and_shows_where_it_breaks() {
    let (recording, meta) = profile_of("apart", &[truth(10), wrong(3)]);
    let apart = "[refuted: other_callee];Main.main;Shop.open;[✗ no such call: the bytecode calls Cart.sum()];Cart.clear";
    assert_eq!(stacks_of(&recording, "main"), ["Main.main;Shop.open;Cart.sum", apart]);
    let [thread] = recording.threads() else { panic!("{:?}", recording.threads()) };
    let refuted = thread.refuted();
    assert_eq!(refuted.len(), 3);
    let reported = recording.refutations().get(refuted[0].how);
    assert_eq!(recording.strings().get(reported.expected), "invokestatic Cart.sum()");
    // The refutation in the report explains the refuted sample.
    let report = &meta.report.run.refutations[refuted[0].how.number() - 1];
    assert_eq!((&*report.found, report.count), ("Cart.clear:()V", 3));
    // The functions of a refuted stack are separate from those of true stacks.
    let category = |stack: StackId| recording.funcs().get(recording.leaf(stack).func).category;
    assert_eq!(category(refuted[0].stack), Category::Refuted);
    assert_eq!(category(thread.samples()[0].stack), Category::Application);
}

#[test]
fn missing_frames_are_shown_as_missing() {
    let cut = TestStack { cut: true, ..stack(WORKER, 2, &[at(SUM, FIRST), at(OPEN, FIRST)]) };
    let broken = stack(MAIN_THREAD, 3, &[at(SUM, FIRST), at(OPEN, FIRST), at(BROKEN, 0)]);
    let unknown = stack(MAIN_THREAD, 2, &[at(UNKNOWN, 0)]);
    let collector = stack(COLLECTOR, 4, &[at(NATIVE, 0)]);
    let (recording, _) = profile_of("lacking", &[truth(9), cut, broken, unknown, collector]);
    assert_eq!(stacks_of(&recording, "worker"), ["[frames left out];Shop.open;Cart.sum"]);
    assert_eq!(
        stacks_of(&recording, "main"),
        [
            "Main.main;Shop.open;Cart.sum",
            "[the walk ended: break_deopt];Shop.open;Cart.sum",
            "[no stack: unknown_Java]"
        ]
    );
    assert_eq!(stacks_of(&recording, "GC Thread#0"), ["[GC]"]);
}

#[test]
fn a_profile_has_the_samples_of_one_clock() {
    let wall = TestStack { kind: WALL, ..truth(2) };
    let (bytes, folder) = (recording(&[truth(5), wall], 0), ClassFolder::new("clocks", &CLASSES));
    let profile_with = |samples: Option<&str>| {
        let mut profile = audit_full(bytes.clone(), &folder).unwrap().profile(samples)?;
        let remarks = profile.remarks().join("; ");
        profile.read("test.jfr", Cursor::new(bytes.clone()), |_| {})?;
        let (recording, meta) = profile.finish()?;
        let [thread] = recording.threads() else { panic!("{:?}", recording.threads()) };
        Ok::<_, crate::Error>((
            thread.samples().len(),
            (meta.report.samples.signals, meta.report.time()),
            remarks,
        ))
    };
    let (samples, reported, remarks) = profile_with(None).unwrap();
    // Flight Recorder's settings do not mention CPU time.
    assert_eq!((samples, reported), (5, (5, "time".into())));
    assert!(remarks.contains("--samples profiler.WallClockSample makes it of those"), "{remarks}");
    let (samples, reported, remarks) = profile_with(Some("profiler.WallClockSample")).unwrap();
    assert_eq!(reported.1, "wall-clock time");
    assert!(samples == 2 && remarks.contains("--samples jdk.ExecutionSample"), "{remarks}");
    let refused = profile_with(Some("jdk.CPUTimeSample")).unwrap_err().to_string();
    assert!(refused.ends_with("but jdk.ExecutionSample, profiler.WallClockSample"), "{refused}");
}

#[test]
fn the_measure_of_samples_comes_from_the_recorder() {
    for (events, time) in [
        (vec!["cpu"], "CPU time"),
        (vec!["ctimer", "cpu"], "CPU time"),
        (vec!["cpu-clock"], "CPU time"),
        (vec!["wall"], "wall-clock time"),
        (vec!["wall", "cpu"], "time"),
        (vec![""], "time"),
        (vec!["cycles"], "samples of cycles"),
        (vec!["cpu", "page-faults"], "samples of cpu and page-faults"),
        (vec!["a", "b", "c", "d", "e"], "samples of a and b and c and others"),
    ] {
        let reported = events.iter().map(|event| setting("event", event)).collect();
        let bytes = recording_after(reported, &[truth(5)], 0);
        let (_, meta) = profile(bytes, None, &ClassFolder::new("clock-told", &CLASSES)).unwrap();
        assert_eq!(meta.report.time(), time, "{events:?}");
    }
    let mixed = vec![setting("event", "cpu"), setting("wall", "30000000"), setting("nobatch", "true")];
    let (_, meta) =
        profile(recording_after(mixed, &[truth(5)], 0), None, &ClassFolder::new("clock-mixed", &CLASSES))
            .unwrap();
    assert_eq!(meta.report.time(), "time");
    let by_cpu = TestStack { kind: CPU_SAMPLE, ..truth(5) };
    assert_eq!(profile_of("clock-own", &[by_cpu]).1.report.time(), "CPU time");
}

#[test]
fn the_wall_interval_comes_from_async_profiler_settings() {
    for (settings, ms) in [
        (&[("event", "wall"), ("interval", "0")][..], 50),
        (&[("event", "wall"), ("interval", "20000000")], 20),
        (&[("event", "cpu"), ("interval", "10000000"), ("wall", "30000000")], 30),
        (&[("wall", "0")], 50),
    ] {
        let reported = settings.iter().map(|(name, value)| setting(name, value)).collect();
        let bytes = recording_after(reported, &[TestStack { kind: WALL, ..truth(5) }], 0);
        let (recording, meta) = profile(bytes, None, &ClassFolder::new("wall-told", &CLASSES)).unwrap();
        let weighed = recording.threads()[0].weight() * meta.report.run.interval_ns;
        assert_eq!(weighed, 5 * ms * 1_000_000, "{settings:?}");
    }
}

#[test]
fn samples_of_a_counted_event_have_no_time() {
    // The first file has an interval in nanoseconds, the second one in cache misses. Flight
    // Recorder has its own period.
    let reported =
        [("event", "cpu"), ("interval", "30000000"), ("event", "cache-misses"), ("interval", "1000")];
    let settings = |reported: &[(&str, &str)]| {
        let all: Vec<_> = reported.iter().map(|(name, value)| setting(name, value)).collect();
        [vec![period(SAMPLE, "20 ms")], all].concat()
    };
    for reported in [&reported[..], &reported[2..]] {
        let bytes = recording_after(settings(reported), &[truth(5)], 0);
        let (recording, meta) = profile(bytes, None, &ClassFolder::new("counted", &CLASSES)).unwrap();
        assert_eq!(recording.threads()[0].weight(), 5);
        let report = serde_json::to_value(&meta.report).unwrap();
        assert_eq!((&report["weight_ms"], report.get("clock")), (&Value::Null, None));
        assert_eq!(report["threads"][0]["sampled_ms"], Value::Null);
        assert!(meta.report.fates().ends_with(" 5 (100.0 %)"), "{}", meta.report.fates());
        let size = meta.report.panel().next().unwrap().1;
        assert!(size.starts_with("5 samples of cache-misses"), "{size}");
    }
    // The audit's report has the note as well.
    let bytes = recording_after(settings(&reported[2..]), &[truth(5)], 0);
    let report = audit_full(bytes, &ClassFolder::new("counted-note", &CLASSES)).unwrap().report;
    let note = "samples jdk.ExecutionSample are of cache-misses, one for each 1,000, and of no time";
    assert!(report.notes[0].starts_with(note), "{:?}", report.notes);
    let by_cpu = recording_after(settings(&reported[..2]), &[truth(5)], 0);
    let report = audit_full(by_cpu, &ClassFolder::new("counted-cpu", &CLASSES)).unwrap().report;
    assert!(!report.notes.iter().any(|note| note.contains("of no time")), "{:?}", report.notes);
}

#[test]
fn samples_weigh_their_period_in_intervals() {
    let native = TestStack { kind: NATIVE_SAMPLE, ..truth(4) };
    let weighed = |reported: Vec<Vec<u8>>| {
        let bytes = recording_after(reported, &[truth(5), native.clone()], 0);
        let (recording, meta) = profile(bytes, None, &ClassFolder::new("weights", &CLASSES)).unwrap();
        let weight = recording.threads()[0].weight();
        (meta.report.run.interval_ns / 1_000_000, weight)
    };
    let both = vec![period(SAMPLE, "30 ms"), period(NATIVE_SAMPLE, "20 ms")];
    // The samples are 5 of 30 ms and 4 of 20 ms.
    assert_eq!(weighed(both), (10, 23));
    assert_eq!(weighed(vec![period(SAMPLE, "30 ms")]), (10, 5 * 3 + 4), "10 ms where nobody says");
    assert_eq!(weighed(Vec::new()), (10, 9));
}

#[test]
fn other_events_are_markers_with_stacks() {
    let park = |stack: TestStack| TestStack { kind: PARK, ..stack };
    let (recording, meta) = profile_of("marks", &[truth(5), park(truth(2)), park(wrong(1))]);
    let [thread] = recording.threads() else { panic!("{:?}", recording.threads()) };
    let [first, second, third] = thread.markers() else { panic!("{:?}", thread.markers()) };
    let root_frame = |marker: &vouch_recording::Marker| names(&recording, marker.stack.unwrap())[0].clone();
    assert_eq!(
        [root_frame(first), root_frame(second), root_frame(third)],
        ["Main.main", "Main.main", "[refuted: other_callee]"]
    );
    assert_eq!((thread.refuted().len(), thread.samples().len()), (1, 5));
    // Markers are not samples, so the report does not count their fates.
    assert_eq!((meta.report.samples.signals, meta.report.run.refuted.len()), (5, 0));
}

#[test]
fn an_event_that_began_before_the_recording_keeps_its_end() {
    let reported = vec![monitor_wait(-50, 60, 1), monitor_wait(20, 5, 1), monitor_wait(-50, 20, 1)];
    let bytes = recording_after(reported, &[truth(1)], 0);
    let (recording, _) = profile(bytes, None, &ClassFolder::new("early", &CLASSES)).unwrap();
    let markers = recording.threads()[0].markers().iter().map(|marker| [marker.began_ns, marker.ended_ns]);
    assert_eq!(markers.collect::<Vec<_>>(), [[0, 10], [20, 25], [0, 0]]);
}

#[test]
fn missing_frames_of_a_refuted_stack_are_shown_as_missing() {
    let frames = [at(CLEAR, FIRST), at(OPEN, FIRST), at(STALE, 0), at(CLEAR, FIRST), at(OPEN, FIRST)];
    let broken = [&frames[..2], &[at(BROKEN, 0)]].concat();
    let stacks = [truth(9), stack(WORKER, 1, &frames), stack(COLLECTOR, 1, &broken)];
    let (recording, _) = profile_of("gaps-apart", &stacks);
    let sign = "[✗ no such call: the bytecode calls Cart.sum()]";
    assert_eq!(
        stacks_of(&recording, "worker"),
        [format!(
            "[refuted: other_callee];Shop.open;{sign};Cart.clear;[frames left out];Shop.open;Cart.clear"
        )]
    );
    assert_eq!(
        stacks_of(&recording, "GC Thread#0"),
        [format!("[refuted: other_callee];[the walk ended: break_deopt];Shop.open;{sign};Cart.clear")]
    );
}

#[test]
fn a_recording_that_changed_since_the_audit_is_refused() {
    let folder = ClassFolder::new("changed", &CLASSES);
    let before = recording(&[truth(5)], 0);
    for after in [recording(&[truth(5), wrong(1)], 0), recording(&[truth(6)], 0), recording(&[truth(4)], 0)] {
        let refused = profile(before.clone(), Some(after), &folder).unwrap_err().to_string();
        assert!(refused.contains("changed while it was read"), "{refused}");
    }
}

#[test]
fn a_depth_limit_applies_to_its_own_file_in_both_passes() {
    let folder = ClassFolder::new("limits", &CLASSES);
    // The setting comes after the stacks. The other file of the run has another setting, and a
    // chunk of another length.
    let file = |limit: &str, times: usize| recording_before(&[truth(times)], vec![depth_setting(limit)]);
    let files = [file("3", 5), file("2048", 7)];
    let mut audit = crate::Audit::default();
    for bytes in &files {
        audit.read("test.jfr", Cursor::new(bytes.clone()), |_| {}).unwrap();
    }
    let paths = crate::ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: false };
    let audited = audit.judge(&paths, |_| {}).unwrap();
    assert_eq!(audited.report.kinds["jdk.ExecutionSample"].cut, 5);
    let mut profile = audited.profile(None).unwrap();
    for bytes in &files {
        profile.read("test.jfr", Cursor::new(bytes.clone()), |_| {}).unwrap();
    }
    let (recording, _) = profile.finish().unwrap();
    let whole = "Main.main;Shop.open;Cart.sum";
    assert_eq!(stacks_of(&recording, "main"), [format!("[frames left out];{whole}"), whole.to_owned()]);
}

#[test]
fn each_sample_of_a_profile_has_the_fate_of_the_audit() {
    let holds = |stacks: Vec<TestStack>, folder: &ClassFolder| {
        let stacks: Vec<TestStack> =
            stacks.into_iter().map(|stack| TestStack { kind: CPU_SAMPLE, ..stack }).collect();
        let bytes = recording_after(vec![depth_setting("5")], &stacks, 7);
        let reported = audit_full(bytes.clone(), folder).unwrap().report.samples;
        let (recording, meta) = profile(bytes, None, folder).unwrap();
        prop_assert_eq!(recording.tally().samples, reported.fates);
        prop_assert_eq!(meta.report.samples, reported);
        let refuted: usize = recording.threads().iter().map(|thread| thread.refuted().len()).sum();
        prop_assert_eq!(refuted as u64, reported.fates.refuted);
        Ok(())
    };
    check_property(proptest::collection::vec(any_stack(), 1..12), holds, "profiled");
}

#[test]
fn the_report_names_the_recorder() {
    let (_, meta) = profile_of("whose", &[truth(5)]);
    let size = meta.report.panel().next().unwrap().1;
    assert!(
        size.starts_with("5 samples in") && size.ends_with("by Flight Recorder; audited by Vouch"),
        "{size}"
    );
    assert_eq!(audit("same", &[truth(5)]).samples, meta.report.samples);
}

#[test]
fn values_that_only_the_recorder_could_measure_are_null() {
    let (_, meta) = profile_of("unmeasured", &[truth(5)]);
    let report = serde_json::to_value(&meta.report).unwrap();
    // Tools read these keys, so they stay, with null and not 0.
    for key in ["agent_cpu_ms", "cpu_ms", "handler_ns", "rate", "sampled_interval_us"] {
        assert_eq!(report.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(report["edges"].get("took_ms"), Some(&Value::Null));
    for key in ["conserved", "cpu_ms"] {
        assert_eq!(report["threads"][0].get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(report["conservation"].get("ratio"), Some(&Value::Null));
}
