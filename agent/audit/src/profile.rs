//! An audited recording as a profile: its samples in time, those that are refuted set apart, as in
//! a profile of Vouch's own.
//!
//! It must never show a stack as anything but what the audit has made of it. The recording is read
//! once more for it, so that nobody pays for its samples who does not ask for them.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use indexmap::IndexMap;
use vouch_formats::Meta;
use vouch_recording::{
    self as rec, Category, Fate, LEFT_OUT, Mark, MarkKind, MarkKindId, Recording, RefutationId, Sample,
    no_stack, outside, refuted_root,
};
use vouch_report::{Delivered, EdgeReport, RefutationReport, Run, TrustReport, in_template, sign};
use vouch_sample::MAX_VALUES;
use vouch_verify::proof::{Explanation, Refutation};

use crate::chunk_reader::{Moment, Reading};
use crate::functions::Names;
use crate::index::{End, KindId, Node, NodeId, PlaceId, Seen, Stack, StackId, ThreadId, add};
use crate::profile_plan::{Plan, Shown};
use crate::progress::Progress;
use crate::refutation_report::place_in;
use crate::report::{self, AuditReport};
use crate::run_info::Told;
use crate::stacks::{Against, Outcome};
use crate::unique_chunks::Chunks;

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

/// A recording that was audited.
#[derive(Debug)]
pub struct Audited {
    pub report: AuditReport,
    pub(crate) found: Found,
}

/// A profile that is being made.
#[derive(Debug)]
pub struct Profile {
    found: Found,
    report: AuditReport,
    chunks: Chunks,
    recording: Recording,
    plan: Plan,
    kinds: HashMap<KindId, MarkKindId>,
    /// How many events of each kind there were this time.
    events: HashMap<KindId, u64>,
    tracks: HashMap<ThreadId, rec::ThreadId>,
    nodes: HashMap<(Option<rec::StackId>, NodeId), rec::StackId>,
    stacks: HashMap<(ThreadId, StackId), rec::StackId>,
    /// The number of each offence, and of those of a kind that are not told one by one.
    refutations: HashMap<usize, RefutationId>,
    others: HashMap<Refutation, RefutationId>,
    /// Why samples have no stack, and how they are refuted: those of other events are not among
    /// them.
    unwalked: BTreeMap<String, u64>,
    refuted: BTreeMap<String, u64>,
    /// There is a stack that was not there when the recording was audited.
    strange: bool,
}

impl Audited {
    /// The recording as a profile, with the samples of this kind, or else those of the clock that
    /// says most; its files are to be read into it once more.
    pub fn profile(self, samples: Option<&str>) -> Result<Profile, String> {
        let Self { report, found } = self;
        let plan = Plan::of(&report, &found.seen, &found.told, samples)?;
        let mut recording = Recording::new();
        let refutations =
            found.listed.iter().map(|(offence, report)| (*offence, report.add_to(&mut recording))).collect();
        Ok(Profile {
            found,
            report,
            plan,
            chunks: Chunks::default(),
            recording,
            kinds: HashMap::new(),
            events: HashMap::new(),
            tracks: HashMap::new(),
            nodes: HashMap::new(),
            stacks: HashMap::new(),
            refutations,
            others: HashMap::new(),
            unwalked: BTreeMap::new(),
            refuted: BTreeMap::new(),
            strange: false,
        })
    }
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
            let Ok((chunk, deepest)) = chunk else { return };
            let Self { found: Found { seen, told, outcomes, .. }, plan, events, strange, .. } = &mut *self;
            let mut reading = Reading::new(chunk, deepest, seen, told, None);
            for event in chunk.events().flatten() {
                reading.event(&event, |seen, _, moment| {
                    let (stack, _) = seen.stacks.insert_full(moment.stack);
                    let outcome = outcomes.get(&(moment.thread, StackId::of(stack))).copied();
                    let Some((shown, outcome)) = plan.shown(moment.kind).zip(outcome) else {
                        *strange = true;
                        return;
                    };
                    add(events.entry(moment.kind).or_default(), moment.events);
                    if shown.is_shown(outcome.offence.is_some()) {
                        moments.push((moment, StackId::of(stack), outcome));
                    }
                });
            }
            for (moment, stack, outcome) in moments.drain(..) {
                self.add(moment, stack, outcome);
            }
        });
        self.chunks = chunks;
        read
    }

    fn add(&mut self, moment: Moment, stack: StackId, outcome: Outcome) {
        let Moment { kind, thread, .. } = moment;
        let since = moment.unix_ns.saturating_sub(self.found.told.from_ns);
        let time_ns = u64::try_from(since).unwrap_or(0);
        let track = self.track(thread);
        let stack = self.stack(thread, stack, outcome);
        let mut weight = 0;
        if let Some(Shown::Samples(period_ns)) = self.plan.shown(kind) {
            // What counts no time weighs one, whatever it says.
            let own_ns = moment.period_ns.filter(|_| self.plan.event.is_none());
            let each = self.plan.intervals(own_ns.unwrap_or(period_ns));
            weight = u32::try_from(moment.events.max(1)).unwrap_or(u32::MAX).saturating_mul(each);
            let fate = outcome.fate;
            let sample = Sample { time_ns, cpu_ns: 0, stack, weight, fate, context: None };
            self.recording.sample(track, sample);
            self.count(moment.stack, outcome);
        } else {
            // It may have begun before the recording did.
            let ended = i128::from(since) + i128::from(moment.took_ns);
            let ended_ns = u64::try_from(ended).unwrap_or(0);
            let (kind, values) = (self.kind(kind), [0; MAX_VALUES]);
            let mark = Mark { kind, began_ns: time_ns, ended_ns, values, stack: Some(stack) };
            self.recording.mark(Some(track), mark);
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

    /// How the markers of a kind of events are shown.
    fn kind(&mut self, kind: KindId) -> MarkKindId {
        let Self { found, recording, kinds, .. } = self;
        *kinds.entry(kind).or_insert_with(|| {
            let name = found.seen.name(kind);
            // No other kind of markers begins so; `vouch merge` calls its markers that, too.
            let key = format!("jfr.{name}");
            recording.mark_kind(MarkKind {
                key: &key,
                label: &in_template(&found.seen.kinds[kind.row()].label),
                description: "An event of the recording, with its stack.",
                category: if name.starts_with("jdk.") { Category::Jdk } else { Category::Application },
                figures: &[],
            })
        })
    }

    fn track(&mut self, thread: ThreadId) -> rec::ThreadId {
        let Self { found, recording, tracks, .. } = self;
        *tracks.entry(thread).or_insert_with(|| {
            let known = &found.seen.threads[thread.row()];
            recording.add_thread(&known.name, known.tid, 0)
        })
    }

    fn refutation(&mut self, offence: usize) -> RefutationId {
        let Self { found, refutations, others, recording, .. } = self;
        let (kind, _) = found.offences[offence];
        refutations.get(&offence).copied().unwrap_or_else(|| {
            *others.entry(kind).or_insert_with(|| {
                let expected = "one of many others";
                let words = kind.description();
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
    fn lacking(&self, end: End) -> Option<String> {
        match end {
            End::Cut => Some(LEFT_OUT.to_owned()),
            End::Broken(why) => Some(format!("[the walk ended: {}]", self.found.seen.reasons[why.row()])),
            _ => None,
        }
    }

    fn sound(&mut self, leaf: NodeId, end: End, fate: Fate) -> rec::StackId {
        let root = self.lacking(end).map(|name| self.recording.stand_in(None, &name, Category::Other));
        let above = self.found.seen.node(leaf).above;
        let above = self.callers(root, above);
        self.frame(above, leaf, Some(fate))
    }

    /// The stack of a node, under this root; of none it is the root.
    fn callers(&mut self, root: Option<rec::StackId>, node: Option<NodeId>) -> Option<rec::StackId> {
        let mut lacking = Vec::new();
        let (mut next, mut stack) = (node, root);
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
        stack
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

    /// A refuted stack's frames are functions of their own, under a root of their own, with a sign
    /// where it breaks.
    fn refuted(&mut self, leaf: NodeId, end: End, offence: usize) -> rec::StackId {
        let lacking = self.lacking(end);
        let Self { found, recording, .. } = self;
        let (kind, against) = found.offences[offence];
        let mut stack = recording.stand_in(None, &refuted_root(kind.name()), Category::Refuted);
        if let Some(lacking) = lacking {
            stack = recording.under(stack, &lacking, Fate::Refuted);
        }
        let frames: Vec<Node> = found.seen.nodes_from(Some(leaf)).collect();
        let at = place_in(&found.seen, &frames, against).unwrap_or(frames.len().saturating_sub(1));
        // What cannot stand there is whom the caller is said to have called.
        let below = if let Against::Edge { .. } = against { at.saturating_sub(1) } else { at };
        let expected = found.listed.get(&offence).map_or("", |report| report.expected.as_str());
        let sign = sign(kind, expected);
        for (row, node) in frames.iter().enumerate().rev() {
            if node.gap {
                stack = recording.under(stack, LEFT_OUT, Fate::Refuted);
            }
            if row == below {
                stack = recording.under(stack, &sign, Fate::Refuted);
            }
            let (func, line) = function(found, recording, node.place, true);
            let frame = recording.frame(func, line);
            stack = recording.stack(Some(stack), frame);
        }
        stack
    }

    /// What is not shown, in sentences.
    pub fn remarks(&self) -> &[String] {
        &self.plan.remarks
    }

    /// The profile, with what there is to say of it.
    pub fn finish(self) -> Result<(Recording, Meta), String> {
        let Self { found, report, mut recording, plan, strange, events, unwalked, refuted, .. } = self;
        let changed = report.kinds.iter().any(|(name, kind)| {
            let fates = kind.fates;
            let now = found.seen.kinds.get_index_of(name).and_then(|row| events.get(&KindId::of(row)));
            now.copied().unwrap_or(0) != fates.signals.saturating_sub(fates.fates.dropped)
        });
        if strange || changed {
            return Err("has changed while it was read: audit a copy of it".to_owned());
        }
        // What was lost is taken to have been like what is there.
        let kept = recording.tally();
        let each = kept.weight.sum().checked_div(kept.samples.sum());
        for (name, kind) in &report.kinds {
            let row = found.seen.kinds.get_index_of(name).map(KindId::of);
            if let Some(Shown::Samples(period_ns)) = row.and_then(|row| plan.shown(row)) {
                let lost = kind.fates.fates.dropped;
                let each = each.unwrap_or_else(|| plan.intervals(period_ns).into());
                recording.dropped(lost, lost.saturating_mul(each));
            }
        }
        let tally = recording.tally();
        let delivered = Delivered { signals: tally.samples.sum(), weight: tally.weight.sum() };
        let told = &found.told;
        // Of samples that are not in it there is nothing to say.
        let other = told.counts_no_time(&found.seen).filter(|_| plan.event.is_none());
        let notes = report.notes.into_iter().filter(|note| other.as_ref() != Some(note));
        let run = Run {
            vouch: report.vouch,
            recorder: Some(report.recorder.clone()),
            jdk: report.jdk,
            vm_flags: told.flags.split_whitespace().map(str::to_owned).collect(),
            command: report.command.clone(),
            engine: report.recorder,
            engine_notes: report.damage.into_iter().chain(notes).chain(plan.remarks).collect(),
            interval_ns: plan.interval_ns,
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
            report: TrustReport::from_recording(&recording, run).taken_by(plan.clock, plan.event),
            ..Meta::default()
        };
        Ok((recording, meta))
    }
}

/// As a trust report has them, which knows no edge that was not judged: it is one of code that
/// nobody could read.
fn edges(edges: report::EdgeReport) -> EdgeReport {
    let report::EdgeReport { checked, distinct, proven, mut explained, refuted, unjudged, .. } = edges;
    let unread: u64 = unjudged.values().sum();
    if unread > 0 {
        *explained.entry(Explanation::Unread.name().to_owned()).or_default() += unread;
    }
    EdgeReport { checked, distinct, proven, explained, refuted, took_ms: None }
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
