//! The recording of one run: the shared tables, the threads and their samples.
//!
//! The recording must never lose a sample: each one counts in the tally of its fate.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use vouch_sample::Certainty;

use crate::category::Category;
use crate::contexts::{ContextKind, ContextRow, Contexts, UNKNOWN, VIRTUAL_THREAD};
use crate::counters::{Counter, Counters};
use crate::execution_mode::ExecutionMode;
use crate::fate::{Fate, Tally};
use crate::ids::{
    ContextId, ContextKindId, CounterId, FrameId, FuncId, Id, MarkerKindId, RefutationId, ResourceId,
    SourceId, StackId, StringId, ThreadId,
};
use crate::markers::{Marker, MarkerKind, MarkerKinds, Unit};
use crate::measures::{Amount, Measure};
use crate::refutations::{Refutation, RefutationRow, RefutationTable};
use crate::rows::{FrameRow, Func, FuncRow, Leaf, StackRow};
use crate::strings::StringTable;
use crate::table::Table;
use crate::thread::{Refuted, Sample, Thread};
use crate::trust::Trust;

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
    marker_kinds: MarkerKinds,
    /// The markers of the whole process, which belong to no thread.
    markers: Vec<Marker>,
    counters: Counters,
    tally: Tally,
    /// The threads that have changed since the last call of [`Self::take_touched`].
    touched: Vec<ThreadId>,
}

impl Recording {
    /// Makes an empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source file, such as `com/foo/Bar.java`.
    pub fn source(&mut self, path: &str) -> SourceId {
        let path = self.strings.intern(path);
        self.source_row(path)
    }

    /// Adds a source file by a path that is in the table of strings already.
    pub fn source_row(&mut self, path: StringId) -> SourceId {
        self.sources.intern(path)
    }

    /// Adds a jar, module or library, such as `app.jar` or `java.base`.
    pub fn resource(&mut self, name: &str) -> ResourceId {
        let name = self.strings.intern(name);
        self.resource_row(name)
    }

    /// Adds a resource by a name that is in the table of strings already.
    pub fn resource_row(&mut self, name: StringId) -> ResourceId {
        self.resources.intern(name)
    }

    /// Adds a function, such as a Java method, to its table.
    pub fn func(&mut self, func: Func<'_>) -> FuncId {
        let Func { name, category, source, line, resource, java } = func;
        let name = self.strings.intern(name);
        let line = line.and_then(NonZeroU32::new);
        self.func_row(FuncRow { name, category, source, line, resource, java })
    }

    /// Adds a function by a row of the table of functions. Its name must be in the table of strings
    /// already.
    pub fn func_row(&mut self, row: FuncRow) -> FuncId {
        self.funcs.intern(row)
    }

    /// Adds a frame: a function at the line that it was executing. Lines begin at 1, and 0 means
    /// that the line is unknown.
    pub fn frame(&mut self, func: FuncId, line: Option<u32>) -> FrameId {
        self.intern_frame(func, line, None)
    }

    /// Adds a frame that is the leaf of a stack.
    pub fn leaf_frame(&mut self, func: FuncId, line: Option<u32>, leaf: Leaf) -> FrameId {
        self.intern_frame(func, line, Some(leaf))
    }

    fn intern_frame(&mut self, func: FuncId, line: Option<u32>, leaf: Option<Leaf>) -> FrameId {
        self.frames.intern(FrameRow { func, line: line.and_then(NonZeroU32::new), leaf })
    }

    /// Adds a refutation, which must not have been added before.
    pub fn refutation(&mut self, refutation: Refutation<'_>) -> RefutationId {
        self.refutations.add(&mut self.strings, refutation)
    }

    /// Adds a refutation by texts that are in the table of strings already.
    pub fn refutation_row(&mut self, row: RefutationRow) -> RefutationId {
        self.refutations.push(row)
    }

    /// Adds a refuted sample to the timeline of its thread.
    pub fn refuted(&mut self, thread: ThreadId, refuted: Refuted) {
        self.thread_to_change(thread).refute(refuted);
    }

    /// Adds a stack: a frame that `parent` called, or a root.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        debug_assert!(parent.is_none_or(|parent| parent.row() < self.stacks.rows().len()));
        self.stacks.intern(StackRow { parent, frame })
    }

    /// Adds a thread under one name. A thread that is renamed must be ended and added again.
    pub fn add_thread(&mut self, name: &str, tid: u64, started_ns: u64) -> ThreadId {
        self.threads.push(Thread::new(name, tid, started_ns));
        let thread = ThreadId::from_row(self.threads.len() - 1);
        self.thread_to_change(thread);
        thread
    }

    /// Sets the time when a thread ended, or changed its name.
    pub fn end_thread(&mut self, thread: ThreadId, ended_ns: u64) {
        if self.threads[thread.row()].ended_ns != Some(ended_ns) {
            self.thread_to_change(thread).ended_ns = Some(ended_ns);
        }
    }

    /// Sets the name of a thread that had no known name before. A thread that changed its name must
    /// be added again instead.
    pub fn set_thread_name(&mut self, thread: ThreadId, name: &str) {
        if self.threads[thread.row()].name != name {
            name.clone_into(&mut self.thread_to_change(thread).name);
        }
    }

    /// Sets the CPU time that the kernel charged the thread while it had this name.
    pub fn set_thread_cpu(&mut self, thread: ThreadId, cpu_ns: u64) {
        if self.threads[thread.row()].cpu_ns != Some(cpu_ns) {
            self.thread_to_change(thread).cpu_ns = Some(cpu_ns);
        }
    }

    pub fn thread_name(&self, thread: ThreadId) -> &str {
        &self.threads[thread.row()].name
    }

    /// Adds a sample to its thread, and counts its fate.
    pub fn sample(&mut self, thread: ThreadId, sample: Sample) {
        let fate = Fate::new(self.mode(self.leaf(sample.stack)), sample.trust);
        self.tally.add(fate, 1, sample.weight.into());
        self.contexts.weigh(sample.context, fate.is_java(), sample.weight);
        self.thread_to_change(thread).push(sample, fate);
    }

    /// Adds a text to the table of strings, such as a value of a context.
    pub fn string(&mut self, text: &str) -> StringId {
        self.strings.intern(text)
    }

    /// Adds a kind of contexts, which must not have been added before.
    pub fn context_kind(&mut self, kind: ContextKind) -> ContextKindId {
        let is_virtual_thread = self.strings.get(kind.class) == VIRTUAL_THREAD && kind.fields.len() == 2;
        self.contexts.add_kind(kind, is_virtual_thread)
    }

    /// Adds a context, which may be nested in one that was added before. It must not have been
    /// added before itself. If the name of a virtual thread could not be read, it is [`UNKNOWN`]
    /// until another context has a name for the same id.
    pub fn context(&mut self, row: ContextRow) -> ContextId {
        if self.contexts.is_virtual_thread_kind(row.kind) {
            let unknown = self.strings.intern(UNKNOWN);
            self.contexts.add_virtual_thread(row, unknown)
        } else {
            self.contexts.add(row)
        }
    }

    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Adds a kind of markers, or finds the kind that has the same key.
    pub fn marker_kind(&mut self, kind: MarkerKind<'_>) -> MarkerKindId {
        self.marker_kinds.add(&mut self.strings, kind)
    }

    /// Adds a marker to a thread, or to the whole process.
    pub fn add_marker(&mut self, thread: Option<ThreadId>, marker: Marker) {
        match thread {
            Some(thread) => self.thread_to_change(thread).add_marker(marker),
            None => self.markers.push(marker),
        }
    }

    /// Adds a sample of a measure other than CPU time.
    pub fn amount(&mut self, thread: ThreadId, measure: &'static Measure, amount: Amount) {
        self.thread_to_change(thread).add_amount(measure, amount);
    }

    /// Removes all samples of a measure. They must not have been written to the recording's file.
    pub fn remove_amounts(&mut self, measure: &Measure) {
        self.threads.iter_mut().for_each(|thread| thread.remove_amounts(measure));
    }

    /// Adds a stack with the class of an allocated object as its leaf. Without an allocating stack
    /// the class is the only frame.
    pub fn stack_of_class(&mut self, allocated_by: Option<StackId>, class: &str) -> StackId {
        let func = Func {
            name: class,
            category: Category::Class,
            source: None,
            line: None,
            resource: None,
            // The front-end's filter for Java frames must not hide it.
            java: true,
        };
        let func = self.func(func);
        // The class is as sure as the stack that allocated it, which may be a refuted one that is
        // shown apart.
        let leaf = allocated_by.map(|stack| self.leaf_of(stack));
        let frame = self.intern_frame(func, None, leaf);
        self.stack(allocated_by, frame)
    }

    /// Returns a thread to change, and records that it has changed.
    fn thread_to_change(&mut self, thread: ThreadId) -> &mut Thread {
        let row = &mut self.threads[thread.row()];
        if !std::mem::replace(&mut row.touched, true) {
            self.touched.push(thread);
        }
        row
    }

    /// Returns the threads that have changed since the last call of this function.
    pub fn take_touched(&mut self) -> Vec<ThreadId> {
        for thread in &self.touched {
            self.threads[thread.row()].touched = false;
        }
        std::mem::take(&mut self.touched)
    }

    /// Adds a counter of the process, which must not have been added before.
    pub fn counter(&mut self, name: &str, description: &str, unit: Unit) -> CounterId {
        self.counters.add(name, description, unit)
    }

    /// Adds a reading of a counter, such as the heap size at one time.
    pub fn count(&mut self, counter: CounterId, time_ns: u64, value: u64) {
        self.counters.count(counter, time_ns, value);
    }

    pub fn counters(&self) -> &[Counter] {
        self.counters.rows()
    }

    pub fn marker_kinds(&self) -> &MarkerKinds {
        &self.marker_kinds
    }

    /// Returns the markers of the whole process, in the order in which they were added.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    /// Counts samples that were dropped, since no lane or table had space for them.
    pub fn dropped(&mut self, samples: u64, weight: u64) {
        self.tally.add(Fate::Dropped, samples, weight);
    }

    /// Returns what threads with this leaf were executing. The category of the function says it.
    pub(crate) fn mode(&self, leaf: FrameRow) -> ExecutionMode {
        ExecutionMode::from_category(self.funcs.get(leaf.func).category)
    }

    /// Returns the state of samples with this stack, of any measure.
    pub fn leaf_of(&self, stack: StackId) -> Leaf {
        self.state_of(self.leaf(stack))
    }

    /// Returns the state of samples with this frame as their leaf. A placeholder's category has it.
    pub fn state_of(&self, frame: FrameRow) -> Leaf {
        frame.leaf.unwrap_or_else(|| {
            let category = self.funcs.get(frame.func).category;
            let trust = match category {
                Category::Refuted => Trust::Refuted,
                Category::NoStack => Trust::Unwalked,
                _ => Trust::Unchecked,
            };
            Leaf::new(trust)
        })
    }

    /// Returns the fate of samples with this frame as their leaf.
    pub fn fate_of(&self, frame: FrameRow) -> Fate {
        Fate::new(self.mode(frame), self.state_of(frame).trust)
    }

    /// True if the method of this frame is only a guess for the samples with this frame as their
    /// leaf. Either its certainty says so, or the stack is refuted and no frame of it is certain.
    pub fn is_guess(&self, frame: FrameRow) -> bool {
        let Leaf { trust, top_frame, .. } = self.state_of(frame);
        trust == Trust::Refuted || top_frame == Some(Certainty::Approximate)
    }

    /// Counts the samples with proven or plausible stacks by the certainty of their top frames. The
    /// values are the number of samples and their weight. The key `None` is for samples without a
    /// judged top frame.
    pub fn top_frames(&self) -> BTreeMap<Option<Certainty>, (u64, u64)> {
        let mut sums = BTreeMap::new();
        for sample in self.threads.iter().flat_map(Thread::samples) {
            let Leaf { trust, top_frame, .. } = self.leaf_of(sample.stack);
            if matches!(trust, Trust::Proven | Trust::Plausible) {
                let (samples, weight) = sums.entry(top_frame).or_insert((0, 0));
                *samples += 1;
                *weight += u64::from(sample.weight);
            }
        }
        sums
    }

    /// Returns how many samples have each fate, and their weights.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    pub fn strings(&self) -> &StringTable {
        &self.strings
    }

    /// Returns the source files, by their paths, such as `com/foo/Bar.java`.
    pub fn sources(&self) -> &Table<StringId, SourceId> {
        &self.sources
    }

    /// Returns the jars, modules and libraries, by name.
    pub fn resources(&self) -> &Table<StringId, ResourceId> {
        &self.resources
    }

    pub fn funcs(&self) -> &Table<FuncRow, FuncId> {
        &self.funcs
    }

    pub fn frames(&self) -> &Table<FrameRow, FrameId> {
        &self.frames
    }

    /// Returns the innermost frame of a stack.
    pub fn leaf(&self, stack: StackId) -> FrameRow {
        self.frames.get(self.stacks.get(stack).frame)
    }

    /// Returns the table of stacks. The stack of a caller is always before those of its callees.
    pub fn stacks(&self) -> &Table<StackRow, StackId> {
        &self.stacks
    }

    pub fn refutations(&self) -> &RefutationTable {
        &self.refutations
    }

    /// Returns the threads, in the order in which they were added.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the ids of all threads, in the order of [`Self::threads`].
    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::from_row)
    }

    /// Returns the number of markers of the process, and then the number of each thread's.
    pub fn marker_counts(&self) -> Vec<usize> {
        let threads = self.threads.iter().map(|thread| thread.markers().len());
        [self.markers.len()].into_iter().chain(threads).collect()
    }

    /// Removes the markers that were added after [`Self::marker_counts`] returned these counts.
    /// Such markers are of waits that had not ended, for one profile only.
    pub fn truncate_markers(&mut self, counts: &[usize]) {
        let mut counts = counts.iter().copied().chain(std::iter::repeat(0));
        self.markers.truncate(counts.next().unwrap_or(0));
        for (thread, count) in self.threads.iter_mut().zip(counts) {
            thread.truncate_markers(count);
        }
    }

    /// Returns the approximate memory of the recording, in bytes.
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
            + (self.markers.capacity() * size_of::<Marker>()) as u64
            + self.threads.iter().map(Thread::bytes).sum::<u64>()
    }
}
