//! Turns an audited recording into a profile: samples in time order, and refuted stacks separate,
//! as in Vouch's own profiles.
//!
//! It must never show a stack other than as the audit judged it. The recording is read a second
//! time for the profile, so an audit alone need not keep its events.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use indexmap::IndexMap;
use vouch_formats::Meta;
use vouch_recording::{
    self as rec, Category, FRAMES_LEFT_OUT, Leaf, Marker, MarkerKind, MarkerKindId, Recording, RefutationId,
    Sample, Trust, no_stack, outside_java, refuted_root,
};
use vouch_report::{Delivered, EdgeReport, RefutationReport, Run, TrustReport, in_template, sign};
use vouch_sample::MAX_VALUES;
use vouch_verify::proof::{Explanation, Refutation};

use crate::chunk_reader::{ChunkReader, StackEvent};
use crate::error::Error;
use crate::functions::Functions;
use crate::index::{
    KindId, LocationId, Node, NodeId, RecordingIndex, Stack, StackEnd, StackId, ThreadId, add,
};
use crate::profile_plan::{Display, ProfilePlan};
use crate::progress::Progress;
use crate::refutation_report::position_in_stack;
use crate::report::{self, AuditReport};
use crate::run_info::RunInfo;
use crate::stacks::{Outcome, RefutedPart};
use crate::unique_chunks::UniqueChunks;

/// The results of an audit that a profile needs.
#[derive(Debug)]
pub(crate) struct Findings {
    pub index: RecordingIndex,
    pub run_info: RunInfo,
    pub functions: Functions,
    pub outcomes: HashMap<(ThreadId, StackId), Outcome>,
    /// All refutations; `Outcome::refutation` is a row of this list.
    pub refutations: Vec<(Refutation, RefutedPart)>,
    /// The described refutations, by row, the most frequent first.
    pub listed: IndexMap<usize, RefutationReport>,
}

/// An audited recording: its report, and the findings that a profile needs.
#[derive(Debug)]
pub struct Audited {
    pub report: AuditReport,
    pub(crate) found: Findings,
}

/// Builds a profile from a second pass over the recording.
#[derive(Debug)]
pub struct Profile {
    found: Findings,
    report: AuditReport,
    chunks: UniqueChunks,
    recording: Recording,
    plan: ProfilePlan,
    kinds: HashMap<KindId, MarkerKindId>,
    /// The number of events of each kind in this pass.
    events: HashMap<KindId, u64>,
    tracks: HashMap<ThreadId, rec::ThreadId>,
    nodes: HashMap<(Option<rec::StackId>, NodeId), rec::StackId>,
    stacks: HashMap<(ThreadId, StackId), rec::StackId>,
    /// The described refutations in the profile, by their row.
    refutations: HashMap<usize, RefutationId>,
    /// One entry for each kind, for refutations that are not described one by one.
    others: HashMap<Refutation, RefutationId>,
    /// Samples without a stack, by reason. Other events are not counted here.
    unwalked: BTreeMap<String, u64>,
    /// The number of refuted samples, by kind of refutation.
    refuted: BTreeMap<String, u64>,
    /// True if this pass found a stack that the audit did not see.
    has_unknown_stack: bool,
}

impl Audited {
    /// Starts a profile with samples of this kind, or of the preferred clock. The caller reads each
    /// file once more.
    pub fn profile(self, samples: Option<&str>) -> Result<Profile, Error> {
        let Self { report, found } = self;
        let plan = ProfilePlan::new(&report, &found.index, &found.run_info, samples)?;
        let mut recording = Recording::new();
        let refutations = found
            .listed
            .iter()
            .map(|(refutation, report)| (*refutation, report.add_to(&mut recording)))
            .collect();
        Ok(Profile {
            found,
            report,
            plan,
            chunks: UniqueChunks::default(),
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
            has_unknown_stack: false,
        })
    }
}

impl Profile {
    /// Reads a file of the recording again. Its damage was reported by the audit.
    pub fn read(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        progress: impl FnMut(Progress),
    ) -> Result<(), Error> {
        let mut chunks = std::mem::take(&mut self.chunks);
        let mut stack_events = Vec::new();
        let read = chunks.for_each(name, file, progress, |chunk| {
            let Ok((chunk, deepest)) = chunk else { return };
            let Self {
                found: Findings { index, run_info, outcomes, .. },
                plan,
                events,
                has_unknown_stack,
                ..
            } = &mut *self;
            let mut reader = ChunkReader::new(chunk, deepest, index, run_info, None);
            for event in chunk.events().flatten() {
                reader.read_event(&event, |index, _, stack_event| {
                    let (stack, _) = index.stacks.insert_full(stack_event.stack);
                    let outcome = outcomes.get(&(stack_event.thread, StackId::from_row(stack))).copied();
                    let Some((shown, outcome)) = plan.display(stack_event.kind).zip(outcome) else {
                        *has_unknown_stack = true;
                        return;
                    };
                    add(events.entry(stack_event.kind).or_default(), stack_event.events);
                    if shown.shows(outcome.refutation.is_some()) {
                        stack_events.push((stack_event, StackId::from_row(stack), outcome));
                    }
                });
            }
            for (stack_event, stack, outcome) in stack_events.drain(..) {
                self.add_event(stack_event, stack, outcome);
            }
        });
        self.chunks = chunks;
        read
    }

    fn add_event(&mut self, stack_event: StackEvent, stack: StackId, outcome: Outcome) {
        let StackEvent { kind, thread, .. } = stack_event;
        let since = stack_event.unix_ns.saturating_sub(self.found.run_info.from_ns);
        let time_ns = u64::try_from(since).unwrap_or(0);
        let track = self.track(thread);
        let stack = self.stack(thread, stack, outcome);
        let mut weight = 0;
        if let Some(Display::Samples(period_ns)) = self.plan.display(kind) {
            // A sample of a counted event always weighs 1.
            let own_ns = stack_event.period_ns.filter(|_| self.plan.event.is_none());
            let each = self.plan.intervals(own_ns.unwrap_or(period_ns));
            weight = u32::try_from(stack_event.events.max(1)).unwrap_or(u32::MAX).saturating_mul(each);
            let trust = outcome.trust;
            let sample = Sample { time_ns, cpu_ns: 0, stack, weight, trust, context: None };
            self.recording.sample(track, sample);
            self.count_fate(stack_event.stack, outcome);
        } else {
            // The event may have begun before the recording.
            let ended = i128::from(since) + i128::from(stack_event.took_ns);
            let ended_ns = u64::try_from(ended).unwrap_or(0);
            let (kind, values) = (self.marker_kind(kind), [0; MAX_VALUES]);
            let marker = Marker { kind, began_ns: time_ns, ended_ns, values, stack: Some(stack) };
            self.recording.add_marker(Some(track), marker);
        }
        if let Some(refutation) = outcome.refutation {
            let how = self.refutation(refutation);
            self.recording.refuted(track, rec::Refuted { time_ns, stack, weight, how });
        }
    }

    fn count_fate(&mut self, stack: Stack, outcome: Outcome) {
        if let StackEnd::Missing(why) = stack.end {
            let why = self.found.index.reasons[why.row()].clone();
            *self.unwalked.entry(why).or_default() += 1;
        }
        if let Some(refutation) = outcome.refutation {
            let (kind, _) = self.found.refutations[refutation];
            *self.refuted.entry(kind.name().to_owned()).or_default() += 1;
        }
    }

    /// Returns the marker kind for an event kind.
    fn marker_kind(&mut self, kind: KindId) -> MarkerKindId {
        let Self { found, recording, kinds, .. } = self;
        *kinds.entry(kind).or_insert_with(|| {
            let name = found.index.kind_name(kind);
            // No other marker key begins like this; `vouch merge` uses the same keys.
            let key = format!("jfr.{name}");
            recording.marker_kind(MarkerKind {
                key: &key,
                label: &in_template(&found.index.kinds[kind.row()].label),
                description: "An event of the recording, with its stack.",
                category: if name.starts_with("jdk.") { Category::Jdk } else { Category::Application },
                fields: &[],
            })
        })
    }

    fn track(&mut self, thread: ThreadId) -> rec::ThreadId {
        let Self { found, recording, tracks, .. } = self;
        *tracks.entry(thread).or_insert_with(|| {
            let known = &found.index.threads[thread.row()];
            recording.add_thread(&known.name, known.tid, 0)
        })
    }

    fn refutation(&mut self, refutation: usize) -> RefutationId {
        let Self { found, refutations, others, recording, .. } = self;
        let (kind, _) = found.refutations[refutation];
        refutations.get(&refutation).copied().unwrap_or_else(|| {
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
        let Stack { leaf, end } = self.found.index.stacks[stack.row()];
        let shown = match (leaf, outcome.refutation) {
            (None, _) => self.without_frames(thread, end),
            (Some(leaf), Some(refutation)) => self.refuted(leaf, end, refutation),
            (Some(leaf), None) => self.accepted(leaf, end, outcome.trust),
        };
        self.stacks.insert((thread, stack), shown);
        shown
    }

    fn without_frames(&mut self, thread: ThreadId, end: StackEnd) -> rec::StackId {
        let Self { found, recording, .. } = self;
        if let StackEnd::Missing(why) = end {
            return recording.placeholder_stack(
                None,
                &no_stack(&found.index.reasons[why.row()]),
                Category::NoStack,
            );
        }
        let known = &found.index.threads[thread.row()];
        let outside = outside_java(known.number != 0, &known.name);
        recording.placeholder_stack(None, outside.name, outside.category)
    }

    /// Returns the frame to show above the root if the recorder says that frames are missing there.
    fn missing_callers(&self, end: StackEnd) -> Option<String> {
        match end {
            StackEnd::Truncated => Some(FRAMES_LEFT_OUT.to_owned()),
            StackEnd::Broken(why) => {
                Some(format!("[the walk ended: {}]", self.found.index.reasons[why.row()]))
            }
            _ => None,
        }
    }

    fn accepted(&mut self, leaf: NodeId, end: StackEnd, trust: Trust) -> rec::StackId {
        let root = self
            .missing_callers(end)
            .map(|name| self.recording.placeholder_stack(None, &name, Category::Other));
        let caller = self.found.index.node(leaf).caller;
        let caller = self.callers(root, caller);
        self.frame(caller, leaf, Some(trust))
    }

    /// Returns the stack of a node below `root`, or `root` itself if there is no node.
    fn callers(&mut self, root: Option<rec::StackId>, node: Option<NodeId>) -> Option<rec::StackId> {
        let mut lacking = Vec::new();
        let (mut next, mut stack) = (node, root);
        while let Some(node) = next {
            if let Some(known) = self.nodes.get(&(root, node)) {
                stack = Some(*known);
                break;
            }
            lacking.push(node);
            next = self.found.index.node(node).caller;
        }
        // Adds the missing nodes from the outermost inwards.
        for node in lacking.iter().rev() {
            let shown = self.frame(stack, *node, None);
            self.nodes.insert((root, *node), shown);
            stack = Some(shown);
        }
        stack
    }

    fn frame(&mut self, caller: Option<rec::StackId>, node: NodeId, trust: Option<Trust>) -> rec::StackId {
        let Self { found, recording, .. } = self;
        let node = found.index.node(node);
        let caller = if node.gap {
            Some(recording.placeholder_stack(caller, FRAMES_LEFT_OUT, Category::Other))
        } else {
            caller
        };
        let (func, line) = function(found, recording, node.location, false);
        let frame = match trust {
            Some(trust) => recording.leaf_frame(func, line, Leaf::new(trust)),
            None => recording.frame(func, line),
        };
        recording.stack(caller, frame)
    }

    /// Adds a refuted stack: separate functions below a separate root, with a sign where the stack
    /// breaks.
    fn refuted(&mut self, leaf: NodeId, end: StackEnd, refutation: usize) -> rec::StackId {
        let lacking = self.missing_callers(end);
        let Self { found, recording, .. } = self;
        let (kind, against) = found.refutations[refutation];
        let mut stack = recording.placeholder_stack(None, &refuted_root(kind.name()), Category::Refuted);
        let state = Leaf::new(Trust::Refuted);
        if let Some(lacking) = lacking {
            stack = recording.placeholder_on_top(stack, &lacking, state);
        }
        let frames: Vec<Node> = found.index.nodes_from(Some(leaf)).collect();
        let at = position_in_stack(&found.index, &frames, against).unwrap_or(frames.len().saturating_sub(1));
        // The impossible frame is the callee of the edge, so the sign is between caller and callee.
        let below = if let RefutedPart::Edge { .. } = against { at.saturating_sub(1) } else { at };
        let expected = found.listed.get(&refutation).map_or("", |report| report.expected.as_str());
        let sign = sign(kind, expected);
        for (row, node) in frames.iter().enumerate().rev() {
            if node.gap {
                stack = recording.placeholder_on_top(stack, FRAMES_LEFT_OUT, state);
            }
            if row == below {
                stack = recording.placeholder_on_top(stack, &sign, state);
            }
            let (func, line) = function(found, recording, node.location, true);
            let frame = recording.frame(func, line);
            stack = recording.stack(Some(stack), frame);
        }
        stack
    }

    /// Returns sentences about what the profile does not show.
    pub fn remarks(&self) -> &[String] {
        &self.plan.remarks
    }

    /// Finishes the profile. It fails if the recording changed since the audit.
    pub fn finish(self) -> Result<(Recording, Meta), Error> {
        let Self { found, report, mut recording, plan, has_unknown_stack, events, unwalked, refuted, .. } =
            self;
        let changed = report.kinds.iter().any(|(name, kind)| {
            let fates = kind.fates;
            let now = found.index.kinds.get_index_of(name).and_then(|row| events.get(&KindId::from_row(row)));
            now.copied().unwrap_or(0) != fates.signals.saturating_sub(fates.fates.dropped)
        });
        if has_unknown_stack || changed {
            return Err(Error::Changed);
        }
        // Lost samples are taken to have the average weight.
        let kept = recording.tally();
        let each = kept.weight.sum().checked_div(kept.samples.sum());
        for (name, kind) in &report.kinds {
            let row = found.index.kinds.get_index_of(name).map(KindId::from_row);
            if let Some(Display::Samples(period_ns)) = row.and_then(|row| plan.display(row)) {
                let lost = kind.fates.fates.dropped;
                let each = each.unwrap_or_else(|| plan.intervals(period_ns).into());
                recording.dropped(lost, lost.saturating_mul(each));
            }
        }
        let tally = recording.tally();
        let delivered = Delivered { signals: tally.samples.sum(), weight: tally.weight.sum() };
        let run_info = &found.run_info;
        // The note about samples without time is left out if the profile does not show them.
        let other = run_info.no_time_note(&found.index).filter(|_| plan.event.is_none());
        let notes = report.notes.into_iter().filter(|note| other.as_ref() != Some(note));
        let run = Run {
            vouch: report.vouch,
            recorder: Some(report.recorder.clone()),
            jdk: report.jdk,
            vm_flags: run_info.flags.split_whitespace().map(str::to_owned).collect(),
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
        let program = run_info.program();
        let meta = Meta {
            product: format!("{program} ({}, audited)", run.engine),
            started_unix_ns: u64::try_from(run_info.from_ns).unwrap_or(0),
            ended_ns: u64::try_from(run_info.until_ns.saturating_sub(run_info.from_ns)).unwrap_or(0),
            pid: run_info.pid,
            process_name: program,
            arguments: report.command,
            report: TrustReport::from_recording(&recording, run).taken_by(plan.clock, plan.event),
            ..Meta::default()
        };
        Ok((recording, meta))
    }
}

/// Converts the edges for a trust report. That report has no unjudged edges, so they count as code
/// that could not be read.
fn edges(edges: report::EdgeReport) -> EdgeReport {
    let report::EdgeReport { checked, distinct, proven, mut explained, refuted, unjudged, .. } = edges;
    let unread: u64 = unjudged.values().sum();
    if unread > 0 {
        *explained.entry(Explanation::Unread.name().to_owned()).or_default() += unread;
    }
    EdgeReport { checked, distinct, proven, explained, refuted, took_ms: None }
}

fn function(
    found: &Findings,
    recording: &mut Recording,
    location: LocationId,
    refuted: bool,
) -> (rec::FuncId, Option<u32>) {
    let location = found.index.location(location);
    let line = Some(u32::from(location.line)).filter(|line| *line > 0);
    (found.functions.func(location.method, refuted, recording), line)
}
