//! A thread under one of its names, and its samples.
//!
//! Samples are stored in the order in which they are added, which may differ slightly from that of
//! their times. Writers sort them if they need to. A stored sample must stay within 32 bytes, since
//! a recording has millions of them.

use crate::fate::{Fate, Tally};
use crate::ids::{ContextId, RefutationId, StackId};
use crate::markers::Marker;
use crate::measures::{Amount, Amounts, CPU, Measure};
use crate::trust::Trust;

/// A sample as it is added to a thread.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When the sample was taken: CLOCK_MONOTONIC, in nanoseconds.
    pub time_ns: u64,
    /// The thread's CPU clock at the sample, in nanoseconds.
    pub cpu_ns: u64,
    pub stack: StackId,
    /// The number of intervals that the sample counts for.
    pub weight: u32,
    /// How far the stack can be trusted.
    pub trust: Trust,
    /// The context that the program had set for the thread at the sample.
    pub context: Option<ContextId>,
}

/// A sample as it is stored in the recording. Its trust is that of its stack's leaf, and
/// its context is in [`Change`]s.
#[derive(Debug, Clone, Copy)]
pub struct StoredSample {
    pub time_ns: u64,
    pub cpu_ns: u64,
    pub stack: StackId,
    pub weight: u32,
}

/// A change of a thread's context: the samples of the thread from index `from` on have this
/// context.
#[derive(Debug, Clone, Copy)]
struct Change {
    from: usize,
    context: Option<ContextId>,
}

/// A refuted sample in the timeline of its thread, and its refutation.
#[derive(Debug, Clone, Copy)]
pub struct Refuted {
    pub time_ns: u64,
    pub stack: StackId,
    pub weight: u32,
    pub how: RefutationId,
}

/// The samples and markers of a thread while it had one name. A renamed thread has several of these
/// rows.
#[derive(Debug)]
pub struct Thread {
    pub(crate) name: String,
    pub(crate) tid: u64,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: Option<u64>,
    /// The CPU time that the kernel charged the thread while it had this name, in nanoseconds.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) tally: Tally,
    samples: Vec<StoredSample>,
    /// The changes of the thread's context. A list of changes takes no memory in programs without
    /// contexts.
    changes: Vec<Change>,
    refuted: Vec<Refuted>,
    markers: Vec<Marker>,
    amounts: Amounts,
    /// The weight of the thread's stored samples, in intervals.
    weight: u64,
    /// True if the thread has changed since the last call of [`take_touched`].
    ///
    /// [`take_touched`]: crate::Recording::take_touched
    pub(crate) touched: bool,
}

impl Thread {
    pub(crate) fn new(name: &str, tid: u64, started_ns: u64) -> Self {
        Self {
            name: name.to_owned(),
            tid,
            started_ns,
            ended_ns: None,
            cpu_ns: None,
            tally: Tally::default(),
            samples: Vec::new(),
            changes: Vec::new(),
            refuted: Vec::new(),
            markers: Vec::new(),
            amounts: Amounts::default(),
            weight: 0,
            touched: false,
        }
    }

    /// Makes a copy of the thread that has no samples.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            ended_ns: self.ended_ns,
            markers: self.markers.clone(),
            amounts: self.amounts.clone(),
            ..Self::new(&self.name, self.tid, self.started_ns)
        }
    }

    pub(crate) fn push(&mut self, sample: Sample, fate: Fate) {
        let Sample { time_ns, cpu_ns, stack, weight, context, .. } = sample;
        self.tally.add(fate, 1, weight.into());
        self.weight += u64::from(weight);
        if self.changes.last().and_then(|change| change.context) != context {
            self.changes.push(Change { from: self.samples.len(), context });
        }
        if self.samples.len() == self.samples.capacity() {
            // A quarter more, not twice as much: 24 bytes a sample stay within 30.
            self.samples.reserve_exact((self.samples.len() / 4).max(4));
        }
        self.samples.push(StoredSample { time_ns, cpu_ns, stack, weight });
    }

    pub(crate) fn refute(&mut self, refuted: Refuted) {
        self.refuted.push(refuted);
    }

    pub(crate) fn add_marker(&mut self, marker: Marker) {
        self.markers.push(marker);
    }

    pub(crate) fn add_amount(&mut self, measure: &'static Measure, amount: Amount) {
        self.amounts.add(measure, amount);
    }

    pub(crate) fn remove_amounts(&mut self, measure: &Measure) {
        self.amounts.remove(measure);
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn tid(&self) -> u64 {
        self.tid
    }

    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// Returns when the thread ended or changed its name, or `None` before that.
    pub fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// Returns the CPU time that the kernel charged the thread, if it was read before the thread
    /// ended.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.cpu_ns
    }

    /// Returns how many of the thread's samples have each fate.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the refuted samples of the thread.
    pub fn refuted(&self) -> &[Refuted] {
        &self.refuted
    }

    /// Returns the markers of the thread, in the order in which they were added.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    pub(crate) fn truncate_markers(&mut self, count: usize) {
        self.markers.truncate(count);
    }

    /// Returns the thread's amounts of all measures except CPU time.
    pub fn amounts(&self) -> &Amounts {
        &self.amounts
    }

    /// Returns the thread's samples of any measure, in the order in which they were recorded.
    pub fn measured(&self, measure: &Measure) -> impl Iterator<Item = Amount> {
        let samples = (*measure == CPU).then(|| self.samples_in_contexts()).into_iter().flatten();
        let samples = samples.map(|(sample, context)| Amount {
            time_ns: sample.time_ns,
            stack: sample.stack,
            amount: sample.weight.into(),
            events: 1,
            context,
        });
        samples.chain(self.amounts.get(measure).iter().copied())
    }

    /// Returns the samples of the thread, in the order in which they were added. Their times may be
    /// slightly out of order.
    pub fn samples(&self) -> &[StoredSample] {
        &self.samples
    }

    /// Returns the samples of the thread, each with its context.
    pub fn samples_in_contexts(&self) -> impl Iterator<Item = (&StoredSample, Option<ContextId>)> {
        self.samples_from(0)
    }

    /// Returns the samples of the thread from index `first` on, each with its context.
    pub fn samples_from(&self, first: usize) -> impl Iterator<Item = (&StoredSample, Option<ContextId>)> {
        let (before, after) =
            self.changes.split_at(self.changes.partition_point(|change| change.from < first));
        let mut context = before.last().and_then(|change| change.context);
        let mut changes = after.iter().peekable();
        self.samples.iter().enumerate().skip(first).map(move |(at, sample)| {
            if let Some(change) = changes.next_if(|change| change.from == at) {
                context = change.context;
            }
            (sample, context)
        })
    }

    /// Returns the sum of the weights of the thread's samples, in intervals.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub(crate) fn bytes(&self) -> u64 {
        let samples = self.samples.capacity() * size_of::<StoredSample>();
        let changes = self.changes.capacity() * size_of::<Change>();
        let refuted = self.refuted.capacity() * size_of::<Refuted>();
        let markers = self.markers.capacity() * size_of::<Marker>();
        (samples
            + changes
            + refuted
            + markers
            + self.amounts.bytes()
            + self.name.capacity()
            + size_of::<Self>()) as u64
    }
}
