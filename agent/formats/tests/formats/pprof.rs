//! Tests of pprof's format: its sums are those of the folded stacks, and each sample has the labels
//! of its thread, context and fate. `java-tests/output/Pprof.java` has Go's own tool read a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prost::Message;
use vouch_formats::pprof::Profile;
use vouch_formats::{Format, Meta};
use vouch_recording::measures::{ALLOCATED, CPU, WALL_CLOCK};
use vouch_recording::{Amount, Category, Certainty, Func, Leaf, Recording, Sample, TRACE, Trust};
use vouch_report::Clock;

use crate::common::contexts::{context, kind};
use crate::common::{START_NS, busy_thread, folded_lines, measured_recording, meta, sample, stack};

fn written(recording: &Recording, meta: &Meta) -> Profile {
    let mut bytes = Vec::new();
    Format::from_file_name("a.pb.gz").unwrap().write(recording, meta, &mut bytes).unwrap();
    let profile = Profile::decode(&*bytes).unwrap();
    check(&profile);
    profile
}

/// Checks that each reference is to a row, and each row is referred to.
fn check(profile: &Profile) {
    let strings = profile.string_table.len();
    assert_eq!(profile.string_table[0], "");
    let distinct: BTreeSet<&String> = profile.string_table.iter().collect();
    assert_eq!(distinct.len(), strings);
    let mut texts = BTreeSet::from([0, profile.default_sample_type]);
    texts.extend(&profile.comment);
    texts.extend(profile.sample_type.iter().chain(&profile.period_type).flat_map(|it| [it.r#type, it.unit]));
    texts.extend(profile.sample.iter().flat_map(|it| &it.label).flat_map(|it| [it.key, it.str]));
    texts.extend(profile.mapping.iter().map(|it| it.filename));
    texts.extend(profile.function.iter().flat_map(|it| [it.name, it.filename]));
    assert!(texts.into_iter().eq(0..i64::try_from(strings).unwrap()));
    for sample in &profile.sample {
        assert_eq!(sample.value.len(), profile.sample_type.len());
        let keys: BTreeSet<i64> = sample.label.iter().map(|label| label.key).collect();
        assert_eq!(keys.len(), sample.label.len(), "a label is there twice");
    }
    let rows = |ids: Vec<u64>, used: BTreeSet<u64>| {
        assert!(used.into_iter().filter(|id| *id > 0).eq(ids.iter().copied()));
        assert!(ids.into_iter().zip(1..).all(|(id, row)| id == row));
    };
    let locations = || profile.location.iter();
    rows(
        locations().map(|it| it.id).collect(),
        profile.sample.iter().flat_map(|it| it.location_id.clone()).collect(),
    );
    rows(
        profile.function.iter().map(|it| it.id).collect(),
        locations().flat_map(|it| &it.line).map(|it| it.function_id).collect(),
    );
    let mappings = locations().map(|it| it.mapping_id).chain([1]).collect();
    rows(profile.mapping.iter().map(|it| it.id).collect(), mappings);
}

fn text(profile: &Profile, row: i64) -> &str {
    &profile.string_table[usize::try_from(row).unwrap()]
}

/// The names and the units of the values.
fn types(profile: &Profile) -> Vec<(&str, &str)> {
    let text = |row| text(profile, row);
    profile.sample_type.iter().map(|it| (text(it.r#type), text(it.unit))).collect()
}

fn labels(profile: &Profile, row: usize) -> Vec<(&str, &str)> {
    let text = |row| text(profile, row);
    profile.sample[row].label.iter().map(|it| (text(it.key), text(it.str))).collect()
}

/// The sum of one value, by stack, as folded stacks have it.
fn folded(profile: &Profile, name: &str) -> BTreeMap<String, i64> {
    let at = types(profile).iter().position(|(known, _)| *known == name).unwrap();
    let functions: HashMap<u64, &str> =
        profile.function.iter().map(|it| (it.id, text(profile, it.name))).collect();
    let locations: HashMap<u64, &str> =
        profile.location.iter().map(|it| (it.id, functions[&it.line[0].function_id])).collect();
    let mut sums = BTreeMap::new();
    for sample in profile.sample.iter().filter(|sample| sample.value[at] != 0) {
        let mut names: Vec<&str> = sample.location_id.iter().map(|id| locations[id]).collect();
        names.reverse();
        *sums.entry(names.join(";")).or_default() += sample.value[at];
    }
    sums
}

const INTERVAL_NS: i64 = 1_000_000;

#[test]
fn sums_by_stack_are_those_of_the_folded_stacks() {
    let (recording, ..) = measured_recording();
    let profile = written(&recording, &meta());
    assert_eq!(folded(&profile, "cpu"), folded_lines(&recording, &CPU, INTERVAL_NS));
    assert_eq!(folded(&profile, "alloc_space"), folded_lines(&recording, &ALLOCATED, 1));
    let sum = |name| folded(&profile, name).values().sum::<i64>();
    assert_eq!((sum("samples"), sum("alloc_objects")), (303, 4));
    // The samples of one thread, stack and weight are one row.
    assert_eq!(profile.sample.len(), 3 + 2);
    assert_eq!(text(&profile, profile.default_sample_type), "cpu");
    let chosen = written(&recording, &Meta { measure: &ALLOCATED, ..meta() });
    assert_eq!(text(&chosen, chosen.default_sample_type), "alloc_space");
}

#[test]
fn a_sample_has_its_thread_context_and_fate_as_labels() {
    let mut recording = Recording::new();
    let request = kind(&mut recording, "Request", &["user", "type"]);
    let step = kind(&mut recording, "Step", &["name"]);
    let moe = context(&mut recording, None, request, &["moe", "store"]);
    let nested = context(&mut recording, Some(moe), request, &["larry", "fetch"]);
    let read = context(&mut recording, Some(nested), step, &["read"]);
    let name = "com.foo.Bar.run";
    let category = Category::Library;
    let func = recording.func(Func { name, category, source: None, line: None, resource: None, java: true });
    let leaf = Leaf { trust: Trust::Proven, top_frame: Some(Certainty::MethodCertain) };
    let frame = recording.leaf_frame(func, Some(12), leaf);
    let stack = recording.stack(None, frame);
    let thread = recording.add_thread("worker-1", 77, START_NS);
    recording.sample(thread, Sample { context: Some(read), trust: Trust::Proven, ..sample(1, stack) });
    let profile = written(&recording, &meta());
    assert_eq!(
        labels(&profile, 0),
        [
            ("thread", "worker-1"),
            ("thread_id", "77"),
            ("Step.name", "read"),
            ("Request.user", "larry"),
            ("Request.type", "fetch"),
            ("fate", "proven"),
            ("top_frame", "method certain"),
            ("category", "Library"),
        ]
    );
    assert_eq!(profile.location[0].line[0].line, 12);
}

#[test]
fn a_refuted_stack_has_its_fate_as_a_label_for_every_measure() {
    let mut recording = Recording::new();
    let refuted = recording.placeholder_stack(None, "[refuted: wrong_root]", Category::Refuted);
    let class = recording.stack_of_class(Some(refuted), "byte[]");
    let thread = recording.add_thread("worker-1", 77, START_NS);
    recording.sample(thread, Sample { trust: Trust::Refuted, ..sample(1, refuted) });
    for (measure, stack) in [(&WALL_CLOCK, refuted), (&ALLOCATED, class)] {
        recording.amount(
            thread,
            measure,
            Amount { time_ns: START_NS, stack, amount: 7, events: 1, context: None },
        );
    }
    let profile = written(&recording, &meta());
    for row in 0..3 {
        assert!(labels(&profile, row).contains(&("fate", "refuted")), "{:?}", labels(&profile, row));
    }
}

#[test]
fn a_trace_has_the_ids_alone_as_labels() {
    let mut recording = Recording::new();
    let (class, label) = (recording.string(TRACE), recording.string("Trace"));
    let fields = ["trace_id", "span_id"].map(|key| recording.string(key));
    let fields = fields.map(|key| vouch_recording::ContextField { key, label: key }).to_vec();
    let kind = recording.context_kind(vouch_recording::ContextKind { class, label, fields });
    let trace = context(&mut recording, None, kind, &["0af7", "b9c7"]);
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, Sample { context: Some(trace), ..sample(1, stack) });
    let profile = written(&recording, &meta());
    assert_eq!(labels(&profile, 0)[2..4], [("trace_id", "0af7"), ("span_id", "b9c7")]);
}

#[test]
fn functions_have_their_source_line_and_jar() {
    let mut recording = Recording::new();
    let (source, jar) = (recording.source("com/foo/Bar.java"), recording.resource("shop.jar"));
    let mut caller = None;
    for line in [10, 20] {
        let func = recording.func(Func {
            name: "com.foo.Bar.run",
            category: Category::Application,
            source: Some(source),
            line: Some(line),
            resource: Some(jar),
            java: true,
        });
        let frame = recording.frame(func, Some(line + 3));
        caller = Some(recording.stack(caller, frame));
    }
    busy_thread(&mut recording, "main", caller.unwrap(), 1);
    let profile = written(&recording, &meta());
    let text = |row| text(&profile, row);
    let mappings: Vec<&str> = profile.mapping.iter().map(|it| text(it.filename)).collect();
    assert_eq!(mappings, ["shop.Main", "shop.jar"]);
    let functions: Vec<_> =
        profile.function.iter().map(|it| (text(it.name), text(it.filename), it.start_line)).collect();
    let overload = |line| ("com.foo.Bar.run", "com/foo/Bar.java", line);
    assert_eq!(functions, [overload(20), overload(10)]);
    let lines: Vec<_> = profile.location.iter().map(|it| (it.mapping_id, it.line[0].line)).collect();
    assert_eq!(lines, [(2, 23), (2, 13)]);
}

#[test]
fn another_clock_is_never_called_cpu_time() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    busy_thread(&mut recording, "main", stack, 8);
    let types_of = |clock, event: Option<&str>, recorder: Option<&str>| {
        let mut meta = meta();
        meta.report = meta.report.taken_by(clock, event.map(str::to_owned));
        meta.report.run.recorder = recorder.map(str::to_owned);
        let profile = written(&recording, &meta);
        let period = (text(&profile, profile.period_type.unwrap().r#type).to_owned(), profile.period);
        let types = types(&profile).iter().map(|(name, unit)| format!("{name}/{unit}")).collect::<Vec<_>>();
        (types.join(" "), period, folded(&profile, types[types.len() - 1].split('/').next().unwrap()))
    };
    let sum = |weight| BTreeMap::from([("main".to_owned(), weight)]);
    let expected =
        |types: &str, name: &str, period, weight| (types.to_owned(), (name.to_owned(), period), sum(weight));
    for (clock, recorder, name) in [
        (None, None, "cpu"),
        (Some(Clock::Cpu), Some("async-profiler"), "cpu"),
        (Some(Clock::Wall), Some("async-profiler"), "wall"),
        (None, Some("Flight Recorder"), "time"),
    ] {
        let types = format!("samples/count {name}/nanoseconds");
        assert_eq!(types_of(clock, None, recorder), expected(&types, name, INTERVAL_NS, 8 * INTERVAL_NS));
    }
    let counted = types_of(None, Some("cache-misses"), Some("async-profiler"));
    assert_eq!(counted, expected("cache-misses/count", "cache-misses", 1, 8));
}

#[test]
fn a_recording_without_samples_is_a_whole_file() {
    let profile = written(&Recording::new(), &meta());
    assert_eq!((profile.sample.len(), types(&profile).len()), (0, 2));
    assert_eq!((profile.duration_nanos, profile.time_nanos), (1_000_000_000, 1_790_000_000_000_000_000));
}
