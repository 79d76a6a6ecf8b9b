//! A thread under one of its names, and its samples.
//!
//! Samples are kept as they come, and may come slightly out of order: what needs them sorted sorts
//! them when it writes. A stored sample must stay within 32 bytes: there are millions.

use crate::fate::{Fate, Tally};
use crate::ids::{ContextId, RefutationId, StackId};
use crate::markers::Mark;
use crate::measures::{Amount, Amounts, CPU, Measure};

/// One sample, with what became of it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The thread's own CPU clock at the sample.
    pub cpu_ns: u64,
    pub stack: StackId,
    /// How many intervals the sample stands for.
    pub weight: u32,
    pub fate: Fate,
    /// Whose work the thread did, if the program has told.
    pub context: Option<ContextId>,
}

/// A sample as it is kept: its fate is counted already.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    pub time_ns: u64,
    pub cpu_ns: u64,
    pub stack: StackId,
    pub weight: u32,
}

/// From this sample of a thread's on, its samples have this context.
#[derive(Debug, Clone, Copy)]
struct Change {
    from: usize,
    context: Option<ContextId>,
}

/// A sample that was refuted, and how.
#[derive(Debug, Clone, Copy)]
pub struct Refuted {
    pub time_ns: u64,
    pub stack: StackId,
    pub weight: u32,
    pub how: RefutationId,
}

/// A thread under one of its names. Whoever has it can read it; only a recording changes it.
#[derive(Debug)]
pub struct Thread {
    pub(crate) name: String,
    pub(crate) tid: u64,
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: Option<u64>,
    /// What the kernel charged it.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) tally: Tally,
    samples: Vec<Stored>,
    /// Where their contexts change: most programs have none, and must not pay for them.
    changes: Vec<Change>,
    refuted: Vec<Refuted>,
    marks: Vec<Mark>,
    amounts: Amounts,
    /// The weight of the stored samples.
    weight: u64,
    /// Something came of it since that was last asked.
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
            marks: Vec::new(),
            amounts: Amounts::default(),
            weight: 0,
            touched: false,
        }
    }

    /// The same thread without its samples, of which only a part is to be shown.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            ended_ns: self.ended_ns,
            marks: self.marks.clone(),
            amounts: self.amounts.clone(),
            ..Self::new(&self.name, self.tid, self.started_ns)
        }
    }

    pub(crate) fn push(&mut self, sample: Sample) {
        let Sample { time_ns, cpu_ns, stack, weight, fate, context } = sample;
        self.tally.add(fate, 1, weight.into());
        self.weight += u64::from(weight);
        if self.changes.last().and_then(|change| change.context) != context {
            self.changes.push(Change { from: self.samples.len(), context });
        }
        if self.samples.len() == self.samples.capacity() {
            // A quarter more, not twice as much: 24 bytes a sample stay within 30.
            self.samples.reserve_exact((self.samples.len() / 4).max(4));
        }
        self.samples.push(Stored { time_ns, cpu_ns, stack, weight });
    }

    pub(crate) fn refute(&mut self, refuted: Refuted) {
        self.refuted.push(refuted);
    }

    pub(crate) fn mark(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    pub(crate) fn add_amount(&mut self, measure: &'static Measure, amount: Amount) {
        self.amounts.add(measure, amount);
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

    /// None while it lives, or keeps its name.
    pub fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// What the kernel charged it, if that was asked in time.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.cpu_ns
    }

    /// What became of its samples.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Its samples that were refuted.
    pub fn refuted(&self) -> &[Refuted] {
        &self.refuted
    }

    /// What happened to it, as it came.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub(crate) fn forget_marks(&mut self, count: usize) {
        self.marks.truncate(count);
    }

    /// The thread's amounts of all measures but CPU time.
    pub fn amounts(&self) -> &Amounts {
        &self.amounts
    }

    /// The samples of any measure, in the order in which they were recorded.
    pub fn measured(&self, measure: &Measure) -> impl Iterator<Item = Amount> {
        let samples = if *measure == CPU { self.samples() } else { &[] };
        let samples = samples.iter().map(|sample| Amount {
            time_ns: sample.time_ns,
            stack: sample.stack,
            amount: sample.weight.into(),
            events: 1,
        });
        samples.chain(self.amounts.get(measure).iter().copied())
    }

    /// As they came: maybe slightly out of order.
    pub fn samples(&self) -> &[Stored] {
        &self.samples
    }

    /// The same, each with its context.
    pub fn samples_in_contexts(&self) -> impl Iterator<Item = (&Stored, Option<ContextId>)> {
        self.samples_from(0)
    }

    /// The same from one of them on.
    pub fn samples_from(&self, first: usize) -> impl Iterator<Item = (&Stored, Option<ContextId>)> {
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

    /// Of the samples that are kept, in intervals.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub(crate) fn bytes(&self) -> u64 {
        let samples = self.samples.capacity() * size_of::<Stored>();
        let changes = self.changes.capacity() * size_of::<Change>();
        let refuted = self.refuted.capacity() * size_of::<Refuted>();
        let marks = self.marks.capacity() * size_of::<Mark>();
        (samples
            + changes
            + refuted
            + marks
            + self.amounts.bytes()
            + self.name.capacity()
            + size_of::<Self>()) as u64
    }
}
