//! Tests that the report's keys do not change, and that docs/trust-report.md explains each.

use serde_json::Value;
use vouch_recording::Recording;
use vouch_report::{
    Clock, EventReport, ExactTotal, FieldReport, GroupReport, KindReport, LiveObjectsReport, MeasureReport,
    NativeCallReport, NativeReport, PlausibleReport, RecordingFile, RefutedNativeCall, Run, TrustReport,
    ValueReport, WaitingReport, WallClockReport, WitnessPower, WitnessStack,
};

use crate::common::proven_report;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_keys_are_those_that_tools_read() {
    let mut json = Vec::new();
    proven_report().write(&mut json).unwrap();
    assert_eq!(json.last(), Some(&b'\n'));
    let report: Value = serde_json::from_slice(&json).unwrap();
    let expected = "agent_cpu_ms agreement bytes_recorded classes command compilers conservation contexts cpu_ms edges engine engine_notes engine_stopped events exact_totals groups \
                    handler_ns interval_us jdk markers markers_left_out measures names_lost options plausible_because power rate recording_file recovery refutations refuted safepoints sampled_interval_us samples stacks_cut threads top_frame unwalked vm_flags \
                    vouch waiting walked_by wall_ms warnings weight_ms witness";
    assert_eq!(keys(&report).join(" "), expected);
    let fates = ["dropped", "outside", "plausible", "proven", "refuted", "signals", "unwalked"];
    assert_eq!(keys(&report["samples"]), fates);
    assert_eq!(keys(&report["weight_ms"]), fates);
    assert_eq!(keys(&report["edges"]), ["checked", "distinct", "explained", "proven", "refuted", "took_ms"]);
    let refutation = "at bci caller code count expected found kind number stack";
    assert_eq!(keys(&report["refutations"][0]).join(" "), refutation);
    let strategy = ["plausible", "proven", "refuted", "tried", "walked", "weight_ms"];
    assert_eq!(keys(&report["recovery"]["top"]), strategy);
    assert_eq!(keys(&report["agreement"]["same"]), ["asgct_refuted", "own_refuted", "samples"]);
    assert_eq!(keys(&report["power"]["moved_bcis"]), ["noticed", "tried"]);
    let top_frame = ["approximate", "exact", "method_certain", "not_judged"];
    assert_eq!(keys(&report["top_frame"]), top_frame);
    for certainty in top_frame {
        assert_eq!(keys(&report["top_frame"][certainty]), ["samples", "weight_ms"]);
    }
    assert_eq!(keys(&report["conservation"]), ["cpu_ms", "ratio", "sampled_ms"]);
    let thread = ["conserved", "cpu_ms", "name", "refuted", "sampled_ms", "samples", "tid", "unwalked"];
    assert_eq!(keys(&report["threads"][0]), thread);
    assert_eq!(keys(&report["handler_ns"]), ["max", "p50", "p90", "p99", "total_ms"]);
    let witness = "all_but_top asked confirmed contradicted contradictions differences exact gone longest_ms longest_stay_ms power \
                   root_only root_only_because stayed_ms took_ms";
    assert_eq!(keys(&report["witness"]).join(" "), witness);
    for grade in ["exact", "all_but_top", "root_only"] {
        assert_eq!(keys(&report["witness"][grade]), ["agreed", "asked", "frames", "frames_left_out"]);
    }
    assert_eq!(keys(&report["safepoints"]), ["count", "reaching_ms", "stopped_ms"]);
    let classes = ["initialized", "initializing_ms", "linking_ms", "loaded", "loading_ms"];
    assert_eq!(keys(&report["classes"]), classes);
    assert_eq!(keys(&report["compilers"]), ["compiled", "failed", "took_ms"]);
    assert_eq!(keys(&report["events"]["gc"]), ["count", "left_out", "longest_ms", "shown", "took_ms"]);
    assert_eq!(keys(&report["contexts"]), ["kinds", "left_out", "met", "with_ms", "without_ms"]);
    assert_eq!(keys(&report["rate"]), ["asked_hz", "reached_hz", "unit"]);
    assert_eq!(report["rate"]["unit"], "samples per CPU-second");
}

/// The objects in the report with keys that depend on the run, such as names of events.
const BY_WORD: [&str; 18] = [
    "agreement",
    "confirmed",
    "contradicted",
    "differences",
    "events",
    "exact_totals",
    "explained",
    "groups",
    "markers",
    "measures",
    "plausible",
    "plausible_because",
    "power",
    "recovery",
    "refuted",
    "root_only_because",
    "unwalked",
    "walked_by",
];

/// Collects all keys of a JSON value, at any depth.
fn keys_within<'v>(name: &str, value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.extend((!BY_WORD.contains(&name)).then_some(key.as_str()));
                // Contradictions have the keys of refutations, which are collected already.
                if key != "contradictions" {
                    keys_within(key, value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys_within(name, item, found)),
        _ => {}
    }
}

fn refuted_native_call() -> RefutedNativeCall {
    let [kind, caller, return_address, instruction, calls, callee] = [const { String::new() }; 6];
    RefutedNativeCall { count: 1, kind, caller, return_address, instruction, calls, callee }
}

#[test]
fn each_key_is_explained() {
    let page = include_str!("../../../../docs/trust-report.md");
    let rows: Vec<(&str, &str)> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
    let mut report = proven_report();
    report.run.recorder = Some("another profiler".to_owned());
    report.clock = Some(Clock::Wall);
    report.event = Some("cache-misses".to_owned());
    report.run.runs_ms = Some(1.0);
    report.run.recording_file = Some(RecordingFile::default());
    report.run.native_walks = Some(NativeReport::default());
    report.run.native_calls =
        Some(NativeCallReport { refutations: vec![refuted_native_call()], ..NativeCallReport::default() });
    report.run.wall_clock = Some(WallClockReport::default());
    report.run.plausible_because = [("class_loading".to_owned(), PlausibleReport::default())].into();
    let [first] = report.run.refutations.as_mut_slice() else { panic!("one refutation") };
    first.line = Some(1);
    first.witness = Some(WitnessStack { grade: "exact".to_owned(), stack: Vec::new() });
    report.run.witness.contradictions = report.run.refutations.clone();
    report.run.witness.power = [("moved_bcis".to_owned(), WitnessPower::default())].into();
    report.run.markers = [("request".to_owned(), EventReport::default())].into();
    report.run.groups = [("requests".to_owned(), GroupReport::default())].into();
    report.run.waiting = vec![WaitingReport {
        thread: "main".to_owned(),
        class: "Lock".to_owned(),
        owner: None,
        waited_ms: 1.0,
    }];
    let value = ValueReport { value: "7".to_owned(), samples: 1, cpu_ms: 1.0, least_ms: 0.5, most_ms: 1.5 };
    let (key, label) = ("id".to_owned(), "Id".to_owned());
    let field = FieldReport { key, label, distinct: 1, values: vec![value], others_ms: 0.0 };
    let (class, label) = ("request".to_owned(), "Request".to_owned());
    report.contexts.kinds = vec![KindReport { class, label, samples: 1, cpu_ms: 1.0, fields: vec![field] }];
    report.run.live_objects = Some(LiveObjectsReport::default());
    report.run.exact_totals = [("lock".to_owned(), ExactTotal::default())].into();
    report.measures = [("alloc".to_owned(), MeasureReport::default())].into();
    let report = serde_json::to_value(&report).unwrap();
    let mut explained: Vec<&str> = rows.iter().map(|(key, _)| *key).collect();
    explained.sort_unstable();
    assert_eq!(explained, keys(&report));
    for (key, explanation) in rows {
        let mut within = Vec::new();
        keys_within(key, &report[key], &mut within);
        for key_within in within {
            assert!(
                explanation.contains(&format!("`{key_within}`")),
                "{key} has {key_within}: {explanation}"
            );
        }
    }
}

#[test]
fn a_report_is_read_back_as_it_was_written() {
    let mut recording = Recording::new();
    recording.add_thread("main", 7, 0);
    recording.dropped(3, 9);
    let run = Run {
        interval_ns: 1_234_567,
        cpu_ms: Some(2.5),
        vm_flags: vec!["-Xint".into()],
        names_lost: 4,
        ..Run::default()
    };
    let mut written = Vec::new();
    TrustReport::from_recording(&recording, run).write(&mut written).unwrap();
    let read: TrustReport = serde_json::from_slice(&written).unwrap();
    assert_eq!((read.run.interval_ns, read.samples.fates.dropped), (1_234_567, 3));
    assert_eq!((read.run.cpu_ms, read.run.agent_cpu_ms), (Some(2.5), None));
    let mut again = Vec::new();
    read.write(&mut again).unwrap();
    assert_eq!(String::from_utf8(again), String::from_utf8(written));
}
