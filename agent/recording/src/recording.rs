//! All that is recorded of one run: the shared tables, the threads, the samples.
//!
//! It must never lose a sample: what it is given is in the tally of its fate, whatever else becomes
//! of it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use vouch_sample::Certainty;

use crate::category::Category;
use crate::contexts::{ContextKind, ContextRow, Contexts, UNKNOWN, VIRTUAL_THREAD};
use crate::counters::{Counter, Counters};
use crate::fate::{Fate, Tally};
use crate::ids::{
    ContextId, ContextKindId, CounterId, FrameId, FuncId, Id, MarkKindId, RefutationId, ResourceId, SourceId,
    StackId, StringId, ThreadId,
};
use crate::markers::{Mark, MarkKind, MarkKinds, Unit};
use crate::measures::{Amount, Measure};
use crate::refutations::{Refutation, RefutationRow, RefutationTable};
use crate::rows::{FrameRow, Func, FuncRow, Leaf, StackRow};
use crate::strings::StringTable;
use crate::table::Table;
use crate::thread::{Refuted, Sample, Thread};

/// The tables, threads and samples of one run.
#[derive(Debug, Default)]
pub struct Recording {
    strings: StringTable,
    sources: Table<StringId, SourceId>,
    resources: Table<StringId, ResourceId>,
    funcs: Table<FuncRow, FuncId>,
    frames: Table<FrameRow, FrameId>,
    stacks: Table<StackRow, StackId>,
    refutations: RefutationTable,
    threads: Vec<Thread>,
    contexts: Contexts,
    mark_kinds: MarkKinds,
    /// Of all of the process.
    marks: Vec<Mark>,
    counters: Counters,
    tally: Tally,
    /// Threads of which something came since this was last asked for.
    touched: Vec<ThreadId>,
}

impl Recording {
    pub fn new() -> Self {
        Self::default()
    }

    /// A source file, as in `com/foo/Bar.java`.
    pub fn source(&mut self, path: &str) -> SourceId {
        let path = self.strings.intern(path);
        self.source_row(path)
    }

    /// The same, where its path is in the table of strings already.
    pub fn source_row(&mut self, path: StringId) -> SourceId {
        self.sources.intern(path)
    }

    /// A jar, module or library, as in `app.jar` or `java.base`.
    pub fn resource(&mut self, name: &str) -> ResourceId {
        let name = self.strings.intern(name);
        self.resource_row(name)
    }

    /// The same, where its name is in the table of strings already.
    pub fn resource_row(&mut self, name: StringId) -> ResourceId {
        self.resources.intern(name)
    }

    pub fn func(&mut self, func: Func<'_>) -> FuncId {
        let Func { name, category, source, line, resource, java } = func;
        let name = self.strings.intern(name);
        let line = line.and_then(NonZeroU32::new);
        self.func_row(FuncRow { name, category, source, line, resource, java })
    }

    /// The same, where its name is in the table of strings already.
    pub fn func_row(&mut self, row: FuncRow) -> FuncId {
        self.funcs.intern(row)
    }

    /// A function at the line that it was executing; lines count from 1, and 0 is none.
    pub fn frame(&mut self, func: FuncId, line: Option<u32>) -> FrameId {
        self.intern_frame(func, line, None)
    }

    /// The same as the leaf of a stack.
    pub fn leaf_frame(&mut self, func: FuncId, line: Option<u32>, leaf: impl Into<Leaf>) -> FrameId {
        self.intern_frame(func, line, Some(leaf.into()))
    }

    fn intern_frame(&mut self, func: FuncId, line: Option<u32>, leaf: Option<Leaf>) -> FrameId {
        self.frames.intern(FrameRow { func, line: line.and_then(NonZeroU32::new), leaf })
    }

    /// Something that contradicts a stack. Each is to be told once.
    pub fn refutation(&mut self, refutation: Refutation<'_>) -> RefutationId {
        self.refutations.add(&mut self.strings, refutation)
    }

    /// One whose texts are in the table of strings already.
    pub fn refutation_row(&mut self, row: RefutationRow) -> RefutationId {
        self.refutations.push(row)
    }

    /// A refuted sample's place in the timeline.
    pub fn refuted(&mut self, thread: ThreadId, refuted: Refuted) {
        self.touch(thread).refute(refuted);
    }

    /// A frame called by `parent`, or a root.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        debug_assert!(parent.is_none_or(|parent| parent.row() < self.stacks.rows().len()));
        self.stacks.intern(StackRow { parent, frame })
    }

    /// A track: a thread under one name. A thread that is renamed ends here and is added again.
    pub fn add_thread(&mut self, name: &str, tid: u64, started_ns: u64) -> ThreadId {
        self.threads.push(Thread::new(name, tid, started_ns));
        let thread = ThreadId::from_row(self.threads.len() - 1);
        self.touch(thread);
        thread
    }

    pub fn end_thread(&mut self, thread: ThreadId, ended_ns: u64) {
        if self.threads[thread.row()].ended_ns != Some(ended_ns) {
            self.touch(thread).ended_ns = Some(ended_ns);
        }
    }

    /// For a name that was learnt late; it is not for a thread that changed its name.
    pub fn set_thread_name(&mut self, thread: ThreadId, name: &str) {
        if self.threads[thread.row()].name != name {
            name.clone_into(&mut self.touch(thread).name);
        }
    }

    /// The CPU time that the kernel charged the thread while it had this name.
    pub fn set_thread_cpu(&mut self, thread: ThreadId, cpu_ns: u64) {
        if self.threads[thread.row()].cpu_ns != Some(cpu_ns) {
            self.touch(thread).cpu_ns = Some(cpu_ns);
        }
    }

    pub fn thread_name(&self, thread: ThreadId) -> &str {
        &self.threads[thread.row()].name
    }

    pub fn sample(&mut self, thread: ThreadId, sample: Sample) {
        self.tally.add(sample.fate, 1, sample.weight.into());
        self.contexts.weigh(sample.context, sample.fate.is_java(), sample.weight);
        self.touch(thread).push(sample);
    }

    /// A text that is to be used as an id, as in a context's values.
    pub fn string(&mut self, text: &str) -> StringId {
        self.strings.intern(text)
    }

    /// A class of contexts. Each is to be told once.
    pub fn context_kind(&mut self, kind: ContextKind) -> ContextKindId {
        let is_carried = self.strings.get(kind.class) == VIRTUAL_THREAD && kind.fields.len() == 2;
        self.contexts.add_kind(kind, is_carried)
    }

    /// Adds a context within one that is known, or none. Each is to be added once. A virtual thread
    /// whose name could not be read has [`UNKNOWN`] for it until another context names the same id.
    pub fn context(&mut self, row: ContextRow) -> ContextId {
        if self.contexts.is_of_virtual_threads(row.kind) {
            let unknown = self.strings.intern(UNKNOWN);
            self.contexts.add_carried(row, unknown)
        } else {
            self.contexts.add(row)
        }
    }

    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// A kind of marks; a kind whose key is known is the known one.
    pub fn mark_kind(&mut self, kind: MarkKind<'_>) -> MarkKindId {
        self.mark_kinds.add(&mut self.strings, kind)
    }

    /// Something that happened to a thread, or to all of the process.
    pub fn mark(&mut self, thread: Option<ThreadId>, mark: Mark) {
        match thread {
            Some(thread) => self.touch(thread).mark(mark),
            None => self.marks.push(mark),
        }
    }

    /// A sample of a measure other than CPU time.
    pub fn amount(&mut self, thread: ThreadId, measure: &'static Measure, amount: Amount) {
        self.touch(thread).add_amount(measure, amount);
    }

    /// The stack with the class of an allocated object as its leaf. Without a stack the class is
    /// the only frame.
    pub fn stack_of_class(&mut self, allocated_by: Option<StackId>, class: &str) -> StackId {
        let func = Func {
            name: class,
            category: Category::Class,
            source: None,
            line: None,
            resource: None,
            // The front-end's filter for Java frames must keep it.
            java: true,
        };
        let func = self.func(func);
        let frame = self.frame(func, None);
        self.stack(allocated_by, frame)
    }

    /// Something comes of it.
    fn touch(&mut self, thread: ThreadId) -> &mut Thread {
        let row = &mut self.threads[thread.row()];
        if !std::mem::replace(&mut row.touched, true) {
            self.touched.push(thread);
        }
        row
    }

    /// The threads of which something came since this was last asked for.
    pub fn take_touched(&mut self) -> Vec<ThreadId> {
        for thread in &self.touched {
            self.threads[thread.row()].touched = false;
        }
        std::mem::take(&mut self.touched)
    }

    /// A figure of the process. Each is to be told once.
    pub fn counter(&mut self, name: &str, description: &str, unit: Unit) -> CounterId {
        self.counters.add(name, description, unit)
    }

    /// What a figure is at a time.
    pub fn count(&mut self, counter: CounterId, time_ns: u64, value: u64) {
        self.counters.count(counter, time_ns, value);
    }

    pub fn counters(&self) -> &[Counter] {
        self.counters.rows()
    }

    pub fn mark_kinds(&self) -> &MarkKinds {
        &self.mark_kinds
    }

    /// What happened to all of the process, as it came.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Counts samples for which there was no room.
    pub fn dropped(&mut self, samples: u64, weight: u64) {
        self.tally.add(Fate::Dropped, samples, weight);
    }

    /// The fate of the samples that have such a frame for a leaf.
    pub fn fate_of(&self, frame: FrameRow) -> Fate {
        frame.leaf.map_or_else(
            || match self.funcs.get(frame.func).category {
                Category::Refuted => Fate::Refuted,
                Category::NoStack => Fate::Unwalked,
                _ => Fate::Outside,
            },
            |leaf| leaf.fate,
        )
    }

    /// How the top frames of all samples are known whose stacks are proven or plausible: how many
    /// samples, and their weight, of each certainty. `None`: not judged.
    pub fn top_frames(&self) -> BTreeMap<Option<Certainty>, (u64, u64)> {
        let mut sums = BTreeMap::new();
        for sample in self.threads.iter().flat_map(Thread::samples) {
            let frame = self.frames.get(self.stacks.get(sample.stack).frame);
            if let Some(Leaf { fate: Fate::Proven | Fate::Plausible, top_frame }) = frame.leaf {
                let (samples, weight) = sums.entry(top_frame).or_insert((0, 0));
                *samples += 1;
                *weight += u64::from(sample.weight);
            }
        }
        sums
    }

    /// What became of all samples.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    pub fn strings(&self) -> &StringTable {
        &self.strings
    }

    /// Source files, by the path that a class file gives: `com/foo/Bar.java`.
    pub fn sources(&self) -> &Table<StringId, SourceId> {
        &self.sources
    }

    /// Jars, modules and libraries, by name.
    pub fn resources(&self) -> &Table<StringId, ResourceId> {
        &self.resources
    }

    pub fn funcs(&self) -> &Table<FuncRow, FuncId> {
        &self.funcs
    }

    pub fn frames(&self) -> &Table<FrameRow, FrameId> {
        &self.frames
    }

    /// Stacks, a caller's always before its callees'.
    pub fn stacks(&self) -> &Table<StackRow, StackId> {
        &self.stacks
    }

    pub fn refutations(&self) -> &RefutationTable {
        &self.refutations
    }

    /// In the order in which they were met.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The same, by id.
    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::from_row)
    }

    /// How many marks there are: of all the process, and of each thread.
    pub fn count_marks(&self) -> Vec<usize> {
        let threads = self.threads.iter().map(|thread| thread.marks().len());
        [self.marks.len()].into_iter().chain(threads).collect()
    }

    /// Takes away what marks came since they were counted: they were of that moment.
    pub fn forget_marks(&mut self, counts: &[usize]) {
        let mut counts = counts.iter().copied().chain(std::iter::repeat(0));
        self.marks.truncate(counts.next().unwrap_or(0));
        for (thread, count) in self.threads.iter_mut().zip(counts) {
            thread.forget_marks(count);
        }
    }

    /// Memory taken, near enough.
    pub fn bytes(&self) -> u64 {
        self.strings.bytes()
            + self.sources.bytes()
            + self.resources.bytes()
            + self.funcs.bytes()
            + self.frames.bytes()
            + self.stacks.bytes()
            + self.refutations.bytes()
            + self.contexts.bytes()
            + self.counters.bytes()
            + (self.marks.capacity() * size_of::<Mark>()) as u64
            + self.threads.iter().map(Thread::bytes).sum::<u64>()
    }
}
