//! From an entry in a lane to a sample in the recording: whose it is, what became of it, and its stack by name.
//!
//! Every entry ends as exactly one sample of exactly one fate. A stack is looked at frame by frame once; when the
//! same words come again, the answer is remembered.

mod place;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;

use hdrhistogram::Histogram;
use jni::JNIEnv;
use vouch_profile::{Category, Fate, Func, FuncId, Recording, Sample, StackId, ThreadId};
use vouch_signal::handler::Counters;
use vouch_signal::lane::{Entry, Lane};
use vouch_signal::record::{Head, NO_JAVA_THREAD, frames};
use vouch_signal::walker::{Frame, code_name};
use xxhash_rust::xxh3::xxh3_128;

use crate::resolve::{Method, Resolver};
use crate::threads::{Life, NameId, registry, scan};
use crate::witness::Witness;

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
    /// A walk's frames, by their hash, and the stack that they are.
    known_stacks: HashMap<u128, StackId>,
    known_funcs: HashMap<usize, (Method, FuncId)>,
    epoch: u64,
    codes: BTreeMap<String, u64>,
    handler_ns: Histogram<u64>,
    handler_total_ns: u64,
    nameless: HashSet<usize>,
    dropped: (u64, u64),
    /// The words of the walk at hand, and its frames: kept to be filled again.
    words: Vec<u8>,
    walk: Vec<Frame>,
}

impl Recorder {
    pub fn new(depth: usize, witness: Witness) -> Self {
        Self {
            recording: Recording::new(),
            witness,
            depth,
            tracks: HashMap::new(),
            strays: HashMap::new(),
            known_stacks: HashMap::new(),
            known_funcs: HashMap::new(),
            epoch: 0,
            codes: BTreeMap::new(),
            handler_ns: Histogram::new_with_bounds(1, u32::MAX.into(), 2)
                .unwrap_or_else(|_| unreachable!("these bounds are allowed")),
            handler_total_ns: 0,
            nameless: HashSet::new(),
            dropped: (0, 0),
            words: Vec::new(),
            walk: Vec::new(),
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

    /// ASGCT's codes of the samples without frames.
    pub fn codes(&self) -> &BTreeMap<String, u64> {
        &self.codes
    }

    /// Handler times, and their sum.
    pub fn handler_ns(&self) -> (&Histogram<u64>, u64) {
        (&self.handler_ns, self.handler_total_ns)
    }

    /// How many methods nobody could name.
    pub fn names_lost(&self) -> u64 {
        self.nameless.len() as u64
    }

    fn take(&mut self, entry: &Entry<'_>, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        let Some(head) = Head::read(entry) else { return };
        self.handler_ns.saturating_record(head.took.into());
        self.handler_total_ns += u64::from(head.took);
        let (track, outside) = self.track(&head);
        let (fate, stack) = match head.count {
            1.. => {
                self.walk.clear();
                self.walk.extend(frames(entry));
                if head.witnessed {
                    // Before all else: the thread runs on.
                    self.witness.take(&head, &self.walk, self.depth, resolver, env);
                }
                (Fate::Plausible, self.java_stack(head.time, resolver, env))
            }
            0 | NO_JAVA_THREAD => (Fate::Outside, self.place(outside.name, outside.category)),
            code => {
                let name = code_name(code);
                *self.codes.entry(name.to_owned()).or_default() += 1;
                (Fate::Unwalked, self.place(&format!("[no stack: {name}]"), Category::NoStack))
            }
        };
        let sample = Sample { time_ns: head.time, cpu_ns: head.cpu, stack, weight: head.weight, fate };
        self.recording.sample(track, sample);
    }

    /// The track that a sample belongs to, and what its thread does when it runs no Java.
    fn track(&mut self, head: &Head) -> (ThreadId, place::Outside) {
        let nameless = |life: &Life| !life.java && !life.is_named(head.time) && is_native(&life.name(0));
        if registry().with_life(head.serial, head.cpu, nameless) == Some(true) {
            // Younger than the last look at the kernel's list, perhaps; and its name tells what it does.
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

    /// The stack of the walk at hand.
    fn java_stack(&mut self, time: u64, resolver: &Resolver, env: &mut JNIEnv<'_>) -> StackId {
        if self.epoch != resolver.epoch() {
            self.epoch = resolver.epoch();
            self.known_stacks.clear();
            self.known_funcs.clear();
        }
        self.words.clear();
        for frame in &self.walk {
            self.words.extend_from_slice(&frame.bci.to_le_bytes());
            self.words.extend_from_slice(&frame.method.to_le_bytes());
        }
        // At 128 bits two stacks of one recording do not meet by chance.
        let hash = xxh3_128(&self.words);
        if let Some(stack) = self.known_stacks.get(&hash) {
            return *stack;
        }
        let walk = take(&mut self.walk);
        let cut = walk.len() > self.depth;
        let kept = &walk[..walk.len().min(self.depth)];
        let mut stack = cut.then(|| self.place(&format!("[cut at {} frames]", self.depth), Category::Other));
        for frame in kept.iter().rev() {
            let (func, line) = self.func(frame, time, resolver, env);
            let frame = self.recording.frame(func, line);
            stack = Some(self.recording.stack(stack, frame));
        }
        self.walk = walk;
        let stack = stack.unwrap_or_else(|| self.place("[no frames]", Category::NoStack));
        self.known_stacks.insert(hash, stack);
        stack
    }

    /// The function and line of a frame.
    fn func(
        &mut self,
        frame: &Frame,
        time: u64,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) -> (FuncId, Option<u32>) {
        if let Some((method, func)) = self.known_funcs.get(&frame.method) {
            return (*func, method.line(frame.bci));
        }
        let method = if frame.method == 0 { None } else { resolver.method(env, frame.method, time) };
        let Some(method) = method else {
            self.nameless.insert(frame.method);
            return (self.special_func("[unknown method]", Category::Other), None);
        };
        let class = &method.class;
        let source = class.source.as_deref().map(|path| self.recording.source(path));
        let resource = class.origin.resource.as_deref().map(|name| self.recording.resource(name));
        let func = self.recording.func(Func {
            name: &method.full_name(),
            category: class.origin.category,
            source,
            line: method.first_line(),
            resource,
            java: true,
        });
        let line = method.line(frame.bci);
        self.known_funcs.insert(frame.method, (method, func));
        (func, line)
    }

    /// A stack of one frame that stands for something other than a method.
    fn place(&mut self, name: &str, category: Category) -> StackId {
        let func = self.special_func(name, category);
        let frame = self.recording.frame(func, None);
        self.recording.stack(None, frame)
    }

    fn special_func(&mut self, name: &str, category: Category) -> FuncId {
        self.recording.func(Func { name, category, source: None, line: None, resource: None, java: false })
    }
}

/// True if a thread without Java is none of the VM's, as far as its name tells.
fn is_native(name: &str) -> bool {
    place::outside(false, name).category == Category::Native
}

fn add_track(recording: &mut Recording, life: &Life, name: NameId) -> ThreadId {
    recording.add_thread(&life.name(name), life.tid.into(), life.started)
}
