//! The witness: some of the samples are compared with GetStackTrace, in the midst of ordinary
//! profiling.
//!
//! The agent says when; the next walk that succeeds is marked by its handler, which wakes the
//! agent's thread and stays until that asks GetStackTrace (`vouch_signal::witness_rendezvous`). So
//! the thread goes on to its next safepoint poll at most, and everything must agree but the frames
//! of its topmost compiled frame, as far as it is known which those are; every frame, if it
//! provably did not run. Otherwise only the roots can be compared, and it is counted apart. The
//! walk has always been taken before. It must never cost more than it was allowed, nor call a walk
//! wrong that may be right.
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
use vouch_verify::witness::{Difference, agrees_outside_top, compare, compare_outside_top, root_side, rules};

use crate::clock;
use crate::jvm::{Jvm, Top, UnknownTop, Witnessed};
use crate::options::choices::Witnessing;
use crate::record::recovered::Began;

/// By default the time between two is so many times what the last one cost: a thousandth of the
/// run, and some reserve.
const SPARING: u32 = 1_250;
/// And never less than this.
const LEAST: Duration = Duration::from_millis(100);
/// As much longer is the time between two askings for ids alone.
const IDS_SPARING: u32 = 500;
/// While a mark waits to be taken there is nothing to look at.
const PENDING: Duration = Duration::from_secs(1);

/// When to ask, and what came of it.
#[derive(Debug)]
pub struct Witness {
    wish: Witnessing,
    /// When the next one is due; `None` while one is marked for.
    next: Option<Instant>,
    counts: WitnessReport,
    /// What came of asking about the thread that stayed.
    answered: Option<Answer>,
    /// What the one at hand has taken so far.
    spent: Duration,
    carriers: Carriers,
    /// When a thread may be asked about for ids alone, and how long that usually takes.
    next_ids: Instant,
    smoothed_cost: SmoothedCost,
}

/// The JVM's own account of the same moment as a walk.
#[derive(Debug)]
pub struct Account {
    pub frames: Vec<Frame>,
    /// What may have gone since; `None`: nothing, every frame was compared.
    pub top: Option<Top>,
    /// It is another one.
    pub differs: bool,
}

impl Account {
    /// True if it speaks against this walk, as it is told: the frames by what their ids meant.
    pub fn refutes(&self, walk: &[Frame]) -> bool {
        let walk: Vec<Frame> = walk.iter().copied().map(rules::normalise_walk_frame).collect();
        match self.top {
            None => walk != self.frames,
            // A walk that does not fit what stood on top is not compared.
            Some(top) => top.frames_in(&walk).is_ok_and(|top| !agrees_outside_top(&walk, top, &self.frames)),
        }
    }
}

/// What GetStackTrace said of a thread that stayed for it.
#[derive(Debug)]
struct Answer {
    /// The sample's.
    time: u64,
    serial: u32,
    witnessed: Option<Witnessed>,
    /// What may have gone meanwhile: the thread was to stop at its next poll; `None` if it may have
    /// gone on from there.
    top: Option<Top>,
}

/// Which methods stand on a carrier's stack alone, between its own frames and those of a virtual
/// thread, or when one comes or goes. No class of theirs is ever unloaded.
#[derive(Debug, Default)]
struct Carriers(HashMap<MethodId, bool>);

impl Carriers {
    const METHODS: [&str; 3] = [
        "jdk.internal.vm.Continuation.enterSpecial",
        "jdk.internal.vm.Continuation.enter",
        "java.lang.VirtualThread.runContinuation",
    ];

    /// True if a walk is of a carrier.
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

/// Where what lies on the calling thread's stack lies that is called from here.
fn own_stack() -> Range<usize> {
    const DEEP: usize = 256 << 10;
    const FRAME: usize = 4 << 10;
    let here = std::hint::black_box(0_u8);
    let here = std::ptr::from_ref(&here) as usize;
    here.saturating_sub(DEEP)..here.saturating_add(FRAME)
}

/// The frames with an id for each name and descriptor. What has no name keeps its own.
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

/// Counts where only the roots can be compared.
fn count_root(counts: &mut WitnessReport, walk: &[Frame], witness: &[Frame], why: UnknownTop) {
    *counts.root_only_because.entry(why.name().to_owned()).or_default() += 1;
    let kind = root_side(walk, witness).kind();
    counts.root_only.count(kind.iter().count(), walk.len(), walk.len().saturating_sub(1));
    if let Some(kind) = kind {
        counts.difference(kind);
    }
}

/// What it has cost since the calling thread's CPU clock stood there: as much again for the thread
/// that is asked about, which walks its own stack.
fn cost(begun: u64) -> Duration {
    2 * Duration::from_nanos(clock::own_cpu().saturating_sub(begun))
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

    /// Asks about the thread that stays in its handler, if one does: before all else, since it must
    /// not stay long.
    pub fn answer(&mut self, rendezvous: &WitnessRendezvous, jvm: &mut dyn Jvm) {
        if let Some(post) = rendezvous.posted() {
            let begun = clock::own_cpu();
            rendezvous.set_requester_stack(&own_stack());
            let top = jvm.top(&post);
            let witnessed = jvm.stack(post.tid, post.serial, &mut || {
                rendezvous.announce_request();
            });
            let stopped = rendezvous.end_round();
            self.answered(&post, witnessed, Some(top).filter(|_| stopped));
            self.spent += cost(begun);
        }
        // Also of one that has gone before it was asked about.
        let stayed = Duration::from_nanos(rendezvous.take_waited_ns());
        self.spent += stayed;
        self.counts.stayed_ms += millis(stayed);
        self.counts.longest_stay_ms = self.counts.longest_stay_ms.max(millis(stayed));
    }

    /// GetStackTrace has answered about a thread that has stayed; what stood on top of it, if it
    /// was to stop at its next poll.
    pub fn answered(&mut self, post: &PostedThread, witnessed: Option<Witnessed>, top: Option<Top>) {
        let top = top.filter(|_| witnessed.is_some());
        self.answered = Some(Answer { time: post.time, serial: post.serial, witnessed, top });
    }

    /// Witnesses a marked sample, whose walk is given, and where it began; gives the JVM's own
    /// account, if it is of the same moment.
    pub fn take(&mut self, head: &Head, walk: Stack<'_>, began: Began, jvm: &mut dyn Jvm) -> Option<Account> {
        let begun = clock::own_cpu();
        let answer = self.answered.take().filter(|it| (it.time, it.serial) == (head.time, head.serial));
        // What has no root can be compared with nothing.
        let account = walk.root().and_then(|_| self.compare(head, walk, began, answer, jvm));
        self.pay(begun);
        account
    }

    /// A marked sample has no walk to compare.
    pub fn forgo(&mut self) {
        self.answered = None;
        self.pay(clock::own_cpu());
    }

    /// What the one at hand took puts the next one off.
    fn pay(&mut self, begun: u64) {
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
    ) -> Option<Account> {
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
        // Where it began with a caller, what the JVM has on top is not what the walk has there,
        // even if the thread did not run.
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
                // A class may have been redefined before the thread came to its poll: then its
                // frames' methods have other ids.
                let walk = by_name(&walk, head.time, jvm);
                differences = compare_outside_top(&walk, left_out, &by_name(&witness, u64::MAX, jvm));
            }
            (&mut counts.all_but_top, differences)
        };
        // That the JVM had not numbered a method when it was walked is no difference between the
        // stacks.
        if walk.iter().any(|frame| frame.method() == MethodId::UNNUMBERED) {
            differences.retain(|difference| !matches!(difference, Difference::NullMethod { .. }));
        }
        grade.count(differences.len(), walk.len(), left_out);
        for difference in &differences {
            counts.difference(difference.kind());
        }
        let top = top.filter(|_| !exact);
        Some(Account { frames: witness, top, differs: !differences.is_empty() })
    }

    /// A sample that is of this fate by proof alone has been compared with this account.
    pub fn compared(&mut self, fate: Fate, account: &Account) {
        let WitnessReport { contradicted, confirmed, .. } = &mut self.counts;
        let counts = if account.differs { contradicted } else { confirmed };
        *counts.entry(fate.name().to_owned()).or_default() += 1;
    }

    /// The method that the thread of a sample began with, as far as GetStackTrace tells now. Who
    /// stands too deep cannot be asked about.
    pub fn present_root(&mut self, head: &Head, jvm: &mut dyn Jvm) -> Option<ResolvedMethod> {
        if self.wish == Witnessing::Off {
            return None;
        }
        let begun = clock::own_cpu();
        let witnessed = jvm.stack(head.tid, head.serial, &mut || ());
        // The next witness pays for it.
        self.spent += cost(begun);
        let root = witnessed?.frames.pop()?;
        Some(jvm.resolve(root.method(), u64::MAX))
    }

    /// A walk of this thread's has a frame whose method has no id: it was redefined while it ran,
    /// or its class was prepared by a virtual thread that was just leaving its carrier, of which
    /// the JVM says nothing. It makes one for each method that it tells of: asked once, the walks
    /// that come find it.
    pub fn make_ids(&mut self, head: &Head, jvm: &mut dyn Jvm) {
        if self.wish == Witnessing::Off || Instant::now() < self.next_ids {
            return;
        }
        let begun = clock::own_cpu();
        jvm.stack(head.tid, head.serial, &mut || ());
        jvm.make_ids();
        let took = cost(begun);
        self.counts.took_ms += millis(took);
        let lasts = self.smoothed_cost.update(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.next_ids = Instant::now() + Duration::from_nanos(lasts) * IDS_SPARING;
    }
}
