//! Markers in the timeline: for refuted samples, for events, and for contexts.
//!
//! No field of a schema may be called `cause` or `type`: the front-end uses these itself, and would
//! show an error page. A value called `cause` is a stack that is shown in the tooltip.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Not;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use vouch_recording::{
    Category, ContextField, ContextKind, Marker, MarkerFieldRow, MarkerKindRow, Recording, RefutationRow,
    Refuted, StackId, StringId, Thread, Unit,
};
use vouch_report::{Run, in_template};

use super::contexts::{Span, SpanData, field_key, marker_type, spans};
use super::held_up;
use super::time::{Micros, began_ns, ended_ns};
use crate::categories::index;
use crate::json::{Column, Row};

/// The type of the markers for samples with a call that the bytecode contradicts.
const REFUTED: &str = "refuted";
/// The type of the markers for samples that are refuted without bytecode: by a root that no thread
/// begins in, or by a frame that the JVM does not have.
const REFUTED_FRAME: &str = "refuted-frame";

/// The markers of one track, ordered by time.
pub struct MarkerColumns<'a> {
    recording: &'a Recording,
    markers: Vec<TrackMarker>,
}

/// A marker in the track of a thread or of the process.
#[derive(Clone, Copy)]
enum TrackMarker {
    /// A refuted sample, and the beginning of the time that the sample covers.
    Refuted(Refuted, u64),
    Event(Marker),
    Context(Span),
}

impl TrackMarker {
    fn began_ns(self) -> u64 {
        match self {
            Self::Refuted(_, began_ns) => began_ns,
            Self::Event(marker) => marker.began_ns,
            Self::Context(span) => span.began_ns,
        }
    }

    /// Returns the time at which the marker ends, or `None` if it marks an instant.
    fn ended_ns(self) -> Option<u64> {
        match self {
            Self::Refuted(refuted, _) => Some(ended_ns(refuted.time_ns)),
            Self::Event(marker) => Some(marker.ended_ns).filter(|ended| *ended > marker.began_ns),
            Self::Context(span) => Some(span.ended_ns),
        }
    }
}

impl<'a> MarkerColumns<'a> {
    /// Makes the markers of a track with these threads. The first track also has the markers of the
    /// whole process.
    pub fn new(recording: &'a Recording, threads: &[&'a Thread], first: bool, run: &Run) -> Self {
        let (interval_ns, sampled_ns) = (run.interval_ns, run.sampled_ns());
        let of_all = if first { recording.markers() } else { &[] };
        // If threads share a track, a marker of one of them would cover samples of the others.
        let alone = if let [thread] = threads { Some(thread) } else { None };
        let held_up = alone.into_iter().flat_map(|thread| held_up::markers(recording, thread, sampled_ns));
        let markers = threads.iter().flat_map(|thread| thread.markers()).chain(of_all).copied();
        let markers = markers.chain(held_up).map(TrackMarker::Event);
        let spans = alone.into_iter().flat_map(|thread| spans(recording.contexts(), thread, interval_ns));
        let refuted = match alone {
            Some(thread) => refuted_alone(thread, interval_ns),
            None => threads
                .iter()
                .flat_map(|thread| thread.refuted())
                .map(|refuted| TrackMarker::Refuted(*refuted, refuted.time_ns))
                .collect(),
        };
        let mut markers: Vec<TrackMarker> =
            refuted.into_iter().chain(markers).chain(spans.map(TrackMarker::Context)).collect();
        // If markers begin at the same time, the longest must come first.
        markers.sort_by_key(|marker| (marker.began_ns(), Reverse(marker.ended_ns())));
        Self { recording, markers }
    }

    pub fn is_empty(&self) -> bool {
        self.markers.is_empty()
    }

    fn name(&self, marker: TrackMarker) -> Row<StringId> {
        match marker {
            TrackMarker::Refuted(refuted, _) => Row(self.recording.refutations().get(refuted.how).name),
            TrackMarker::Event(marker) => Row(self.kind(&marker).label),
            TrackMarker::Context(span) => {
                let contexts = self.recording.contexts();
                Row(contexts.kind(contexts.get(span.context).kind).label)
            }
        }
    }

    fn data(&self, marker: TrackMarker) -> Data<'a> {
        match marker {
            TrackMarker::Refuted(refuted, _) => {
                let RefutationRow { kind, caller, bci, expected, found, .. } =
                    self.recording.refutations().get(refuted.how);
                let of_frame = self.recording.strings().get(caller).is_empty();
                let [kind, caller, expected, found] = [kind, caller, expected, found].map(Row);
                let number = refuted.how.number();
                let (r#type, call) =
                    if of_frame { (REFUTED_FRAME, None) } else { (REFUTED, Some(WrongCall { caller, bci })) };
                let time = Micros::from_nanos(refuted.time_ns);
                let cause = Cause { time, stack: Row(refuted.stack) };
                Data::Refuted(RefutedData { r#type, number, kind, call, expected, found, color: RED, cause })
            }
            TrackMarker::Event(marker) => Data::Event(EventData { kind: self.kind(&marker), marker }),
            TrackMarker::Context(span) => {
                Data::Context(SpanData(self.recording.contexts().get(span.context)))
            }
        }
    }

    fn category(&self, marker: TrackMarker) -> Category {
        match marker {
            TrackMarker::Refuted(..) => Category::Refuted,
            TrackMarker::Event(marker) => self.kind(&marker).category,
            TrackMarker::Context(_) => Category::Application,
        }
    }

    fn kind(&self, marker: &Marker) -> &'a MarkerKindRow {
        self.recording.marker_kinds().get(marker.kind)
    }
}

/// Returns the markers for refuted samples of a thread with its own track. Each covers the
/// intervals of one sample only, because the front-end can drop all samples outside of markers.
fn refuted_alone(thread: &Thread, interval_ns: u64) -> Vec<TrackMarker> {
    if thread.refuted().is_empty() {
        return Vec::new();
    }
    let mut times: Vec<u64> = thread.samples().iter().map(|sample| sample.time_ns).collect();
    times.sort_unstable();
    let began = |Refuted { time_ns, weight, .. }: Refuted| {
        let before = times.partition_point(|time| *time < time_ns).checked_sub(1);
        began_ns(time_ns, weight, interval_ns, before.map_or(0, |before| ended_ns(times[before])))
    };
    thread.refuted().iter().map(|refuted| TrackMarker::Refuted(*refuted, began(*refuted))).collect()
}

impl Serialize for MarkerColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let markers = || self.markers.iter().copied();
        let mut table = serializer.serialize_struct("markers", 7)?;
        table.serialize_field("length", &self.markers.len())?;
        table.serialize_field("data", &Column(|| markers().map(|marker| self.data(marker))))?;
        table.serialize_field("name", &Column(|| markers().map(|marker| self.name(marker))))?;
        table.serialize_field(
            "startTime",
            &Column(|| markers().map(|marker| Micros::from_nanos(marker.began_ns()))),
        )?;
        let ends = || markers().map(|marker| marker.ended_ns().map(Micros::from_nanos));
        table.serialize_field("endTime", &Column(ends))?;
        // In the front-end's format the phase 0 is an instant, and 1 is an interval.
        let phases = || markers().map(|marker| u8::from(marker.ended_ns().is_some()));
        table.serialize_field("phase", &Column(phases))?;
        table
            .serialize_field("category", &Column(|| markers().map(|marker| index(self.category(marker)))))?;
        table.end()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Refuted(RefutedData),
    Event(EventData<'a>),
    Context(SpanData<'a>),
}

#[derive(Serialize)]
struct RefutedData {
    r#type: &'static str,
    number: usize,
    kind: Row<StringId>,
    #[serde(flatten)]
    call: Option<WrongCall>,
    expected: Row<StringId>,
    found: Row<StringId>,
    color: &'static str,
    cause: Cause,
}

/// The caller and the bci of a call that the bytecode contradicts.
#[derive(Serialize)]
struct WrongCall {
    caller: Row<StringId>,
    bci: i32,
}

/// The stack of a marker, which the front-end shows in the tooltip.
#[derive(Serialize)]
struct Cause {
    time: Micros,
    stack: Row<StackId>,
}

/// The front-end's name for the colour of refuted samples.
const RED: &str = "red";

struct EventData<'a> {
    kind: &'a MarkerKindRow,
    marker: Marker,
}

impl Serialize for EventData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = self.kind;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &kind.key)?;
        for (field, value) in kind.fields.iter().zip(self.marker.values) {
            match field.unit {
                Unit::Text => map.serialize_entry(&field.key, &Marker::text_from_value(value).map(Row))?,
                // A value in a marker of the program may be negative.
                Unit::Count | Unit::Nanoseconds | Unit::Bytes => {
                    map.serialize_entry(&field.key, &value.cast_signed())?;
                }
                Unit::Decimal | Unit::Percentage => {
                    map.serialize_entry(&field.key, &f64::from_bits(value))?;
                }
            }
        }
        if let Some(stack) = self.marker.stack {
            let time = Micros::from_nanos(self.marker.began_ns);
            map.serialize_entry("cause", &Cause { time, stack: Row(stack) })?;
        }
        map.end()
    }
}

/// A marker schema: it describes to the front-end how to show one kind of markers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema<'a> {
    name: Cow<'a, str>,
    display: [&'static str; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    table_label: Option<Cow<'a, str>>,
    chart_label: Cow<'a, str>,
    tooltip_label: Cow<'a, str>,
    description: &'a str,
    /// The key of the field that contains the marker's colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    color_field: Option<&'static str>,
    fields: Vec<Field<'a>>,
}

#[derive(Serialize)]
struct Field<'a> {
    key: Cow<'a, str>,
    label: Cow<'a, str>,
    format: &'static str,
    #[serde(skip_serializing_if = "Not::not")]
    hidden: bool,
}

impl<'a> Field<'a> {
    fn new(key: impl Into<Cow<'a, str>>, label: impl Into<Cow<'a, str>>, format: &'static str) -> Self {
        Self { key: key.into(), label: label.into(), format, hidden: false }
    }
}

impl<'a> From<&'a MarkerFieldRow> for Field<'a> {
    fn from(field: &'a MarkerFieldRow) -> Self {
        let format = match field.unit {
            Unit::Count => "integer",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
            Unit::Decimal => "decimal",
            Unit::Percentage => "percentage",
            Unit::Text => "unique-string",
        };
        Self::new(field.key.as_str(), field.label.as_str(), format)
    }
}

/// Returns the schemas of all kinds of markers that a recording can have.
pub fn schemas(recording: &Recording) -> impl Iterator<Item = Schema<'_>> {
    let markers = recording.marker_kinds().rows().iter().map(|row| Schema {
        name: row.key.as_str().into(),
        display: DISPLAY,
        table_label: row.fields.first().filter(|field| field.unit == Unit::Text).map(label),
        chart_label: row.fields.first().map_or(in_template(recording.strings().get(row.label)).into(), label),
        tooltip_label: in_template(recording.strings().get(row.label)).into(),
        description: &row.description,
        color_field: None,
        fields: row.fields.iter().map(Field::from).collect(),
    });
    let contexts = recording.contexts().kinds().iter().enumerate();
    let contexts = contexts.map(|(row, kind)| context(recording, row, kind));
    refuted().into_iter().chain(markers).chain(contexts)
}

/// Returns a template that shows the value of a field in a marker's label.
fn label<'a>(field: &MarkerFieldRow) -> Cow<'a, str> {
    format!("{{marker.data.{}}}", field.key).into()
}

/// Returns the schema of a kind of contexts. Its label has all values, since users read the marker
/// chart like a table.
fn context<'a>(recording: &'a Recording, row: usize, kind: &ContextKind) -> Schema<'a> {
    let text = |id| recording.strings().get(id);
    let values: Vec<String> =
        (0..kind.fields.len()).map(|at| format!("{{marker.data.{}}}", field_key(at))).collect();
    let values = values.join(", ");
    let field =
        |(at, field): (usize, &ContextField)| Field::new(field_key(at), text(field.label), "unique-string");
    Schema {
        name: marker_type(row).into(),
        display: DISPLAY,
        table_label: Some(values.clone().into()),
        chart_label: values.clone().into(),
        tooltip_label: format!("{}: {values}", in_template(text(kind.label))).into(),
        description: "What the program did its work for, from the first to the last of its samples in a row.",
        color_field: None,
        fields: kind.fields.iter().enumerate().map(field).collect(),
    }
}

const DISPLAY: [&str; 3] = ["marker-chart", "marker-table", "timeline-overview"];

/// Returns the schemas for refuted samples: one for calls, and one for frames and roots.
fn refuted() -> [Schema<'static>; 2] {
    let schema = |name: &'static str, table_label: &'static str, call: Vec<Field<'static>>| Schema {
        name: name.into(),
        display: DISPLAY,
        table_label: Some(table_label.into()),
        chart_label: "{marker.data.found}".into(),
        tooltip_label: "{marker.name}".into(),
        description: "A sample with a refuted stack. `vouch explain FILE NUMBER` shows where it breaks.",
        color_field: Some("color"),
        fields: [Field::new("number", "Number", "integer"), Field::new("kind", "How", "unique-string")]
            .into_iter()
            .chain(call)
            .chain([
                Field::new("expected", "There is", "unique-string"),
                Field::new("found", "The walk claimed", "unique-string"),
                Field { hidden: true, ..Field::new("color", "Colour", "string") },
            ])
            .collect(),
    };
    [
        schema(
            REFUTED,
            "{marker.data.caller} at {marker.data.bci}: {marker.data.expected}; the walk claimed {marker.data.found}",
            vec![Field::new("caller", "Caller", "unique-string"), Field::new("bci", "At bci", "integer")],
        ),
        schema(REFUTED_FRAME, "{marker.data.expected}; the walk claimed {marker.data.found}", Vec::new()),
    ]
}
