//! Tests of the CPU time of contexts.

use vouch_recording::{
    ContextField, ContextKind, ContextKindId, Recording, Sample, Trust, UNKNOWN, UNNAMED, VIRTUAL_THREAD,
};
use vouch_report::{Detail, Files, Run, TrustReport};

use crate::common::contexts::{context, kind};
use crate::common::{START_NS, busy_thread, sample, stack};

fn report(recording: &Recording, contexts_left_out: u64) -> TrustReport {
    TrustReport::from_recording(
        recording,
        Run { interval_ns: 1_000_000, contexts_left_out, ..Run::default() },
    )
}

#[test]
fn a_sample_counts_once_for_the_innermost_of_each_kind() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let request = kind(&mut recording, "Request", &["user", "file"]);
    let step = kind(&mut recording, "Step", &["name"]);
    let moe = context(&mut recording, None, request, &["moe", "a"]);
    let moe_reads = context(&mut recording, Some(moe), step, &["read"]);
    // This request is nested in a step of another request.
    let larry = context(&mut recording, Some(moe_reads), request, &["larry", "a"]);
    let curly = context(&mut recording, None, request, &["curly", "b"]);
    let samples = [(Some(moe), 1), (Some(moe_reads), 2), (Some(larry), 4), (Some(curly), 8), (None, 5)];
    for (at, (context, weight)) in samples.into_iter().enumerate() {
        let at = u64::try_from(at).unwrap();
        recording.sample(thread, Sample { weight, context, ..sample(at, any) });
    }
    // Samples of the VM's own threads count neither as inside nor as outside of a context.
    recording.sample(thread, Sample { weight: 100, trust: Trust::Unchecked, ..sample(9, any) });
    let contexts = report(&recording, 0).contexts;
    assert_eq!(
        (contexts.with_ms, contexts.without_ms, contexts.sampled, contexts.left_out),
        (15.0, Some(5.0), 4, 0)
    );
    let [request, step] = contexts.kinds.as_slice() else { panic!("two kinds: {contexts:?}") };
    assert_eq!((request.class.as_str(), request.samples, request.cpu_ms), ("shop.Request", 4, 15.0));
    assert_eq!((step.label.as_str(), step.samples, step.cpu_ms), ("Step", 2, 6.0));
    let values = |field: usize| -> Vec<(&str, f64)> {
        request.fields[field].values.iter().map(|value| (value.value.as_str(), value.cpu_ms)).collect()
    };
    assert_eq!(values(0), [("curly", 8.0), ("larry", 4.0), ("moe", 3.0)]);
    assert_eq!(values(1), [("b", 8.0), ("a", 7.0)]);
    assert_eq!((request.fields[0].key.as_str(), request.fields[0].label.as_str()), ("user", "USER"));
    for value in &request.fields[0].values {
        assert!(value.least_ms < value.cpu_ms && value.cpu_ms < value.most_ms, "{value:?}");
    }
}

#[test]
fn the_largest_values_are_listed_and_the_others_summed_up() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let job = kind(&mut recording, "Job", &["id"]);
    for id in 1..=30_u32 {
        let context = context(&mut recording, None, job, &[&id.to_string()]);
        recording.sample(thread, Sample { weight: id, context: Some(context), ..sample(id.into(), any) });
    }
    let report = report(&recording, 7);
    let field = &report.contexts.kinds[0].fields[0];
    assert_eq!(
        (field.distinct, field.values.len(), field.others_ms),
        (30, 10, f64::from((1..=20).sum::<u32>()))
    );
    assert_eq!(field.values[0].value, "30");
    let line = "[vouch] 100.0 % in a context; Job ID: 30 6.5 %, 29 6.2 %, 28 6.0 %, and others; 7 contexts were left out\n";
    let summary = report.summary(Files::default(), Detail::Verbose);
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn a_program_without_contexts_has_no_line_about_them() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    busy_thread(&mut recording, "main", any, 3);
    let report = report(&recording, 0);
    assert!(
        report.contexts.kinds.is_empty()
            && !report.summary(Files::default(), Detail::Verbose).contains("context")
    );
    assert!((report.contexts.without_ms.unwrap() - 3.0).abs() < 1e-9);
}

#[test]
fn virtual_threads_do_not_count_as_contexts_of_the_program() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let carried = carried_kind(&mut recording);
    let request = kind(&mut recording, "Request", &["user"]);
    let first = context(&mut recording, None, carried, &["worker", "31"]);
    let moe = context(&mut recording, Some(first), request, &["moe"]);
    let second = context(&mut recording, None, carried, &[UNNAMED, "32"]);
    let unknown = context(&mut recording, None, carried, &[UNKNOWN, UNKNOWN]);
    for (at, context, weight) in
        [(1, Some(moe), 5), (2, Some(second), 3), (3, None, 1), (4, Some(unknown), 1)]
    {
        recording.sample(thread, Sample { weight, context, ..sample(at, any) });
    }
    // Shares are shares of all time, so threads that ran no Java must count.
    let collector = recording.add_thread("GC Thread#0", 2, START_NS);
    recording.sample(collector, Sample { weight: 10, trust: Trust::Unchecked, ..sample(1, any) });
    let report = report(&recording, 0);
    let contexts = &report.contexts;
    assert_eq!((contexts.with_ms, contexts.without_ms, contexts.sampled), (5.0, Some(5.0), 1));
    let line = "[vouch] 25.0 % in a context; Request USER: moe 25.0 %; 45.0 % on 2 virtual threads: worker 25.0 %, [unnamed] 15.0 %, [unknown] 5.0 %; 5.0 % on virtual threads of unknown name: shares by name are biased\n";
    let summary = report.summary(Files::default(), Detail::Verbose);
    assert!(summary.contains(line), "{summary}");
}

#[test]
fn virtual_threads_without_names_are_counted() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let carried = carried_kind(&mut recording);
    for id in 1..=1_200_u64 {
        let context = context(&mut recording, None, carried, &[UNNAMED, &id.to_string()]);
        recording.sample(thread, Sample { context: Some(context), ..sample(id, any) });
    }
    let summary = report(&recording, 0).summary(Files::default(), Detail::Verbose);
    assert!(summary.contains("[vouch] 100.0 % on 1,200 virtual threads\n"), "{summary}");
}

fn carried_kind(recording: &mut Recording) -> ContextKindId {
    let class = recording.string(VIRTUAL_THREAD);
    let fields = ["name", "id"].map(|key| {
        let key = recording.string(key);
        ContextField { key, label: key }
    });
    recording.context_kind(ContextKind { class, label: class, fields: fields.to_vec() })
}
