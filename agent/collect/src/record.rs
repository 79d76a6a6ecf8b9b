//! Turns each entry of a lane into a sample of the recording: its thread, its fate, and its stack
//! by name.
//!
//! Every entry ends as exactly one sample of exactly one fate.
//!
//! # Invariants
//!
//! **Invariant 6.** The fates of all samples add up to the signals that were due: those delivered
//! as samples, and those that were not signalled. Held by: every Java test, for every run.
//!
//! **Invariant 17.** The stages from lane to recording need no JVM. They accept entries as handlers
//! write them, torn entries, and any words at all. Each entry with a head ends as one sample of one
//! fate. Held by: `record/tests.rs`.

mod agreement;
mod by_proof;
mod candidate_stacks;
mod contexts;
mod events;
mod live_objects;
mod mounted_vthread;
mod names;
pub mod native;
mod own_kind;
mod reasons;
pub mod recovered;
mod refutations;
mod shared;
mod show;
mod stack_budget;
mod still;
mod taken;
#[cfg(test)]
mod tests;
mod top_frames;
mod traces;
mod tracks;
mod tree;
mod walks;
pub mod wall_clock;
pub mod wall_clock_times;
mod witnessed_stacks;

use std::collections::{BTreeMap, HashSet};
use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hdrhistogram::Histogram;
use vouch_recording::measures::WALL_CLOCK;
use vouch_recording::{
    Amount, Category, Certainty, Leaf, Recording, Sample, StackId, ThreadId, Trust, no_stack,
};
use vouch_report::{EdgeReport, PlausibleReport, Power, RecoveryReport, RefutationReport, WitnessPower};
use vouch_sample::{
    Cut, Frame, Head, NATIVE, Reason, ResolvedFrame, ResolvedMethod, Stack, Unsignalled, Walk,
};
use vouch_signal::lane::{Entry, Lane};
use vouch_signal::sample_layout::{head, name};
use vouch_signal::sampler::Counters;
use vouch_signal::witness_rendezvous::MAX_WITNESSED_DEPTH;
use vouch_unwind::hotspot::mounted_vthread::NAME_BYTES;
use vouch_unwind::recover::Recovery;
use vouch_verify::proof::Verdict;

use crate::choices::Showing;
use crate::contexts::Contexts;
use crate::events::EventTypes;
use crate::jvm::{CodeAt, Jvm, Site};
use crate::threads::Threads;
use crate::witness::Witness;
use agreement::Agreement;
use contexts::SampleContexts;
use live_objects::LiveObjects;
use names::Names;
use native::NativeFrames;
use reasons::ReasonCounts;
use recovered::{Began, Recovered};
use show::Shown;
use stack_budget::StackBudget;
use taken::Taken;
use tracks::Tracks;
use walks::Walks;
use wall_clock_times::WallClockTimes;

pub use still::Still;

/// Names the corruption that bytecode cannot notice: the top frames of the next run of instructions
/// in the code.
const NEIGHBOURING_RUN: &str = "neighbouring_run";

/// Counts of the deliberate corruptions that the checks of stacks notice, by name of the
/// corruption.
#[derive(Debug, Default, Clone)]
pub struct Powers {
    /// The corruptions that proof notices, in all stacks.
    pub proof: BTreeMap<String, Power>,
    /// The corruptions that proof, the witness or either notices, in stacks that were compared with
    /// GetStackTrace.
    pub witness: BTreeMap<String, WitnessPower>,
}

/// Returns a function that calls GetStackTrace for the thread's root frame. `None` if the stack is
/// too deep for that.
fn asking_root<'a>(
    witness: &'a mut Witness,
    head: &'a Head,
    walk: Stack<'_, ResolvedMethod>,
) -> Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod> + use<'a>> {
    let is_shallow = walk.cut.is_none() && walk.frames.len() <= MAX_WITNESSED_DEPTH;
    is_shallow.then_some(|jvm: &mut dyn Jvm| witness.present_root(head, jvm))
}

/// Builds the recording from the entries of the lanes.
#[derive(Debug)]
pub struct Recorder {
    pub recording: Recording,
    pub witness: Witness,
    tracks: Tracks,
    walks: Walks,
    names: Names,
    contexts: SampleContexts,
    events: EventTypes,
    /// The number of events of unknown kinds.
    events_lost: u64,
    /// The number of events' stacks that bytecode refutes.
    events_refuted: u64,
    shown: Shown,
    /// The numbers of samples without a stack, by reason.
    unwalked: BTreeMap<String, u64>,
    /// The reasons why samples are plausible and not proven, with their counts.
    plausible: ReasonCounts,
    /// The weight of the intervals in which a thread ran unobserved, by reason.
    unseen: BTreeMap<Reason, u64>,
    /// When the period of this recording begins, or 0. Events that began earlier are cut to it.
    begins_ns: u64,
    /// True if AsyncGetCallTrace is the only walker.
    pub is_asgct_alone: bool,
    recovered: Recovered,
    agreement: Agreement,
    handler_ns: Histogram<u64>,
    handler_total_ns: u64,
    dropped: (u64, u64),
    /// The serials of the carriers that were asked for their virtual thread in this round of the
    /// drain.
    names_asked: HashSet<u32>,
    pub native: NativeFrames,
    live_objects: LiveObjects,
    /// The wall-clock time by state. `None` if it is not measured.
    pub wall_clock: Option<WallClockTimes>,
    /// Buffers for the current walk's frames and their resolved methods, kept to avoid allocation.
    frames: Vec<Frame>,
    other: Vec<Frame>,
    resolved: Vec<ResolvedFrame>,
}

impl Recorder {
    pub fn new(
        depth: usize,
        showing: Showing,
        witness: Witness,
        threads: &'static dyn Threads,
        contexts: &'static Contexts,
        events: EventTypes,
        interval: Duration,
    ) -> Self {
        Self {
            recording: Recording::new(),
            witness,
            tracks: Tracks::new(threads, u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX)),
            walks: Walks::new(depth, threads),
            names: Names::new(showing.names),
            contexts: SampleContexts::new(contexts),
            events,
            events_lost: 0,
            events_refuted: 0,
            shown: Shown::new(showing.refuted),
            unwalked: BTreeMap::new(),
            plausible: ReasonCounts::default(),
            unseen: BTreeMap::new(),
            begins_ns: 0,
            is_asgct_alone: false,
            recovered: Recovered::default(),
            agreement: Agreement::default(),
            handler_ns: Histogram::new_with_bounds(1, u32::MAX.into(), 2)
                .unwrap_or_else(|_| unreachable!("these bounds are allowed")),
            handler_total_ns: 0,
            dropped: (0, 0),
            names_asked: HashSet::new(),
            native: NativeFrames::default(),
            live_objects: LiveObjects::default(),
            wall_clock: None,
            frames: Vec::new(),
            other: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// Records all entries that the lanes contain. Returns the size of these entries in words.
    pub fn drain(&mut self, lanes: &[Lane<'_>], jvm: &mut dyn Jvm) -> u64 {
        let mut words = 0;
        self.names_asked.clear();
        for lane in lanes {
            lane.drain(|entry| {
                words += entry.len() as u64;
                self.take(entry, jvm);
            });
        }
        words
    }

    /// Records the samples that the handler has dropped since the last call.
    pub fn count_dropped(&mut self, counters: &Counters) {
        let now = (counters.dropped.load(Relaxed), counters.dropped_weight.load(Relaxed));
        let (samples, weight) = (now.0 - self.dropped.0, now.1 - self.dropped.1);
        if samples > 0 {
            self.recording.dropped(samples, weight);
        }
        self.dropped = now;
    }

    /// Updates the names, end times and CPU times of all tracks. Adds tracks for threads without
    /// samples.
    pub fn complete_tracks(&mut self) {
        self.tracks.complete(&mut self.recording);
    }

    /// Ends this recording at `time`, in nanoseconds, and returns it. `next` takes its place, for a
    /// period that begins then. All entries so far must have been drained.
    #[must_use]
    pub fn begin_period(&mut self, mut next: Self, time: u64) -> Self {
        self.tracks.end_period(time, &mut self.recording);
        next.native = self.native.take_for_next_recording();
        next.is_asgct_alone = self.is_asgct_alone;
        next.begins_ns = time;
        std::mem::replace(self, next)
    }

    /// Removes threads that had ended at `time`, in nanoseconds. All entries up to that time must
    /// have been drained. The threads' tracks stay in the recording.
    pub fn forget_ended(&mut self, time: u64) {
        let ended = self.tracks.forget(time, &mut self.recording);
        if !ended.is_empty() {
            self.walks.roots.forget(&ended);
        }
    }

    /// Returns how many threads share a track, because the limit on separate tracks was reached.
    pub fn threads_shared(&self) -> u64 {
        self.tracks.shared()
    }

    /// Returns the numbers of samples without a stack, by reason.
    pub fn unwalked(&self) -> &BTreeMap<String, u64> {
        &self.unwalked
    }

    /// Returns the weight of the intervals in which threads ran unobserved, by reason. The second
    /// value is the weight of all samples.
    pub fn unseen(&self) -> (&BTreeMap<Reason, u64>, u64) {
        (&self.unseen, self.recording.tally().weight.sum())
    }

    /// Returns why samples are plausible and not proven, by name of the reason.
    pub fn plausible(&self, interval: Duration) -> BTreeMap<String, PlausibleReport> {
        self.plausible.report(interval.as_secs_f64() * 1_000.0)
    }

    /// Returns the outcomes of each recovery strategy, by its name.
    pub fn recovered(
        &self,
        recovery: Option<&Recovery>,
        interval: Duration,
    ) -> BTreeMap<String, RecoveryReport> {
        let tried = |at: usize| recovery.map_or(0, |recovery| recovery.tried[at].load(Relaxed));
        self.recovered.report(tried, interval.as_secs_f64() * 1_000.0)
    }

    /// Returns how the two walkers' stacks differed, and how often each walker's stack was used.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Returns the signal handler's times and their sum, in nanoseconds.
    pub fn handler_ns(&self) -> (&Histogram<u64>, u64) {
        (&self.handler_ns, self.handler_total_ns)
    }

    /// Returns the number of methods without a known name.
    pub fn names_lost(&self) -> u64 {
        self.names.lost()
    }

    /// Returns the number of edges in all stacks, by their verdict from the bytecode.
    pub fn edges(&self) -> EdgeReport {
        let counts = self.walks.prover.counts();
        let explained = counts.explained.iter().map(|(how, count)| (how.name().to_owned(), *count));
        let explained: BTreeMap<String, u64> = explained.collect();
        EdgeReport {
            checked: self.walks.checked(),
            distinct: counts.proven + counts.refuted + explained.values().sum::<u64>(),
            proven: counts.proven,
            explained,
            refuted: counts.refuted,
            took_ms: Some(Duration::from_nanos(self.walks.prover.took_ns()).as_secs_f64() * 1_000.0),
        }
    }

    /// Returns the reports on stacks that bytecode refutes, the most frequent first.
    pub fn refutations(&self) -> Vec<RefutationReport> {
        self.walks.refutations.report()
    }

    /// Returns the reports on stacks that the JVM itself contradicts, the most frequent first.
    pub fn contradictions(&self) -> Vec<RefutationReport> {
        self.walks.refutations.contradictions()
    }

    /// Returns the number of refuted samples, by kind of refutation.
    pub fn refuted(&self) -> BTreeMap<String, u64> {
        self.walks.refutations.kinds()
    }

    /// Returns the number of samples with a stack that was cut because the stack budget was
    /// exhausted.
    pub fn stacks_cut(&self) -> u64 {
        self.walks.budget.cut()
    }

    /// Returns the unused percentage of the stack budget.
    pub fn stack_budget_left(&self) -> usize {
        StackBudget::unused_percent(self.walks.nodes(&self.recording))
    }

    /// Measures how many deliberate corruptions are noticed. Proof is tried on all stacks, the
    /// witness on those that it has checked.
    pub fn power(&self, jvm: &mut dyn Jvm) -> Powers {
        let mut proof = self.walks.power(jvm);
        let by_code = jvm.neighbouring_runs();
        if by_code.tried > 0 {
            proof.insert(NEIGHBOURING_RUN.to_owned(), by_code);
        }
        Powers { proof, witness: self.walks.witness_power(jvm) }
    }

    fn take(&mut self, entry: &Entry<'_>, jvm: &mut dyn Jvm) {
        let Some(head) = head(entry) else { return };
        self.handler_ns.saturating_record(head.handler_ns.into());
        self.handler_total_ns += u64::from(head.handler_ns);
        if head.mounted_vthread != 0 {
            self.contexts.set_name(head.mounted_vthread, name(entry), &mut self.recording);
            self.ask_name(&head, jvm);
        }
        self.native.read(entry, head.time);
        let mut frames = take(&mut self.frames);
        match self.walked_stack(&head, entry, &mut frames, jvm) {
            Ok(Taken { walker, began, cut, refuted, site, is_asgct_alone }) => {
                let is_recovered = if refuted {
                    self.recovered_instead(&head, entry, &frames, jvm)
                } else {
                    self.recovered_at_leaf_call(&head, entry, walker, &frames, jvm)
                };
                if !is_recovered {
                    self.agreement.count_recorded(walker);
                    let site = (site, is_asgct_alone);
                    self.take_frames(&head, (&mut frames, cut), began, site, jvm);
                }
            }
            Err((why, interrupted)) => {
                if !self.any_recovered(&head, entry, (interrupted, &[]), &mut frames, jvm) {
                    if head.wants_witness {
                        self.witness.drop_stack();
                    }
                    self.take_none(&head, why);
                }
            }
        }
        self.frames = frames;
        self.native.clear();
    }

    /// Asks the JVM which virtual thread a carrier runs, if the sampled one has no name yet. Each
    /// carrier is asked once a drain. The carrier may run another virtual thread by now, which then
    /// gets its name.
    fn ask_name(&mut self, head: &Head, jvm: &mut dyn Jvm) {
        if !self.contexts.lacks_name(head.mounted_vthread, &self.recording)
            || !self.names_asked.insert(head.serial)
        {
            return;
        }
        if let Some((id, name)) = jvm.mounted(head.tid, head.serial) {
            // Cut to the length that the handler would read.
            let is_wide = name.chars().any(|letter| u32::from(letter) > 0xff);
            let letters = name.encode_utf16().take(if is_wide { NAME_BYTES / 2 } else { NAME_BYTES });
            self.contexts.set_name(id, Some(letters), &mut self.recording);
        }
    }

    fn add(&mut self, head: &Head, track: ThreadId, stack: StackId, trust: Trust) {
        let context = self.contexts.context(head, &mut self.recording);
        let cpu_ns = self.tracks.clock(head, track);
        let Head { time: time_ns, weight, .. } = *head;
        let sample = Sample { time_ns, cpu_ns, stack, weight, trust, context };
        self.recording.sample(track, sample);
        if let Some(times) = &self.wall_clock {
            // The time ends at the sample, and that of a wait begins at its time.
            let amount = times.of_sample(head);
            let time_ns = time_ns.saturating_sub(amount);
            let amount = Amount { time_ns, stack, amount, events: 1, context };
            self.recording.amount(track, &WALL_CLOCK, amount);
        }
    }

    /// Records intervals for which the thread got no signal. They have no stack.
    pub fn take_unsignalled(&mut self, due: &[Unsignalled]) {
        for Unsignalled { tid, serial, weight, time, cpu, is_java } in due.iter().copied() {
            let why = if is_java { Reason::NOT_SIGNALLED } else { Reason::NO_JAVA_THREAD };
            let head = Head { time, cpu, tid, serial, weight, ..Head::default() };
            self.take_none(&head, why);
        }
    }

    /// Records a sample with the result of its walk.
    pub fn take_walk(&mut self, head: &Head, walk: Walk<'_>, jvm: &mut dyn Jvm) {
        match walk {
            Walk::Stack(Stack { frames, cut }) => {
                self.take_frames(head, (&mut frames.to_vec(), cut), Began::Here, (None, false), jvm);
            }
            Walk::None(why) => self.take_none(head, why),
        }
    }

    /// Records a sample with a stack. `site` is the instruction at which the innermost frames were
    /// found, if it is in compiled code.
    fn take_frames(
        &mut self,
        head: &Head,
        (frames, mut cut): (&mut Vec<Frame>, Option<Cut>),
        began: Began,
        (site, is_asgct_alone): (Option<Site>, bool),
        jvm: &mut dyn Jvm,
    ) {
        let (track, _) = self.tracks.track(head, &mut self.recording);
        let walk = Stack { frames, cut };
        // The witness goes first, because the thread runs on.
        let jvm_stack = head.wants_witness.then(|| self.witness.take(head, walk, began, jvm));
        if !head.wants_witness && walk.frames.iter().any(|frame| frame.method().is_none()) {
            self.witness.make_ids(head, jvm);
        }
        let mut jvm_stack = jvm_stack.flatten();
        let known = site.map_or(Certainty::Exact.into(), |site| {
            let is_leaf_call = is_asgct_alone
                && jvm.code_at(site.pc) == CodeAt::Other
                && frames.first().is_some_and(|top| top.bci() != NATIVE);
            let corrected = top_frames::correct((frames, &mut cut), 0, jvm_stack.as_mut(), site, jvm);
            if is_leaf_call { Certainty::Approximate.into() } else { corrected.known }
        });
        self.resolved.clear();
        jvm.resolve_frames(frames, head.time, &mut self.resolved);
        let judged = self.judge(head, (began, known), cut, jvm);
        let (trust, stack) = self.java_stack(head, judged, jvm_stack, track, jvm);
        self.add(head, track, stack, trust);
    }

    /// Records a sample without a stack.
    fn take_none(&mut self, head: &Head, why: Reason) {
        let (track, outside) = self.tracks.track(head, &mut self.recording);
        // A thread without Java was outside Java at any time, seen or unseen.
        let is_outside = why.is_outside() || why.is_unseen() && !outside.is_java;
        let (trust, stack) = if is_outside {
            let stack = self.recording.placeholder_stack(None, outside.name, outside.category);
            let category = outside.category;
            let leaf = Leaf::new(Trust::Unchecked);
            let stack = self.native.on_top(stack, Some(category), leaf, &mut self.recording);
            (Trust::Unchecked, stack)
        } else {
            *self.unwalked.entry(why.name().to_owned()).or_default() += 1;
            if why.is_unseen() {
                *self.unseen.entry(why).or_default() += u64::from(head.weight);
            }
            let stack =
                self.recording.placeholder_stack(None, &no_stack(why.description()), Category::NoStack);
            (Trust::Unwalked, stack)
        };
        self.add(head, track, stack, trust);
    }

    /// Returns true if proof refutes the current walk. `against` selects the verdicts that count as
    /// a refutation.
    fn refutes(
        &mut self,
        head: &Head,
        cut: Option<Cut>,
        against: fn(Verdict) -> bool,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let Self { walks, witness, resolved, .. } = self;
        let walk = Stack { frames: resolved, cut };
        walks.refutes(walk, head.serial, against, jvm, asking_root(witness, head, walk))
    }
}
