//! A fixture for the tests of the stages. It has a recorder, a lane that is filled as a handler
//! fills it, a thread `main`, and a program of six methods. It must never assert anything.

use std::collections::BTreeMap;
use std::time::Duration;

use vouch_recording::{Id, Tally};
use vouch_sample::{Answer, Cut, Frame, Head, MethodId, Reason, Stack, Walk};
use vouch_signal::lane::{Lane, Word};
use vouch_signal::sample_layout::{Origin, Sample, max_words};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_unwind::context::Registers;
use vouch_unwind::hotspot::mounted_vthread::VthreadName;
use vouch_unwind::walker::RawFrame;

use crate::choices::{Refuted, Showing, Witnessing};
use crate::contexts::Contexts;
use crate::events::{EventType, EventTypes};
use crate::jvm::Jvm;
use crate::jvm::fake::FakeJvm;
use crate::record::Recorder;
use crate::threads::fake::FakeThreads;
use crate::witness::Witness;

/// The thread id of the test's thread, which exceeds the kernel's largest one.
pub const TID: u32 = 5_000_000;
pub const DEPTH: usize = 8;

pub const MAIN: usize = 1;
pub const STORE: usize = 2;
pub const WRITE: usize = 3;
pub const LOST: usize = 4;
pub const READ: usize = 5;
pub const AGAIN: usize = 6;

/// A recorder with lanes, a thread `main`, and a program.
pub struct Bench {
    pub recorder: Recorder,
    pub threads: &'static FakeThreads,
    pub contexts: &'static Contexts,
    pub jvm: FakeJvm,
    pub lane: Lane<'static>,
    pub serial: u32,
}

/// Creates the program of a test. `main` calls `store`, then `lost`; `store` calls `write` and
/// `read`. `read` is native, and `again` calls itself.
fn program() -> FakeJvm {
    let mut jvm = FakeJvm::default();
    jvm.add_method(MAIN, 0, "shop/Main", "main", &["store", "lost"]);
    jvm.add_method(STORE, 0, "shop/Main", "store", &["write", "read"]);
    jvm.add_method(WRITE, 0, "shop/Main", "write", &[]);
    jvm.add_unloaded(LOST, "shop/Main", "lost");
    jvm.add_method(AGAIN, 0, "shop/Main", "again", &["again"]);
    jvm.add_native(READ, "shop/Main", "read");
    jvm
}

impl Bench {
    pub fn new() -> Self {
        Self::with(Refuted::Isolate, Witnessing::Auto, &[])
    }

    pub fn with(refuted: Refuted, witnessing: Witnessing, of_agent: &[EventType]) -> Self {
        let threads = FakeThreads::leaked();
        let events = EventTypes { of_agent: of_agent.to_vec(), of_program: super::events::of_program };
        let contexts: &Contexts = Box::leak(Box::default());
        let recorder = Recorder::new(
            DEPTH,
            Showing { refuted, ..Showing::default() },
            Witness::new(witnessing),
            threads,
            contexts,
            events,
            Duration::from_millis(1),
        );
        let lane = Lane::new(Vec::leak((0..4_096).map(|_| Word::default()).collect()));
        let mut bench = Self { recorder, threads, contexts, jvm: program(), lane, serial: 0 };
        bench.serial = bench.thread(TID, 0, "main");
        bench
    }

    /// Starts a Java thread with this entry routine, and returns the thread's serial.
    pub fn thread(&self, tid: u32, routine: usize, name: &str) -> u32 {
        self.threads.begin(tid, routine, name)
    }

    pub fn head(&self, time: u64) -> Head {
        Head { time, cpu: time, tid: TID, serial: self.serial, weight: 1, handler_ns: 700, ..Head::default() }
    }

    /// Publishes a sample in a lane as a handler does.
    pub fn publish(&self, head: &Head, candidates: &[Result<&[(usize, i32)], Reason>]) {
        let walkers = (0..).map(|walker| Origin { walker, compared: true, ..Origin::FIRST });
        self.publish_all(head, walkers.zip(candidates).map(|(origin, candidate)| (*candidate, origin, 0)));
    }

    /// Publishes a sample that was interrupted at this pc and has no walked stack. `recovered` has
    /// each strategy's number and its stack.
    pub fn publish_recovered(&self, head: &Head, pc: usize, recovered: &[(u16, &[(usize, i32)])]) {
        self.publish_recovered_beside(head, pc, None, recovered);
    }

    /// Publishes a sample with recovered stacks, beside a stack that another walker found.
    pub fn publish_recovered_beside(
        &self,
        head: &Head,
        pc: usize,
        found: Option<&[(usize, i32)]>,
        recovered: &[(u16, &[(usize, i32)])],
    ) {
        let failed = (Err(Reason::UNKNOWN_JAVA), Origin::FIRST, pc);
        let found = found.map(|found| (Ok(found), Origin { walker: 1, ..Origin::FIRST }, pc));
        let recovered = recovered
            .iter()
            .map(|(strategy, walk)| (Ok(*walk), Origin { strategy: Some(*strategy), ..Origin::FIRST }, 0));
        self.publish_all(head, [failed].into_iter().chain(found).chain(recovered));
    }

    pub fn publish_all<'f>(
        &self,
        head: &Head,
        candidates: impl Iterator<Item = (Result<&'f [(usize, i32)], Reason>, Origin, usize)>,
    ) {
        self.publish_named(head, &VthreadName::default(), candidates);
    }

    /// Publishes a sample of a carrier, with the name of its virtual thread.
    pub fn publish_named<'f>(
        &self,
        head: &Head,
        name: &VthreadName,
        candidates: impl Iterator<Item = (Result<&'f [(usize, i32)], Reason>, Origin, usize)>,
    ) {
        const MAX_CANDIDATES: usize = 4;
        let mut sample =
            Sample::new(self.lane.claim(max_words(3, MAX_CANDIDATES, DEPTH + 1)).unwrap(), DEPTH);
        sample.set_name(name);
        for (candidate, origin, pc) in candidates {
            let frames = candidate.unwrap_or_default();
            let kept = frames.len().min(DEPTH);
            for (at, &(method, bci)) in frames[..kept].iter().enumerate() {
                // SAFETY: the claim has space for `DEPTH` frames, and `at` is less.
                unsafe { sample.buffer().frames.add(at).write(RawFrame { bci, method }) };
            }
            let [kept, depth] = [kept, DEPTH].map(|count| u32::try_from(count).unwrap());
            let answer: Answer = candidate.map(|_| kept);
            // AsyncGetCallTrace cuts a deep stack at its outer end in the same way.
            let cut = (frames.len() > DEPTH).then_some(Cut { at: depth, missing: 0 });
            sample.add_candidate(answer, cut, origin, pc);
        }
        sample.publish(head);
    }

    /// Simulates that the sample's thread waited in its handler for GetStackTrace, and saw the
    /// pending safepoint.
    pub fn wait_for_witness(&mut self, head: &Head) {
        let Head { tid, serial, time, .. } = *head;
        let post = PostedThread { tid, serial, time, at: Registers::default() };
        let top = self.jvm.top(&post);
        let witnessed = self.jvm.stack(tid, serial, &mut || ());
        self.recorder.witness.answered(&post, witnessed, Some(top));
    }

    pub fn drain(&mut self) {
        self.recorder.drain(std::slice::from_ref(&self.lane), &mut self.jvm);
    }

    /// Records one sample of the thread `main` with this walk.
    pub fn sample(&mut self, time: u64, walk: &[(usize, i32)]) {
        self.publish(&self.head(time), &[Ok(walk)]);
        self.drain();
    }

    /// Records a walk that no handler wrote: it may be longer than `DEPTH`, or cut anywhere.
    pub fn take(&mut self, time: u64, walk: &[(usize, i32)], cut: Option<Cut>) {
        let frames: Vec<Frame> = walk.iter().map(|(id, bci)| Frame::new(MethodId(*id), *bci)).collect();
        let walk = Walk::Stack(Stack { frames: &frames, cut });
        let head = self.head(time);
        self.recorder.take_walk(&head, walk, &mut self.jvm);
    }

    pub fn tally(&self) -> Tally {
        self.recorder.recording.tally()
    }

    /// Returns what a reader of the profile sees: the weight of each track and stack. A stack
    /// begins with its root, and each frame has its line.
    pub fn shown(&mut self) -> Vec<String> {
        self.recorder.complete_tracks();
        let recording = &self.recorder.recording;
        let mut weights = BTreeMap::new();
        for thread in recording.threads() {
            for sample in thread.samples() {
                let mut frames: Vec<String> = Vec::new();
                let mut next = Some(sample.stack);
                while let Some(stack) = next.map(|id| recording.stacks().get(id)) {
                    let frame = recording.frames().get(stack.frame);
                    let name = recording.strings().iter().nth(recording.funcs().get(frame.func).name.row());
                    let line = frame.line.map_or_else(String::new, |line| format!(":{line}"));
                    frames.push(format!("{}{line}", name.unwrap()));
                    next = stack.parent;
                }
                frames.reverse();
                *weights.entry((thread.name(), frames.join(";"))).or_default() += u64::from(sample.weight);
            }
        }
        weights
            .into_iter()
            .map(|((track, stack), weight): (_, u64)| format!("{track}: {stack} {weight}"))
            .collect()
    }
}
