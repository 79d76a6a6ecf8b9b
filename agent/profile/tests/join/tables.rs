//! Tests of the joined tables: sources, graphs, refutations and contexts.

use serde_json::Value;
use vouch_profile::join::{Source, join};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Category, Func, Measure, Refutation, Refuted, Sample, Trust, Unit};

use crate::common::contexts::{context, kind};
use crate::common::{MS, Process, START_NS, joined, proven, rows, sample, stack, track, value};

/// Makes a process with one method from this source, and with a heap of these two sizes.
fn with_source(file: &'static str, pid: u32, from_ms: u64, text: &str, heap: [u64; 2]) -> Source {
    let mut process = Process { from_ms, ..Process::new(file, pid) };
    let recording = &mut process.recording;
    let source = recording.source("shop/Cart.java");
    let (name, category) = ("Cart.add", Category::Application);
    let func = recording.func(Func {
        name,
        category,
        source: Some(source),
        line: Some(3),
        resource: None,
        java: true,
    });
    let frame = recording.frame(func, Some(4));
    let stack = recording.stack(None, frame);
    let main = recording.add_thread("main", pid.into(), START_NS + from_ms * MS);
    recording.sample(main, proven((from_ms + 1) * MS, stack));
    let counter = recording.counter("Heap", "", Unit::Bytes);
    let spent = recording.counter("Group orders", "", Unit::Nanoseconds);
    for ((at, bytes), nanos) in (1..).zip(heap).zip([0, 1_500_000]) {
        recording.count(counter, START_NS + (from_ms + at) * MS, bytes);
        recording.count(spent, START_NS + (from_ms + at) * MS, nanos);
    }
    let Source { file, document } = process.source();
    let whole = serde_json::to_string(&document).unwrap();
    let embedded = whole.replace(r#""content":[null]"#, &format!(r#""content":[{text}]"#));
    Source { file, document: serde_json::from_str(&embedded).unwrap() }
}

#[test]
fn sources_with_and_without_a_text_are_one_and_two_texts_are_two() {
    let with = |texts: [&str; 3]| {
        let all = (1..).zip(texts).map(|(pid, text)| with_source("a", pid, 0, text, [1, 2]));
        let (profile, _) = join(all.collect()).unwrap();
        let shared = &value(&profile)["shared"];
        (shared["sources"]["content"].clone(), rows(&shared["funcTable"]["name"]).len())
    };
    assert_eq!(with(["null", r#""x""#, "null"]), (serde_json::json!(["x"]), 1));
    assert_eq!(with([r#""x""#, r#""y""#, r#""x""#]), (serde_json::json!(["x", "y"]), 2));
}

#[test]
fn a_process_has_one_heap_graph_and_one_graph_for_each_group() {
    let minutes = [(0, [100, 150]), (2_000, [30, 70])]
        .map(|(from_ms, heap)| with_source("a", 7, from_ms, "null", heap));
    let (profile, _) = join(minutes.into()).unwrap();
    let counters = &value(&profile)["counters"];
    assert_eq!(counters.as_array().unwrap().len(), 2);
    // The heap's sizes are 100, 150, 30 and 70. The graph has the differences.
    assert_eq!(counters[0]["samples"]["count"], serde_json::json!([100, 50, -120, 40]));
    assert_eq!(counters[0]["samples"]["length"], 4);
    assert_eq!(counters[1]["samples"]["count"], serde_json::json!([0, 1.5, 0, 1.5]), "each has begun anew");
}

/// Makes a process with a refuted sample. The refutation has this number.
fn with_refutation(file: &'static str, pid: u32, number: usize, found: &str) -> Process {
    let mut process = Process::new(file, pid).thread("main", pid.into(), &[(&["main"], 1)]);
    let recording = &mut process.recording;
    let thread = recording.thread_ids().next().unwrap();
    let refuted = stack(recording, &["[refuted]", "main"]);
    let mut how = None;
    for _ in 0..number {
        how = Some(recording.refutation(Refutation {
            kind: "other_callee",
            words: "calls another",
            caller: "Cart.add",
            bci: 3,
            expected: "Price.of",
            found,
        }));
    }
    recording.sample(thread, Sample { trust: Trust::Refuted, ..sample(5 * MS, refuted) });
    let refuted = Refuted { time_ns: START_NS + 5 * MS, stack: refuted, weight: 1, how: how.unwrap() };
    recording.refuted(thread, refuted);
    let report = serde_json::json!({
        "number": number, "count": 1, "kind": "other_callee", "caller": "Cart.add", "bci": 3, "expected": "Price.of",
        "found": found, "stack": [], "at": null, "code": [],
    });
    process.refutations.push(serde_json::from_value(report).unwrap());
    process
}

#[test]
fn markers_have_the_new_number_of_a_refutation_and_equal_ones_share_it() {
    let (profile, _) = joined(vec![
        with_refutation("a", 1, 1, "Price.at"),
        with_refutation("b", 2, 3, "Price.at"),
        with_refutation("c", 3, 1, "Tax.of"),
    ]);
    let listed = profile["meta"]["vouch"]["refutations"].as_array().unwrap();
    let counts: Vec<_> =
        listed.iter().map(|one| (one["found"].as_str().unwrap(), one["count"].as_u64().unwrap())).collect();
    assert_eq!(counts, [("Price.at", 2), ("Tax.of", 1)]);
    for (pid, found) in [("1", "Price.at"), ("2", "Price.at"), ("3", "Tax.of")] {
        let markers = &profile["threads"][track(&profile, pid, "main")]["markers"];
        let data = &markers["data"][0];
        let text =
            &profile["shared"]["stringArray"][usize::try_from(data["found"].as_u64().unwrap()).unwrap()];
        assert_eq!(text, found);
        let by_number = listed.iter().find(|one| one["number"] == data["number"]).unwrap();
        assert_eq!(by_number["found"], found);
        let shown = rows(&profile["shared"]["stackTable"]["frame"]).len();
        assert!(usize::try_from(data["cause"]["stack"].as_u64().unwrap()).unwrap() < shown);
    }
    assert_eq!(profile["meta"]["vouch"]["samples"]["refuted"], 3);
}

/// The measures other than CPU time with samples in contexts.
fn with_contexts() -> impl Iterator<Item = &'static Measure> {
    Measure::others().filter(|measure| **measure != ALLOCATED)
}

/// Makes a process with one sample of each measure, in a context of this class with this field.
fn in_context(file: &'static str, pid: u32, class: &str, field: &str, value: &str) -> Process {
    let mut process = Process::new(file, pid);
    let recording = &mut process.recording;
    let thread = recording.add_thread("main", pid.into(), START_NS);
    let stack = stack(recording, &["main"]);
    let kind = kind(recording, class, &[field]);
    let context = context(recording, None, kind, &[value]);
    recording.sample(thread, Sample { context: Some(context), ..proven(MS, stack) });
    let amount = Amount { time_ns: START_NS, stack, amount: 5, events: 1, context: Some(context) };
    for measure in with_contexts() {
        recording.amount(thread, measure, amount);
    }
    process
}

#[test]
fn all_contexts_are_in_one_table_and_shown_with_their_fields() {
    let (profile, _) = joined(vec![
        in_context("a", 1, "Request", "user", "moe"),
        in_context("b", 2, "Query", "table", "cart"),
        in_context("c", 3, "Request", "user", "moe"),
    ]);
    let table = &profile["meta"]["vouchContexts"];
    assert_eq!((table["length"].as_u64(), table["kinds"].as_array().unwrap().len()), (Some(2), 2));
    let said = |pid, key: &str| {
        let samples = &profile["threads"][track(&profile, pid, "main")][key];
        let row = samples["vouchContext"].as_array().unwrap().iter().find_map(Value::as_u64).unwrap();
        let row = usize::try_from(row).unwrap();
        let value = rows(&table["values"][row])[0];
        profile["shared"]["stringArray"][value].as_str().unwrap()
    };
    for key in with_contexts().map(|measure| measure.table).chain(["samples"]) {
        assert_eq!(["1", "2", "3"].map(|pid| said(pid, key)), ["moe", "cart", "moe"]);
    }
    let shown = |pid| {
        let markers = &profile["threads"][track(&profile, pid, "main")]["markers"];
        let all = profile["meta"]["markerSchema"].as_array().unwrap();
        let mut schemas = all.iter().filter(|schema| schema["name"] == markers["data"][0]["type"]);
        let schema = schemas.next().unwrap();
        assert!(schemas.next().is_none(), "two are called alike");
        schema["fields"][0]["label"].as_str().unwrap()
    };
    assert_eq!(["1", "2", "3"].map(shown), ["USER", "TABLE", "USER"]);
}
