//! One page that any browser opens, without a network and without the front-end: how far it holds,
//! threads in time, a flame graph, and what was refuted.
//!
//! What stands in it must never be taken for markup, whatever a class is called, and it must not
//! ask anybody for anything.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use vouch_recording::{Certainty, Fate, Id, Leaf, Recording, StackRow};
use vouch_report::{RefutationReport, readable};

use crate::categories::name;
use crate::json::{Column, Row};
use crate::meta::Meta;
use crate::tracks::{self, Track};

/// The page, with a place for what it is to show.
const PAGE: &str = include_str!("html/page.html");
const PLACE: &str = "{{DATA}}";

/// Writes the page.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let (before, behind) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    let mut out = BufWriter::with_capacity(64 << 10, out);
    out.write_all(before.as_bytes())?;
    let apart = tracks::apart(recording, meta);
    let tracks = tracks::tracks(&apart.threads(recording));
    let mut within = Within(&mut out);
    serde_json::to_writer(&mut within, &Data { recording, meta, tracks: &tracks })?;
    out.write_all(behind.as_bytes())?;
    out.flush()
}

/// JSON within a page's script: no `<` may stand there as itself, or a name could end the script.
struct Within<W>(W);

impl<W: Write> Write for Within<W> {
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
    /// Null where samples count no time.
    interval_ms: Option<f64>,
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { recording, meta, tracks } = *self;
        let run = &meta.report.run;
        let about = About {
            product: &meta.product,
            command: &meta.arguments,
            interval_ms: meta.report.interval_ms(),
        };
        let mut data = serializer.serialize_struct("data", 7)?;
        data.serialize_field("meta", &about)?;
        data.serialize_field("panel", &Column(|| meta.report.panel()))?;
        data.serialize_field("names", &Column(|| recording.strings().iter()))?;
        data.serialize_field("functions", &Functions(recording))?;
        data.serialize_field("stacks", &Stacks(recording))?;
        data.serialize_field(
            "threads",
            &Column(|| tracks.iter().map(|track| Samples::of(track, meta.started_ns))),
        )?;
        data.serialize_field("refutations", &Column(|| run.refutations.iter().map(Refuted::of)))?;
        data.end()
    }
}

/// A refutation as a person reads it.
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
    fn of(report: &'a RefutationReport) -> Self {
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

/// The lines are left out: the page has no room for them.
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
        let fates = || rows.iter().map(|stack| place(self.0.fate_of(frame(stack))));
        table.serialize_field("fate", &Column(fates))?;
        let uncertain = |stack: &StackRow| {
            let is_guess =
                |leaf: Leaf| leaf.fate == Fate::Plausible && leaf.top_frame == Some(Certainty::Approximate);
            u8::from(frame(stack).leaf.is_some_and(is_guess))
        };
        table.serialize_field("uncertain", &Column(|| rows.iter().map(uncertain)))?;
        table.end()
    }
}

/// A fate's place in the page's list.
fn place(fate: Fate) -> u8 {
    match fate {
        Fate::Proven => 0,
        Fate::Plausible => 1,
        Fate::Refuted => 2,
        Fate::Unwalked => 3,
        Fate::Outside => 4,
        Fate::Dropped => 5,
    }
}

/// What a track's threads were sampled at, in the order of time.
#[derive(Serialize)]
struct Samples<'a> {
    name: &'a str,
    stack: Vec<usize>,
    weight: Vec<u32>,
    /// Since the sample before, in microseconds.
    time: Vec<u64>,
}

impl<'a> Samples<'a> {
    fn of(track: &'a Track<'a>, started_ns: u64) -> Self {
        let all = track.threads.iter().flat_map(|thread| thread.samples());
        let mut all: Vec<_> =
            all.map(|sample| (sample.time_ns.saturating_sub(started_ns) / 1000, sample)).collect();
        all.sort_by_key(|(time, _)| *time);
        let mut last = 0;
        let time = all.iter().map(|(time, _)| time - std::mem::replace(&mut last, *time)).collect();
        Self {
            name: &track.name,
            stack: all.iter().map(|(_, sample)| sample.stack.row()).collect(),
            weight: all.iter().map(|(_, sample)| sample.weight).collect(),
            time,
        }
    }
}
