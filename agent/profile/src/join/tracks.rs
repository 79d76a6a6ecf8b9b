//! Joins the tracks of all profiles. A thread of several recordings gets one track.
//!
//! Every reference to a table must be replaced by the row in the joined profile.

use std::collections::{HashMap, HashSet};

use crate::document::Part;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::join::clock::shifted;
use crate::join::conversion::Conversion;
use crate::join::markers;
use crate::join::processes::Name;
use crate::join::tables::RowMap;

/// The tables of measures other than CPU time, by their keys in a track.
const AMOUNTS: [&str; 5] =
    [ALLOCATIONS, "vouchLiveObjects", "vouchWallClock", "vouchLocks", "vouchExceptions"];
/// The front-end's own table, which has no contexts.
const ALLOCATIONS: &str = "jsAllocations";

/// The key of a thread's original id, if another thread of the joined profile has the same id.
const OWN_TID: &str = "vouchTid";

/// The tracks and counters of all profiles.
#[derive(Default)]
pub struct Tracks {
    all: Vec<Track>,
    by_thread: HashMap<Thread, usize>,
    tids: HashSet<String>,
    /// The processes that have a main thread.
    mains: HashSet<String>,
    counters: Vec<Part>,
    by_counter: HashMap<(String, String), usize>,
}

struct Track {
    head: Part,
    samples: Samples,
}

/// Identifies a thread in several profiles.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Thread {
    pid: String,
    tid: String,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Samples {
    length: usize,
    stack: Vec<Option<usize>>,
    time_deltas: Vec<f64>,
    weight: Option<Vec<u64>>,
    weight_type: String,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: Vec<Option<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vouch_context: Option<Vec<Option<usize>>>,
}

impl Tracks {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a profile's tracks. Returns the index of each in the joined profile.
    pub fn add<'n>(
        &mut self,
        threads: Vec<Part>,
        name: impl Fn(&str) -> Option<&'n Name>,
        conversion: &mut Conversion<'_>,
    ) -> Result<Vec<usize>, Error> {
        let mut rows = Vec::new();
        for head in threads {
            let pid: String = head.get("pid")?;
            let process = name(&pid).ok_or(Error::TrackWithoutProcess)?;
            let mut track = Track::new(head, process, conversion)?;
            // A profile that was joined before may have another id for the thread.
            let own = track.head.find::<Value>(OWN_TID)?;
            let tid = text(&own.map_or_else(|| track.head.get("tid"), Ok)?);
            let name: String = track.head.get("name")?;
            // Tracks from a Flight Recorder file have `jfr-`, a running number, `/` and the
            // system's thread id.
            let number = match tid.strip_prefix("jfr-") {
                Some(rest) => rest.split_once('/').map_or(String::new(), |(_, number)| number.to_owned()),
                None => tid.clone(),
            };
            let thread = Thread { pid: process.pid.clone(), tid: number, name };
            if let Some(&row) = self.by_thread.get(&thread) {
                self.all[row].append(track)?;
                rows.push(row);
                continue;
            }
            // Thread ids must be unique in the file, although containers reuse them.
            let others = (2..).map(|number| format!("{tid}.{number}"));
            let unique = std::iter::once(tid.clone()).chain(others).find(|tid| !self.tids.contains(tid));
            if let Some(unique) = unique {
                if unique != tid {
                    track.head.set(OWN_TID, &tid)?;
                    track.head.set("tid", &unique)?;
                }
                self.tids.insert(unique);
            }
            // The front-end allows one main thread for each process.
            if track.head.get("isMainThread")? && !self.mains.insert(process.pid.clone()) {
                track.head.set("isMainThread", &false)?;
            }
            let row = self.all.len();
            self.by_thread.insert(thread, row);
            self.all.push(track);
            rows.push(row);
        }
        Ok(rows)
    }

    /// Adds a profile's counters. `rows` has the new index of each of its tracks.
    pub fn count<'n>(
        &mut self,
        counters: Vec<Part>,
        rows: &[usize],
        name: impl Fn(&str) -> Option<&'n Name>,
        conversion: &Conversion<'_>,
    ) -> Result<(), Error> {
        for mut counter in counters {
            let pid: String = counter.get("pid")?;
            let process = name(&pid).ok_or(Error::CounterWithoutProcess)?;
            let main: usize = counter.get("mainThreadIndex")?;
            let main = rows.get(main).ok_or(Error::CounterWithoutTrack)?;
            counter.set("pid", &process.pid)?;
            counter.set("mainThreadIndex", main)?;
            let mut samples: Part = counter.get("samples")?;
            shift_column(&mut samples, "time", conversion.shift_ms)?;
            let name: String = counter.get("name")?;
            let key = (process.pid.clone(), name);
            if let Some(row) = self.by_counter.get(&key) {
                append_counter(&mut self.counters[*row], samples)?;
                continue;
            }
            counter.set("samples", &samples)?;
            self.by_counter.insert(key, self.counters.len());
            self.counters.push(counter);
        }
        Ok(())
    }

    /// Returns the joined threads and counters.
    pub fn finish(self) -> Result<(Vec<Part>, Vec<Part>), Error> {
        let finish = |Track { mut head, samples }: Track| {
            head.set("samples", &samples)?;
            Ok(head)
        };
        Ok((self.all.into_iter().map(finish).collect::<Result<_, Error>>()?, self.counters))
    }
}

impl Track {
    fn new(mut head: Part, process: &Name, conversion: &mut Conversion<'_>) -> Result<Self, Error> {
        let samples = Samples::new(head.take("samples")?, conversion)?;
        head.set("pid", &process.pid)?;
        head.set("processName", &process.name)?;
        let shift_ms = conversion.shift_ms;
        for key in ["registerTime", "unregisterTime", "processStartupTime", "processShutdownTime"] {
            if let Some(time) = head.get::<Option<f64>>(key)? {
                head.set(key, &shifted(time, shift_ms))?;
            }
        }
        if let Some(lives) = head.find::<Vec<(u64, f64, Option<f64>)>>("vouchTids")? {
            let shift = |(tid, from, to): (u64, f64, Option<f64>)| {
                (tid, shifted(from, shift_ms), to.map(|to| shifted(to, shift_ms)))
            };
            head.set("vouchTids", &lives.into_iter().map(shift).collect::<Vec<_>>())?;
        }
        let mut markers: Part = head.get("markers")?;
        let names: Vec<usize> = markers.get("name")?;
        let names: Result<Vec<_>, Error> =
            names.into_iter().map(|name| conversion.row_map.string(name)).collect();
        markers.set("name", &names?)?;
        let data: Vec<Box<RawValue>> = markers.get("data")?;
        let data: Result<Vec<_>, Error> = data.iter().map(|data| markers::data(data, conversion)).collect();
        markers.set("data", &data?)?;
        shift_column(&mut markers, "startTime", shift_ms)?;
        shift_column(&mut markers, "endTime", shift_ms)?;
        head.set("markers", &markers)?;
        for key in AMOUNTS {
            let Some(mut amounts) = head.find::<Part>(key)? else { continue };
            let stacks: Vec<Option<usize>> = amounts.get("stack")?;
            amounts.set("stack", &moved_stacks(stacks, conversion.row_map)?)?;
            shift_column(&mut amounts, "time", shift_ms)?;
            // Tables of two files can be appended only if both have the column.
            if key != ALLOCATIONS {
                let contexts: Option<Vec<Option<usize>>> = amounts.find("vouchContext")?;
                let rows: usize = amounts.get("length")?;
                let mut contexts = contexts.unwrap_or_else(|| vec![None; rows]);
                if contexts.len() != rows {
                    return Err(Error::ColumnLength("vouchContext".to_owned()));
                }
                moved_contexts(&mut contexts, conversion)?;
                amounts.set("vouchContext", &contexts)?;
            }
            head.set(key, &amounts)?;
        }
        Ok(Self { head, samples })
    }

    /// Appends the same thread's track of a later recording.
    fn append(&mut self, more: Self) -> Result<(), Error> {
        self.samples.append(more.samples);
        let Self { head, .. } = self;
        for key in ["unregisterTime", "processShutdownTime"] {
            head.set(key, &more.head.get::<Option<f64>>(key)?)?;
        }
        if let Some(lives) = more.head.find::<Vec<Box<RawValue>>>("vouchTids")? {
            head.extend("vouchTids", &lives)?;
        }
        let shown = "showMarkersInTimeline";
        head.set(shown, &(head.get::<bool>(shown)? || more.head.get::<bool>(shown)?))?;
        for key in AMOUNTS.into_iter().chain(["markers"]) {
            let Some(rows) = more.head.find::<Part>(key)? else { continue };
            match head.find::<Part>(key)? {
                None => head.set(key, &rows)?,
                Some(mut table) => {
                    add_table(&mut table, &rows)?;
                    head.set(key, &table)?;
                }
            }
        }
        Ok(())
    }
}

impl Samples {
    fn new(mut own: Self, conversion: &Conversion<'_>) -> Result<Self, Error> {
        let Self { length, stack, time_deltas, weight, thread_cpu_delta, vouch_context, .. } = &own;
        let weights = weight.as_ref().map_or(*length, Vec::len);
        let in_contexts = vouch_context.as_ref().map_or(*length, Vec::len);
        if [stack.len(), time_deltas.len(), thread_cpu_delta.len(), weights, in_contexts] != [*length; 5] {
            return Err(Error::SampleColumnLengths);
        }
        own.stack = moved_stacks(own.stack, conversion.row_map)?;
        if let Some(first) = own.time_deltas.first_mut() {
            *first = shifted(*first, conversion.shift_ms);
        }
        if conversion.weight != 1 {
            let own = own.weight.get_or_insert_with(|| vec![1; own.length]);
            for weight in own {
                *weight = weight.saturating_mul(conversion.weight);
            }
        }
        // The front-end finds by this type whether weights are milliseconds.
        let unit =
            if conversion.interval_ms.to_bits() == 1.0_f64.to_bits() { "tracing-ms" } else { "samples" };
        unit.clone_into(&mut own.weight_type);
        if let Some(contexts) = &mut own.vouch_context {
            moved_contexts(contexts, conversion)?;
        }
        Ok(own)
    }

    fn append(&mut self, more: Self) {
        // The first rows of the later recording may be idle ones from the start of the thread.
        let last: f64 = self.time_deltas.iter().sum();
        let (mut time, mut drawn) = (0.0, last);
        for delta in more.time_deltas {
            time += delta;
            self.time_deltas.push(((time - drawn).max(0.0) * 1e3).round() / 1e3);
            drawn = time.max(drawn);
        }
        self.weight = columns(self.weight.take(), self.length, more.weight, more.length, 1);
        self.vouch_context =
            columns(self.vouch_context.take(), self.length, more.vouch_context, more.length, None);
        self.length += more.length;
        self.stack.extend(more.stack);
        self.thread_cpu_delta.extend(more.thread_cpu_delta);
    }
}

/// Changes a column of contexts to the rows of the joined profile.
fn moved_contexts(column: &mut [Option<usize>], conversion: &Conversion<'_>) -> Result<(), Error> {
    for context in column.iter_mut().flatten() {
        *context = *conversion.contexts.get(*context).ok_or(Error::NoContext)?;
    }
    Ok(())
}

/// Joins two columns. Each may be `None` if all its cells have the default value.
fn columns<T: Clone>(
    first: Option<Vec<T>>,
    rows: usize,
    more: Option<Vec<T>>,
    more_rows: usize,
    value: T,
) -> Option<Vec<T>> {
    if first.is_none() && more.is_none() {
        return None;
    }
    let mut all = first.unwrap_or_else(|| vec![value.clone(); rows]);
    all.extend(more.unwrap_or_else(|| vec![value; more_rows]));
    Some(all)
}

fn moved_stacks(stacks: Vec<Option<usize>>, row_map: &RowMap) -> Result<Vec<Option<usize>>, Error> {
    stacks.into_iter().map(|stack| stack.map(|stack| row_map.stack(stack)).transpose()).collect()
}

fn shift_column(table: &mut Part, column: &str, shift_ms: f64) -> Result<(), Error> {
    if shift_ms == 0.0 {
        return Ok(());
    }
    let times: Vec<Option<f64>> = table.get(column)?;
    table.set(
        column,
        &times.into_iter().map(|time| time.map(|time| shifted(time, shift_ms))).collect::<Vec<_>>(),
    )
}

/// Appends the same counter of a later recording. The counter's cells are differences.
fn append_counter(counter: &mut Part, mut more: Part) -> Result<(), Error> {
    let mut samples: Part = counter.get("samples")?;
    // In each recording the first cell of a memory counter is an absolute value. Other counters
    // begin at 0.
    if counter.get::<String>("category")? == "Memory" {
        let was = samples.get::<Vec<i64>>("count")?.into_iter().fold(0, i64::saturating_add);
        let mut count: Vec<i64> = more.get("count")?;
        if let Some(first) = count.first_mut() {
            *first = first.saturating_sub(was);
        }
        more.set("count", &count)?;
    }
    add_table(&mut samples, &more)?;
    counter.set("samples", &samples)
}

/// Adds a table's rows to one with the same columns.
fn add_table(table: &mut Part, more: &Part) -> Result<(), Error> {
    let mut all: usize = table.get("length")?;
    all += more.get::<usize>("length")?;
    for column in more.keys() {
        // A value that holds for all rows is not a list, and is kept.
        if let Ok(cells) = more.get::<Vec<Box<RawValue>>>(column) {
            table.extend(column, &cells)?;
        }
    }
    table.set("length", &all)
}

/// Returns a thread id as text. In a profile it may be a number or a text.
fn text(tid: &Value) -> String {
    tid.as_str().map_or_else(|| tid.to_string(), str::to_owned)
}
