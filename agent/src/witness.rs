//! The witness: some of the samples are compared with GetStackTrace, in the midst of ordinary profiling.
//!
//! The agent says when; the next walk that succeeds is marked by the handler, which wakes the agent's thread; that asks
//! GetStackTrace about the same thread. If the thread provably did not run in between, the two must agree in every
//! frame. Otherwise only their roots can be compared, and it is counted apart. The walk has always been taken before.
//! It must never cost more than it was allowed.

use std::time::{Duration, Instant};

use vouch_report::WitnessReport;
use vouch_sample::{Frame, Head, Meaning, MethodId};
use vouch_witness::{RootSide, compare, root_side, rules};

use crate::jvm::{Jvm, Witnessed};
use crate::options::Witnessing;

/// By default the time between two is so many times what the last one took: a thousandth of the run, and some reserve.
const SPARING: u32 = 1_250;
/// And never less than this.
const LEAST: Duration = Duration::from_millis(100);
/// While a mark waits to be taken there is nothing to look at.
const PENDING: Duration = Duration::from_secs(1);

/// The methods by which a virtual thread's frames stand on its carrier's.
const ENTRIES: [&str; 2] =
    ["jdk.internal.vm.Continuation.enterSpecial", "jdk.internal.vm.Continuation.enter"];

/// When to ask, and what came of it.
#[derive(Debug)]
pub struct Witness {
    wish: Witnessing,
    /// When the next one is due; `None` while one is marked for.
    next: Option<Instant>,
    counts: WitnessReport,
}

impl Witness {
    pub fn new(wish: Witnessing) -> Self {
        Self { wish, next: Some(Instant::now()), counts: WitnessReport::default() }
    }

    /// True once, when a sample is to be marked.
    pub fn is_due(&mut self) -> bool {
        let due = self.wish != Witnessing::Off && self.next.is_some_and(|next| next <= Instant::now());
        if due {
            self.next = None;
        }
        due
    }

    /// The time until it is.
    pub fn next(&self) -> Duration {
        match self.next {
            Some(next) if self.wish != Witnessing::Off => next.saturating_duration_since(Instant::now()),
            _ => PENDING,
        }
    }

    /// What came of it so far.
    pub fn counts(&self) -> &WitnessReport {
        &self.counts
    }

    /// Witnesses a marked sample, whose walk is given.
    pub fn take(&mut self, head: &Head, walk: &[Frame], depth: usize, jvm: &mut dyn Jvm) {
        let begun = Instant::now();
        // A walk that was cut has no root to compare.
        if walk.len() <= depth {
            self.counts.asked += 1;
            let walk: Vec<Frame> = walk.iter().copied().map(rules::of_walk).collect();
            match jvm.stack(head) {
                None => self.counts.gone += 1,
                Some(Witnessed { frames, exact: false }) => self.count_root(root_side(&walk, &frames)),
                Some(Witnessed { frames, exact: true }) => {
                    let is_entry = |id: MethodId| {
                        let meaning = jvm.meaning(id, head.time);
                        let method = jvm.method(meaning);
                        method.is_some_and(|method| ENTRIES.contains(&method.full_name().as_str()))
                    };
                    if rules::mounted(&walk, &frames, is_entry) {
                        self.count_root(RootSide::Agrees);
                    } else {
                        self.count_exact(&walk, &frames);
                    }
                }
            }
        }
        let took = begun.elapsed();
        let took_ms = took.as_secs_f64() * 1_000.0;
        self.counts.took_ms += took_ms;
        self.counts.longest_ms = self.counts.longest_ms.max(took_ms);
        self.next = Some(match self.wish {
            Witnessing::Every(gap) => begun + gap,
            Witnessing::Auto | Witnessing::Off => begun + LEAST.max(took * SPARING),
        });
    }

    /// The method that the thread of a sample began with, as far as GetStackTrace tells now.
    pub fn present_root(&self, head: &Head, jvm: &mut dyn Jvm) -> Option<Meaning> {
        if self.wish == Witnessing::Off {
            return None;
        }
        let root = jvm.stack(head)?.frames.pop()?;
        Some(jvm.meaning(root.method(), u64::MAX))
    }

    fn count_root(&mut self, root: RootSide) {
        self.counts.root_only += 1;
        match root.kind() {
            None => self.counts.root_agreed += 1,
            Some(kind) => self.counts.difference(kind),
        }
    }

    fn count_exact(&mut self, walk: &[Frame], witness: &[Frame]) {
        self.counts.exact += 1;
        let differences = compare(walk, witness, usize::MAX).differences;
        if differences.is_empty() {
            self.counts.agreed += 1;
        }
        for difference in differences {
            self.counts.difference(difference.kind());
        }
    }
}
