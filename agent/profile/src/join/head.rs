//! Writes the joined profile's `meta`: its times, its processes, and its trust report.

use std::fmt::Write as _;

use crate::document::Part;
use crate::error::Error;
use serde_json::{Value, json};
use vouch_report::{RefutationNumbers, ReportSum, TrustReport, grouped};

use crate::join::clock::{Clock, shifted};
use crate::join::contexts::Contexts;
use crate::join::opened::Opened;
use crate::join::processes::Processes;
use crate::join::schemas::Schemas;
use crate::join::tables::Tables;
use crate::join::tracks::Tracks;

/// The key under which `meta` lists the Flight Recorder files that were added.
const MERGED: &str = "vouchMerged";
/// The key under which `meta` lists the profile's processes.
const PROCESSES: &str = "vouchProcesses";

/// The panel lists at most this many processes, and `arguments` as many command lines. The report
/// lists all.
const MAX_LISTED: usize = 5;

/// The keys that a profile of several processes must not have.
const SINGLE_PROCESS_KEYS: [&str; 2] = ["vouchProcess", "vouchAnchors"];

/// The values of the joined profile's `meta`.
pub struct Head {
    interval_ms: f64,
    first: Option<Part>,
    reports: ReportSum,
    span_ms: [f64; 2],
    products: Vec<String>,
    arguments: Vec<String>,
    merged: Vec<Value>,
    visible: Vec<usize>,
    /// The track that the front-end selects, and the number of Java samples in its profile.
    selected: Option<(usize, u64)>,
}

impl Head {
    pub fn new(interval_ms: f64) -> Self {
        Self {
            interval_ms,
            first: None,
            reports: ReportSum::default(),
            span_ms: [f64::INFINITY, f64::NEG_INFINITY],
            products: Vec::new(),
            arguments: Vec::new(),
            merged: Vec::new(),
            visible: Vec::new(),
            selected: None,
        }
    }

    /// Adds a profile's report. Returns the number of its Java samples, and the new numbers of its
    /// refutations.
    pub fn report(&mut self, meta: &Part) -> Result<(u64, RefutationNumbers), Error> {
        let report: TrustReport = meta.get("vouch").map_err(|wrong| Error::TrustReport(Box::new(wrong)))?;
        if let Some(recorder) = &report.run.recorder {
            return Err(Error::Audited { recorder: recorder.clone() });
        }
        let fates = report.samples.fates;
        Ok((
            fates.proven.saturating_add(fates.plausible).saturating_add(fates.refuted),
            self.reports.add(report),
        ))
    }

    /// Returns the new number of a profile's refutation.
    pub fn number(&mut self, numbers: &mut RefutationNumbers, number: usize) -> usize {
        self.reports.number(numbers, number)
    }

    /// Adds the remaining values of a profile. `rows` has the new index of each of its tracks.
    pub fn add(&mut self, opened: Opened, clock: &Clock, rows: &[usize], java: u64) -> Result<(), Error> {
        let shift_ms = clock.shift_ms(&opened);
        let [from, to] = opened.span_ms.map(|time| shifted(time, shift_ms));
        self.span_ms = [self.span_ms[0].min(from), self.span_ms[1].max(to)];
        let meta = opened.meta;
        let add = |known: &mut Vec<String>, key| {
            let text = meta.find::<String>(key)?.unwrap_or_default();
            if !text.is_empty() && !known.contains(&text) {
                known.push(text);
            }
            Ok::<_, Error>(())
        };
        add(&mut self.products, "product")?;
        add(&mut self.arguments, "arguments")?;
        self.merged.extend(meta.find::<Vec<Value>>(MERGED)?.unwrap_or_default());
        let joined = |tracks: Vec<usize>| tracks.into_iter().filter_map(|track| rows.get(track)).copied();
        self.visible.extend(joined(meta.find("initialVisibleThreads")?.unwrap_or_default()));
        let selected = joined(meta.find("initialSelectedThreads")?.unwrap_or_default()).next();
        if let Some(selected) = selected
            && self.selected.is_none_or(|(_, most)| java > most)
        {
            self.selected = Some((selected, java));
        }
        self.first.get_or_insert(meta);
        Ok(())
    }

    /// Returns the joined profile.
    pub fn finish(
        mut self,
        tables: Tables,
        contexts: Contexts,
        schemas: Schemas,
        tracks: Tracks,
        processes: &Processes,
        clock: &Clock,
    ) -> Result<Part, Error> {
        let mut meta = self.first.take().ok_or(Error::NothingToJoin)?;
        for key in SINGLE_PROCESS_KEYS {
            meta.remove(key);
        }
        let [from, to] = self.span_ms;
        let report = self.reports.finish(to - from);
        self.visible.sort_unstable();
        self.visible.dedup();
        meta.set("startTime", &clock.start_ms)?;
        meta.set("profilingStartTime", &from)?;
        meta.set("profilingEndTime", &to)?;
        meta.set("interval", &self.interval_ms)?;
        meta.set("initialVisibleThreads", &self.visible)?;
        meta.set("initialSelectedThreads", &[self.selected.map_or(0, |(track, _)| track)])?;
        let names = processes.all();
        meta.set("product", &product(&self.products, names.len()))?;
        meta.set("arguments", &shortened(&self.arguments))?;
        meta.set("extra", &[panel(&report, &names)])?;
        meta.set("vouch", &report)?;
        meta.set(PROCESSES, &processes.known())?;
        if !self.merged.is_empty() {
            meta.set(MERGED, &self.merged)?;
        }
        contexts.finish(&mut meta)?;
        schemas.finish(&mut meta)?;
        let (threads, counters) = tracks.finish()?;
        let mut document = Part::default();
        document.set("meta", &meta)?;
        document.set("libs", &[(); 0])?;
        document.set("shared", &tables.finish()?)?;
        document.set("counters", &counters)?;
        document.set("threads", &threads)?;
        Ok(document)
    }
}

/// Returns the title: the program's name, or the number of processes if there are several programs.
fn product(names: &[String], processes: usize) -> String {
    match names {
        [one] => one.clone(),
        _ => format!("{} processes (Vouch)", grouped(processes as u64)),
    }
}

fn shortened(lines: &[String]) -> String {
    let mut text = lines.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    if lines.len() > MAX_LISTED {
        let _ = write!(text, "; and {} more", lines.len() - MAX_LISTED);
    }
    text
}

/// Returns Vouch's section of the front-end's information panel.
fn panel(report: &TrustReport, processes: &[String]) -> Value {
    let named = [("Processes", shortened(processes)), ("JDK", report.run.jdk.clone())];
    let entries = named.into_iter().chain(report.panel());
    let entries: Vec<Value> =
        entries.map(|(label, value)| json!({ "label": label, "format": "string", "value": value })).collect();
    json!({ "label": "Vouch", "entries": entries })
}
