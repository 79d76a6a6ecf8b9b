//! Tests that virtual threads are shown as separate threads.

mod common;
#[path = "common/contexts.rs"]
mod contexts;

use common::{START_NS, sample, stack};
use contexts::context;
use vouch_recording::{
    Category, ContextField, ContextId, ContextKind, Func, Leaf, Recording, Refutation, Refuted, Sample,
    SplitThreads, Thread, Trust, UNKNOWN, UNNAMED, VIRTUAL_THREAD, VIRTUAL_TID_BIT, VmPart,
};

const MS: u64 = 1_000_000;

/// Makes a recording with two carriers and a thread that carries no virtual thread. The virtual
/// thread `a` runs on both carriers.
fn recording() -> Recording {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let outside = recording.func(Func {
        name: "GC",
        category: Category::Vm(VmPart::Gc),
        source: None,
        line: None,
        resource: None,
        java: false,
    });
    let frame = recording.leaf_frame(outside, None, Leaf::new(Trust::Unchecked));
    let outside = recording.stack(None, frame);
    let mut field = |key: &str| {
        let key = recording.string(key);
        ContextField { key, label: key }
    };
    let fields = vec![field("name"), field("id")];
    let class = recording.string(VIRTUAL_THREAD);
    let carried = recording.context_kind(ContextKind { class, label: class, fields });
    let request = contexts::kind(&mut recording, "Request", &["user"]);
    let a = context(&mut recording, None, carried, &["a", "31"]);
    let moe = context(&mut recording, Some(a), request, &["moe"]);
    let b = context(&mut recording, None, carried, &[UNNAMED, "32"]);
    let unknown = context(&mut recording, None, carried, &["[unknown]", "[unknown]"]);
    let alone = context(&mut recording, None, request, &["larry"]);
    let [first, second, other] = [1, 2, 3].map(|tid| recording.add_thread(&format!("t{tid}"), tid, START_NS));
    let mut take = |thread, at_ms: u64, cpu_ms: u64, weight, context: Option<ContextId>, stack| {
        let trust = if stack == outside { Trust::Unchecked } else { Trust::Plausible };
        let cpu_ns = cpu_ms * MS;
        recording.sample(thread, Sample { cpu_ns, weight, context, trust, ..sample(at_ms * MS, stack) });
    };
    take(first, 10, 8, 1, Some(a), any);
    take(first, 12, 10, 2, None, outside);
    take(first, 15, 13, 3, Some(b), any);
    take(first, 16, 14, 1, Some(moe), any);
    take(second, 11, 5, 2, Some(unknown), any);
    take(second, 20, 9, 4, Some(a), any);
    take(other, 30, 1, 1, Some(alone), any);
    recording
}

/// A thread's name, its tid, and for each sample its time, its CPU clock and its weight. Times are
/// in milliseconds.
type ThreadSummary = (String, u64, Vec<(u64, u64, u32)>);

fn summaries(threads: &[&Thread]) -> Vec<ThreadSummary> {
    let ms = |ns: u64, from: u64| (ns - from) / MS;
    threads
        .iter()
        .map(|thread| {
            let samples = thread.samples().iter();
            let samples = samples.map(|one| (ms(one.time_ns, START_NS), ms(one.cpu_ns, 0), one.weight));
            (thread.name().to_owned(), thread.tid(), samples.collect())
        })
        .collect()
}

#[test]
fn a_virtual_thread_has_its_samples_and_cpu_time_from_all_carriers() {
    let recording = recording();
    let apart = SplitThreads::by_virtual_thread(&recording, 10, MS);
    let threads = apart.threads(&recording);
    let expected = [
        ("t1".to_owned(), 1, vec![(12, 2, 2)]),
        ("t2".to_owned(), 2, vec![(11, 2, 2)]),
        ("t3".to_owned(), 3, vec![(30, 1, 1)]),
        ("a".to_owned(), VIRTUAL_TID_BIT | 31, vec![(10, 1, 1), (16, 2, 1), (20, 6, 4)]),
        ("virtual thread 32".to_owned(), VIRTUAL_TID_BIT | 32, vec![(15, 3, 3)]),
    ];
    assert_eq!(summaries(&threads), expected);
    // The weight of all fates is kept.
    let sum = |threads: &[&Thread]| threads.iter().map(|thread| thread.tally().weight.sum()).sum::<u64>();
    assert_eq!(sum(&threads), sum(&recording.threads().iter().collect::<Vec<_>>()));
    assert_eq!(threads[0].tally().weight.outside, 2);
    let contexts = threads[3].samples_in_contexts().map(|(_, context)| context.is_some());
    assert_eq!(contexts.collect::<Vec<_>>(), [true; 3], "a sample keeps its context");
    let life = (threads[3].started_ns(), threads[3].ended_ns());
    assert_eq!(life, (START_NS + 9 * MS, Some(START_NS + 20 * MS + 1)));
}

#[test]
fn less_busy_virtual_threads_stay_with_their_carriers() {
    let recording = recording();
    let apart = SplitThreads::by_virtual_thread(&recording, 1, MS);
    let names: Vec<_> = apart.threads(&recording).iter().map(|thread| thread.name().to_owned()).collect();
    assert_eq!(names, ["t1", "t2", "t3", "a"]);
    let first = summaries(&apart.threads(&recording)).remove(0);
    assert_eq!(first.2, [(12, 2, 2), (15, 5, 3)]);
    let none = SplitThreads::by_virtual_thread(&recording, 0, MS);
    let as_recorded: Vec<_> = recording.threads().iter().collect();
    assert_eq!(summaries(&none.threads(&recording)), summaries(&as_recorded));
}

#[test]
fn a_renamed_virtual_thread_is_one_thread_with_its_refuted_samples() {
    let mut recording = recording();
    let any = recording.threads()[0].samples()[0].stack;
    let kind = recording.contexts().rows()[0].kind;
    let renamed = context(&mut recording, None, kind, &["b", "32"]);
    let unread = context(&mut recording, None, kind, &[UNKNOWN, "32"]);
    let first = recording.thread_ids().next().unwrap();
    let refutation =
        Refutation { kind: "wrong_root", words: "", caller: "", bci: 0, expected: "", found: "" };
    for (at_ms, context) in [(40, renamed), (41, unread)] {
        let one = Sample { context: Some(context), ..sample(at_ms * MS, any) };
        recording.sample(first, one);
        let how = recording.refutation(refutation);
        recording.refuted(first, Refuted { time_ns: one.time_ns, stack: any, weight: 1, how });
    }
    let apart = SplitThreads::by_virtual_thread(&recording, 10, MS);
    let threads = apart.threads(&recording);
    let b = threads.iter().find(|thread| thread.tid() == VIRTUAL_TID_BIT | 32).unwrap();
    assert_eq!((b.name(), b.samples().len(), b.refuted().len()), ("b", 3, 2));
    assert_eq!((threads.len(), threads[0].refuted().len()), (5, 0));
}

#[test]
fn cpu_time_of_a_first_sample_beyond_its_weight_is_not_lost() {
    let mut recording = recording();
    let any = recording.threads()[0].samples()[0].stack;
    let kind = recording.contexts().rows()[0].kind;
    let late = context(&mut recording, None, kind, &["late", "77"]);
    let first = recording.thread_ids().next().unwrap();
    // The first sample has 10 ms of CPU time and weight 1, since samples before it were dropped.
    for (at_ms, cpu_ms) in [(50, 24), (51, 25)] {
        let cpu_ns = cpu_ms * MS;
        recording.sample(first, Sample { cpu_ns, context: Some(late), ..sample(at_ms * MS, any) });
    }
    let apart = SplitThreads::by_virtual_thread(&recording, 10, MS);
    let threads = summaries(&apart.threads(&recording));
    let (.., samples) = threads.iter().find(|(name, ..)| name == "late").unwrap();
    assert_eq!(*samples, [(50, 1, 1), (51, 11, 1)]);
}
