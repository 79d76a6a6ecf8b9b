//! The trust report: its keys are a contract, its fates add up, and its summary fits in eight lines.

#[path = "../../recording/tests/common/mod.rs"]
mod common;

use common::{START_NS, sample, stack};
use serde_json::Value;
use vouch_proof::Refutation;
use vouch_recording::{Fate, Recording, Sample};
use vouch_report::{
    Account, AgreementReport, ClassReport, Clock, CompilerReport, Delivered, EventReport, FieldReport, Files,
    GradeReport, GroupReport, HandlerTime, KindReport, LIMIT_REACHED, Power, Rate, RecordingFile,
    RecoveryReport, RefutationReport, Run, SafepointReport, Several, TrustReport, ValueReport, WaitingReport,
    WitnessPower, WitnessReport,
};

const FATES: [Fate; 6] =
    [Fate::Proven, Fate::Plausible, Fate::Refuted, Fate::Unwalked, Fate::Outside, Fate::Dropped];

/// Two threads; of each fate one sample more than of the one before, each of weight 2.
fn recording() -> Recording {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 7, START_NS);
    let other = recording.add_thread("other", 8, START_NS);
    recording.set_thread_cpu(main, 29_500_000);
    for (thread, fates) in [(main, &FATES[..5]), (other, &FATES[..2])] {
        for (fate, count) in fates.iter().zip(1..) {
            for n in 0..count {
                recording.sample(thread, Sample { weight: 2, fate: *fate, ..sample(n, stack) });
            }
        }
    }
    recording.dropped(10, 20);
    recording
}

fn report() -> TrustReport {
    TrustReport::of(&recording(), run(28, 56))
}

/// A run of which nothing is known but its signals.
fn run(signals: u64, weight: u64) -> Run {
    Run { delivered: Delivered { signals, weight }, interval_ns: 1_000_000, ..Run::default() }
}

/// The same with what proof has to say.
fn proven_report() -> TrustReport {
    let refutation = RefutationReport {
        number: 4,
        count: 3,
        kind: Refutation::OtherCallee,
        caller: "shop/Cart.add:()V".into(),
        bci: 17,
        line: None,
        expected: "invokevirtual shop/Cart.total:()I".into(),
        found: "shop/Item.price:()I".into(),
        stack: Vec::new(),
        at: None,
        code: Vec::new(),
        witness: None,
    };
    let mut report = report();
    report.run.options = Some(Vec::new());
    report.run.rate = Some(Rate::default());
    report.run.handler_ns = Some(HandlerTime::default());
    report.run.refutations = vec![refutation];
    report.run.recovery = [("top".to_owned(), RecoveryReport::default())].into();
    report.run.agreement = [("same".to_owned(), AgreementReport::default())].into();
    report.run.events = [("gc".to_owned(), EventReport::default())].into();
    report.run.safepoints = Some(SafepointReport::default());
    report.run.classes = Some(ClassReport::default());
    report.run.compilers = Some(CompilerReport::default());
    report.run.power = [("moved_bcis".to_owned(), Power { tried: 2000, noticed: 1999 })].into();
    report
}

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
    let expected = "agent_cpu_ms agreement bytes_recorded classes command compilers conservation contexts cpu_ms edges engine engine_notes engine_stopped events groups \
                    handler_ns interval_us jdk markers markers_left_out names_lost options power rate recording_file recovery refutations refuted safepoints sampled_interval_us samples stacks_cut threads unwalked vm_flags \
                    vouch waiting walked_by wall_ms weight_ms witness";
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
    assert_eq!(keys(&report["events"]["gc"]), ["count", "longest_ms", "shown", "took_ms"]);
    assert_eq!(keys(&report["contexts"]), ["kinds", "left_out", "met", "with_ms", "without_ms"]);
    assert_eq!(keys(&report["rate"]), ["asked_hz", "reached_hz", "unit"]);
    assert_eq!(report["rate"]["unit"], "samples per CPU-second");
}

/// Whose keys are words of the run's, and no contract.
const BY_WORD: [&str; 14] = [
    "agreement",
    "confirmed",
    "contradicted",
    "differences",
    "events",
    "explained",
    "groups",
    "markers",
    "power",
    "recovery",
    "refuted",
    "root_only_because",
    "unwalked",
    "walked_by",
];

/// All keys that a value has, at any depth.
fn keys_within<'v>(name: &str, value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.extend((!BY_WORD.contains(&name)).then_some(key.as_str()));
                // These have the keys of refutations.
                if key != "contradictions" {
                    keys_within(key, value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys_within(name, item, found)),
        _ => {}
    }
}

#[test]
fn each_key_is_explained() {
    let page = include_str!("../../../docs/trust-report.md");
    let rows: Vec<(&str, &str)> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
    let mut report = proven_report();
    report.run.recorder = Some("another profiler".to_owned());
    report.clock = Some(Clock::Wall);
    report.event = Some("cache-misses".to_owned());
    report.run.runs_ms = Some(1.0);
    report.run.recording_file = Some(RecordingFile::default());
    let [first] = report.run.refutations.as_mut_slice() else { panic!("one refutation") };
    first.line = Some(1);
    first.witness = Some(Account { grade: "exact".to_owned(), stack: Vec::new() });
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
    let report = serde_json::to_value(&report).unwrap();
    let mut explained: Vec<&str> = rows.iter().map(|(key, _)| *key).collect();
    explained.sort_unstable();
    assert_eq!(explained, keys(&report));
    for (key, tells) in rows {
        let mut within = Vec::new();
        keys_within(key, &report[key], &mut within);
        for key_within in within {
            assert!(tells.contains(&format!("`{key_within}`")), "{key} has {key_within}: {tells}");
        }
    }
}

#[test]
fn the_fates_add_up() {
    let recording = recording();
    let tally = recording.tally();
    assert_eq!(FATES.map(|fate| tally.samples.get(fate)), [2, 4, 3, 4, 5, 10]);
    assert_eq!(FATES.map(|fate| tally.weight.get(fate)), [4, 8, 6, 8, 10, 20]);
    assert_eq!((tally.samples.sum(), tally.weight.sum()), (28, 56));
    let report = report();
    assert_eq!(report.samples.signals, report.samples.fates.sum());
    let weight = report.weight_ms.unwrap();
    assert_eq!((weight.signals, weight.fates.dropped), (56.0, 20.0));
}

#[test]
fn what_held_the_program_up_is_told_where_it_is_a_part_of_the_time() {
    let mut report = report();
    report.run.wall_ms = 1_000.0;
    let events = |count, took_ms, longest_ms| EventReport { count, shown: count, took_ms, longest_ms };
    report.run.events =
        [("gc".to_owned(), events(4, 9.9, 5.0)), ("monitor".to_owned(), events(7, 3.0, 2.0))].into();
    assert!(!report.summary(Files::default()).contains("meanwhile"), "a hundredth is nothing to speak of");
    let panel = |report: &TrustReport| report.panel().find(|(label, _)| *label == "Meanwhile");
    let all = "it stood still for the collector 4 times, 10 ms (1.0 % of the time), 5 ms the longest; \
               threads waited 7 times for a lock, 3 ms in all, 2 ms the longest";
    assert_eq!(panel(&report), Some(("Meanwhile", all.to_owned())));
    report.run.events =
        [("gc".to_owned(), events(1, 250.0, 250.0)), ("jit".to_owned(), events(9, 0.0, 0.0))].into();
    let line = "[vouch] meanwhile it stood still for the collector once, 250 ms (25.0 % of the time), 250 ms the longest\n";
    assert!(report.summary(Files::default()).contains(line), "{}", report.summary(Files::default()));
    report.run.events.clear();
    assert_eq!(panel(&report), None);
    report.run.safepoints = Some(SafepointReport { count: 3, stopped_ms: 20.0, reaching_ms: 1.0 });
    let stood = "for whatever reason it stood 3 times, 20 ms, and took 1 ms to stop";
    assert_eq!(panel(&report), Some(("Meanwhile", stood.to_owned())));
    report.run.safepoints = None;
    let classes = |initializing_ms| ClassReport {
        loaded: 1_234,
        initialized: 900,
        loading_ms: 5.0,
        linking_ms: 2.0,
        initializing_ms,
    };
    let compilers = |took_ms| CompilerReport { compiled: 4_321, failed: 1, took_ms };
    (report.run.classes, report.run.compilers) = (Some(classes(3.0)), Some(compilers(10.0)));
    assert_eq!(panel(&report), None, "a hundredth is nothing to speak of");
    (report.run.classes, report.run.compilers) = (Some(classes(4.0)), Some(compilers(11.0)));
    let code = "threads spent 11 ms on 1,234 classes that were new: 5 ms to load, 2 ms to link, 4 ms to initialise them; \
                the compilers worked for 11 ms, 4,321 times";
    assert_eq!(panel(&report), Some(("Meanwhile", code.to_owned())));
    assert!(!report.summary(Files::default()).contains("meanwhile"), "nobody who has not asked reads of it");
}

#[test]
fn what_recovery_brought_back_is_told_as_a_share_of_the_time() {
    let mut report = report();
    let brought = |weight_ms| RecoveryReport { walked: 9, proven: 9, weight_ms, ..RecoveryReport::default() };
    report.run.recovery = [("probe".to_owned(), brought(0.0)), ("top".to_owned(), brought(0.0))].into();
    assert!(!report.summary(Files::default()).contains("recovery"));
    report.run.recovery = [("probe".to_owned(), brought(4.0)), ("top".to_owned(), brought(10.0))].into();
    assert!(report.summary(Files::default()).contains("[vouch] 25.0 % has its stack by recovery\n"));
    report.run.unwalked = [("deopt".to_owned(), 4)].into();
    let line = "[vouch] 25.0 % has its stack by recovery; unwalked because: deopt 4\n";
    assert!(report.summary(Files::default()).contains(line));
}

#[test]
fn a_thread_has_its_own_figures() {
    let [main, other] = &report().threads[..] else { panic!("two threads were recorded") };
    assert_eq!((main.name.as_str(), main.tid, main.cpu_ms), ("main", 7, Some(29.5)));
    assert_eq!((main.samples, main.refuted, main.unwalked, main.sampled_ms), (15, 3, 4, Some(30.0)));
    assert_eq!((other.samples, other.sampled_ms, other.cpu_ms), (3, Some(6.0), None));
    assert_eq!((main.conserved, other.conserved), (Some(1.0169), None));
    // Only the thread whose time the kernel told can say whether time was conserved.
    let all = report().conservation;
    assert_eq!((all.cpu_ms, all.sampled_ms, all.ratio), (29.5, 30.0, Some(1.0169)));
}

#[test]
fn the_worst_refutation_is_told_in_one_line() {
    let summary = proven_report().summary(Files::default());
    let line = "[vouch] refuted #4 (other_callee, 3 times): shop.Cart.add() at bci 17: invokevirtual \
                shop.Cart.total(); the walk claimed shop.Item.price()";
    assert!(summary.lines().any(|each| each == line), "{summary}");
    let checks = "[vouch] proof notices 99.95 % of moved bcis; sampled 101.7 % of the CPU time that the kernel charged";
    assert!(summary.lines().any(|each| each == checks), "{summary}");
}

#[test]
fn a_share_is_one_of_the_time() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 7, START_NS);
    recording.sample(main, Sample { fate: Fate::Proven, weight: 3, ..sample(1, stack) });
    recording.sample(main, Sample { fate: Fate::Refuted, weight: 1, ..sample(2, stack) });
    let summary = TrustReport::of(&recording, run(2, 4)).summary(Files::default());
    assert!(summary.contains("proven 1 (75.0 %) + refuted 1 (25.0 %)"), "{summary}");
}

#[test]
fn a_quiet_run_is_summed_up_in_what_matters() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 7, START_NS);
    for n in 0..2000 {
        recording.sample(main, sample(n, stack));
    }
    let run = Run {
        engine: "perf".into(),
        rate: Some(Rate { asked_hz: 1000.0, reached_hz: 951.2 }),
        cpu_ms: Some(2100.0),
        wall_ms: 61_000.0,
        ..run(2000, 2000)
    };
    let report = TrustReport::of(&recording, run);
    let expected = "\
[vouch] 2,000 signals in 2.10 s of CPU, 1.0 min of wall time; perf, 951 of 1000 samples per CPU-second
[vouch] plausible 2,000 (100.0 %)
[vouch] wrote vouch-1.json.gz; open it at https://profiler.firefox.com
";
    assert_eq!(report.summary(Files { all: &["vouch-1.json.gz"], opens: Some("vouch-1.json.gz") }), expected);
}

#[test]
fn the_summary_of_the_worst_run_has_eight_lines() {
    let mut report = report();
    report.samples.signals += 1;
    report.run.unwalked = [("unknown_Java", 3), ("GC_active", 1), ("deopt", 1), ("safepoint", 1)]
        .map(|(code, count)| (code.to_owned(), count))
        .into();
    report.run.names_lost = 5;
    report.run.stacks_cut = 1_234;
    let grade = |asked, agreed| GradeReport { asked, agreed, frames: 5 * asked, frames_left_out: asked };
    report.run.witness = WitnessReport {
        exact: grade(9, 8),
        all_but_top: grade(1_000, 997),
        root_only: grade(7, 6),
        contradicted: [("proven".to_owned(), 1), ("refuted".to_owned(), 3)].into(),
        ..report.run.witness
    };
    report.run.engine_notes = (0..9).map(|note| format!("note\n{note}")).collect();
    let summary = report.summary(Files { all: &["a.folded", "b.json.gz"], opens: Some("b.json.gz") });
    let lines: Vec<_> = summary.lines().collect();
    assert_eq!(lines.len(), 8, "{summary}");
    assert!(lines.iter().all(|line| line.starts_with("[vouch] ")), "{summary}");
    for says in [
        "add up to 28, not to 29",
        "unknown_Java 3",
        "10 samples found no room",
        "5 methods",
        "1,234 stacks were cut",
        "of 1,009 whole stacks checked by the JVM itself 4 differed, 1 of which proof had called proven",
        "9 more notes",
        "wrote a.folded, b.json.gz; open b.json.gz",
    ] {
        assert!(summary.contains(says), "{says}: {summary}");
    }
}

#[test]
fn however_much_there_is_to_say_notes_are_told() {
    let mut report = proven_report();
    report.samples.signals += 1;
    report.run.wall_ms = 1_000.0;
    let gc = EventReport { count: 7, took_ms: 500.0, longest_ms: 200.0, ..EventReport::default() };
    report.run.events = [("gc".to_owned(), gc)].into();
    report.run.unwalked = [("deopt".to_owned(), 3)].into();
    report.run.names_lost = 5;
    report.run.engine_notes = ["believe nothing of this".to_owned(), "\u{1b}[2J".to_owned()].into();
    let summary = report.summary(Files { all: &["a.json"], opens: Some("a.json") });
    assert_eq!(summary.lines().count(), 8, "{summary}");
    for says in [
        "meanwhile it stood",
        "refuted #4",
        "5 methods were gone",
        "2 more notes are in the report",
        "wrote a.json",
    ] {
        assert!(summary.contains(says), "{says}: {summary}");
    }
    report.run.names_lost = 0;
    report.samples.fates.dropped = 0;
    report.run.power.clear();
    report.run.witness = WitnessReport::default();
    report.conservation.ratio = None;
    let summary = report.summary(Files::default());
    assert!(summary.contains("[vouch] \u{fffd}[2J\n"), "a terminal would obey: {summary}");
}

#[test]
fn what_holds_for_one_of_several_runs_is_not_said_of_all() {
    let of = |options: &[&str], stopped| {
        let mut report = report();
        let gc = EventReport { count: 1, took_ms: 150.0, longest_ms: 150.0, ..EventReport::default() };
        report.run.options = Some(options.iter().map(|&option| option.to_owned()).collect());
        report.run.engine_stopped = stopped;
        report.run.wall_ms = 1_000.0;
        report.run.events = [("gc".to_owned(), gc)].into();
        report
    };
    let joined = |reports: Vec<TrustReport>| {
        let mut several = Several::default();
        for report in reports {
            several.add(report);
        }
        several.finish(1_000.0)
    };
    let all = joined(vec![of(&["threads=a"], true), of(&["threads=a"], true), of(&["threads=a"], true)]);
    let summary = all.summary(Files::default());
    assert!(
        summary.contains("of the threads of threads=a alone") && summary.contains("until it was stopped"),
        "{summary}"
    );
    // Three at the same time, each of which stood still for a seventh of its time or so.
    assert!(summary.contains("450 ms (15.0 % of the time)"), "{summary}");
    for runs in [
        vec![of(&["threads=a"], true), of(&[], false), of(&[], false)],
        vec![of(&[], false), of(&[], false), of(&["threads=a"], true)],
        vec![of(&["threads=a"], true), of(&[], false), of(&["threads=a"], true)],
    ] {
        let all = joined(runs);
        let summary = all.summary(Files::default());
        assert!(
            !summary.contains("of the threads of") && !summary.contains("until it was stopped"),
            "{summary}"
        );
        assert!(
            all.run.engine_notes.contains(&"some of these runs have threads=a alone".to_owned()),
            "{summary}"
        );
        assert!(all.run.engine_notes.iter().any(|note| note.contains("until the engine was stopped")));
        assert!(all.run.options.unwrap().is_empty());
    }
}

#[test]
fn an_interval_that_is_no_whole_number_of_milliseconds_is_not_taken_for_a_longer_one() {
    for micros in 50..2_000_u32 {
        let seconds = f64::from(micros) / 1e6;
        let run = Run {
            interval_ns: u64::from(micros) * 1_000,
            sampled_interval_us: Some(seconds * 1e6),
            ..Run::default()
        };
        assert!(!run.is_rarer(), "{micros} us");
    }
    let run = Run { interval_ns: 1_000_000, sampled_interval_us: Some(1_001.0), ..Run::default() };
    assert!(run.is_rarer());
    let unknown = Run { sampled_interval_us: None, ..run };
    assert!(!unknown.is_rarer() && unknown.sampled_ns() == 1_000_000);
}

/// Of what makes up a whole.
#[test]
fn what_one_of_several_runs_does_not_tell_is_told_of_none() {
    let known = |cpu_ms, reached_hz| {
        let mut report = report();
        report.run.sampled_interval_us = Some(cpu_ms);
        report.run.rate = Some(Rate { asked_hz: 1000.0, reached_hz });
        (report.run.cpu_ms, report.run.agent_cpu_ms) = (Some(cpu_ms), Some(1.0));
        report.run.handler_ns = Some(HandlerTime { p90: 7, total_ms: 2.0, ..HandlerTime::default() });
        (report.run.edges.checked, report.run.edges.took_ms) = (5, Some(3.0));
        report
    };
    let mut unknown = report();
    unknown.run.edges.checked = 5;
    let of = |reports: [&TrustReport; 2]| {
        let mut several = Several::default();
        for report in reports {
            several.add(report.clone());
        }
        let run = several.finish(1_000.0).run;
        let [reached, handlers] =
            [run.rate.map(|rate| rate.reached_hz), run.handler_ns.map(|handler| handler.total_ms)];
        let figures = [run.sampled_interval_us, reached, run.cpu_ms, run.agent_cpu_ms, handlers];
        (figures, run.edges.took_ms, run.edges.checked)
    };
    let (one, other) = (known(100.0, 900.0), known(300.0, 500.0));
    let all = [300.0, 600.0, 400.0, 2.0, 4.0].map(Some);
    assert_eq!(of([&one, &other]), (all, Some(6.0), 10));
    for reports in [[&one, &unknown], [&unknown, &one]] {
        assert_eq!(of(reports), ([None; 5], None, 10));
    }
}

#[test]
fn the_report_is_no_profile_to_open() {
    let summary = report().summary(Files { all: &["a.folded", "r.json"], opens: None });
    assert!(summary.ends_with("[vouch] wrote a.folded, r.json\n"), "{summary}");
    let summary = report().summary(Files { all: &["a.json", "r.json"], opens: Some("a.json") });
    assert!(
        summary.ends_with("wrote a.json, r.json; open a.json at https://profiler.firefox.com\n"),
        "{summary}"
    );
}

#[test]
fn a_run_without_samples_says_so() {
    let summary = TrustReport::of(&Recording::new(), Run::default()).summary(Files::default());
    assert!(summary.contains("no samples were taken"), "{summary}");
    assert!(!summary.contains("NaN") && !summary.contains("wrote"), "{summary}");
}

#[test]
fn whose_threads_alone_are_sampled_is_told() {
    let only = |options: &[&str]| Some(options.iter().map(|&option| option.to_owned()).collect());
    let run = Run { options: only(&["interval=1ms", "threads=^A"]), ..Run::default() };
    let summary = TrustReport::of(&Recording::new(), run).summary(Files::default());
    assert!(summary.contains("0 signals of the threads of threads=^A alone, in "), "{summary}");
    assert!(summary.contains("of threads=^A: no thread of such a name ran for an interval"), "{summary}");
    let mut report = report();
    report.run.options = only(&["interval=1ms"]);
    assert!(!report.summary(Files::default()).contains("threads"), "{}", report.summary(Files::default()));
}

#[test]
fn samples_that_a_limit_has_left_out_are_no_matter_of_the_interval() {
    let mut report = report();
    let why = format!("{LIMIT_REACHED}: what was sampled in its first 3.6 s is not in it");
    report.run.engine_notes = vec!["note".to_owned(), why.clone()];
    let summary = report.summary(Files::default());
    assert!(
        summary.contains(&format!("10 samples are not there, most of them or all since {why}")),
        "{summary}"
    );
    assert!(!summary.contains("interval=") && summary.matches(LIMIT_REACHED).count() == 1, "{summary}");
    assert!(summary.contains("[vouch] note\n"), "{summary}");
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
    TrustReport::of(&recording, run).write(&mut written).unwrap();
    let read: TrustReport = serde_json::from_slice(&written).unwrap();
    assert_eq!((read.run.interval_ns, read.samples.fates.dropped), (1_234_567, 3));
    assert_eq!((read.run.cpu_ms, read.run.agent_cpu_ms), (Some(2.5), None));
    let mut again = Vec::new();
    read.write(&mut again).unwrap();
    assert_eq!(String::from_utf8(again), String::from_utf8(written));
}

#[test]
fn what_the_jvm_alone_contradicts_is_in_the_summary_too() {
    let mut report = proven_report();
    let contradiction = RefutationReport {
        kind: Refutation::Witness,
        caller: String::new(),
        expected: "shop.Cart.add(Cart.java:9) @ 7".to_owned(),
        found: "shop.Item.price(Item.java:3) @ 4".to_owned(),
        ..report.run.refutations.remove(0)
    };
    report.run.refutations.clear();
    report.run.witness.contradictions = vec![contradiction];
    let says = "(witness, 3 times): shop.Cart.add(Cart.java:9) @ 7; the walk claimed shop.Item.price(Item.java:3) @ 4";
    assert!(report.summary(Files::default()).contains(says), "{}", report.summary(Files::default()));
}
