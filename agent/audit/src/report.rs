//! The report of an audit for other programs, with the keys of the trust report.
//!
//! The keys are a contract: none may be renamed, or left out because it is 0. A value that was not
//! measured must be null.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;
use serde::Serialize;
use vouch_recording::ByFate;
use vouch_report::{Power, RefutationReport, Signals, millis};
use vouch_verify::proof::Verdict;

use crate::cpu_time::{CpuTimes, ThreadCpuTime};
use crate::index::{KindId, RecordingIndex, ThreadId};
use crate::judge::Judge;
use crate::run_info::RunInfo;
use crate::stacks::{KindTally, Verdicts};
use crate::versions::{LoadedClass, Version};

/// The report lists at most this many threads, the busiest first.
const MAX_THREADS: usize = 1_000;

/// The report on the audit of one recording.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AuditReport {
    /// The version of Vouch that made the audit.
    pub vouch: String,
    /// The files that were audited.
    pub audited: Vec<String>,
    /// The recorder's name.
    pub recorder: String,
    pub jdk: String,
    pub vm_flags: String,
    pub command: String,
    pub wall_ms: f64,
    /// The fates of all samples.
    pub samples: Signals<u64>,
    /// The event kinds, by the recording's own names.
    pub kinds: BTreeMap<String, KindReport>,
    /// The busiest threads. All virtual threads are one.
    pub threads: Vec<ThreadReport>,
    /// The number of events without a stack, by reason in the recorder's words.
    pub unwalked: BTreeMap<String, u64>,
    /// The number of events with a walk that broke off, by reason in the recorder's words.
    pub broken: BTreeMap<String, u64>,
    pub refuted: BTreeMap<String, u64>,
    pub edges: EdgeReport,
    /// The most frequent refutations.
    pub refutations: Vec<RefutationReport>,
    /// The power of the audit: for each kind of deliberate corruption, how many it noticed.
    pub power: BTreeMap<String, Power>,
    pub classes: ClassReport,
    /// The bytes of events that the recorder reports as lost.
    pub lost_bytes: u64,
    /// The number of events that cannot be read.
    pub unreadable_events: u64,
    /// Descriptions of the damage in the files.
    pub damage: Vec<String>,
    /// Remarks for people who read the report.
    pub notes: Vec<String>,
}

/// The events of one kind.
#[derive(Debug, Clone, Default, Serialize)]
pub struct KindReport {
    pub label: String,
    /// True if the events are samples, which should all have a stack.
    pub samples: bool,
    pub fates: Signals<u64>,
    /// The number of plausible events with an edge that could not be judged.
    pub unjudged: u64,
    /// The number of events with a stack that the recorder cut at its depth limit.
    pub cut: u64,
    /// The number of events with a walk that broke off before the root.
    pub broken: u64,
}

/// A thread, with its events of all kinds.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadReport {
    pub name: String,
    pub tid: u64,
    pub stacks: u64,
    pub refuted: u64,
    pub unwalked: u64,
    /// The CPU time by the recording's own events, in milliseconds. Null if the recording has none.
    pub cpu_ms: Option<f64>,
    /// The time of the thread's samples, in milliseconds. Null if it is unknown.
    pub sampled_ms: Option<f64>,
    /// The CPU time without samples, in milliseconds, if it is more than half and more than noise.
    /// Otherwise it is null.
    pub gap_ms: Option<f64>,
}

/// The edges of all stacks: callers at a bci with their callees. The verdicts count distinct edges,
/// and add up to `distinct`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EdgeReport {
    /// The number of edges in all stacks, repeated ones included.
    pub checked: u64,
    /// The number of edges in all stacks that could be judged, repeated ones included.
    pub judged: u64,
    pub distinct: u64,
    pub proven: u64,
    /// The number of explained edges, by explanation.
    pub explained: BTreeMap<String, u64>,
    pub refuted: u64,
    /// The number of unjudged edges, by reason.
    pub unjudged: BTreeMap<String, u64>,
}

/// The classes of all frames, by how they were found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ClassReport {
    /// The number of classes that were found, and that every frame fits.
    pub found: u64,
    /// The number of found classes with a line that confirms the version.
    pub confirmed: u64,
    /// The number of generated classes, by the rule of their generation.
    pub generated: BTreeMap<String, u64>,
    /// The classes that were found only in another version, those with most edges first.
    pub other_version: Vec<UnusableClass>,
    /// The classes that were not found, those with most edges first.
    pub not_found: Vec<UnusableClass>,
    /// The paths that were searched.
    pub places: Vec<String>,
    /// Paths that could not be read.
    pub unreadable: Vec<String>,
}

/// A class that was missing or another version, so its edges could not be judged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UnusableClass {
    pub class: String,
    /// The number of times that the class was a caller.
    pub edges: u64,
    /// The location of the copy that does not fit, or an empty text.
    pub place: String,
    /// The reason why that copy does not fit, or an empty text.
    pub why: String,
}

impl AuditReport {
    /// Makes the report from all verdicts of an audit.
    pub fn new(
        index: &RecordingIndex,
        run_info: &RunInfo,
        cpu: &CpuTimes,
        judge: &Judge<'_>,
        verdicts: &Verdicts,
    ) -> Self {
        let kinds = kinds(index, verdicts);
        let samples = kinds.values().filter(|kind| kind.samples).map(|kind| kind.fates.fates);
        Self {
            recorder: run_info.recorder().to_owned(),
            jdk: format!("{} {}", run_info.jvm, run_info.jdk_version().unwrap_or_default()).trim().to_owned(),
            vm_flags: run_info.flags.clone(),
            command: run_info.command.clone(),
            wall_ms: millis(run_info.until_ns.abs_diff(run_info.from_ns)),
            samples: signals(samples.fold(ByFate::default(), ByFate::<u64>::plus)),
            kinds,
            threads: threads(index, verdicts, &cpu.times(index, run_info)),
            unwalked: verdicts.unwalked.clone(),
            broken: verdicts.broken.clone(),
            refuted: verdicts.refuted.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            edges: edges(verdicts),
            classes: classes(index, judge, verdicts),
            lost_bytes: run_info.lost_bytes,
            ..Self::default()
        }
    }
}

fn signals(fates: ByFate<u64>) -> Signals<u64> {
    Signals { signals: fates.sum(), fates }
}

fn kinds(index: &RecordingIndex, verdicts: &Verdicts) -> BTreeMap<String, KindReport> {
    let rows = index.kinds.iter().enumerate();
    let reports = rows.filter_map(|(row, (name, kind))| {
        let tally = verdicts.kinds.get(&KindId::from_row(row)).cloned().unwrap_or_default();
        let KindTally { fates, unjudged, cut, broken } = tally;
        let fates = signals(ByFate { dropped: kind.lost, ..fates });
        let report =
            KindReport { label: kind.label.clone(), samples: kind.samples, fates, unjudged, cut, broken };
        (fates.signals > 0).then(|| (name.clone(), report))
    });
    reports.collect()
}

fn threads(
    index: &RecordingIndex,
    verdicts: &Verdicts,
    times: &HashMap<ThreadId, ThreadCpuTime>,
) -> Vec<ThreadReport> {
    let rows = index.threads.iter().enumerate();
    let reports = rows.filter_map(|(row, thread)| {
        let time = times.get(&ThreadId::from_row(row));
        let gap_ms = time.and_then(|time| time.gap_ms());
        let fates = verdicts.threads.get(&ThreadId::from_row(row)).copied();
        // A thread without any stack is listed if it has a gap.
        let fates = fates.or_else(|| gap_ms.map(|_| ByFate::default()))?;
        let (name, tid) = (thread.name.to_string(), thread.tid);
        Some(ThreadReport {
            name,
            tid,
            stacks: fates.sum(),
            refuted: fates.refuted,
            unwalked: fates.unwalked,
            cpu_ms: time.map(|time| time.cpu_ms),
            sampled_ms: time.map(|time| time.sampled_ms),
            gap_ms,
        })
    });
    let mut reports: Vec<_> = reports.collect();
    reports.sort_by_key(|thread| Reverse(thread.stacks));
    reports.truncate(MAX_THREADS);
    reports
}

fn edges(verdicts: &Verdicts) -> EdgeReport {
    let mut report = EdgeReport { checked: verdicts.checked, ..EdgeReport::default() };
    let unjudged = verdicts.unjudged.values().fold(0, |sum: u64, more| sum.saturating_add(*more));
    report.judged = report.checked.saturating_sub(unjudged);
    for judged in verdicts.edges.values().copied() {
        report.distinct += 1;
        match judged {
            Ok(Verdict::Proven) => report.proven += 1,
            Ok(Verdict::Explained(how)) => *report.explained.entry(how.name().to_owned()).or_default() += 1,
            Ok(Verdict::Refuted(_)) => report.refuted += 1,
            Err(why) => *report.unjudged.entry(why.name().to_owned()).or_default() += 1,
        }
    }
    report
}

fn classes(index: &RecordingIndex, judge: &Judge<'_>, verdicts: &Verdicts) -> ClassReport {
    let mut edges: BTreeMap<&str, u64> = BTreeMap::new();
    for (method, count) in &verdicts.unjudged_callers {
        *edges.entry(&*index.method(*method).class).or_default() += count;
    }
    let mut report = ClassReport::default();
    for (class, version) in judge.versions.all() {
        let edges = edges.get(class).copied().unwrap_or(0);
        let class_report = |place: &str, why: &str| {
            let class = class.replace('/', ".");
            UnusableClass { class, edges, place: place.to_owned(), why: why.to_owned() }
        };
        match version {
            Version::Loaded(LoadedClass { confirmed, .. }) => {
                report.found += 1;
                report.confirmed += u64::from(*confirmed);
            }
            Version::Generated(rule) => *report.generated.entry(rule.name().to_owned()).or_default() += 1,
            Version::Other { location, why } => report.other_version.push(class_report(location, why)),
            Version::NotFound => report.not_found.push(class_report("", "")),
        }
    }
    for unusable in [&mut report.other_version, &mut report.not_found] {
        unusable.sort_by(|one, other| other.edges.cmp(&one.edges).then_with(|| one.class.cmp(&other.class)));
    }
    report
}
