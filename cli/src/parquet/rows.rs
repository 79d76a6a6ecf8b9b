//! Makes rows of an OpenTelemetry profile.

use std::io;

use indexmap::IndexMap;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::profiles::v1development::{
    Location, Profile, ProfilesData, ProfilesDictionary, ResourceProfiles, Sample,
};
use parquet::data_type::ByteArray;

use super::columns::{Frame, Origin, Row};
use super::service::ServiceOptions;

/// A row counts at most about this time. A longer recording has rows for each interval.
const INTERVAL_NS: u64 = 60_000_000_000;

/// More frames are left out. Vouch writes no such stack, and another file could fill the memory.
const MAX_FRAMES: usize = 20_000;

/// The attributes of samples that are columns.
const ATTRIBUTES: [&str; 6] =
    ["thread.name", "vouch.fate", "vouch.top_frame", "vouch.category", "trace_id", "span_id"];
const THREAD_ID: &str = "thread.id";

/// The properties that the samples of a row have in common. All but the interval are rows of the
/// profile's tables, or 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    stack: i32,
    link: i32,
    interval: u64,
    thread_id: i32,
    attributes: [i32; ATTRIBUTES.len()],
}

/// Calls `each` with the rows of an OpenTelemetry profile.
pub fn each_row(
    data: ProfilesData,
    service: &ServiceOptions,
    mut each: impl FnMut(&Row<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let tables = Tables::new(data.dictionary.unwrap_or_default());
    for resource in &data.resource_profiles {
        let origin = origin(resource, service);
        for profile in resource.scope_profiles.iter().flat_map(|scope| &scope.profiles) {
            tables.each_row(&origin, profile, &mut each)?;
        }
    }
    Ok(())
}

fn origin(resource: &ResourceProfiles, service: &ServiceOptions) -> Origin {
    let attributes = resource.resource.as_ref().map_or(&[][..], |it| &it.attributes);
    let value = |key: &str| value_of(attributes.iter().find(|it| it.key == key)?);
    let text = |key: &str| match value(key)? {
        Value::StringValue(text) => Some(text.as_str()),
        _ => None,
    };
    let process_id = match value("process.pid") {
        Some(Value::IntValue(id)) => Some(*id),
        _ => None,
    };
    Origin {
        service: service.name(text("service.name")).into(),
        version: service.version(text("service.version")).map(ByteArray::from),
        host: service.host(text("host.name")).map(ByteArray::from),
        process_id,
    }
}

fn value_of(attribute: &KeyValue) -> Option<&Value> {
    attribute.value.as_ref()?.value.as_ref()
}

/// The tables of a profile, with texts that many rows share.
struct Tables {
    texts: Vec<ByteArray>,
    /// The column and the text of each attribute that is a column.
    attributes: Vec<Option<(usize, ByteArray)>>,
    /// The number of each attribute that is a thread's number.
    thread_ids: Vec<Option<i64>>,
    /// The trace id and the span id of each link.
    links: Vec<Option<[ByteArray; 2]>>,
    /// The frames of each location. Inlined ones come first.
    locations: Vec<Vec<Frame>>,
    /// The locations of each stack, the leaf first.
    stacks: Vec<Vec<i32>>,
}

impl Tables {
    fn new(dictionary: ProfilesDictionary) -> Self {
        let texts: Vec<ByteArray> = dictionary.string_table.iter().map(|text| text.as_str().into()).collect();
        let key = |row: i32| at(&dictionary.string_table, row).map_or("", String::as_str);
        let value = |value: &'_ Option<AnyValue>| value.as_ref().and_then(|value| value.value.clone());
        let mut attributes = Vec::new();
        let mut thread_ids = Vec::new();
        for attribute in &dictionary.attribute_table {
            let (key, value) = (key(attribute.key_strindex), value(&attribute.value));
            let column = ATTRIBUTES.iter().position(|known| *known == key);
            thread_ids.push(match &value {
                Some(Value::IntValue(number)) if key == THREAD_ID => Some(*number),
                _ => None,
            });
            attributes.push(match (column, value) {
                (Some(column), Some(Value::StringValue(text))) => Some((column, text.as_str().into())),
                _ => None,
            });
        }
        let hexadecimal = |bytes: &[u8]| {
            let digits = bytes.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
            ByteArray::from(digits.as_str())
        };
        let links = dictionary.link_table.iter().map(|link| {
            (!link.trace_id.is_empty()).then(|| [&link.trace_id, &link.span_id].map(|id| hexadecimal(id)))
        });
        let links = links.collect();
        let frame_type = |location: &Location| {
            let rows = location.attribute_indices.iter();
            let attribute = rows.filter_map(|row| at(&dictionary.attribute_table, *row));
            let mut types = attribute.filter(|it| key(it.key_strindex) == "profile.frame.type");
            match value(&types.next()?.value)? {
                Value::StringValue(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            }
        };
        let text = |row: i32| at(&texts, row).filter(|text| !text.is_empty()).cloned();
        let locations = dictionary.location_table.iter().map(|location| {
            let kind = frame_type(location);
            let lines = location.lines.iter().map(|line| {
                let function = at(&dictionary.function_table, line.function_index);
                Frame {
                    method: function
                        .and_then(|it| text(it.name_strindex))
                        .unwrap_or_else(|| "[unknown]".into()),
                    file: function.and_then(|it| text(it.filename_strindex)),
                    line: i32::try_from(line.line).ok().filter(|line| *line > 0),
                    kind: kind.clone(),
                }
            });
            lines.collect()
        });
        let locations = locations.collect();
        let stacks = dictionary.stack_table.into_iter().map(|stack| stack.location_indices).collect();
        Self { texts, attributes, thread_ids, links, locations, stacks }
    }

    fn each_row(
        &self,
        origin: &Origin,
        profile: &Profile,
        each: &mut impl FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let empty = || ByteArray::from("");
        let [measure, unit] = [
            profile.sample_type.map_or(0, |it| it.type_strindex),
            profile.sample_type.map_or(0, |it| it.unit_strindex),
        ]
        .map(|row| at(&self.texts, row).cloned().unwrap_or_else(empty));
        let intervals = (profile.duration_nano.saturating_add(INTERVAL_NS / 2) / INTERVAL_NS).max(1);
        let mut rows = IndexMap::<Identity, (i64, i64)>::new();
        for sample in &profile.samples {
            let identity = self.identity(sample);
            for point in 0..sample.values.len().max(sample.timestamps_unix_nano.len()) {
                let time = sample.timestamps_unix_nano.get(point).copied().unwrap_or(profile.time_unix_nano);
                let interval = time.saturating_sub(profile.time_unix_nano) / INTERVAL_NS;
                let identity = Identity { interval: interval.min(intervals - 1), ..identity };
                let sum = rows.entry(identity).or_default();
                // A sample that has only times counts each of them once.
                let value = sample.values.get(point).copied();
                sum.0 = sum.0.saturating_add(value.unwrap_or(i64::from(sample.values.is_empty())));
                sum.1 += 1;
            }
        }
        let end_ns = profile.time_unix_nano.saturating_add(profile.duration_nano);
        for (identity, (value, count)) in rows {
            let start_ns =
                profile.time_unix_nano.saturating_add(identity.interval.saturating_mul(INTERVAL_NS));
            let is_last = identity.interval + 1 == intervals;
            let end_ns = if is_last { end_ns } else { start_ns.saturating_add(INTERVAL_NS) };
            let attribute =
                |column: usize| Some(self.attribute(*identity.attributes.get(column)?)?.1.clone());
            let [trace_id, span_id] = match at(&self.links, identity.link) {
                Some(Some(ids)) => ids.clone().map(Some),
                _ => [attribute(4), attribute(5)],
            };
            let locations = at(&self.stacks, identity.stack).map_or(&[][..], Vec::as_slice);
            let frames = locations.iter().filter_map(|row| at(&self.locations, *row));
            let stack: Vec<&Frame> = frames.flatten().take(MAX_FRAMES).collect();
            each(&Row {
                origin,
                times_us: [start_ns, end_ns].map(|ns| i64::try_from(ns / 1000).unwrap_or(i64::MAX)),
                measure: measure.clone(),
                unit: unit.clone(),
                value,
                count,
                thread: attribute(0).unwrap_or_else(empty),
                thread_id: at(&self.thread_ids, identity.thread_id).copied().flatten(),
                trace_id,
                span_id,
                fate: attribute(1),
                top_frame: attribute(2),
                category: attribute(3),
                stack: &stack,
            })?;
        }
        Ok(())
    }

    fn attribute(&self, row: i32) -> Option<&(usize, ByteArray)> {
        at(&self.attributes, row)?.as_ref()
    }

    fn identity(&self, sample: &Sample) -> Identity {
        let mut identity = Identity {
            stack: sample.stack_index,
            link: sample.link_index,
            interval: 0,
            thread_id: 0,
            attributes: [0; ATTRIBUTES.len()],
        };
        for row in &sample.attribute_indices {
            if let Some((column, _)) = self.attribute(*row) {
                identity.attributes[*column] = *row;
            } else if at(&self.thread_ids, *row).copied().flatten().is_some() {
                identity.thread_id = *row;
            }
        }
        identity
    }
}

/// Returns a row of a table, if the table has it.
fn at<T>(table: &[T], row: i32) -> Option<&T> {
    table.get(usize::try_from(row).ok()?)
}
