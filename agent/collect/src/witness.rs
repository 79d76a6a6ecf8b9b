//! The witness compares some samples with GetStackTrace during ordinary profiling.
//!
//! The agent decides when to compare. The handler of the next successful walk marks its sample,
//! wakes the agent's thread, and waits until GetStackTrace was requested
//! (`vouch_signal::witness_rendezvous`). So the sampled thread runs to its next safepoint poll at
//! most. All frames must agree, except those of the topmost compiled frame if they are known. If
//! the thread provably did not run, every frame must agree. Otherwise only the roots can be
//! compared, and such witnesses are counted separately. The walk always comes first. The witness
//! must never cost more than its budget, nor refute a walk that may be right.
//!
//! # Invariants
//!
//! **Invariant 2.** The walk comes before its witness, because GetStackTrace makes method ids that
//! a walk may lack. `lab.rs` and `jvm/stacks.rs` keep the same order. Held by: the truth lab's
//! scenario `LateIds`, which would find nothing otherwise.
//!
//! **Invariant 19.** A witness calls no walk wrong that may be right. Its grade is fixed before the
//! two are compared. Held by: `record/tests/witness.rs`; `cargo xtask page witness`, where each
//! contradiction of a proven stack was examined.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::take;
use std::ops::Range;
use std::time::{Duration, Instant};

use vouch_recording::Fate;
use vouch_report::WitnessReport;
use vouch_sample::{Frame, Head, MethodId, ResolvedMethod, Stack};
use vouch_signal::smoothed_cost::SmoothedCost;
use vouch_signal::witness_rendezvous::{PostedThread, WitnessRendezvous};
use vouch_unwind::kernel::own_cpu;
use vouch_verify::witness::{Difference, agrees_outside_top, compare, compare_outside_top, root_side, rules};

use crate::choices::Witnessing;
use crate::jvm::{Jvm, Top, UnknownTop, Witnessed};
use crate::record::recovered::Began;

/// The factor from the cost of a witness to the default interval before the next one. It limits the
/// cost to a thousandth of the run, with some reserve.
const SPARING: u32 = 1_250;
/// The shortest interval between two comparisons with GetStackTrace.
const LEAST: Duration = Duration::from_millis(100);
/// The factor from the cost of a request for method ids alone to the interval before the next one.
const IDS_SPARING: u32 = 500;
/// The interval to the next check, after a request that a handler mark a sample.
const PENDING: Duration = Duration::from_secs(1);

/// Schedules the comparisons with GetStackTrace, and keeps their results.
#[derive(Debug)]
pub struct Witness {
    wish: Witnessing,
    /// The time of the next comparison. It is `None` while the handler is to mark a sample.
    next: Option<Instant>,
    counts: WitnessReport,
    /// The answer of GetStackTrace about the thread that waited in its handler.
    answered: Option<Answer>,
    /// The CPU time that the present comparison has cost so far.
    spent: Duration,
    carriers: Carriers,
    /// The earliest time of the next request for method ids alone. `smoothed_cost` is the usual
    /// cost of such a request.
    next_ids: Instant,
    smoothed_cost: SmoothedCost,
}

/// The stack that the JVM reported for the same moment as a walk.
#[derive(Debug)]
pub struct JvmStack {
    pub frames: Vec<Frame>,
    /// The top frames that may have returned since the walk. It is `None` if every frame was
    /// compared.
    pub top: Option<Top>,
    /// True if the JVM's stack differs from the walk.
    pub differs: bool,
}

impl JvmStack {
    /// Returns true if the JVM's stack refutes the walk. The walk's frames are compared by the
    /// methods to which their ids were resolved.
    pub fn refutes(&self, walk: &[Frame]) -> bool {
        let walk: Vec<Frame> = walk.iter().copied().map(rules::normalise_walk_frame).collect();
        match self.top {
            None => walk != self.frames,
            // A walk that does not match the top frames is not compared.
            Some(top) => top.frames_in(&walk).is_ok_and(|top| !agrees_outside_top(&walk, top, &self.frames)),
        }
    }
}

/// The answer of GetStackTrace about a thread that waited in its handler.
#[derive(Debug)]
struct Answer {
    /// The time of the sample that the answer belongs to.
    time: u64,
    serial: u32,
    witnessed: Option<Witnessed>,
    /// The frames that may have returned before the thread stopped at its next poll. It is `None`
    /// if the thread may have run further.
    top: Option<Top>,
}

/// The methods that occur only on a carrier's stack: between its frames and those of a virtual
/// thread, or during a mount or unmount. Their classes are never unloaded.
#[derive(Debug, Default)]
struct Carriers(HashMap<MethodId, bool>);

impl Carriers {
    const METHODS: [&str; 3] = [
        "jdk.internal.vm.Continuation.enterSpecial",
        "jdk.internal.vm.Continuation.enter",
        "java.lang.VirtualThread.runContinuation",
    ];

    /// Returns true if a walk has a method that occurs only on a carrier's stack.
    fn any_in(&mut self, walk: &[Frame], time: u64, jvm: &mut dyn Jvm) -> bool {
        let mut is_one = |method: MethodId| {
            *self.0.entry(method).or_insert_with(|| {
                let meaning = jvm.resolve(method, time);
                jvm.method(meaning).is_some_and(|method| Self::METHODS.contains(&method.full_name().as_str()))
            })
        };
        walk.iter().any(|frame| is_one(frame.method()))
    }
}

/// Returns the address range of the calling thread's stack that the callees of this function use.
fn own_stack() -> Range<usize> {
    const DEEP: usize = 256 << 10;
    const FRAME: usize = 4 << 10;
    let here = std::hint::black_box(0_u8);
    let here = std::ptr::from_ref(&here) as usize;
    here.saturating_sub(DEEP)..here.saturating_add(FRAME)
}

/// Returns the frames with one id for each name and descriptor. A frame without a name keeps its
/// id.
fn by_name(frames: &[Frame], time: u64, jvm: &mut dyn Jvm) -> Vec<Frame> {
    let name = |frame: &Frame| {
        let meaning = jvm.resolve(frame.method(), time);
        let id = jvm.method(meaning).map_or(frame.method(), |method| {
            let mut hasher = DefaultHasher::new();
            (&method.class.name, &method.name, &method.descriptor).hash(&mut hasher);
            MethodId(usize::try_from(hasher.finish()).unwrap_or(usize::MAX))
        });
        Frame::new(id, frame.bci())
    };
    frames.iter().map(name).collect()
}

/// Counts a witness in which only the roots can be compared.
fn count_root(counts: &mut WitnessReport, walk: &[Frame], witness: &[Frame], why: UnknownTop) {
    *counts.root_only_because.entry(why.name().to_owned()).or_default() += 1;
    let kind = root_side(walk, witness).kind();
    counts.root_only.count(kind.iter().count(), walk.len(), walk.len().saturating_sub(1));
    if let Some(kind) = kind {
        counts.difference(kind);
    }
}

/// Returns what a comparison has cost since the calling thread's CPU clock read `begun`. The cost
/// counts twice, because the sampled thread walks its own stack, too.
fn cost(begun: u64) -> Duration {
    2 * Duration::from_nanos(own_cpu().saturating_sub(begun))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

impl Witness {
    pub fn new(wish: Witnessing) -> Self {
        Self {
            wish,
            next: Some(Instant::now()),
            counts: WitnessReport::default(),
            answered: None,
            spent: Duration::ZERO,
            carriers: Carriers::default(),
            next_ids: Instant::now(),
            smoothed_cost: SmoothedCost::default(),
        }
    }

    /// Returns true if a sample is to be marked for comparison now, and only once for each.
    pub fn is_due(&mut self) -> bool {
        let due = self.wish != Witnessing::Off && self.next.is_some_and(|next| next <= Instant::now());
        if due {
            self.next = None;
        }
        due
    }

    /// Returns the time until the next comparison is due.
    pub fn next(&self) -> Duration {
        match self.next {
            Some(next) if self.wish != Witnessing::Off => next.saturating_duration_since(Instant::now()),
            _ => PENDING,
        }
    }

    /// Returns the results of all comparisons so far.
    pub fn counts(&self) -> &WitnessReport {
        &self.counts
    }

    /// Requests the stack of the thread that waits in its handler, if there is one. This must
    /// happen before all other work, because that thread must not wait long.
    pub fn answer(&mut self, rendezvous: &WitnessRendezvous, jvm: &mut dyn Jvm) {
        if let Some(post) = rendezvous.posted() {
            let begun = own_cpu();
            rendezvous.set_requester_stack(&own_stack());
            let top = jvm.top(&post);
            let witnessed = jvm.stack(post.tid, post.serial, &mut || {
                rendezvous.announce_request();
            });
            let stopped = rendezvous.end_round();
            self.answered(&post, witnessed, Some(top).filter(|_| stopped));
            self.spent += cost(begun);
        }
        // This includes the wait of a thread that continued before the request.
        let stayed = Duration::from_nanos(rendezvous.take_waited_ns());
        self.spent += stayed;
        self.counts.stayed_ms += millis(stayed);
        self.counts.longest_stay_ms = self.counts.longest_stay_ms.max(millis(stayed));
    }

    /// Stores the stack that GetStackTrace returned for a thread that waited. `top` has its top
    /// frames, if it stops at its next poll.
    pub fn answered(&mut self, post: &PostedThread, witnessed: Option<Witnessed>, top: Option<Top>) {
        let top = top.filter(|_| witnessed.is_some());
        self.answered = Some(Answer { time: post.time, serial: post.serial, witnessed, top });
    }

    /// Compares a marked sample with its witness. Returns the JVM's stack, if it is of the same
    /// moment. `began` is the frame with which the walk began.
    pub fn take(
        &mut self,
        head: &Head,
        walk: Stack<'_>,
        began: Began,
        jvm: &mut dyn Jvm,
    ) -> Option<JvmStack> {
        let begun = own_cpu();
        let answer = self.answered.take().filter(|it| (it.time, it.serial) == (head.time, head.serial));
        // A walk without a root cannot be compared.
        let jvm_stack = walk.root().and_then(|_| self.compare(head, walk, began, answer, jvm));
        self.delay_next_comparison(begun);
        jvm_stack
    }

    /// Drops the JVM's stack for a marked sample that has no walk to compare.
    pub fn drop_stack(&mut self) {
        self.answered = None;
        self.delay_next_comparison(own_cpu());
    }

    /// Delays the next comparison in proportion to the cost of the present one.
    fn delay_next_comparison(&mut self, begun: u64) {
        let took = take(&mut self.spent) + cost(begun);
        self.counts.took_ms += millis(took);
        self.counts.longest_ms = self.counts.longest_ms.max(millis(took));
        self.next = Some(match self.wish {
            Witnessing::Every(gap) => Instant::now() + gap,
            Witnessing::Auto | Witnessing::Off => Instant::now() + LEAST.max(took * SPARING),
        });
    }

    fn compare(
        &mut self,
        head: &Head,
        walk: Stack<'_>,
        began: Began,
        answer: Option<Answer>,
        jvm: &mut dyn Jvm,
    ) -> Option<JvmStack> {
        let (witnessed, top) = match answer {
            Some(Answer { witnessed, top, .. }) => (witnessed, top),
            None => (jvm.stack(head.tid, head.serial, &mut || ()), None),
        };
        self.counts.asked += 1;
        let Some(Witnessed { frames: mut witness, exact, .. }) = witnessed else {
            self.counts.gone += 1;
            return None;
        };
        rules::cut_like_walk(&mut witness, walk);
        let walk: Vec<Frame> = walk.frames.iter().copied().map(rules::normalise_walk_frame).collect();
        // If the walk began with a caller, the JVM's top frames are not in the walk, even if the
        // thread did not run.
        let top = top.or(exact.then(Top::default)).map(|top| began.top(top));
        let exact = exact && began == Began::Here;
        let left_out = if self.carriers.any_in(&walk, head.time, jvm) {
            Err(UnknownTop::Carrier)
        } else if exact {
            Ok(0)
        } else {
            top.ok_or(UnknownTop::Late).and_then(|top| top.frames_in(&walk))
        };
        let counts = &mut self.counts;
        let left_out = match left_out {
            Ok(left_out) => left_out,
            Err(why) => {
                count_root(counts, &walk, &witness, why);
                return None;
            }
        };
        let (grade, mut differences) = if exact {
            (&mut counts.exact, compare(Stack::whole(&walk), &witness).differences)
        } else {
            let mut differences = compare_outside_top(&walk, left_out, &witness);
            if !differences.is_empty() {
                // A class may have been redefined before the thread reached its poll. Then the
                // methods of its frames have other ids.
                let walk = by_name(&walk, head.time, jvm);
                differences = compare_outside_top(&walk, left_out, &by_name(&witness, u64::MAX, jvm));
            }
            (&mut counts.all_but_top, differences)
        };
        // A method without an id at the time of the walk is no difference between the stacks.
        if walk.iter().any(|frame| frame.method() == MethodId::UNNUMBERED) {
            differences.retain(|difference| !matches!(difference, Difference::NullMethod { .. }));
        }
        grade.count(differences.len(), walk.len(), left_out);
        for difference in &differences {
            counts.difference(difference.kind());
        }
        let top = top.filter(|_| !exact);
        Some(JvmStack { frames: witness, top, differs: !differences.is_empty() })
    }

    /// Records that a sample was compared with this stack, if the sample's fate follows from the
    /// proof alone.
    pub fn compared(&mut self, fate: Fate, jvm_stack: &JvmStack) {
        let WitnessReport { contradicted, confirmed, .. } = &mut self.counts;
        let counts = if jvm_stack.differs { contradicted } else { confirmed };
        *counts.entry(fate.name().to_owned()).or_default() += 1;
    }

    /// Returns the root method of the sample's thread, as GetStackTrace reports it now. Returns
    /// `None` for a stack that is too deep.
    pub fn present_root(&mut self, head: &Head, jvm: &mut dyn Jvm) -> Option<ResolvedMethod> {
        if self.wish == Witnessing::Off {
            return None;
        }
        let begun = own_cpu();
        let witnessed = jvm.stack(head.tid, head.serial, &mut || ());
        // The interval to the next witness includes this cost.
        self.spent += cost(begun);
        let root = witnessed?.frames.pop()?;
        Some(jvm.resolve(root.method(), u64::MAX))
    }

    /// Makes ids for the methods of this thread's frames, because a method in a walk has none. The
    /// method was redefined while it ran, or an unmounting virtual thread prepared its class, which
    /// the JVM does not report. GetStackTrace makes an id for each method that it reports, so later
    /// walks find it.
    pub fn make_ids(&mut self, head: &Head, jvm: &mut dyn Jvm) {
        if self.wish == Witnessing::Off || Instant::now() < self.next_ids {
            return;
        }
        let begun = own_cpu();
        jvm.stack(head.tid, head.serial, &mut || ());
        jvm.make_ids();
        let took = cost(begun);
        self.counts.took_ms += millis(took);
        let lasts = self.smoothed_cost.update(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.next_ids = Instant::now() + Duration::from_nanos(lasts) * IDS_SPARING;
    }
}
