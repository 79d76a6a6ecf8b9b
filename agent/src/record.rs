//! From an entry in a lane to a sample in the recording: whose it is, what became of it, and its stack by name.
//!
//! Every entry ends as exactly one sample of exactly one fate.

mod names;
mod offences;
mod place;
mod room;
mod show;
mod tree;
mod walks;

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::time::Duration;

use hdrhistogram::Histogram;
use jni::JNIEnv;
use vouch_recording::{Category, Fate, Recording, Sample, StackId, ThreadId};
use vouch_report::{EdgeReport, Power, RefutationReport};
use vouch_sample::{Frame, Head, Reason, Walk};
use vouch_signal::handler::Counters;
use vouch_signal::lane::{Entry, Lane};
use vouch_signal::record::{accounts, head};

use crate::options::Refuted;
use crate::prove::{Asking, Prover, Roots};
use crate::resolve::Resolver;
use crate::threads::{Debt, Life, NameId, Unsignalled, registry, scan};
use crate::witness::Witness;
use names::{Names, place as place_of};
use show::{Judged, Shown};
use tree::Standing;
use walks::{Walks, fate};

/// The recording as it grows.
#[derive(Debug)]
pub struct Recorder {
    pub recording: Recording,
    pub witness: Witness,
    depth: usize,
    /// A track for each thread under each of its names.
    tracks: HashMap<(u32, NameId), ThreadId>,
    /// Tracks of threads that nobody knows but by the kernel's id.
    strays: HashMap<u32, ThreadId>,
    walks: Walks,
    names: Names,
    shown: Shown,
    epoch: u64,
    /// How many samples had no stack, for each reason.
    unwalked: BTreeMap<String, u64>,
    handler_ns: Histogram<u64>,
    handler_total_ns: u64,
    dropped: (u64, u64),
    /// The frames of the walk at hand: kept to be filled again.
    frames: Vec<Frame>,
}

impl Recorder {
    pub fn new(depth: usize, refuted: Refuted, witness: Witness, prover: Prover, roots: Roots) -> Self {
        Self {
            recording: Recording::new(),
            witness,
            depth,
            tracks: HashMap::new(),
            strays: HashMap::new(),
            walks: Walks::new(depth, prover, roots),
            names: Names::default(),
            shown: Shown::new(refuted),
            epoch: 0,
            unwalked: BTreeMap::new(),
            handler_ns: Histogram::new_with_bounds(1, u32::MAX.into(), 2)
                .unwrap_or_else(|_| unreachable!("these bounds are allowed")),
            handler_total_ns: 0,
            dropped: (0, 0),
            frames: Vec::new(),
        }
    }

    /// Takes in what waits in the lanes.
    pub fn drain(&mut self, lanes: &[Lane<'_>], resolver: &Resolver, env: &mut JNIEnv<'_>) {
        resolver.name_pending(env);
        for lane in lanes {
            lane.drain(|entry| self.take(entry, resolver, env));
        }
    }

    /// Takes in what the handler counted as dropped.
    pub fn count_dropped(&mut self, counters: &Counters) {
        use std::sync::atomic::Ordering::Relaxed;
        let now = (counters.dropped.load(Relaxed), counters.dropped_weight.load(Relaxed));
        let (samples, weight) = (now.0 - self.dropped.0, now.1 - self.dropped.1);
        if samples > 0 {
            self.recording.dropped(None, samples, weight);
        }
        self.dropped = now;
    }

    /// Names, ends and CPU times of the tracks, as far as they are known now. Threads that had no sample get their
    /// track here.
    pub fn complete_tracks(&mut self) {
        let Self { recording, tracks, .. } = self;
        registry().each_life(|life| {
            if life.own || !life.sampled {
                return;
            }
            for name in 0..life.names() {
                // The launcher's first thread, say: it only waits, and is nobody's.
                let native = !life.java && is_native(&life.name(name));
                if native && !tracks.contains_key(&(life.serial, name)) {
                    continue;
                }
                let track =
                    *tracks.entry((life.serial, name)).or_insert_with(|| add_track(recording, life, name));
                recording.set_thread_name(track, &life.name(name));
                recording.set_thread_cpu(track, life.cpu_under(name));
                if let Some(ended) = life.ended {
                    recording.end_thread(track, ended);
                }
            }
        });
    }

    /// Why samples had no stack, and how many.
    pub fn unwalked(&self) -> &BTreeMap<String, u64> {
        &self.unwalked
    }

    /// Handler times, and their sum.
    pub fn handler_ns(&self) -> (&Histogram<u64>, u64) {
        (&self.handler_ns, self.handler_total_ns)
    }

    /// How many methods nobody could name.
    pub fn names_lost(&self) -> u64 {
        self.names.lost()
    }

    /// The edges of all stacks, with what came of holding them to the bytecode.
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
            took_ms: Duration::from_nanos(self.walks.prover.took_ns()).as_secs_f64() * 1_000.0,
        }
    }

    /// What is against the refuted stacks, the most frequent first.
    pub fn refutations(&self) -> Vec<RefutationReport> {
        self.walks.offences.report()
    }

    /// How many samples were refuted in which way.
    pub fn refuted(&self) -> BTreeMap<String, u64> {
        self.walks.offences.kinds()
    }

    /// Of how many samples less of the stack is kept than was asked for, for want of room.
    pub fn stacks_cut(&self) -> u64 {
        self.walks.room.cut()
    }

    /// How much of what is wrong proof would notice.
    pub fn power(&self, resolver: &Resolver, env: &mut JNIEnv<'_>) -> BTreeMap<String, Power> {
        let mut asking = Asking { resolver, env, time: u64::MAX };
        self.walks
            .power(&mut asking)
            .into_iter()
            .map(|(corruption, power)| (corruption.to_owned(), power))
            .collect()
    }

    fn take(&mut self, entry: &Entry<'_>, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        let Some(head) = head(entry) else { return };
        self.handler_ns.saturating_record(head.took.into());
        self.handler_total_ns += u64::from(head.took);
        let mut frames = take(&mut self.frames);
        frames.clear();
        // The first walker's account is the one that is judged and shown.
        let walk = match accounts(entry).next() {
            Some(account) => account.answer.map(|_| frames.extend(account.frames())),
            None => Err(Reason::NO_JAVA_FRAME),
        };
        let walk = walk.map_or_else(Walk::None, |()| Walk::Frames(&frames));
        self.take_walk(&head, walk, resolver, env);
        self.frames = frames;
    }

    /// Takes in what was due while no signal was taken: there is no stack for it.
    pub fn take_unsignalled(&mut self, due: &[Unsignalled], resolver: &Resolver, env: &mut JNIEnv<'_>) {
        for Unsignalled { tid, serial, debt, java } in due.iter().copied() {
            let why = if java { Reason::NOT_SIGNALLED } else { Reason::NO_JAVA_THREAD };
            let Debt { weight, time, cpu } = debt;
            let head = Head { time, cpu, tid, serial, weight, took: 0, witnessed: false };
            self.take_walk(&head, Walk::None(why), resolver, env);
        }
    }

    /// Takes in a sample with its walk.
    pub fn take_walk(&mut self, head: &Head, walk: Walk<'_>, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        let (track, outside) = self.track(head);
        let (fate, stack) = match walk {
            Walk::Frames(frames) => {
                if head.witnessed {
                    // Before all else: the thread runs on.
                    self.witness.take(head, frames, self.depth, resolver, env);
                }
                self.java_stack(head, frames, track, &mut Asking { resolver, env, time: head.time })
            }
            Walk::None(why) if why.is_outside() => {
                (Fate::Outside, place_of(&mut self.recording, outside.name, outside.category))
            }
            Walk::None(why) => {
                let name = why.name();
                *self.unwalked.entry(name.to_owned()).or_default() += 1;
                let stack = place_of(&mut self.recording, &format!("[no stack: {name}]"), Category::NoStack);
                (Fate::Unwalked, stack)
            }
        };
        let sample = Sample { time_ns: head.time, cpu_ns: head.cpu, stack, weight: head.weight, fate };
        self.recording.sample(track, sample);
    }

    /// Fate and stack of the walk at hand.
    fn java_stack(
        &mut self,
        head: &Head,
        walk: &[Frame],
        track: ThreadId,
        asking: &mut Asking<'_, '_>,
    ) -> (Fate, StackId) {
        if self.epoch != asking.resolver.epoch() {
            self.epoch = asking.resolver.epoch();
            self.walks.forget();
            self.names.forget();
            self.shown.forget();
        }
        let Self { recording, witness, walks, names, shown, .. } = self;
        let walked = walks.walk(walk, recording, names, asking);
        let standing =
            walks.judge(walked, head.serial, asking, |asking| witness.present_root(head, asking.env));
        let refuted = match standing {
            Standing::Refuted(offence) => {
                let how = walks.offences.count(offence, track, walk, recording, &mut walks.prover, asking);
                recording.refuted(track, head.time, how);
                Some(walks.offences.kind(offence))
            }
            Standing::Proven | Standing::Explained => None,
        };
        let fate = fate(standing);
        let stack = match walked.leaf {
            Some(leaf) => shown.stack(Judged { leaf, fate, refuted }, &walks.tree, recording, names, asking),
            None => place_of(recording, "[no frames]", Category::NoStack),
        };
        (fate, stack)
    }

    /// The track that a sample belongs to, and what its thread does when it runs no Java.
    fn track(&mut self, head: &Head) -> (ThreadId, place::Outside) {
        let nameless = |life: &Life| !life.java && !life.is_named(head.time);
        if registry().with_life(head.serial, head.cpu, nameless) == Some(true) {
            // Its name tells what it does, and until it has given itself one it has that of the thread that made it: the
            // VM's own thread makes the collector's.
            scan::name(head.tid);
        }
        let Self { recording, tracks, strays, .. } = self;
        let known = registry().with_life(head.serial, head.cpu, |life| {
            let name = life.name_at(head.time);
            let track =
                *tracks.entry((life.serial, name)).or_insert_with(|| add_track(recording, life, name));
            (track, place::outside(life.java, &life.name(name)))
        });
        known.unwrap_or_else(|| {
            let name = format!("thread {}", head.tid);
            let track = strays
                .entry(head.tid)
                .or_insert_with(|| recording.add_thread(&name, head.tid.into(), head.time));
            (*track, place::outside(false, &name))
        })
    }
}

/// True if a thread without Java is none of the VM's, as far as its name tells.
fn is_native(name: &str) -> bool {
    place::outside(false, name).category == Category::Native
}

fn add_track(recording: &mut Recording, life: &Life, name: NameId) -> ThreadId {
    recording.add_thread(&life.name(name), life.tid.into(), life.started)
}
