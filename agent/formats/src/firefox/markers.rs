//! Refutations in the timeline: a marker at the time of each refuted sample, with what contradicts it as fields.
//!
//! No field may be called `cause` or `type`: the front-end takes these for its own, and shows an error page.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{Category, Recording, RefutationRow, Refuted, StringId, Thread};

use super::categories::index;
use super::json::{Column, Repeat, Row};
use super::time::Micros;

/// The markers' kind, by which the front-end finds how to show them.
const SCHEMA: &str = "refuted";

/// The markers of one track.
pub struct MarkerColumns<'a> {
    recording: &'a Recording,
    refuted: Vec<Refuted>,
}

impl<'a> MarkerColumns<'a> {
    pub fn of(recording: &'a Recording, threads: &[&Thread]) -> Self {
        let mut refuted: Vec<Refuted> = threads.iter().flat_map(|thread| thread.refuted()).copied().collect();
        refuted.sort_by_key(|refuted| refuted.time_ns);
        Self { recording, refuted }
    }

    fn data(&self) -> impl Iterator<Item = Data> {
        self.refuted.iter().map(|refuted| {
            let RefutationRow { kind, caller, bci, expected, found } =
                self.recording.refutations().get(refuted.how);
            let [kind, caller, expected, found] = [kind, caller, expected, found].map(Row);
            Data { r#type: SCHEMA, number: refuted.how.number(), kind, caller, bci, expected, found }
        })
    }
}

impl Serialize for MarkerColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = self.refuted.len();
        let name = || self.recording.refutations().marker().map(Row);
        let mut table = serializer.serialize_struct("markers", 7)?;
        table.serialize_field("length", &length)?;
        table.serialize_field("data", &Column(|| self.data()))?;
        table.serialize_field("name", &Column(|| self.refuted.iter().map(|_| name())))?;
        let times = || self.refuted.iter().map(|refuted| Micros::from_nanos(refuted.time_ns));
        table.serialize_field("startTime", &Column(times))?;
        table.serialize_field("endTime", &Repeat((), length))?;
        // An instant.
        table.serialize_field("phase", &Repeat(0, length))?;
        table.serialize_field("category", &Repeat(index(Category::Refuted), length))?;
        table.end()
    }
}

#[derive(Serialize)]
struct Data {
    r#type: &'static str,
    number: usize,
    kind: Row<StringId>,
    caller: Row<StringId>,
    bci: i32,
    expected: Row<StringId>,
    found: Row<StringId>,
}

/// How the front-end is to show the markers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    name: &'static str,
    display: [&'static str; 3],
    table_label: &'static str,
    chart_label: &'static str,
    tooltip_label: &'static str,
    description: &'static str,
    fields: [Field; 6],
}

#[derive(Serialize)]
struct Field {
    key: &'static str,
    label: &'static str,
    format: &'static str,
}

pub const SCHEMAS: [Schema; 1] = [Schema {
    name: SCHEMA,
    display: ["marker-chart", "marker-table", "timeline-overview"],
    table_label: "{marker.data.kind}: {marker.data.caller} at {marker.data.bci}, found {marker.data.found}",
    chart_label: "{marker.data.kind}",
    tooltip_label: "A stack that cannot be: {marker.data.kind}",
    description: "A sample whose stack the bytecode contradicts. `vouch explain FILE NUMBER` shows the place.",
    fields: [
        Field { key: "number", label: "Number", format: "integer" },
        Field { key: "kind", label: "How", format: "unique-string" },
        Field { key: "caller", label: "Caller", format: "unique-string" },
        Field { key: "bci", label: "At bci", format: "integer" },
        Field { key: "expected", label: "Its bytecode", format: "unique-string" },
        Field { key: "found", label: "The walk claimed", format: "unique-string" },
    ],
}];
