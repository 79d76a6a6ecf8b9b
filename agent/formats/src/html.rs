//! Writes a page for any browser, which needs no network and no front-end. It has a summary of the
//! trust report, the threads over time, a flame graph, and the refutations.
//!
//! No name in it may be interpreted as markup, and the page must not load anything.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use vouch_recording::measures::CPU;
use vouch_recording::{Fate, Id, MEASURES, Measure, Recording, StackRow};
use vouch_report::{RefutationReport, readable};

use crate::categories::name;
use crate::json::{Column, Row};
use crate::meta::Meta;
use crate::tracks::{self, Track};

/// The HTML of the page, without its data.
const PAGE: &str = include_str!("html/page.html");
/// The text in the page's HTML that the data replaces.
const PLACEHOLDER: &str = "{{DATA}}";

/// Writes the page for a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = PAGE.split_once(PLACEHOLDER).unwrap_or((PAGE, ""));
    let mut out = BufWriter::with_capacity(64 << 10, out);
    out.write_all(before.as_bytes())?;
    let threads = tracks::split_threads(recording, meta);
    let tracks = tracks::tracks(&threads.threads(recording));
    let mut script = ScriptJson(&mut out);
    serde_json::to_writer(&mut script, &Data { recording, meta, tracks: &tracks })?;
    out.write_all(after.as_bytes())?;
    out.flush()
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
    recording: &'a Recording,
    meta: &'a Meta,
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
        let Self { recording, meta, tracks } = *self;
        let run = &meta.report.run;
        let about = About { product: &meta.product, command: &meta.arguments };
        let measures = MEASURES.map(|measure| {
            let (unit, each) = meta.unit(measure);
            ShownMeasure { key: measure.key, name: meta.counted(measure), unit, each }
        });
        let mut data = serializer.serialize_struct("data", 9)?;
        data.serialize_field("measures", &measures)?;
        data.serialize_field("measure", meta.measure.key)?;
        data.serialize_field("meta", &about)?;
        data.serialize_field("panel", &Column(|| meta.report.panel()))?;
        data.serialize_field("names", &Column(|| recording.strings().iter()))?;
        data.serialize_field("functions", &Functions(recording))?;
        data.serialize_field("stacks", &Stacks(recording))?;
        data.serialize_field(
            "threads",
            &Column(|| tracks.iter().map(|track| ShownThread::new(track, meta.started_ns))),
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

struct Functions<'a>(&'a Recording);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.funcs().rows();
        let mut table = serializer.serialize_struct("functions", 2)?;
        table.serialize_field("name", &Column(|| rows.iter().map(|func| Row(func.name))))?;
        table.serialize_field("kind", &Column(|| rows.iter().map(|func| name(func.category))))?;
        table.end()
    }
}

/// The table of stacks in the page's data. It has no line numbers, since the page does not show
/// them.
struct Stacks<'a>(&'a Recording);

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.stacks().rows();
        let frame = |stack: &StackRow| self.0.frames().get(stack.frame);
        let parent =
            |stack: &StackRow| stack.parent.map_or(-1, |parent| i64::try_from(parent.row()).unwrap_or(-1));
        let mut table = serializer.serialize_struct("stacks", 4)?;
        table.serialize_field("parent", &Column(|| rows.iter().map(parent)))?;
        table.serialize_field("function", &Column(|| rows.iter().map(|stack| Row(frame(stack).func))))?;
        let fates = || rows.iter().map(|stack| fate_index(self.0.fate_of(frame(stack))));
        table.serialize_field("fate", &Column(fates))?;
        let uncertain = |stack: &StackRow| u8::from(self.0.is_guess(frame(stack)));
        table.serialize_field("uncertain", &Column(|| rows.iter().map(uncertain)))?;
        table.end()
    }
}

/// Returns the index of a fate in the page's list of fates.
fn fate_index(fate: Fate) -> u8 {
    match fate {
        Fate::Proven => 0,
        Fate::Plausible => 1,
        Fate::Refuted => 2,
        Fate::Unwalked => 3,
        Fate::Outside => 4,
        Fate::Dropped => 5,
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
    fn new(track: &'a Track<'a>, started_ns: u64) -> Self {
        let samples = |measure| Samples::new(track, started_ns, measure);
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
    fn new(track: &Track<'_>, started_ns: u64, measure: &Measure) -> Self {
        let all = track.threads.iter().flat_map(|thread| thread.measured(measure));
        let mut all: Vec<_> =
            all.map(|sample| (sample.time_ns.saturating_sub(started_ns) / 1000, sample)).collect();
        all.sort_by_key(|(time, _)| *time);
        let mut last = 0;
        let time = all.iter().map(|(time, _)| time - std::mem::replace(&mut last, *time)).collect();
        Self {
            stack: all.iter().map(|(_, sample)| sample.stack.row()).collect(),
            weight: all.iter().map(|(_, sample)| sample.amount).collect(),
            time,
        }
    }
}
