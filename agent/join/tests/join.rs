//! Profiles of several processes put together, and what a reader of the result relies on.

#[path = "../../recording/tests/common/mod.rs"]
mod common;
#[path = "../../recording/tests/common/contexts.rs"]
mod contexts;

use common::{START_NS, sample, stack};
use contexts::{context, kind};
use serde_json::Value;
use vouch_document::Part;
use vouch_formats::{Format, Identity, Meta};
use vouch_join::{Joined, Source, join};
use vouch_recording::{Category, Fate, Func, Recording, Refutation, Refuted, Sample, StackId, Unit};
use vouch_report::{Delivered, RefutationReport, Run, TrustReport};

const MS: u64 = 1_000_000;
const HERE: &str = "this machine, since it was started";

/// A process of a service, recorded for a second.
struct Process {
    file: &'static str,
    name: &'static str,
    pid: u32,
    boot: &'static str,
    namespace: u64,
    /// When it was recorded, in milliseconds from [`START_NS`].
    from_ms: u64,
    /// When its machine was started.
    booted_unix_ms: u64,
    interval_ms: u64,
    recording: Recording,
    refutations: Vec<RefutationReport>,
}

impl Process {
    fn new(file: &'static str, pid: u32) -> Self {
        Self {
            file,
            name: "Shop",
            pid,
            boot: HERE,
            namespace: 1,
            from_ms: 0,
            booted_unix_ms: 1_790_000_000_000,
            interval_ms: 1,
            recording: Recording::new(),
            refutations: Vec::new(),
        }
    }

    /// A thread that was so often in each of these stacks, once in a millisecond.
    fn thread(mut self, name: &str, tid: u64, stacks: &[(&[&str], u64)]) -> Self {
        let thread = self.recording.add_thread(name, tid, START_NS + self.from_ms * MS);
        let mut at = self.from_ms;
        for (names, times) in stacks {
            let stack = stack(&mut self.recording, names);
            for _ in 0..*times {
                at += 1;
                self.recording.sample(thread, proven(at * MS, stack));
            }
        }
        self
    }

    fn source(self) -> Source {
        let mut tally = Delivered::default();
        tally.signals = self.recording.tally().samples.sum();
        tally.weight = self.recording.tally().weight.sum();
        let run = Run {
            interval_ns: self.interval_ms * MS,
            delivered: tally,
            cpu_ms: Some(10.0),
            refutations: self.refutations,
            ..Run::default()
        };
        let started_ns = START_NS + self.from_ms * MS;
        let meta = Meta {
            product: format!("{} (Vouch)", self.name),
            process_name: self.name.to_owned(),
            pid: self.pid,
            identity: (!self.boot.is_empty()).then(|| Identity {
                boot: self.boot.to_owned(),
                namespace: self.namespace,
                pid: self.pid,
                started_ticks: 7,
            }),
            started_ns,
            ended_ns: started_ns + 1_000 * MS,
            started_unix_ns: self.booted_unix_ms * MS + started_ns,
            report: TrustReport::of(&self.recording, run),
            ..Meta::default()
        };
        let mut text = Vec::new();
        Format::of(".json").unwrap().write(&self.recording, &meta, &mut text).unwrap();
        Source { file: self.file.to_owned(), document: serde_json::from_slice(&text).unwrap() }
    }
}

fn proven(into_ns: u64, stack: StackId) -> Sample {
    Sample { fate: Fate::Proven, ..sample(into_ns, stack) }
}

fn value(document: &Part) -> Value {
    serde_json::from_str(&serde_json::to_string(document).unwrap()).unwrap()
}

fn joined(processes: Vec<Process>) -> (Value, Joined) {
    let (document, joined) = join(processes.into_iter().map(Process::source).collect()).unwrap();
    (value(&document), joined)
}

fn refused(processes: Vec<Process>) -> String {
    join(processes.into_iter().map(Process::source).collect()).unwrap_err()
}

fn rows(column: &Value) -> Vec<usize> {
    column.as_array().unwrap().iter().map(|cell| usize::try_from(cell.as_u64().unwrap()).unwrap()).collect()
}

/// The samples of a track: when, their stack from the root, and their weight. Idle ones have none.
fn samples(profile: &Value, track: usize) -> Vec<(u64, Vec<String>, u64)> {
    let shared = &profile["shared"];
    let (func, frame) = (rows(&shared["frameTable"]["func"]), rows(&shared["stackTable"]["frame"]));
    let (name, offset) = (rows(&shared["funcTable"]["name"]), rows(&shared["stackTable"]["prefixOffset"]));
    let samples = &profile["threads"][track]["samples"];
    let mut time = 0.0;
    let mut all = Vec::new();
    for (row, stack) in samples["stack"].as_array().unwrap().iter().enumerate() {
        time += samples["timeDeltas"][row].as_f64().unwrap();
        let mut names = Vec::new();
        let mut at = stack.as_u64().map(|stack| usize::try_from(stack).unwrap());
        while let Some(stack) = at {
            names.push(shared["stringArray"][name[func[frame[stack]]]].as_str().unwrap().to_owned());
            at = (offset[stack] > 0).then(|| stack - offset[stack]);
        }
        names.reverse();
        if !names.is_empty() {
            all.push((since(time), names, samples["weight"][row].as_u64().unwrap_or(1)));
        }
    }
    all
}

/// A time of a profile's, in whole milliseconds from [`START_NS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the times of these tests are such"
)]
fn since(time_ms: f64) -> u64 {
    time_ms.round() as u64 - START_NS / MS
}

fn track(profile: &Value, pid: &str, name: &str) -> usize {
    let tracks = profile["threads"].as_array().unwrap();
    let found: Vec<usize> = (0..tracks.len())
        .filter(|track| tracks[*track]["pid"] == pid && tracks[*track]["name"] == name)
        .collect();
    assert_eq!(found.len(), 1, "{pid} {name}: {tracks:?}");
    found[0]
}

#[test]
fn a_method_of_two_processes_is_one_and_every_sample_is_there_once() {
    let web = Process::new("web.json.gz", 10).thread(
        "main",
        10,
        &[(&["main", "serve"], 3), (&["main", "Cart.add"], 2)],
    );
    let worker = Process { name: "Worker", ..Process::new("worker.json.gz", 20) }.thread(
        "main",
        20,
        &[(&["main", "Cart.add"], 4), (&["main", "Cart.add", "Price.of"], 2)],
    );
    let (profile, joined) = joined(vec![web, worker]);
    assert_eq!((joined.tracks, joined.processes.len(), joined.by_time_of_day.len()), (2, 2, 0));
    let names = rows(&profile["shared"]["funcTable"]["name"]);
    let names: Vec<&str> =
        names.iter().map(|name| profile["shared"]["stringArray"][*name].as_str().unwrap()).collect();
    for once in ["main", "serve", "Cart.add", "Price.of"] {
        assert_eq!(names.iter().filter(|name| **name == once).count(), 1, "{names:?}");
    }
    let add = ["main", "Cart.add"].map(str::to_owned).to_vec();
    let of = |pid, stack: &Vec<String>| {
        let samples = samples(&profile, track(&profile, pid, "main"));
        samples.iter().filter(|(_, names, _)| names == stack).count()
    };
    assert_eq!([of("10", &add), of("20", &add)], [2, 4]);
    assert_eq!(of("20", &["main", "Cart.add", "Price.of"].map(str::to_owned).to_vec()), 2);
    assert_eq!(samples(&profile, track(&profile, "10", "main"))[0].0, 1, "one clock: nothing is moved");
    let told = &profile["meta"]["vouch"]["samples"];
    assert_eq!([&told["signals"], &told["proven"]], [11, 11]);
    assert_eq!(profile["meta"]["vouch"]["cpu_ms"], 20.0);
    // The busiest with Java is selected, whichever stands first.
    assert_eq!(profile["meta"]["initialSelectedThreads"][0], track(&profile, "20", "main"));
}

#[test]
fn processes_of_one_number_are_told_apart_and_threads_too() {
    let one = Process::new("a.json.gz", 1).thread("main", 1, &[(&["main"], 1)]);
    let other = Process { namespace: 2, ..Process::new("b.json.gz", 1) }.thread("main", 1, &[(&["main"], 2)]);
    let (profile, joined) = joined(vec![one, other]);
    assert_eq!(joined.processes, ["Shop (a.json.gz), process 1", "Shop (b.json.gz), process 1 (2)"]);
    let counts = ["1", "1 (2)"].map(|pid| samples(&profile, track(&profile, pid, "main")).len());
    assert_eq!(counts, [1, 2]);
    assert_ne!(profile["threads"][0]["tid"], profile["threads"][1]["tid"]);
}

#[test]
fn the_minutes_of_a_process_are_one_track_and_none_counts_twice() {
    let minute = |file, from_ms| Process { from_ms, ..Process::new(file, 10) };
    let first =
        minute("1.json.gz", 0).thread("main", 10, &[(&["main"], 2)]).thread("old", 11, &[(&["run"], 1)]);
    let second = minute("2.json.gz", 1_000).thread("main", 10, &[(&["main", "late"], 3)]);
    // In whatever order they are named.
    let (profile, _) = joined(vec![second, first]);
    let times: Vec<u64> =
        samples(&profile, track(&profile, "10", "main")).iter().map(|sample| sample.0).collect();
    assert_eq!(times, [1, 2, 1_001, 1_002, 1_003]);
    assert_eq!(samples(&profile, track(&profile, "10", "old")).len(), 1);
    let times = |key: &str| since(profile["meta"][key].as_f64().unwrap());
    assert_eq!(["profilingStartTime", "profilingEndTime"].map(times), [0, 2_000]);
    assert_eq!(profile["meta"]["vouch"]["wall_ms"], 2_000.0);

    let dumped = minute("dump.json.gz", 0).thread("main", 10, &[(&["main"], 2)]);
    let whole = minute("whole.json.gz", 500).thread("main", 10, &[(&["main"], 2)]);
    let why = refused(vec![dumped, whole]);
    assert!(why.contains("whole.json.gz") && why.contains("dump.json.gz") && why.contains("twice"), "{why}");
}

#[test]
fn what_another_profiler_has_recorded_is_not_put_together_with_others() {
    let process = |file, pid, recorder: Option<&str>| {
        let mut source = Process::new(file, pid).thread("main", u64::from(pid), &[(&["main"], 2)]).source();
        if let Some(recorder) = recorder {
            let mut meta: Value = source.document.get("meta").unwrap();
            meta["vouch"]["recorder"] = recorder.into();
            source.document.set("meta", &meta).unwrap();
        }
        source
    };
    assert!(join(vec![process("a", 1, None), process("b", 2, None)]).is_ok());
    let why = join(vec![process("a", 1, None), process("b", 2, Some("Flight Recorder"))]).unwrap_err();
    assert!(why.starts_with("b: its samples are Flight Recorder's"), "{why}");
}

#[test]
fn what_lies_between_two_times_of_a_merged_process_is_refused() {
    let minute = |file, from_ms| {
        Process { from_ms, ..Process::new(file, 10) }.thread("main", 10, &[(&["main"], 2)]).source()
    };
    let (first_and_third, _) = join(vec![minute("1", 0), minute("3", 4_000)]).unwrap();
    let merged = Source { file: "1 and 3".to_owned(), document: first_and_third };
    let why = join(vec![merged, minute("2", 2_000)]).unwrap_err();
    assert!(why.contains("merge all files at once"), "{why}");
}

#[test]
fn a_thread_of_a_container_is_one_track_though_another_has_its_number() {
    let minute = |file, namespace, from_ms| {
        let process = Process { namespace, from_ms, ..Process::new(file, 1) };
        process.thread("main", 1, &[(&["main"], 2)]).source()
    };
    let (both, _) = join(vec![minute("a", 1, 0), minute("b", 2, 0)]).unwrap();
    let both = Source { file: "both".to_owned(), document: both };
    let (profile, joined) = join(vec![both, minute("b later", 2, 2_000)]).unwrap();
    let profile = value(&profile);
    assert_eq!((joined.tracks, joined.processes.len()), (2, 2));
    assert_eq!(samples(&profile, track(&profile, "1 (2)", "main")).len(), 4);
    assert!(profile["threads"].as_array().unwrap().iter().all(|track| track["isMainThread"] == true));
}

#[test]
fn flight_recorders_threads_of_one_name_stay_two_and_those_of_one_number_become_one() {
    let minute = |file, from_ms, tids: [&str; 2]| {
        let stacks: &[(&[&str], u64)] = &[(&["run"], 2)];
        let of = Process { from_ms, ..Process::new(file, 10) };
        let source = of.thread("accept", 70, stacks).thread("accept", 71, stacks).source();
        let mut profile = value(&source.document);
        for (track, tid) in profile["threads"].as_array_mut().unwrap().iter_mut().zip(tids) {
            track["tid"] = tid.into();
        }
        Source { document: serde_json::from_value(profile).unwrap(), ..source }
    };
    let (first, second) =
        (minute("1", 0, ["jfr-1/70", "jfr-2/71"]), minute("2", 1_000, ["jfr-1/71", "jfr-5/70"]));
    let (document, _) = join(vec![first, second]).unwrap();
    let profile = value(&document);
    assert_eq!(profile["threads"].as_array().unwrap().len(), 2);
    for track in 0..2 {
        let times: Vec<u64> = samples(&profile, track).iter().map(|sample| sample.0).collect();
        assert_eq!(times, [1, 2, 1_001, 1_002]);
    }
}

#[test]
fn a_process_has_one_main_thread_and_an_older_vouchs_file_counts_once() {
    let late = |file, tid, from_ms| {
        Process { from_ms, ..Process::new(file, 10) }.thread("main", tid, &[(&["main"], 1)])
    };
    let (profile, _) = joined(vec![late("1", 10, 0), late("2", 11, 2_000)]);
    let mains = |profile: &Value| {
        let tracks = profile["threads"].as_array().unwrap();
        tracks.iter().filter(|track| track["isMainThread"] == true).count()
    };
    assert_eq!((profile["threads"].as_array().unwrap().len(), mains(&profile)), (2, 1));
    let old = |file| Process { boot: "", ..Process::new(file, 10) }.thread("main", 10, &[(&["main"], 1)]);
    let why = refused(vec![old("dump"), old("whole")]);
    assert!(why.contains("would count twice"), "{why}");
    // Two containers of an older Vouch's.
    let (_, both) = joined(vec![old("one"), Process { from_ms: 3, ..old("other") }]);
    assert_eq!(both.processes.len(), 2);
}

/// A process whose one method has this source, with this text, and whose heap was so full at two times.
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
fn a_source_is_one_with_its_text_or_without_and_two_texts_are_two() {
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
fn the_heap_of_a_process_is_one_graph_and_what_a_group_spends() {
    let minutes = [(0, [100, 150]), (2_000, [30, 70])]
        .map(|(from_ms, heap)| with_source("a", 7, from_ms, "null", heap));
    let (profile, _) = join(minutes.into()).unwrap();
    let counters = &value(&profile)["counters"];
    assert_eq!(counters.as_array().unwrap().len(), 2);
    // What it has grown by: 100, 150, 30, 70.
    assert_eq!(counters[0]["samples"]["count"], serde_json::json!([100, 50, -120, 40]));
    assert_eq!(counters[0]["samples"]["length"], 4);
    assert_eq!(counters[1]["samples"]["count"], serde_json::json!([0, 1.5, 0, 1.5]), "each has begun anew");
}

#[test]
fn what_was_put_together_can_be_put_together_with_more_but_not_with_itself() {
    let process = |file, pid| Process::new(file, pid).thread("main", u64::from(pid), &[(&["main"], 2)]);
    let all = |processes: Vec<Process>| join(processes.into_iter().map(Process::source).collect()).unwrap().0;
    let both =
        || Source { file: "both.json".to_owned(), document: all(vec![process("a", 10), process("b", 20)]) };
    let (profile, joined) = join(vec![both(), process("c", 30).source()]).unwrap();
    assert_eq!((joined.processes.len(), joined.by_time_of_day.len()), (3, 0));
    assert_eq!(value(&profile)["meta"]["vouch"]["samples"]["signals"], 6);
    let why = join(vec![both(), process("b", 20).source()]).unwrap_err();
    assert!(why.contains("twice"), "{why}");
}

#[test]
fn one_machine_has_one_clock_and_another_is_related_by_the_time_of_day() {
    let process = |file, pid, boot, booted_unix_ms| {
        Process { boot, booted_unix_ms, ..Process::new(file, pid) }.thread(
            "main",
            pid.into(),
            &[(&["main"], 1)],
        )
    };
    // Its time of day was put right by a second in between, which changes nothing between its own processes.
    let (profile, joined_here) =
        joined(vec![process("a", 1, HERE, 5_000_000), process("b", 2, HERE, 5_001_000)]);
    let at = |profile: &Value, pid: &str| samples(profile, track(profile, pid, "main"))[0].0;
    assert_eq!([at(&profile, "1"), at(&profile, "2")], [1, 1]);
    assert!(joined_here.by_time_of_day.is_empty());
    // Started two seconds earlier, so that the same moment has a later time on its clock.
    let (profile, joined_both) =
        joined(vec![process("a", 1, HERE, 5_000_000), process("b", 2, "there", 4_998_000)]);
    assert_eq!([at(&profile, "1"), at(&profile, "2")], [2_001, 1]);
    assert_eq!(profile["meta"]["startTime"], 4_998_000.0);
    assert_eq!(joined_both.by_time_of_day, ["b"]);
    // Of an older Vouch's, nobody knows.
    let (_, joined_old) = joined(vec![process("a", 1, HERE, 5_000_000), process("old", 2, "", 5_000_000)]);
    assert_eq!(joined_old.by_time_of_day, ["old"]);
}

#[test]
fn weights_are_of_one_interval_or_it_is_refused() {
    let process = |file, pid, interval_ms| {
        Process { interval_ms, ..Process::new(file, pid) }.thread("main", u64::from(pid), &[(&["main"], 2)])
    };
    let (profile, _) = joined(vec![process("a", 1, 5), process("b", 2, 1)]);
    let weights = |pid| {
        samples(&profile, track(&profile, pid, "main")).iter().map(|sample| sample.2).collect::<Vec<_>>()
    };
    assert_eq!([weights("1"), weights("2")], [[5, 5], [1, 1]]);
    assert_eq!(profile["meta"]["interval"], 1.0);
    assert!(
        profile["threads"]
            .as_array()
            .unwrap()
            .iter()
            .all(|track| track["samples"]["weightType"] == "tracing-ms")
    );
    assert_eq!(profile["meta"]["vouch"]["weight_ms"]["proven"], 12.0);
    let why = refused(vec![process("a", 1, 2), process("b", 2, 3)]);
    assert!(why.contains("a was sampled every 2 ms, b every 3 ms"), "{why}");
}

/// A process with a refuted sample, whose refutation has this number there.
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
    recording.sample(thread, Sample { fate: Fate::Refuted, ..sample(5 * MS, refuted) });
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
fn a_refutation_is_found_by_its_marker_and_the_same_one_is_one() {
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

/// A process whose one sample is in a context of this class, with this value in its one field.
fn in_context(file: &'static str, pid: u32, class: &str, field: &str, value: &str) -> Process {
    let mut process = Process::new(file, pid);
    let recording = &mut process.recording;
    let thread = recording.add_thread("main", pid.into(), START_NS);
    let stack = stack(recording, &["main"]);
    let kind = kind(recording, class, &[field]);
    let context = context(recording, None, kind, &[value]);
    recording.sample(thread, Sample { context: Some(context), ..proven(MS, stack) });
    process
}

#[test]
fn contexts_of_all_are_in_one_table_and_shown_by_their_own_fields() {
    let (profile, _) = joined(vec![
        in_context("a", 1, "Request", "user", "moe"),
        in_context("b", 2, "Query", "table", "cart"),
        in_context("c", 3, "Request", "user", "moe"),
    ]);
    let table = &profile["meta"]["vouchContexts"];
    assert_eq!((table["length"].as_u64(), table["kinds"].as_array().unwrap().len()), (Some(2), 2));
    let said = |pid| {
        let samples = &profile["threads"][track(&profile, pid, "main")]["samples"];
        let row = samples["vouchContext"].as_array().unwrap().iter().find_map(Value::as_u64).unwrap();
        let row = usize::try_from(row).unwrap();
        let value = rows(&table["values"][row])[0];
        profile["shared"]["stringArray"][value].as_str().unwrap()
    };
    assert_eq!(["1", "2", "3"].map(said), ["moe", "cart", "moe"]);
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

#[test]
fn what_refers_to_nothing_or_is_of_another_version_is_told_with_its_file() {
    let good = || Process::new("good.json", 1).thread("main", 1, &[(&["main"], 1)]).source();
    let bad = |from: &str, to: &str| {
        let text = serde_json::to_string(
            &Process::new("bad.json", 2).thread("main", 2, &[(&["main"], 1)]).source().document,
        );
        let text = text.unwrap();
        assert!(text.contains(from), "{text}");
        Source {
            file: "bad.json".to_owned(),
            document: serde_json::from_str(&text.replace(from, to)).unwrap(),
        }
    };
    for (from, to, says) in [
        (r#""func":[0]"#, r#""func":[9]"#, "no row 9 in funcTable"),
        (r#""prefixOffset":[0]"#, r#""prefixOffset":[1]"#, "before its first"),
        (r#""frame":[0]"#, r#""frame":[0,0]"#, "different lengths"),
        (r#""preprocessedProfileVersion":66"#, r#""preprocessedProfileVersion":67"#, "different versions"),
        (r#""stack":[0"#, r#""stack":[7"#, "no row 7 in stackTable"),
        (r#""threadCPUDelta""#, r#""threadCPUDelay""#, "samples"),
        (r#""signals""#, r#""signs""#, "no trust report that this vouch knows"),
    ] {
        let why = join(vec![good(), bad(from, to)]).unwrap_err();
        assert!(why.contains("bad.json") && why.contains(says), "{from}: {why}");
    }
}
