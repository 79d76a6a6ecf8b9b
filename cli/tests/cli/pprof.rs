//! `vouch top`, `flame` and `diff` of a pprof file: the real binary counts each sample that the
//! profile of the same recording has.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use serde_json::Value;
use vouch_formats::pprof::{Function, Label, Line, Location, Profile, Sample as Row, ValueType};
use vouch_formats::{Format, Meta};
use vouch_recording::measures::{ALLOCATED, BLOCKED, EXCEPTIONS, LIVE, WALL_CLOCK};
use vouch_recording::{
    Amount, Category, Certainty, Func, Leaf, Recording, Sample, StackId, Trust, VmPart, WaitState,
};
use vouch_report::{Run, TrustReport};

use crate::common;
use contexts::{context, kind};
use recordings::{START_NS, busy_thread, sample, stack};

#[path = "../../../agent/recording/tests/common/contexts.rs"]
mod contexts;
#[path = "../../../agent/recording/tests/common/mod.rs"]
mod recordings;

fn vouch(arguments: &[&str], files: &[&PathBuf]) -> Output {
    let mut verb = Command::new(env!("CARGO_BIN_EXE_vouch"));
    verb.arg(arguments[0]).args(files).args(&arguments[1..]).output().unwrap()
}

fn good(arguments: &[&str], file: &PathBuf) -> String {
    let output = vouch(arguments, &[file]);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], files: &[&PathBuf]) -> String {
    let output = vouch(arguments, files);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn written(name: &str, recording: &Recording, report: TrustReport) -> PathBuf {
    let meta = Meta { report, started_ns: START_NS, ended_ns: START_NS + 1_000_000_000, ..Meta::default() };
    let mut bytes = Vec::new();
    Format::from_file_name(name).unwrap().write(recording, &meta, &mut bytes).unwrap();
    common::file("pprof", name, if name.ends_with(".gz") { packed(&bytes) } else { bytes })
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// The files of one recording: the profile, and pprof's.
fn files(name: &str, recording: &Recording) -> [PathBuf; 2] {
    let run = || Run { interval_ns: 1_000_000, ..Run::default() };
    let file = |ending| {
        let report = TrustReport::from_recording(recording, run());
        written(&format!("{name}.{ending}"), recording, report)
    };
    [file("json"), file("pb.gz")]
}

/// Adds a leaf with this trust, and a line.
fn leaf(recording: &mut Recording, caller: StackId, (name, trust): (&str, Trust)) -> StackId {
    let category = Category::Application;
    let func = recording.func(Func { name, category, source: None, line: None, resource: None, java: true });
    let leaf = Leaf { trust, top_frame: Some(Certainty::Approximate) };
    let frame = recording.leaf_frame(func, Some(12), leaf);
    recording.stack(Some(caller), frame)
}

/// Two threads of one name, nested contexts, the VM, a recursion, weights, allocations and waits.
pub fn recording() -> Recording {
    let mut recording = Recording::new();
    let request = kind(&mut recording, "Request", &["user", "type"]);
    let step = kind(&mut recording, "Step", &["name"]);
    let moe = context(&mut recording, None, request, &["moe", ""]);
    let read = context(&mut recording, Some(moe), step, &["read"]);
    let work = stack(&mut recording, &["main", "run", "work", "run"]);
    let guess = leaf(&mut recording, work, ("guess", Trust::Plausible));
    let refuted = leaf(&mut recording, work, ("wrong", Trust::Refuted));
    let gc = recording.placeholder_stack(None, "[GC]", Category::Vm(VmPart::Gc));
    let parked = recording.placeholder_stack(Some(work), WaitState::Parked.leaf(), Category::Waiting);
    let poll = recording.placeholder_func("[system call poll]", Category::Waiting);
    let poll = recording.leaf_frame(poll, None, Leaf::new(Trust::Refuted));
    let polling = recording.stack(Some(guess), poll);
    for tid in [11, 12] {
        let thread = recording.add_thread("worker", tid, START_NS);
        for at in 1..=20 {
            let (stack, context, weight) = match at % 5 {
                0 => (gc, None, 1),
                1 => (guess, Some(read), 3),
                2 => (guess, Some(moe), 1),
                3 => (refuted, Some(moe), 0),
                _ => (work, None, u32::try_from(tid).unwrap() - 10),
            };
            recording.sample(thread, Sample { weight, context, ..sample(at * 1_000_000, stack) });
        }
        for amount in [3_000, 500, 500] {
            let stack = recording.stack_of_class(Some(guess), "byte[]");
            recording.amount(
                thread,
                &ALLOCATED,
                Amount { time_ns: START_NS, stack, amount, events: 2, context: None },
            );
        }
        for (class, amount, events) in [("shop.Till", 9_000_000, 3), ("shop.Door", 400, 1)] {
            let stack = recording.stack_of_class(Some(guess), class);
            let amount = Amount { time_ns: START_NS, stack, amount, events, context: None };
            recording.amount(thread, &BLOCKED, amount);
        }
        let thrown = recording.stack_of_class(Some(work), "shop.Oops");
        let amount = Amount { time_ns: START_NS, stack: thrown, amount: 20, events: 20, context: None };
        recording.amount(thread, &EXCEPTIONS, amount);
        let leaked = recording.stack_of_class(Some(work), "shop.Order");
        let amount = Amount { time_ns: START_NS, stack: leaked, amount: 64, events: 2, context: None };
        recording.amount(thread, &LIVE, amount);
        let waits = [(parked, 700_000_001, Some(read)), (polling, 20, None), (guess, 1_000_000, Some(moe))];
        for (stack, amount, context) in waits {
            recording.amount(
                thread,
                &WALL_CLOCK,
                Amount { time_ns: START_NS, stack, amount, events: 1, context },
            );
        }
    }
    // Two threads of one name: one only waits, the other only runs.
    let thread = recording.add_thread("idle", 13, START_NS);
    recording.amount(
        thread,
        &WALL_CLOCK,
        Amount { time_ns: START_NS, stack: parked, amount: 5, events: 1, context: None },
    );
    let thread = recording.add_thread("idle", 14, START_NS);
    recording.sample(thread, sample(1_000_000, work));
    recording
}

#[test]
fn top_counts_each_sample_of_a_pprof_file() {
    let [json, pprof] = files("top", &recording());
    let mut seen = BTreeSet::new();
    for question in [
        &[] as &[&str],
        &["--lines"],
        &["--sort", "total"],
        &["--by", "thread"],
        &["--by", "user"],
        &["--by", "type"],
        &["--by", "Step.name"],
        &["--where", "user=moe"],
        &["--where", "user=moe", "--where", "type=", "--where", "Step.name=read"],
        &["--thread", "work", "--include", "guess"],
        &["--exclude", "guess"],
        &["--callers", "work"],
        &["--measure", "alloc"],
        &["--measure", "alloc", "--by", "thread"],
        &["--measure", "lock"],
        &["--measure", "lock-count", "--by", "thread"],
        &["--measure", "exception"],
        &["--measure", "live"],
        &["--measure", "wall"],
        &["--measure", "wall", "--by", "thread"],
        &["--measure", "wall", "--by", "user"],
        &["--measure", "wall", "--where", "Step.name=read", "--state", "parked"],
        &["--measure", "wall", "--state", "parked"],
        &["--measure", "wall", "--state", "!running", "--sort", "total"],
        &["--measure", "wall", "--state", "running"],
    ] {
        let top = [&["top", "--json"], question].concat();
        let [expected, actual] =
            [&json, &pprof].map(|file| serde_json::from_str::<Value>(&good(&top, file)).unwrap());
        assert!(expected["samples"].as_u64().unwrap() > 0);
        assert_eq!(actual, expected, "{question:?}");
        seen.insert(expected.to_string());
    }
    assert_eq!(seen.len(), 25, "two questions have the same answer");
}

#[test]
fn a_flame_graph_of_a_pprof_file_has_each_sample() {
    let [json, pprof] = files("flame", &recording());
    for question in [
        &[] as &[&str],
        &["--by", "user"],
        &["--by", "thread", "--inverted"],
        &["--where", "user=moe"],
        &["--measure", "alloc"],
        &["--measure", "wall"],
        &["--measure", "wall", "--state", "parked", "--by", "thread"],
    ] {
        let [expected, actual] = [&json, &pprof].map(|file| {
            let out = file.with_extension("folded");
            good(&[&["flame", "--out", out.to_str().unwrap()], question].concat(), file);
            let text = fs::read_to_string(&out).unwrap();
            text.lines().map(str::to_owned).collect::<BTreeSet<String>>()
        });
        assert!(!expected.is_empty());
        assert_eq!(actual, expected, "{question:?}");
    }
    let picture = good(&["flame"], &pprof);
    assert!(picture.contains("flame.flame") && picture.contains(".svg"), "{picture}");
}

#[test]
fn the_samples_of_an_event_are_counted_without_a_time() {
    let recording = recording();
    let report = TrustReport::from_recording(&recording, Run { interval_ns: 1, ..Run::default() });
    let report = report.taken_by(None, Some("cache-misses".to_owned()));
    let file = written("event.pb.gz", &recording, report);
    let top: Value = serde_json::from_str(&good(&["top", "--json"], &file)).unwrap();
    let weight: u64 = recording
        .threads()
        .iter()
        .flat_map(vouch_recording::Thread::samples)
        .map(|it| u64::from(it.weight))
        .sum();
    assert_eq!((&top["samples"], &top["time"]), (&weight.into(), &"samples of cache-misses".into()), "{top}");
}

#[test]
fn a_file_without_a_measure_is_refused_as_a_profile_is() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    busy_thread(&mut recording, "main", stack, 3);
    let [json, pprof] = files("cpu", &recording);
    for question in [&["--measure", "alloc"] as &[&str], &["--measure", "wall"], &["--where", "user=moe"]] {
        let [expected, actual] = [&json, &pprof].map(|file| {
            let error = refused(&[&["top"], question].concat(), &[file]);
            error.replace(&file.display().to_string(), "FILE")
        });
        assert_eq!(actual, expected);
    }
}

#[test]
fn options_that_need_times_are_refused() {
    let [_, pprof] = files("times", &recording());
    for question in [
        &["top", "--from", "1s"] as &[&str],
        &["flame", "--to", "1s"],
        &["top", "--measure", "wall", "--to", "1s"],
    ] {
        let error = refused(question, &[&pprof]);
        assert!(
            error.contains("--from and --to need the times of samples, and a pprof file has none"),
            "{error}"
        );
    }
    for measure in ["cpu", "alloc", "wall"] {
        let error = refused(&["diff", "--measure", measure], &[&pprof, &pprof]);
        assert!(error.contains("a comparison needs the times of samples"), "{error}");
        assert!(error.contains("times.pb.gz") && error.lines().count() == 1, "{error}");
    }
}

/// A file of another program: an inlined function, a label that is a number, and a time that is no
/// multiple of the period.
fn foreign() -> Profile {
    let strings =
        ["", "samples", "count", "cpu", "nanoseconds", "main.main", "main.add", "user", "moe", "size"];
    let line = |function_id, line| Line { function_id, line };
    let function = |id, name| Function { id, name, filename: 0, start_line: 0 };
    let row = |samples, nanos, label| Row { location_id: vec![7], value: vec![samples, nanos], label };
    let number = Label { key: 9, str: 0, num: 64 };
    Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }, ValueType { r#type: 3, unit: 4 }],
        sample: vec![
            row(3, 35_000_000, vec![number, Label { key: 7, str: 8, num: 0 }]),
            row(1, 10_000_000, vec![Label { num: 0, ..number }]),
        ],
        location: vec![Location { id: 7, mapping_id: 0, line: vec![line(8, 4), line(9, 12)] }],
        function: vec![function(9, 5), function(8, 6)],
        string_table: strings.map(str::to_owned).to_vec(),
        period_type: Some(ValueType { r#type: 3, unit: 4 }),
        period: 10_000_000,
        ..Profile::default()
    }
}

#[test]
fn a_file_of_another_program_is_read() {
    // Go's runtime writes the type of the period or the time first.
    let period_type = Profile { period_type: foreign().period_type, ..Profile::default() };
    let time = Profile { time_nanos: 1_699_307_383_100_971_996, ..Profile::default() };
    let bytes = [period_type, time, foreign()].map(|part| part.encode_to_vec()).concat();
    let file = common::file("pprof", "foreign.pb", bytes);
    let top = |question: &[&str]| -> Value {
        serde_json::from_str(&good(&[&["top", "--json"], question].concat(), &file)).unwrap()
    };
    let all = top(&["--lines"]);
    assert_eq!((&all["cpu_ms"], &all["samples"]), (&45.0.into(), &4.into()), "{all}");
    let rows = all["rows"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|row| (&row["name"], &row["self_ms"], &row["total_ms"])).collect();
    let [add, main] = ["main.add:4", "main.main:12"].map(Value::from);
    assert_eq!(rows, [(&add, &45.0.into(), &45.0.into())]);
    assert_eq!(top(&["--lines", "--sort", "total"])["rows"][1]["name"], main);
    assert_eq!(top(&["--by", "user"])["rows"][0]["ms"], 35.0);
    assert_eq!(top(&["--by", "thread"])["rows"][0]["name"], "[threads not separated]");
    let error = refused(&["top", "--by", "size"], &[&file]);
    assert!(error.contains("the fields are label.user\n"), "{error}");
}

#[test]
fn other_units_and_measures_are_read() {
    let mut millis = foreign();
    millis.string_table[4] = "milliseconds".to_owned();
    let file = common::file("pprof", "units.pb", millis.encode_to_vec());
    let top: Value = serde_json::from_str(&good(&["top", "--json"], &file)).unwrap();
    assert_eq!(top["cpu_ms"], 45_000_000.0);
    let mut heap = foreign();
    for (row, text) in [(1, "alloc_objects"), (3, "alloc_space"), (4, "bytes")] {
        heap.string_table[row] = text.to_owned();
    }
    let file = common::file("pprof", "heap.pb", heap.encode_to_vec());
    let error = refused(&["top"], &[&file]);
    assert!(error.contains("--measure alloc counts its allocations"), "{error}");
    let top: Value = serde_json::from_str(&good(&["top", "--measure", "alloc", "--json"], &file)).unwrap();
    assert_eq!((&top["bytes"], &top["samples"]), (&45_000_000.0.into(), &2.into()));
}

/// Once each sample was a row in memory: this file took 2 GB.
#[test]
fn memory_is_by_the_rows_of_a_pprof_file_and_not_by_its_samples() {
    let mut large = foreign();
    large.sample[0].value = vec![19_999_990, 199_999_910_000_000];
    let file = common::file("pprof", "large.pb", large.encode_to_vec());
    for question in [&["top", "--json"] as &[&str], &["top", "--json", "--by", "user"]] {
        let output = Command::new("sh")
            .args(["-c", "ulimit -v 256000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_vouch")])
            .args([&[question[0], file.to_str().unwrap()], &question[1..]].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{question:?}: {output:?}");
        let top: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = (&top["cpu_ms"], &top["samples"], &top["rows"][0]["name"]);
        let name = if question.len() == 2 { "main.add" } else { "moe" };
        assert_eq!(all, (&199_999_920.0.into(), &19_999_991.into(), &name.into()), "{top}");
    }
}

#[test]
fn a_damaged_pprof_file_is_one_sentence() {
    let whole = foreign().encode_to_vec();
    let cut = (3..whole.len()).map(|length| whole[..length].to_vec());
    let changed = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        bytes
    });
    for bytes in cut.chain(changed) {
        let file = common::file("pprof", "damaged.pb", &bytes);
        let output = vouch(&["top"], &[&file]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{bytes:?}: {output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error.lines().count(), usize::from(!output.status.success()), "{bytes:?}: {error}");
    }
    let refusal = |name: &str, bytes: &[u8]| refused(&["top"], &[&common::file("pprof", name, bytes)]);
    let error = refusal("cut.pb", &whole[..whole.len() - 3]);
    assert!(error.contains("cut.pb is a damaged pprof file: "), "{error}");
    let packed = packed(&whole);
    let error = refusal("cut.pb.gz", &packed[..packed.len() - 12]);
    assert!(error.contains("cut.pb.gz is a damaged or incomplete gzip file"), "{error}");
    // OpenTelemetry's format begins with a longer field.
    let error = refusal("other.pb", &[0x0a, 0x85, 0x08, 0x0a, 0x01]);
    assert!(error.contains("other.pb is an OpenTelemetry profile"), "{error}");
    let mut many = foreign();
    many.sample[0].value = vec![i64::MAX, i64::MAX];
    many.period = 1;
    let error = refusal("many.pb", &many.encode_to_vec());
    assert!(error.contains("too many samples: of pprof files at most 20000000"), "{error}");
    let mut difference = foreign();
    difference.sample[0].value[1] = -5;
    let error = refusal("difference.pb", &difference.encode_to_vec());
    assert!(error.contains("has values below 0"), "{error}");
    let mut overflow = foreign();
    for row in &mut overflow.sample {
        row.value = vec![1, i64::MAX];
    }
    overflow.sample.extend(overflow.sample.clone());
    overflow.sample[0].value[1] = 1;
    let error = refusal("overflow.pb", &overflow.encode_to_vec());
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn a_row_without_known_frames_is_counted() {
    let mut odd = foreign();
    odd.sample[0].location_id = vec![99, 7];
    odd.sample[1].location_id.clear();
    odd.sample.push(Row { location_id: vec![7], value: vec![1, 10_000_000], label: Vec::new() });
    odd.function[1].name = -3;
    let file = common::file("pprof", "odd.pb", odd.encode_to_vec());
    let top: Value = serde_json::from_str(&good(&["top", "--json"], &file)).unwrap();
    assert_eq!((&top["rows"][0]["name"], &top["rows"][0]["self_ms"]), (&"[unknown]".into(), &55.0.into()));
}
