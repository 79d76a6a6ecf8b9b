//! An audited recording as a profile: its samples in time, those that are refuted set apart, as in a profile of Vouch's own.
//!
//! It must never show a stack as anything but what the audit has made of it. The recording is read once more for it, so that nobody pays
//! for its samples who does not ask for them.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use indexmap::IndexMap;
use vouch_formats::Meta;
use vouch_proof::{Explanation, Refutation};
use vouch_recording::{
    self as rec, Category, Fate, LEFT_OUT, Mark, MarkKind, MarkKindId, Recording, RefutationId, Sample,
    no_stack, outside, refuted_root,
};
use vouch_report::{Delivered, EdgeReport, RefutationReport, Run, TrustReport, sign};
use vouch_sample::VALUES;

use crate::chunks::Chunks;
use crate::naming::Names;
use crate::read::{Moment, Reading};
use crate::report::AuditReport;
use crate::seen::{End, KindId, NodeId, PlaceId, Seen, Stack, StackId, ThreadId};
use crate::stacks::{Against, Outcome};
use crate::tell::place_in;
use crate::told::Told;
use crate::{Audited, Progress};

/// Where nobody says how often there was a sample.
const INTERVAL_NS: u64 = 10_000_000;
/// Of a kind of events of which there are more only those are shown whose stack is refuted.
const MOST_MARKS: u64 = 20_000;
/// Samples of these kinds complement each other: of a thread in Java, and in native code. All others tell the same time once more.
const TOGETHER: [&str; 2] = ["jdk.ExecutionSample", "jdk.NativeMethodSample"];

/// Samples of threads that need not have run: where there are others, these have the threads' own tracks.
const LAST: [&str; 1] = ["profiler.WallClockSample"];

/// What an audit knows when it is over.
#[derive(Debug)]
pub(crate) struct Found {
    pub seen: Seen,
    pub told: Told,
    pub names: Names,
    pub outcomes: HashMap<(ThreadId, StackId), Outcome>,
    /// By number, and how each is told as far as it is, the most frequent first.
    pub offences: Vec<(Refutation, Against)>,
    pub listed: IndexMap<usize, RefutationReport>,
}

/// A profile that is being made.
#[derive(Debug)]
pub struct Profile {
    found: Found,
    report: AuditReport,
    chunks: Chunks,
    recording: Recording,
    interval_ns: u64,
    /// By the kind, whose samples they are.
    kinds: Vec<Shown>,
    tracks: HashMap<(ThreadId, usize), rec::ThreadId>,
    nodes: HashMap<(Option<rec::StackId>, NodeId), rec::StackId>,
    stacks: HashMap<(ThreadId, StackId), rec::StackId>,
    /// The number of each offence, and of those of a kind that are not told one by one.
    refutations: HashMap<usize, RefutationId>,
    others: HashMap<Refutation, RefutationId>,
    /// Why samples have no stack, and how they are refuted: those of other events are not among them.
    unwalked: BTreeMap<String, u64>,
    refuted: BTreeMap<String, u64>,
    /// Stacks that were not there when the recording was audited.
    strange: u64,
}

/// How the events of a kind are shown.
#[derive(Debug, Clone, Copy)]
enum Shown {
    /// On the track of this number of a thread's, of so many intervals each.
    Samples(usize, u32),
    Marks(MarkKindId),
    /// There are too many of them.
    Refuted,
}

impl Audited {
    /// The recording as a profile; its files are to be read into it once more.
    pub fn profile(self) -> Profile {
        let Self { report, found } = self;
        let mut recording = Recording::new();
        let refutations =
            found.listed.iter().map(|(offence, report)| (*offence, report.add_to(&mut recording))).collect();
        let periods = |name: &str| found.told.periods.get(name).copied();
        let sampled = found.seen.kinds.iter().filter(|(_, kind)| kind.samples);
        let interval_ns = sampled.filter_map(|(name, _)| periods(name)).min().unwrap_or(INTERVAL_NS);
        let sampled = report.kinds.iter().filter(|(_, kind)| kind.samples);
        let mut groups: Vec<&str> = sampled.map(|(name, _)| group(name)).collect();
        groups.sort_by_key(|group| (LAST.contains(group), *group));
        groups.dedup();
        let kinds = found.seen.kinds.iter().map(|(name, kind)| {
            if kind.samples {
                let track = groups.iter().position(|known| *known == group(name)).unwrap_or(0);
                Shown::Samples(track, intervals(periods(name), interval_ns))
            } else if report.kinds.get(name).is_some_and(|kind| kind.fates.signals <= MOST_MARKS) {
                let description = "An event of the recording's, with the stack that it claims.";
                let key = name.as_str();
                let (label, category) = (kind.label.as_str(), category(name));
                Shown::Marks(recording.mark_kind(MarkKind {
                    key,
                    label,
                    description,
                    category,
                    figures: &[],
                }))
            } else {
                Shown::Refuted
            }
        });
        let kinds = kinds.collect();
        Profile {
            found,
            report,
            chunks: Chunks::default(),
            recording,
            interval_ns,
            kinds,
            tracks: HashMap::new(),
            nodes: HashMap::new(),
            stacks: HashMap::new(),
            refutations,
            others: HashMap::new(),
            unwalked: BTreeMap::new(),
            refuted: BTreeMap::new(),
            strange: 0,
        }
    }
}

/// Under what name the samples of a kind share a thread's track.
fn group(kind: &str) -> &str {
    if TOGETHER.contains(&kind) { TOGETHER[0] } else { kind }
}

fn category(kind: &str) -> Category {
    if kind.starts_with("jdk.") { Category::Jdk } else { Category::Application }
}

/// How many intervals a sample stands for that comes so often.
fn intervals(period_ns: Option<u64>, interval_ns: u64) -> u32 {
    let period_ns = period_ns.unwrap_or(interval_ns).saturating_add(interval_ns / 2);
    u32::try_from(period_ns / interval_ns.max(1)).unwrap_or(u32::MAX).max(1)
}

impl Profile {
    /// Reads a file of the recording's once more. What is damaged was told when it was audited.
    pub fn read(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        progress: impl FnMut(Progress),
    ) -> Result<(), String> {
        let mut chunks = std::mem::take(&mut self.chunks);
        let mut moments = Vec::new();
        let read = chunks.each(name, file, progress, |chunk| {
            let Ok(chunk) = chunk else { return };
            let Found { seen, told, .. } = &mut self.found;
            let mut reading = Reading::new(chunk, seen, told, None);
            for event in chunk.events().flatten() {
                reading.event(&event, |seen, _, moment| {
                    let (stack, _) = seen.stacks.insert_full(moment.stack);
                    moments.push((moment, StackId::of(stack)));
                });
            }
            for (moment, stack) in moments.drain(..) {
                self.add(moment, stack);
            }
        });
        self.chunks = chunks;
        read
    }

    fn add(&mut self, moment: Moment, stack: StackId) {
        let Moment { kind, thread, .. } = moment;
        let Some(shown) = self.kinds.get(kind.row()).copied() else {
            self.strange += 1;
            return;
        };
        let Some(outcome) = self.found.outcomes.get(&(thread, stack)).copied() else {
            self.strange += 1;
            return;
        };
        if let (Shown::Refuted, None) = (shown, outcome.offence) {
            return;
        }
        let since = moment.unix_ns.saturating_sub(self.found.told.from_ns);
        let time_ns = u64::try_from(since).unwrap_or(0);
        let on = if let Shown::Samples(track, _) = shown { track } else { 0 };
        let track = self.track(thread, on, kind);
        let stack = self.stack(thread, stack, outcome);
        let mut weight = 0;
        match shown {
            Shown::Samples(_, each) => {
                let each = moment.period_ns.map_or(each, |ns| intervals(Some(ns), self.interval_ns));
                weight = u32::try_from(moment.events).unwrap_or(u32::MAX).saturating_mul(each);
                let fate = outcome.fate;
                let sample = Sample { time_ns, cpu_ns: 0, stack, weight, fate, context: None };
                self.recording.sample(track, sample);
                self.count(moment.stack, outcome);
            }
            Shown::Marks(kind) => {
                let ended_ns = time_ns.saturating_add(moment.took_ns);
                let values = [0; VALUES];
                let mark = Mark { kind, began_ns: time_ns, ended_ns, values, stack: Some(stack) };
                self.recording.mark(Some(track), mark);
            }
            Shown::Refuted => {}
        }
        if let Some(offence) = outcome.offence {
            let how = self.refutation(offence);
            self.recording.refuted(track, rec::Refuted { time_ns, stack, weight, how });
        }
    }

    fn count(&mut self, stack: Stack, outcome: Outcome) {
        if let End::None(why) = stack.end {
            let why = self.found.seen.reasons[why.row()].clone();
            *self.unwalked.entry(why).or_default() += 1;
        }
        if let Some(offence) = outcome.offence {
            let (kind, _) = self.found.offences[offence];
            *self.refuted.entry(kind.name().to_owned()).or_default() += 1;
        }
    }

    /// A thread's track; on further ones of it are samples that tell its time once more.
    fn track(&mut self, thread: ThreadId, on: usize, kind: KindId) -> rec::ThreadId {
        let Self { found, recording, tracks, .. } = self;
        *tracks.entry((thread, on)).or_insert_with(|| {
            let known = &found.seen.threads[thread.row()];
            let name = match on {
                0 => known.name.to_string(),
                _ => format!("{} [{}]", known.name, found.seen.kinds[kind.row()].label),
            };
            recording.add_thread(&name, known.tid, 0)
        })
    }

    fn refutation(&mut self, offence: usize) -> RefutationId {
        let Self { found, refutations, others, recording, .. } = self;
        let (kind, _) = found.offences[offence];
        refutations.get(&offence).copied().unwrap_or_else(|| {
            *others.entry(kind).or_insert_with(|| {
                let expected = "one of many others";
                let words = kind.words();
                let kind = kind.name();
                recording.refutation(rec::Refutation { kind, words, caller: "", bci: 0, expected, found: "" })
            })
        })
    }

    fn stack(&mut self, thread: ThreadId, stack: StackId, outcome: Outcome) -> rec::StackId {
        if let Some(known) = self.stacks.get(&(thread, stack)) {
            return *known;
        }
        let Stack { leaf, end } = self.found.seen.stacks[stack.row()];
        let shown = match (leaf, outcome.offence) {
            (None, _) => self.without_frames(thread, end),
            (Some(leaf), Some(offence)) => self.refuted(leaf, end, offence),
            (Some(leaf), None) => self.sound(leaf, end, outcome.fate),
        };
        self.stacks.insert((thread, stack), shown);
        shown
    }

    fn without_frames(&mut self, thread: ThreadId, end: End) -> rec::StackId {
        let Self { found, recording, .. } = self;
        if let End::None(why) = end {
            return recording.stand_in(None, &no_stack(&found.seen.reasons[why.row()]), Category::NoStack);
        }
        let known = &found.seen.threads[thread.row()];
        let outside = outside(known.number != 0, &known.name);
        recording.stand_in(None, outside.name, outside.category)
    }

    /// What stands above the outermost frame, if the recorder says that there were more.
    fn lacking(&mut self, end: End, category: Category) -> Option<rec::StackId> {
        let name = match end {
            End::Cut => LEFT_OUT.to_owned(),
            End::Broken(why) => format!("[the walk ended: {}]", self.found.seen.reasons[why.row()]),
            _ => return None,
        };
        Some(self.recording.stand_in(None, &name, category))
    }

    fn sound(&mut self, leaf: NodeId, end: End, fate: Fate) -> rec::StackId {
        let root = self.lacking(end, Category::Other);
        let node = self.found.seen.node(leaf);
        let above = match node.above {
            Some(above) => Some(self.node(root, above)),
            None => root,
        };
        self.frame(above, leaf, Some(fate))
    }

    /// The stack of a node, under this root.
    fn node(&mut self, root: Option<rec::StackId>, wanted: NodeId) -> rec::StackId {
        let mut lacking = Vec::new();
        let (mut next, mut stack) = (Some(wanted), root);
        while let Some(node) = next {
            if let Some(known) = self.nodes.get(&(root, node)) {
                stack = Some(*known);
                break;
            }
            lacking.push(node);
            next = self.found.seen.node(node).above;
        }
        // Inwards from the outermost that is not there yet.
        for node in lacking.iter().rev() {
            let shown = self.frame(stack, *node, None);
            self.nodes.insert((root, *node), shown);
            stack = Some(shown);
        }
        stack.unwrap_or_else(|| self.frame(root, wanted, None))
    }

    fn frame(&mut self, above: Option<rec::StackId>, node: NodeId, fate: Option<Fate>) -> rec::StackId {
        let Self { found, recording, .. } = self;
        let node = found.seen.node(node);
        let above = if node.gap { Some(recording.stand_in(above, LEFT_OUT, Category::Other)) } else { above };
        let (func, line) = function(found, recording, node.place, false);
        let frame = match fate {
            Some(fate) => recording.leaf_frame(func, line, fate),
            None => recording.frame(func, line),
        };
        recording.stack(above, frame)
    }

    /// A refuted stack's frames are functions of their own, under a root of their own, with a sign where it breaks.
    fn refuted(&mut self, leaf: NodeId, end: End, offence: usize) -> rec::StackId {
        let Self { found, recording, .. } = self;
        let (kind, against) = found.offences[offence];
        let mut stack = recording.stand_in(None, &refuted_root(kind.name()), Category::Refuted);
        if end == End::Cut {
            stack = recording.under(stack, LEFT_OUT, Fate::Refuted);
        }
        let frames: Vec<PlaceId> = found.seen.places_from(Some(leaf)).collect();
        let at = place_in(&found.seen, &frames, against).unwrap_or(frames.len().saturating_sub(1));
        // What cannot stand there is whom the caller is said to have called.
        let below = if let Against::Edge { .. } = against { at.saturating_sub(1) } else { at };
        let expected = found.listed.get(&offence).map_or("", |report| report.expected.as_str());
        let sign = sign(kind, expected);
        for (row, place) in frames.iter().enumerate().rev() {
            if row == below {
                stack = recording.under(stack, &sign, Fate::Refuted);
            }
            let (func, line) = function(found, recording, *place, true);
            let frame = recording.frame(func, line);
            stack = recording.stack(Some(stack), frame);
        }
        stack
    }

    /// The profile, with what there is to say of it.
    pub fn finish(self) -> Result<(Recording, Meta), String> {
        let Self { found, report, mut recording, interval_ns, strange, kinds, unwalked, refuted, .. } = self;
        if strange > 0 {
            return Err("the recording has changed while it was read: audit a copy of it".to_owned());
        }
        for (name, kind) in &report.kinds {
            let shown = found.seen.kinds.get_index_of(name).and_then(|row| kinds.get(row));
            if let Some(Shown::Samples(_, each)) = shown {
                let lost = kind.fates.fates.dropped;
                recording.dropped(lost, lost.saturating_mul((*each).into()));
            }
        }
        let tally = recording.tally();
        let delivered = Delivered { signals: tally.samples.sum(), weight: tally.weight.sum() };
        let told = &found.told;
        let run = Run {
            vouch: report.vouch,
            recorder: Some(report.recorder.clone()),
            jdk: report.jdk,
            vm_flags: told.flags.split_whitespace().map(str::to_owned).collect(),
            command: report.command.clone(),
            engine: report.recorder,
            engine_notes: report.damage.into_iter().chain(report.notes).collect(),
            interval_ns,
            wall_ms: report.wall_ms,
            delivered,
            unwalked,
            refuted,
            edges: edges(report.edges),
            refutations: report.refutations,
            power: report.power,
            ..Run::default()
        };
        let program = told.program();
        let meta = Meta {
            product: format!("{program} ({}, audited)", run.engine),
            started_unix_ns: u64::try_from(told.from_ns).unwrap_or(0),
            ended_ns: u64::try_from(told.until_ns.saturating_sub(told.from_ns)).unwrap_or(0),
            pid: told.pid,
            process_name: program,
            arguments: report.command,
            report: TrustReport::of(&recording, run),
            ..Meta::default()
        };
        Ok((recording, meta))
    }
}

/// As a trust report has them, which knows no edge that was not judged: it is one of code that nobody could read.
fn edges(edges: crate::EdgeReport) -> EdgeReport {
    let crate::EdgeReport { checked, distinct, proven, mut explained, refuted, unjudged, .. } = edges;
    let unread: u64 = unjudged.values().sum();
    if unread > 0 {
        *explained.entry(Explanation::Unread.name().to_owned()).or_default() += unread;
    }
    EdgeReport { checked, distinct, proven, explained, refuted, took_ms: 0.0 }
}

fn function(
    found: &Found,
    recording: &mut Recording,
    place: PlaceId,
    refuted: bool,
) -> (rec::FuncId, Option<u32>) {
    let place = found.seen.place(place);
    let line = Some(u32::from(place.line)).filter(|line| *line > 0);
    (found.names.func(place.method, refuted, recording), line)
}
