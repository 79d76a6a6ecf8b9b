//! Tests of the report's values: sums of fates, values of threads, and sums of several runs.

use vouch_report::{Detail, EventReport, Files, HandlerTime, Rate, ReportSum, Run, TrustReport};

use crate::common::{FATES, recording, report};

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
fn a_thread_has_separate_values() {
    let [main, other] = &report().threads[..] else { panic!("two threads were recorded") };
    assert_eq!((main.name.as_str(), main.tid, main.cpu_ms), ("main", 7, Some(29.5)));
    assert_eq!((main.samples, main.refuted, main.unwalked, main.sampled_ms), (15, 3, 4, Some(30.0)));
    assert_eq!((other.samples, other.sampled_ms, other.cpu_ms), (3, Some(6.0), None));
    assert_eq!((main.conserved, other.conserved), (Some(1.0169), None));
    // Conservation counts only threads with a known CPU time.
    let all = report().conservation;
    assert_eq!((all.cpu_ms, all.sampled_ms, all.ratio), (29.5, 30.0, Some(1.0169)));
}

#[test]
fn an_option_of_one_run_is_not_reported_for_all_runs() {
    let with = |options: &[&str], stopped| {
        let mut report = report();
        let gc = EventReport { count: 1, took_ms: 150.0, longest_ms: 150.0, ..EventReport::default() };
        report.run.options = Some(options.iter().map(|&option| option.to_owned()).collect());
        report.run.engine_stopped = stopped;
        report.run.wall_ms = 1_000.0;
        report.run.events = [("gc".to_owned(), gc)].into();
        report
    };
    let joined = |reports: Vec<TrustReport>| {
        let mut sum = ReportSum::default();
        for report in reports {
            sum.add(report);
        }
        sum.finish(1_000.0)
    };
    let all =
        joined(vec![with(&["threads=a"], true), with(&["threads=a"], true), with(&["threads=a"], true)]);
    let summary = all.summary(Files::default(), Detail::Verbose);
    assert!(
        summary.contains("of the threads of threads=a alone") && summary.contains("until it was stopped"),
        "{summary}"
    );
    // The three runs overlapped. Each was paused for about a seventh of its time.
    assert!(summary.contains("450 ms in all (15.0 % of the time)"), "{summary}");
    for runs in [
        vec![with(&["threads=a"], true), with(&[], false), with(&[], false)],
        vec![with(&[], false), with(&[], false), with(&["threads=a"], true)],
        vec![with(&["threads=a"], true), with(&[], false), with(&["threads=a"], true)],
    ] {
        let all = joined(runs);
        let summary = all.summary(Files::default(), Detail::Verbose);
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
fn a_rounded_interval_does_not_count_as_a_longer_one() {
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

#[test]
fn a_sum_is_unknown_if_one_run_lacks_the_value() {
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
    let summed = |reports: [&TrustReport; 2]| {
        let mut sum = ReportSum::default();
        for report in reports {
            sum.add(report.clone());
        }
        let run = sum.finish(1_000.0).run;
        let [reached, handlers] =
            [run.rate.map(|rate| rate.reached_hz), run.handler_ns.map(|handler| handler.total_ms)];
        let values = [run.sampled_interval_us, reached, run.cpu_ms, run.agent_cpu_ms, handlers];
        (values, run.edges.took_ms, run.edges.checked)
    };
    let (one, other) = (known(100.0, 900.0), known(300.0, 500.0));
    let all = [300.0, 600.0, 400.0, 2.0, 4.0].map(Some);
    assert_eq!(summed([&one, &other]), (all, Some(6.0), 10));
    for reports in [[&one, &unknown], [&unknown, &one]] {
        assert_eq!(summed(reports), ([None; 5], None, 10));
    }
}
