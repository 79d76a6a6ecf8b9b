//! Tests of the summary and of the front-end's panel.

use vouch_recording::{Category, Func, Recording, Sample, Trust, VmPart};
use vouch_report::{
    COMPILED_BEFORE_ATTACH, ClassReport, CompilerReport, Counted, Detail, EventReport, Files, GradeReport,
    LIMIT_REACHED, PlausibleReport, Rate, RecoveryReport, RefutationReport, Run, SafepointReport,
    TopFrameReport, TrustReport, WITHOUT_DEBUG_INFO, WitnessReport,
};
use vouch_verify::proof::Refutation;

use crate::common::{START_NS, proven_report, report, run, sample, stack};

#[test]
fn the_summary_has_delays_that_take_a_part_of_the_time() {
    let mut report = report();
    report.run.wall_ms = 1_000.0;
    let events =
        |count, took_ms, longest_ms| EventReport { count, shown: count, left_out: 0, took_ms, longest_ms };
    report.run.events =
        [("gc".to_owned(), events(4, 9.9, 5.0)), ("monitor".to_owned(), events(7, 3.0, 2.0))].into();
    assert!(
        !report.summary(Files::default(), Detail::Verbose).contains("meanwhile"),
        "a hundredth is nothing to speak of"
    );
    let panel = |report: &TrustReport| report.panel().find(|(label, _)| *label == "Meanwhile");
    let all = "garbage collections stopped all threads 4 times, for 10 ms in all (1.0 % of the time), 5 ms at most; \
               threads waited for a lock 7 times, for 3 ms in all, 2 ms at most";
    assert_eq!(panel(&report), Some(("Meanwhile", all.to_owned())));
    report.run.events =
        [("gc".to_owned(), events(1, 250.0, 250.0)), ("jit".to_owned(), events(9, 0.0, 0.0))].into();
    let line = "[vouch] meanwhile garbage collections stopped all threads once, for 250 ms in all (25.0 % of the time), 250 ms at most\n";
    assert!(
        report.summary(Files::default(), Detail::Verbose).contains(line),
        "{}",
        report.summary(Files::default(), Detail::Verbose)
    );
    report.run.events.clear();
    assert_eq!(panel(&report), None);
    report.run.safepoints = Some(SafepointReport { count: 3, stopped_ms: 20.0, reaching_ms: 1.0 });
    let stops = "safepoints stopped all threads 3 times, for 20 ms in all, after 1 ms to reach them";
    assert_eq!(panel(&report), Some(("Meanwhile", stops.to_owned())));
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
    assert_eq!(panel(&report), None, "a hundredth of the run is too short");
    (report.run.classes, report.run.compilers) = (Some(classes(4.0)), Some(compilers(11.0)));
    let code = "threads spent 11 ms on 1,234 new classes: 5 ms loading, 2 ms linking, 4 ms initialising; \
                JIT compiler threads spent 11 ms of wall-clock time on 4,321 compilations";
    assert_eq!(panel(&report), Some(("Meanwhile", code.to_owned())));
    assert!(
        !report.summary(Files::default(), Detail::Verbose).contains("meanwhile"),
        "only the panel has class loading and compilation"
    );
}

#[test]
fn the_summary_has_the_share_of_recovered_time() {
    let mut report = report();
    let recovered =
        |weight_ms| RecoveryReport { walked: 9, proven: 9, weight_ms, ..RecoveryReport::default() };
    report.run.recovery = [("probe".to_owned(), recovered(0.0)), ("top".to_owned(), recovered(0.0))].into();
    assert!(!report.summary(Files::default(), Detail::Verbose).contains("recovery"));
    report.run.recovery = [("probe".to_owned(), recovered(4.0)), ("top".to_owned(), recovered(10.0))].into();
    assert!(
        report
            .summary(Files::default(), Detail::Verbose)
            .contains("[vouch] 25.0 % has its stack by recovery\n")
    );
    report.run.unwalked = [("deopt".to_owned(), 4)].into();
    let line = "[vouch] 25.0 % has its stack by recovery; unwalked because: deopt 4\n";
    assert!(report.summary(Files::default(), Detail::Verbose).contains(line));
}

#[test]
fn the_summary_says_how_top_frames_are_known_and_why_stacks_are_plausible() {
    let mut report = report();
    let counted = |samples, weight_ms| Counted { samples, weight_ms: Some(weight_ms) };
    report.top_frame = TopFrameReport {
        exact: counted(6, 60.0),
        method_certain: counted(3, 30.0),
        approximate: counted(1, 10.0),
        not_judged: Counted::default(),
    };
    let line = "[vouch] top frame exact 60.0 % + method certain 30.0 % + approximate 10.0 %";
    assert!(report.summary(Files::default(), Detail::Verbose).lines().any(|each| each == line));
    // 8 of 56 ms are plausible.
    let because = |alone_ms| PlausibleReport { samples: 1, weight_ms: 5.0, alone_ms };
    report.run.plausible_because = [
        ("approximate_top_frame".to_owned(), because(4.0)),
        ("native_caller".to_owned(), because(2.0)),
        ("class_loading".to_owned(), because(0.5)),
        ("linkage".to_owned(), because(0.5)),
    ]
    .into();
    let summary = report.summary(Files::default(), Detail::Verbose);
    let expected = "; plausible (of all time) because of an uncertain top method 7.1 %, a call by native code or reflection 3.6 %, \
                    class loading 0.9 %, other reasons 0.9 %, several reasons 1.8 %\n";
    assert!(summary.contains(expected), "{summary}");
}

#[test]
fn the_most_frequent_refutation_has_one_line() {
    let summary = proven_report().summary(Files::default(), Detail::Verbose);
    let line = "[vouch] refuted #4 (other_callee, 3 times): shop.Cart.add() at bci 17: invokevirtual \
                shop.Cart.total(); the walk claimed shop.Item.price()";
    assert!(summary.lines().any(|each| each == line), "{summary}");
    let checks = "[vouch] proof notices 99.95 % of moved bcis; sampled 101.7 % of the CPU time that the kernel charged";
    assert!(summary.lines().any(|each| each == checks), "{summary}");
}

#[test]
fn shares_are_shares_of_time() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 7, START_NS);
    recording.sample(main, Sample { trust: Trust::Proven, weight: 3, ..sample(1, stack) });
    recording.sample(main, Sample { trust: Trust::Refuted, weight: 1, ..sample(2, stack) });
    let summary =
        TrustReport::from_recording(&recording, run(2, 4)).summary(Files::default(), Detail::Verbose);
    assert!(summary.contains("proven 1 (75.0 %) + refuted 1 (25.0 %)"), "{summary}");
}

/// Makes a report on 2,000 samples of two methods and of the JIT compiler.
fn usual_report() -> TrustReport {
    let mut recording = Recording::new();
    let total = stack(&mut recording, &["main", "shop.Cart.total"]);
    let add = stack(&mut recording, &["main", "shop.Cart.add"]);
    let jit = recording.placeholder_stack(None, "[JIT compiler]", Category::Vm(VmPart::Jit));
    let main = recording.add_thread("main", 7, START_NS);
    for n in 0..2000 {
        let (stack, trust) = match n % 10 {
            0..5 => (total, Trust::Proven),
            5..7 => (add, Trust::Plausible),
            _ => (jit, Trust::Unchecked),
        };
        recording.sample(main, Sample { trust, ..sample(n, stack) });
    }
    let run = Run {
        engine: "perf".into(),
        rate: Some(Rate { asked_hz: 1000.0, reached_hz: 951.2 }),
        cpu_ms: Some(2100.0),
        wall_ms: 61_000.0,
        ..run(2000, 2000)
    };
    TrustReport::from_recording(&recording, run)
}

const PROFILE: Files<'_> = Files {
    all: &["vouch-1.json.gz"],
    opens: Some("vouch-1.json.gz"),
    has_replaced: false,
    command: "vouch",
};

#[test]
fn an_ordinary_run_has_four_lines() {
    let brief = "\
[vouch] wrote vouch-1.json.gz; next: vouch top vouch-1.json.gz, or open it at https://profiler.firefox.com
[vouch] hottest methods by self time: shop.Cart.total 50.0 %, shop.Cart.add 20.0 %
[vouch] sampled 2.00 s of CPU time in 1.0 min: 50.0 % proven by the bytecode, 20.0 % plausible (partly a guess), \
30.0 % outside Java (JIT compiler, collector…)
[vouch] 2,000 samples, so a share is off by 2.2 points at most (95 % sure); vouch explain vouch-1.json.gz has the reasons
";
    let report = usual_report();
    assert_eq!(report.summary(PROFILE, Detail::Brief), brief);
    assert_eq!(report.summary(PROFILE, Detail::Quiet), "");
    let details = "\
[vouch] 2,000 signals in 2.10 s of CPU, 1.0 min of wall time; perf, 951 of 1000 samples per CPU-second
[vouch] proven 1,000 (50.0 %) + plausible 400 (20.0 %) + outside 600 (30.0 %)
";
    assert!(report.summary(PROFILE, Detail::Verbose).starts_with(&format!("{brief}{details}")));
}

#[test]
fn the_trust_line_says_why_most_plausible_code_has_no_debug_information() {
    let mut report = usual_report();
    let line = |report: &TrustReport| {
        let summary = report.summary(PROFILE, Detail::Brief);
        summary.lines().nth(2).unwrap().to_owned()
    };
    for (reason, weight_ms, words) in [
        (COMPILED_BEFORE_ATTACH, 199.0, "20.0 % plausible (partly a guess), "),
        (COMPILED_BEFORE_ATTACH, 200.0, "20.0 % plausible (mostly code compiled before the attach), "),
        (WITHOUT_DEBUG_INFO, 199.0, "20.0 % plausible (partly a guess), "),
        (WITHOUT_DEBUG_INFO, 200.0, "20.0 % plausible (mostly for want of debug information), "),
    ] {
        let row = PlausibleReport { samples: 1, weight_ms, alone_ms: weight_ms };
        report.run.plausible_because = [(reason.to_owned(), row)].into();
        assert!(line(&report).contains(words), "{}", line(&report));
    }
}

#[test]
fn warnings_come_first_and_are_never_left_out() {
    let mut report = usual_report();
    report.run.engine_notes = vec!["a note".to_owned()];
    for warning in (0..9).map(|number| format!("warning\n{number}")) {
        report.run.warn(warning);
    }
    report.samples.signals += 1;
    for detail in [Detail::Quiet, Detail::Brief, Detail::Verbose] {
        let summary = report.summary(PROFILE, detail);
        let mut lines = summary.lines();
        for number in 0..9 {
            assert_eq!(lines.next(), Some(format!("[vouch] warning {number}").as_str()), "{summary}");
        }
        assert!(lines.next().unwrap().contains("add up to 2,000, not to 2,001"), "{summary}");
        assert_eq!(lines.next().is_none(), detail == Detail::Quiet, "{summary}");
        assert_eq!(summary.matches("warning").count(), 9, "{summary}");
        let note = summary.lines().any(|line| line == "[vouch] a note");
        assert_eq!(note, detail == Detail::Verbose, "{summary}");
        assert_eq!(summary.contains("; option verbose prints 1 note more\n"), detail == Detail::Brief);
    }
}

#[test]
fn a_method_has_the_time_of_all_its_functions() {
    let mut recording = Recording::new();
    let main = recording.add_thread("main", 7, START_NS);
    for (name, line, weight) in [("a.A", 1, 3), ("b.B", 1, 4), ("a.A", 2, 2), ("c.C", 1, 1), ("d.D", 1, 1)] {
        let func = Func {
            name,
            category: Category::Application,
            source: None,
            line: Some(line),
            resource: None,
            java: true,
        };
        let func = recording.func(func);
        let frame = recording.frame(func, Some(line));
        let stack = recording.stack(None, frame);
        recording.sample(main, Sample { weight, ..sample(1, stack) });
    }
    let summary =
        TrustReport::from_recording(&recording, run(5, 11)).summary(Files::default(), Detail::Brief);
    assert!(summary.contains("by self time: a.A 45.5 %, b.B 36.4 %, c.C 9.1 %\n"), "{summary}");
}

#[test]
fn a_run_with_all_problems_has_four_lines_and_verbose_has_all() {
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
    let files = Files {
        all: &["a.folded", "b.json.gz"],
        opens: Some("b.json.gz"),
        has_replaced: false,
        command: "vouch",
    };
    let brief = report.summary(files, Detail::Brief);
    let wrong_sum = 1;
    assert_eq!(brief.lines().count(), wrong_sum + 4, "{brief}");
    for says in
        ["add up to 28, not to 29", "9 notes more", "wrote a.folded, b.json.gz; next: vouch top b.json.gz"]
    {
        assert!(brief.contains(says), "{says}: {brief}");
    }
    let summary = report.summary(files, Detail::Verbose);
    let lines: Vec<_> = summary.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("[vouch] ")), "{summary}");
    for note in 0..9 {
        assert!(summary.contains(&format!("[vouch] note {note}\n")), "{summary}");
    }
    for says in [
        "add up to 28, not to 29",
        "unknown_Java 3",
        "10 samples were dropped because a buffer was full",
        "5 methods",
        "1,234 stacks were cut",
        "of 1,009 whole stacks checked by the JVM itself 4 differed, and proof had called 1 of them proven",
        "wrote a.folded, b.json.gz; next: vouch top b.json.gz, or open b.json.gz",
    ] {
        assert!(summary.contains(says), "{says}: {summary}");
    }
}

#[test]
fn the_verbose_summary_never_omits_notes() {
    let mut report = proven_report();
    report.samples.signals += 1;
    report.run.wall_ms = 1_000.0;
    let gc = EventReport { count: 7, took_ms: 500.0, longest_ms: 200.0, ..EventReport::default() };
    report.run.events = [("gc".to_owned(), gc)].into();
    report.run.unwalked = [("deopt".to_owned(), 3)].into();
    report.run.names_lost = 5;
    report.run.engine_notes = ["believe nothing of this".to_owned(), "\u{1b}[2J".to_owned()].into();
    let summary = report.summary(
        Files { all: &["a.json"], opens: Some("a.json"), has_replaced: false, command: "vouch" },
        Detail::Verbose,
    );
    for says in [
        "meanwhile garbage collections stopped",
        "refuted #4",
        "5 methods were unloaded",
        "[vouch] believe nothing of this\n",
        "[vouch] \u{fffd}[2J\n",
        "wrote a.json",
    ] {
        assert!(summary.contains(says), "{says}: {summary}");
    }
    report.run.names_lost = 0;
    report.samples.fates.dropped = 0;
    report.run.power.clear();
    report.run.witness = WitnessReport::default();
    report.conservation.ratio = None;
    let summary = report.summary(Files::default(), Detail::Verbose);
    assert!(summary.contains("[vouch] \u{fffd}[2J\n"), "a terminal would obey: {summary}");
}

#[test]
fn no_command_is_suggested_for_a_report_without_a_profile() {
    let summary = report().summary(
        Files { all: &["a.folded", "r.json"], opens: None, has_replaced: false, command: "vouch" },
        Detail::Brief,
    );
    assert!(summary.starts_with("[vouch] wrote a.folded, r.json\n"), "{summary}");
    assert!(!summary.contains("vouch explain") && !summary.contains("vouch top"), "{summary}");
    let files =
        Files { all: &["a.json", "r.json"], opens: Some("a.json"), has_replaced: false, command: "vouch" };
    let summary = report().summary(files, Detail::Brief);
    assert!(
        summary.contains(
            "wrote a.json, r.json; next: vouch top a.json, or open a.json at https://profiler.firefox.com\n"
        ),
        "{summary}"
    );
}

#[test]
fn a_run_without_samples_says_so() {
    let report = TrustReport::from_recording(&Recording::new(), Run::default());
    for detail in [Detail::Brief, Detail::Verbose] {
        let summary = report.summary(Files::default(), detail);
        assert!(summary.contains("no samples were taken"), "{summary}");
        assert!(!summary.contains("NaN") && !summary.contains("wrote"), "{summary}");
    }
}

#[test]
fn the_summary_has_the_option_that_limits_threads() {
    let only = |options: &[&str]| Some(options.iter().map(|&option| option.to_owned()).collect());
    let run = Run { options: only(&["interval=1ms", "threads=^A"]), ..Run::default() };
    let summary =
        TrustReport::from_recording(&Recording::new(), run).summary(Files::default(), Detail::Verbose);
    assert!(summary.contains("0 signals of the threads of threads=^A alone, in "), "{summary}");
    assert!(summary.contains("of threads=^A: no thread of such a name ran for an interval"), "{summary}");
    let mut report = report();
    report.run.options = only(&["interval=1ms"]);
    assert!(
        !report.summary(Files::default(), Detail::Verbose).contains("threads"),
        "{}",
        report.summary(Files::default(), Detail::Verbose)
    );
}

#[test]
fn a_longer_interval_is_not_advised_if_a_limit_removed_samples() {
    let mut report = report();
    let why = format!("{LIMIT_REACHED}: what was sampled in its first 3.6 s is not in it");
    report.run.engine_notes = vec!["note".to_owned(), why.clone()];
    let summary = report.summary(Files::default(), Detail::Verbose);
    assert!(summary.contains(&format!("10 samples were dropped, most or all because {why}")), "{summary}");
    assert!(!summary.contains("interval=") && summary.matches(LIMIT_REACHED).count() == 1, "{summary}");
    assert!(summary.contains("[vouch] note\n"), "{summary}");
}

#[test]
fn the_summary_has_a_stack_that_only_the_witness_refutes() {
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
    assert!(
        report.summary(Files::default(), Detail::Verbose).contains(says),
        "{}",
        report.summary(Files::default(), Detail::Verbose)
    );
}

#[test]
fn a_replaced_file_and_a_command_that_is_not_on_path_are_named() {
    let one = Files { has_replaced: true, command: "target/release/vouch", ..PROFILE };
    let summary = report().summary(one, Detail::Brief);
    let line = "wrote vouch-1.json.gz (replaced an earlier file); next: target/release/vouch top vouch-1.json.gz, or";
    assert!(summary.contains(line), "{summary}");
    assert!(summary.contains("; target/release/vouch explain vouch-1.json.gz has the reasons"), "{summary}");
    let two = Files { all: &["a.json", "r.json"], has_replaced: true, ..PROFILE };
    assert!(
        report().summary(two, Detail::Brief).contains("wrote a.json, r.json (replaced earlier files); next")
    );
}
