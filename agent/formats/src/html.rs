//! Writes a page for any browser, which needs no network and no front-end. It has a summary of the
//! trust report, the threads over time, a flame graph, and the refutations.
//!
//! No name in it may be interpreted as markup, and the page must not load anything.

mod tables;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use vouch_recording::measures::CPU;
use vouch_recording::{MEASURES, Measure, Recording};
use vouch_report::{RefutationReport, readable};

use crate::html::tables::Tables;
use crate::json::Column;
use crate::meta::Meta;
use crate::tracks::{self, Track};

/// The HTML of the page, without its style, data and scripts.
const PAGE: &str = include_str!("html/page.html");
/// The texts in the page's HTML that the parts replace, in the order of the page.
const STYLE: &str = "{{STYLE}}";
const DATA: &str = "{{DATA}}";
const SCRIPT: &str = "{{SCRIPT}}";

/// The scripts of the page, in the order in which they run.
const SCRIPTS: [&str; 8] = [
    include_str!("html/profile.js"),
    include_str!("html/selection.js"),
    include_str!("html/flames.js"),
    include_str!("html/methods.js"),
    include_str!("html/neighbours.js"),
    include_str!("html/threads.js"),
    include_str!("html/heat.js"),
    include_str!("html/page.js"),
];

/// Writes the page for a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let (before_style, rest) = split(PAGE, STYLE);
    let (before_data, rest) = split(rest, DATA);
    let (before_script, after) = split(rest, SCRIPT);
    let mut out = BufWriter::with_capacity(64 << 10, out);
    for part in [before_style, include_str!("html/page.css"), before_data] {
        out.write_all(part.as_bytes())?;
    }
    let threads = tracks::split_threads(recording, meta);
    let tracks = tracks::tracks(&threads.threads(recording));
    let of_tracks = tracks.iter().flat_map(|track| &track.threads);
    let leaves = of_tracks.flat_map(|thread| {
        MEASURES.into_iter().flat_map(|measure| thread.measured(measure).map(|sample| sample.stack))
    });
    let tables = Tables::new(recording, leaves);
    serde_json::to_writer(&mut ScriptJson(&mut out), &Data { meta, tables: &tables, tracks: &tracks })?;
    for part in [&[before_script][..], &SCRIPTS, &[after]].concat() {
        out.write_all(part.as_bytes())?;
    }
    out.flush()
}

fn split<'a>(text: &'a str, placeholder: &str) -> (&'a str, &'a str) {
    text.split_once(placeholder).unwrap_or((text, ""))
}

/// Writes JSON into a script of the page. It escapes each `<`, since a name with `</script>` would
/// end the script.
struct ScriptJson<W>(W);

impl<W: Write> Write for ScriptJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (at, part) in bytes.split(|byte| *byte == b'<').enumerate() {
            if at > 0 {
                self.0.write_all(br"\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Data<'a> {
    meta: &'a Meta,
    tables: &'a Tables<'a>,
    tracks: &'a [Track<'a>],
}

#[derive(Serialize)]
struct About<'a> {
    product: &'a str,
    command: &'a str,
}

/// A measure that the page can show.
#[derive(Serialize)]
struct ShownMeasure<'a> {
    key: &'a str,
    name: Cow<'a, str>,
    /// The unit of the measure: `ms`, `bytes`, or `samples` if samples count no time.
    unit: &'a str,
    /// The number of units that a weight of 1 stands for.
    each: f64,
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { meta, tables, tracks } = *self;
        let run = &meta.report.run;
        let about = About { product: &meta.product, command: &meta.arguments };
        let measures = MEASURES.map(|measure| {
            let (unit, each) = meta.unit(measure);
            ShownMeasure { key: measure.key, name: meta.counted(measure), unit, each }
        });
        let mut data = serializer.serialize_struct("data", 10)?;
        data.serialize_field("measures", &measures)?;
        data.serialize_field("measure", meta.measure.key)?;
        data.serialize_field("meta", &about)?;
        data.serialize_field("panel", &Column(|| meta.report.panel()))?;
        data.serialize_field("kinds", &Column(tables::kinds))?;
        data.serialize_field("names", &Column(|| tables.names()))?;
        data.serialize_field("functions", &tables.functions())?;
        data.serialize_field("stacks", &tables.stacks())?;
        data.serialize_field(
            "threads",
            &Column(|| tracks.iter().map(|track| ShownThread::new(track, meta.started_ns, tables))),
        )?;
        data.serialize_field("refutations", &Column(|| run.refutations.iter().map(Refuted::from_report)))?;
        data.end()
    }
}

/// A refutation with the texts that the page shows.
#[derive(Serialize)]
struct Refuted<'a> {
    number: usize,
    count: u64,
    kind: &'static str,
    caller: String,
    bci: i32,
    expected: String,
    found: String,
    stack: &'a [String],
    at: Option<usize>,
    code: &'a [String],
}

impl<'a> Refuted<'a> {
    fn from_report(report: &'a RefutationReport) -> Self {
        let RefutationReport { number, count, kind, caller, bci, expected, found, stack, at, code, .. } =
            report;
        Self {
            number: *number,
            count: *count,
            kind: kind.name(),
            caller: readable(caller),
            bci: *bci,
            expected: readable(expected),
            found: readable(found),
            stack,
            at: *at,
            code,
        }
    }
}

/// The samples of a track, for each measure that the page shows.
#[derive(Serialize)]
struct ShownThread<'a> {
    name: &'a str,
    /// The track's samples of CPU time.
    #[serde(flatten)]
    samples: Samples,
    /// The track's samples of other measures, by the measure's key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    amounts: BTreeMap<&'static str, Samples>,
}

impl<'a> ShownThread<'a> {
    fn new(track: &'a Track<'a>, started_ns: u64, tables: &Tables<'_>) -> Self {
        let samples = |measure| Samples::new(track, started_ns, measure, tables);
        let others = Measure::others();
        let amounts = others.map(|measure| (measure.key, samples(measure)));
        Self {
            name: &track.name,
            samples: samples(&CPU),
            amounts: amounts.filter(|(_, samples)| !samples.stack.is_empty()).collect(),
        }
    }
}

/// The samples of a track for one measure, in the order of time.
#[derive(Serialize)]
struct Samples {
    stack: Vec<usize>,
    weight: Vec<u64>,
    /// The time since the previous sample, in microseconds.
    time: Vec<u64>,
}

impl Samples {
    fn new(track: &Track<'_>, started_ns: u64, measure: &Measure, tables: &Tables<'_>) -> Self {
        let all = track.threads.iter().flat_map(|thread| thread.measured(measure));
        let mut all: Vec<_> =
            all.map(|sample| (sample.time_ns.saturating_sub(started_ns) / 1000, sample)).collect();
        all.sort_by_key(|(time, _)| *time);
        let mut last = 0;
        let time = all.iter().map(|(time, _)| time - std::mem::replace(&mut last, *time)).collect();
        Self {
            stack: all.iter().map(|(_, sample)| tables.row(sample.stack)).collect(),
            weight: all.iter().map(|(_, sample)| sample.amount).collect(),
            time,
        }
    }
}
