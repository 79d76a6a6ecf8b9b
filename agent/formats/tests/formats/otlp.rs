//! Tests of OpenTelemetry's format, with the rules of its specification: each index is of a row, no
//! row is there twice or for nothing, all times are in the profile, and all samples have one shape.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::profiles::v1development::{
    Function, KeyValueAndUnit, Link, Location, Mapping, Profile, ProfilesData, ProfilesDictionary,
    Sample as Row, Stack,
};
use prost::Message;
use vouch_formats::{Format, Meta};
use vouch_recording::measures::{ALLOCATED, CPU, WALL_CLOCK};
use vouch_recording::{Amount, Category, Certainty, Func, Leaf, Recording, Sample, TRACE, Trust};

use crate::common::contexts::{context, kind};
use crate::common::{START_NS, busy_thread, folded_lines, measured_recording, meta, sample, stack};

const INTERVAL_NS: i64 = 1_000_000;
const START_UNIX_NS: u64 = 1_790_000_000_000_000_000;

/// A file, after its rules were checked.
struct File {
    data: ProfilesData,
    dictionary: ProfilesDictionary,
}

fn written(recording: &Recording, meta: &Meta) -> File {
    let mut bytes = Vec::new();
    Format::from_file_name("a.otlp.gz").unwrap().write(recording, meta, &mut bytes).unwrap();
    let data = ProfilesData::decode(&*bytes).unwrap();
    assert_eq!(data.encode_to_vec().len(), bytes.len(), "a length or a field is wrong");
    let dictionary = data.dictionary.clone().unwrap();
    let file = File { data, dictionary };
    file.check();
    file
}

impl File {
    fn profiles(&self) -> &[Profile] {
        let [resource] = &self.data.resource_profiles[..] else { panic!("not one resource") };
        let [scope] = &resource.scope_profiles[..] else { panic!("not one scope") };
        &scope.profiles
    }

    fn profile(&self, name: &str) -> &Profile {
        self.profiles().iter().find(|profile| self.type_of(profile).0 == name).unwrap()
    }

    fn text(&self, row: i32) -> &str {
        &self.dictionary.string_table[usize::try_from(row).unwrap()]
    }

    fn type_of(&self, profile: &Profile) -> (&str, &str) {
        let of = profile.sample_type.unwrap();
        (self.text(of.type_strindex), self.text(of.unit_strindex))
    }

    fn types(&self) -> Vec<(&str, &str)> {
        self.profiles().iter().map(|profile| self.type_of(profile)).collect()
    }

    /// Returns the names of a stack's functions, the outermost first, with `;` between them.
    fn folded(&self, sample: &Row) -> String {
        let tables = &self.dictionary;
        let at = |row: i32| usize::try_from(row).unwrap();
        let stack = &tables.stack_table[at(sample.stack_index)];
        let names = stack.location_indices.iter().rev().map(|location| {
            let line = tables.location_table[at(*location)].lines[0];
            self.text(tables.function_table[at(line.function_index)].name_strindex)
        });
        names.collect::<Vec<_>>().join(";")
    }

    /// Returns the sums of a profile's values, by stack.
    fn sums(&self, name: &str) -> BTreeMap<String, i64> {
        let mut sums = BTreeMap::new();
        for sample in &self.profile(name).samples {
            *sums.entry(self.folded(sample)).or_default() += sample.values.iter().sum::<i64>();
        }
        sums
    }

    fn attributes(&self, sample: &Row) -> Vec<(&str, String)> {
        let attributes = sample.attribute_indices.iter().map(|row| {
            let attribute = &self.dictionary.attribute_table[usize::try_from(*row).unwrap()];
            (self.text(attribute.key_strindex), shown(attribute.value.as_ref()))
        });
        attributes.collect()
    }

    /// Checks the rules of the specification.
    fn check(&self) {
        let tables = &self.dictionary;
        assert_eq!(tables.string_table[0], "");
        assert_eq!(tables.mapping_table[0], Mapping::default());
        assert_eq!(tables.location_table[0], Location::default());
        assert_eq!(tables.function_table[0], Function::default());
        assert_eq!(tables.link_table[0], Link::default());
        assert_eq!(tables.attribute_table[0], KeyValueAndUnit::default());
        assert_eq!(tables.stack_table[0], Stack::default());
        assert_distinct(&tables.string_table);
        assert_distinct(&tables.mapping_table);
        assert_distinct(&tables.location_table);
        assert_distinct(&tables.function_table);
        assert_distinct(&tables.link_table);
        assert_distinct(&tables.attribute_table);
        assert_distinct(&tables.stack_table);

        let samples = || self.profiles().iter().flat_map(|profile| &profile.samples);
        let (stacks, locations) = (tables.stack_table.iter(), tables.location_table.iter());
        let (functions, attributes) = (tables.function_table.iter(), tables.attribute_table.iter());
        let lines = || tables.location_table.iter().flat_map(|it| &it.lines);
        assert_all_used(tables.stack_table.len(), samples().map(|it| it.stack_index));
        assert_all_used(tables.link_table.len(), samples().map(|it| it.link_index));
        assert_all_used(tables.location_table.len(), stacks.flat_map(|it| it.location_indices.clone()));
        assert_all_used(tables.mapping_table.len(), locations.clone().map(|it| it.mapping_index));
        assert_all_used(tables.function_table.len(), lines().map(|it| it.function_index));
        let of_samples = samples().flat_map(|it| it.attribute_indices.clone());
        let of_locations = locations.flat_map(|it| it.attribute_indices.clone());
        assert_all_used(tables.attribute_table.len(), of_samples.chain(of_locations));
        let of_functions = functions.flat_map(|it| [it.name_strindex, it.filename_strindex]);
        let of_mappings = tables.mapping_table.iter().map(|it| it.filename_strindex);
        let of_types = self.profiles().iter().flat_map(|it| [it.sample_type, it.period_type]).flatten();
        let of_types = of_types.flat_map(|it| [it.type_strindex, it.unit_strindex]);
        let of_attributes = attributes.map(|it| it.key_strindex);
        let texts = of_functions.chain(of_mappings).chain(of_types).chain(of_attributes);
        assert_all_used(tables.string_table.len(), texts);

        for profile in self.profiles() {
            let times = profile.time_unix_nano..profile.time_unix_nano + profile.duration_nano;
            let mut identities = HashSet::new();
            for sample in &profile.samples {
                let Row { stack_index, attribute_indices, link_index, values, timestamps_unix_nano } = sample;
                assert!(!values.is_empty() && values.len() == timestamps_unix_nano.len());
                assert!(
                    timestamps_unix_nano.iter().all(|time| times.contains(time)),
                    "{times:?}: {sample:?}"
                );
                assert!(timestamps_unix_nano.is_sorted());
                let keys: Vec<_> =
                    self.attributes(sample).into_iter().map(|(key, _)| key.to_owned()).collect();
                assert_distinct(&keys);
                assert!(*stack_index > 0);
                let mut attributes = attribute_indices.clone();
                attributes.sort_unstable();
                assert!(
                    identities.insert((*stack_index, attributes, *link_index)),
                    "a sample is there twice"
                );
            }
        }
    }
}

fn assert_distinct<T: PartialEq + std::fmt::Debug>(rows: &[T]) {
    for (at, row) in rows.iter().enumerate() {
        assert!(!rows[..at].contains(row), "{row:?} is there twice");
    }
}

/// Checks that these indices are of rows of a table, and that each row but the first is used.
fn assert_all_used(rows: usize, indices: impl Iterator<Item = i32>) {
    let used: BTreeSet<i32> = indices.chain([0]).collect();
    assert!(used.into_iter().eq(0..i32::try_from(rows).unwrap()));
}

fn shown(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.clone()).unwrap() {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

fn leaf(recording: &mut Recording, category: Category) -> vouch_recording::StackId {
    let func =
        recording.func(Func { name: "leaf", category, source: None, line: None, resource: None, java: true });
    let trust = Trust::Proven;
    let frame =
        recording.leaf_frame(func, Some(12), Leaf { trust, top_frame: Some(Certainty::MethodCertain) });
    recording.stack(None, frame)
}

#[test]
fn sums_by_stack_are_those_of_the_folded_stacks() {
    let (mut recording, first, inner) = measured_recording();
    let waits = recording.placeholder_stack(Some(inner), "[parked]", Category::Waiting);
    let amount = Amount { time_ns: START_NS + 5, stack: waits, amount: 70_000, events: 1, context: None };
    recording.amount(first, &WALL_CLOCK, amount);
    let file = written(&recording, &meta());
    assert_eq!(
        file.types(),
        [
            ("cpu", "nanoseconds"),
            ("alloc_space", "bytes"),
            ("alloc_objects", "count"),
            ("wall", "nanoseconds")
        ]
    );
    assert_eq!(file.sums("cpu"), folded_lines(&recording, &CPU, INTERVAL_NS));
    assert_eq!(file.sums("alloc_space"), folded_lines(&recording, &ALLOCATED, 1));
    assert_eq!(file.sums("alloc_objects").values().sum::<i64>(), 4);
    assert_eq!(file.sums("wall").values().sum::<i64>(), 70_000);
    let cpu = file.profile("cpu");
    assert_eq!(cpu.samples.iter().map(|sample| sample.values.len()).sum::<usize>(), 303);
    assert_eq!(cpu.samples.len(), 2, "one for each stack and thread");
    assert_eq!((cpu.period, file.profile("wall").period), (INTERVAL_NS, 0));
}

#[test]
fn a_thread_without_samples_has_no_rows() {
    let mut recording = Recording::new();
    let work = stack(&mut recording, &["main", "work"]);
    busy_thread(&mut recording, "busy", work, 3);
    recording.add_thread("idle", 78, START_NS);
    let file = written(&recording, &meta());
    let [sample] = &file.profile("cpu").samples[..] else { panic!("not one sample") };
    assert!(file.attributes(sample).contains(&("thread.name", "busy".to_owned())));
    let threads = file.dictionary.attribute_table.iter();
    let threads = threads.filter(|row| file.text(row.key_strindex) == "thread.name");
    assert_eq!(threads.count(), 1);
}

#[test]
fn a_sample_has_its_thread_context_fate_and_time() {
    let mut recording = Recording::new();
    let request = kind(&mut recording, "Request", &["user"]);
    let moe = context(&mut recording, None, request, &["moe"]);
    let nested = context(&mut recording, Some(moe), request, &["larry"]);
    let stack = leaf(&mut recording, Category::Library);
    let thread = recording.add_thread("worker-1", 77, START_NS);
    for (time, context) in [(5, nested), (3, nested), (4, moe)] {
        recording
            .sample(thread, Sample { context: Some(context), trust: Trust::Proven, ..sample(time, stack) });
    }
    let file = written(&recording, &meta());
    let samples = &file.profile("cpu").samples;
    let mut times: Vec<_> = samples.iter().map(|sample| sample.timestamps_unix_nano.clone()).collect();
    times.sort();
    let at = |time: u64| START_UNIX_NS - START_NS + sample(time, stack).time_ns;
    assert_eq!(times, [vec![at(3), at(5)], vec![at(4)]]);
    let larry = samples.iter().find(|sample| sample.values.len() == 2).unwrap();
    let attributes: Vec<_> = file.attributes(larry);
    let expected = [
        ("thread.name", "worker-1"),
        ("thread.id", "77"),
        ("vouch.fate", "proven"),
        ("vouch.top_frame", "method certain"),
        ("vouch.category", "Library"),
        ("Request.user", "larry"),
    ];
    assert_eq!(attributes, expected.map(|(key, value)| (key, value.to_owned())));
    let location = &file.dictionary.location_table[1];
    let frame_type =
        &file.dictionary.attribute_table[usize::try_from(location.attribute_indices[0]).unwrap()];
    assert_eq!((location.lines[0].line, shown(frame_type.value.as_ref()).as_str()), (12, "jvm"));
}

#[test]
fn a_trace_is_a_link_and_other_words_for_it_are_attributes() {
    let mut recording = Recording::new();
    let (class, label) = (recording.string(TRACE), recording.string("Trace"));
    let fields = ["trace_id", "span_id"].map(|key| recording.string(key));
    let fields = fields.map(|key| vouch_recording::ContextField { key, label: key }).to_vec();
    let kind = recording.context_kind(vouch_recording::ContextKind { class, label, fields });
    let (trace_id, span_id) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let trace = context(&mut recording, None, kind, &[trace_id, span_id]);
    let others = context(&mut recording, None, kind, &["[others]", "[others]"]);
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, Sample { context: Some(trace), ..sample(1, stack) });
    recording.sample(thread, Sample { context: Some(others), ..sample(2, stack) });
    let file = written(&recording, &meta());
    let samples = &file.profile("cpu").samples;
    let linked = samples.iter().find(|sample| sample.link_index > 0).unwrap();
    let link = &file.dictionary.link_table[usize::try_from(linked.link_index).unwrap()];
    let number = |hex: &str| u128::from_str_radix(hex, 16).unwrap().to_be_bytes();
    assert_eq!(link.trace_id, number(trace_id));
    assert_eq!(link.span_id, number(span_id)[8..]);
    assert!(file.attributes(linked).iter().all(|(key, _)| *key != "trace_id"));
    let other = samples.iter().find(|sample| sample.link_index == 0).unwrap();
    assert!(file.attributes(other).contains(&("trace_id", "[others]".to_owned())));
}

#[test]
fn the_resource_is_the_service_and_its_process() {
    let resource =
        vec![("service.name".to_owned(), "shop".to_owned()), ("os.type".to_owned(), "mine".to_owned())];
    let file = written(&Recording::new(), &Meta { resource, ..meta() });
    let resource = &file.data.resource_profiles[0];
    let attributes = &resource.resource.as_ref().unwrap().attributes;
    let attributes: Vec<_> =
        attributes.iter().map(|it| (it.key.as_str(), shown(it.value.as_ref()))).collect();
    let expected = [
        ("service.name", "shop"),
        ("os.type", "mine"),
        ("process.pid", "4242"),
        ("process.runtime.description", "OpenJDK 25"),
    ];
    assert_eq!(attributes, expected.map(|(key, value)| (key, value.to_owned())));
    assert_eq!(resource.scope_profiles[0].scope.as_ref().unwrap().name, "vouch");
    assert_eq!(file.types(), [("cpu", "nanoseconds")]);
    assert!(file.profile("cpu").samples.is_empty());
}

#[test]
fn a_sample_before_or_after_the_recording_is_in_the_profile_all_the_same() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    for time_ns in [START_NS - 7, START_NS + 2_000_000_000] {
        recording.sample(thread, Sample { time_ns, ..sample(1, stack) });
    }
    let file = written(&recording, &meta());
    let cpu = file.profile("cpu");
    assert_eq!((cpu.time_unix_nano, cpu.duration_nano), (START_UNIX_NS - 7, 2_000_000_008));
}
