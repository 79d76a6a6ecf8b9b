//! Reads the events of a chunk, and puts their stacks and threads into the index.
//!
//! It must never trust a stack more than the recording does. A stack that the recorder calls
//! truncated or failed stays so.

use foldhash::{HashMap, HashMapExt};
use vouch_jfr::{Chunk, Event, Table, Type, Value};
use vouch_sample::{ENTRY, NATIVE};

use crate::cpu_time::{CpuEvent, CpuTimes};
use crate::index::{
    CodeLocation, KindId, LocationId, Method, MethodId, Node, NodeId, ReasonId, RecordingIndex, Stack,
    StackEnd, Thread, ThreadId,
};
use crate::jfr_names;
use crate::kinds;
use crate::pseudo_frames::{PseudoFrame, classify};
use crate::run_info::RunInfo;
use crate::stack_builder::{BuiltStack, StackBuilder};

/// The event kinds with filtered stacks. From JDK 22 on Flight Recorder removes some methods from
/// them (`jdk.jfr.events.StackFilter`), and the recording does not say so.
const FILTERED_KINDS: [&str; 11] = [
    "jdk.FileForce",
    "jdk.FinalFieldMutation",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.ProcessStart",
    "jdk.SecurityPropertyModification",
    "jdk.SecurityProviderService",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.ThreadSleep",
    "jdk.TLSHandshake",
];
/// Frames beyond this depth are not read, and the stack counts as truncated.
const MAX_DEPTH: usize = 100_000;
/// The reason for a sample without any stack.
const NO_STACK: &str = "failed";
/// The reason for a reference to a stack that the recording does not contain.
const MISSING_STACK: &str = "stack_not_in_the_recording";
/// The reason for a Java thread's stack that has only native frames and does not reach the thread's
/// start.
const NATIVE_ONLY: &str = "native_frames_alone";

/// An event with its thread and its stack.
#[derive(Debug, Clone, Copy)]
pub struct StackEvent {
    pub kind: KindId,
    pub thread: ThreadId,
    pub stack: Stack,
    /// The number of samples that this event represents.
    pub events: u64,
    /// The event's start, in nanoseconds since 1970. It is read only in the second pass.
    pub unix_ns: i64,
    /// The event's duration in nanoseconds. It is read only in the second pass.
    pub took_ns: u64,
    /// The time that this sample represents, if it says so itself.
    pub period_ns: Option<u64>,
}

/// The fields of an event kind that are read, as row numbers in the order of the event.
#[derive(Debug)]
struct EventFields {
    kind: KindId,
    rows: Vec<usize>,
    /// The index in `rows` of the field with the stack.
    stack: usize,
    thread: Option<usize>,
    count: Option<usize>,
    period: Option<usize>,
    /// The row of the start time among all fields.
    began: Option<usize>,
    /// The row of the duration among all fields.
    took: Option<usize>,
    filtered: bool,
    /// The kind of CPU time that the events describe, in addition to their stack.
    cpu_event: Option<CpuEvent>,
}

/// The way in which the audit uses the events of a kind.
#[derive(Debug)]
enum EventRole {
    Stacks(EventFields),
    /// The events describe a thread's CPU time.
    Cpu(CpuEvent),
    /// The events contain facts about the run.
    RunInfo,
    None,
}

/// Reads one chunk, and caches the methods, threads and stacks of its constants.
#[derive(Debug)]
pub struct ChunkReader<'c, 's> {
    chunk: &'c Chunk,
    /// A stack with this many frames counts as truncated.
    depth_limit: usize,
    index: &'s mut RecordingIndex,
    run_info: &'s mut RunInfo,
    cpu: Option<&'s mut CpuTimes>,
    kinds: HashMap<i64, EventRole>,
    stacks: HashMap<(i64, i64, bool), Option<BuiltStack>>,
    methods: HashMap<(i64, i64), FrameKind>,
    threads: HashMap<(i64, i64), (ThreadId, bool)>,
    /// The layout of the frames in a stack, by the stack's type.
    tables: HashMap<i64, Option<Table<3>>>,
    nodes: HashMap<NodeKey, NodeId>,
    /// A buffer for the frames of the current stack.
    frames: Vec<[i64; 3]>,
}

/// The kind of a frame: a Java method, a failure of the walk, or another pseudo frame.
#[derive(Debug, Clone, Copy)]
enum FrameKind {
    Java(MethodId),
    /// The walk failed. The reason is in the recorder's words.
    Failed(ReasonId),
    Pseudo(PseudoFrame),
}

/// The key of a node: caller, method, line and bci, and two flags for filtering and for a gap below
/// the caller.
type NodeKey = (Option<NodeId>, MethodId, [i64; 2], bool, bool);

impl<'c, 's> ChunkReader<'c, 's> {
    /// Creates a reader. Without `cpu` this is the second pass: it reads times, and skips facts
    /// about the run.
    pub fn new(
        chunk: &'c Chunk,
        depth_limit: Option<usize>,
        index: &'s mut RecordingIndex,
        run_info: &'s mut RunInfo,
        cpu: Option<&'s mut CpuTimes>,
    ) -> Self {
        Self {
            chunk,
            depth_limit: depth_limit.unwrap_or(usize::MAX),
            index,
            run_info,
            cpu,
            kinds: HashMap::new(),
            stacks: HashMap::new(),
            methods: HashMap::new(),
            threads: HashMap::new(),
            tables: HashMap::new(),
            nodes: HashMap::new(),
            frames: Vec::new(),
        }
    }

    /// Reads an event, and passes it to `take` if it has a stack. Returns false if its bytes cannot
    /// be read.
    pub fn read_event(
        &mut self,
        event: &Event<'_>,
        take: impl FnOnce(&mut RecordingIndex, &mut RunInfo, StackEvent),
    ) -> bool {
        let (index, first) = (&mut *self.index, self.cpu.is_some());
        let role = self.kinds.entry(event.kind.id).or_insert_with(|| {
            let cpu_event = CpuEvent::from_type(event.kind).filter(|_| first);
            // Up to JDK 17 some of these events have a field for a stack that is always empty.
            if RunInfo::is_about_run(&event.kind.name) {
                return if first { EventRole::RunInfo } else { EventRole::None };
            }
            match (EventFields::from_type(event.kind, index), cpu_event) {
                (Some(fields), cpu_event) => EventRole::Stacks(EventFields { cpu_event, ..fields }),
                (None, Some(cpu_event)) => EventRole::Cpu(cpu_event),
                (None, None) => EventRole::None,
            }
        });
        let fields = match role {
            EventRole::Stacks(fields) => fields,
            EventRole::Cpu(cpu_event) => {
                let cpu_event = *cpu_event;
                return self.read_cpu_event(cpu_event, event);
            }
            EventRole::RunInfo => return self.run_info.add_event(self.chunk, event, index),
            EventRole::None => return true,
        };
        let Ok(values) = event.selected_values(&fields.rows) else { return false };
        let chunk = self.chunk;
        // Values come in the order of the requested rows.
        let field = |at: usize| (&event.kind.fields[fields.rows[at]], &values[at]);
        let period = fields.period.map(field);
        let period_ns = period.and_then(|(field, value)| chunk.duration_ns(field, value));
        let (unix_ns, took_ns) = if first { (0, 0) } else { fields.time(chunk, event) };
        let EventFields { kind, count, filtered, cpu_event, .. } = *fields;
        let (stack, thread) = (values[fields.stack].clone(), fields.thread.map(|row| values[row].clone()));
        if let Some(cpu_event) = cpu_event {
            self.read_cpu_event(cpu_event, event);
        }
        let (thread, is_java) = self.thread(thread.as_ref());
        let events = count.and_then(|row| {
            if let Value::Integer(count) = values[row] { u64::try_from(count).ok() } else { None }
        });
        let built = self.stack(&stack, filtered);
        let samples = self.index.kinds[kind.row()].samples;
        // A reference to constant 0 means that there is no stack.
        let is_lost = built.is_none() && matches!(stack, Value::Constant(_, 1..));
        let stack = match built {
            Some(BuiltStack { leaf: None, end: StackEnd::Outside }) | None if !samples && !is_lost => {
                return true;
            }
            // Native frames alone are a complete stack of a Java thread only if they reach the
            // thread's start.
            Some(BuiltStack { leaf: None, end: StackEnd::Complete }) if is_java => {
                Stack { leaf: None, end: StackEnd::Missing(self.index.reason_id(NATIVE_ONLY)) }
            }
            Some(BuiltStack { leaf: None, end: StackEnd::Complete }) => {
                Stack { leaf: None, end: StackEnd::Outside }
            }
            Some(BuiltStack { leaf, end }) => Stack { leaf, end },
            None => {
                let why = if is_lost { MISSING_STACK } else { NO_STACK };
                Stack { leaf: None, end: StackEnd::Missing(self.index.reason_id(why)) }
            }
        };
        let events = events.unwrap_or(1);
        if let Some(cpu) = &mut self.cpu {
            cpu.add_sample(thread, period_ns, events);
        }
        take(
            self.index,
            self.run_info,
            StackEvent { kind, thread, stack, events, unix_ns, took_ns, period_ns },
        );
        true
    }

    /// Adds what an event says about a thread's CPU time.
    fn read_cpu_event(&mut self, cpu_event: CpuEvent, event: &Event<'_>) -> bool {
        let Some(row) = event.kind.field(cpu_event.thread_field()) else { return true };
        let Ok(values) = event.selected_values(&[row]) else { return false };
        let (thread, _) = self.thread(values.first());
        let chunk = self.chunk;
        self.cpu.as_mut().is_none_or(|cpu| cpu.add_event(cpu_event, chunk, event, thread))
    }

    fn thread(&mut self, value: Option<&Value>) -> (ThreadId, bool) {
        let key =
            if let Some(Value::Constant(type_id, index)) = value { Some((*type_id, *index)) } else { None };
        if let Some(known) = key.and_then(|key| self.threads.get(&key)) {
            return *known;
        }
        let object = value.map(|value| self.chunk.resolve(value));
        let thread = object.and_then(|object| jfr_names::thread(self.chunk, &object));
        let (name, tid, number) = thread.unwrap_or_else(|| (jfr_names::NO_THREAD.to_owned(), 0, 0));
        let thread = Thread { name: self.index.intern(&name), tid, number };
        let (row, _) = self.index.threads.insert_full(thread);
        let known = (ThreadId::from_row(row), number != 0 || name == jfr_names::VIRTUAL_THREADS);
        if let Some(key) = key {
            self.threads.insert(key, known);
        }
        known
    }

    fn stack(&mut self, value: &Value, filtered: bool) -> Option<BuiltStack> {
        let key = if let Value::Constant(type_id, index) = value {
            Some((*type_id, *index, filtered))
        } else {
            None
        };
        if let Some(known) = key.and_then(|key| self.stacks.get(&key)) {
            return *known;
        }
        let built = self.read_stack(value, filtered);
        if let Some(key) = key {
            self.stacks.insert(key, built);
        }
        built
    }

    fn read_stack(&mut self, value: &Value, filtered: bool) -> Option<BuiltStack> {
        let Value::Constant(type_id, index) = *value else { return None };
        let chunk = self.chunk;
        let table = *self.tables.entry(type_id).or_insert_with(|| {
            chunk.table(type_id, "frames", "truncated", ["method", "lineNumber", "bytecodeIndex"])
        });
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let built = table.and_then(|table| {
            let (cut, count) = chunk.rows(&table, index, MAX_DEPTH, &mut frames)?;
            // (async-profiler cuts at its own limit, and does not mark the stack as truncated.)
            let cut = cut || count > MAX_DEPTH || count >= self.depth_limit;
            self.build_stack(table.constants(0)?, &frames, cut, filtered)
        });
        self.frames = frames;
        built
    }

    /// Builds a stack from frames, innermost first. A frame has a method, a line and a bci.
    fn build_stack(
        &mut self,
        methods: i64,
        frames: &[[i64; 3]],
        cut: bool,
        filtered: bool,
    ) -> Option<BuiltStack> {
        let mut builder = StackBuilder::default();
        for frame in frames.iter().rev() {
            match self.method(methods, frame[0]) {
                FrameKind::Java(method) => {
                    let Self { index, nodes, .. } = self;
                    builder.add_method(index, |index, caller, gap| {
                        let key = (caller, method, [frame[1], frame[2]], filtered, gap);
                        *nodes.entry(key).or_insert_with(|| node(index, key))
                    });
                }
                FrameKind::Failed(why) => builder.add_failure(why),
                FrameKind::Pseudo(what) => builder.add_pseudo_frame(what),
            }
        }
        builder.finish(self.index, frames.is_empty(), cut)
    }

    fn method(&mut self, type_id: i64, index: i64) -> FrameKind {
        if let Some(known) = self.methods.get(&(type_id, index)) {
            return *known;
        }
        let known = self.read_method(type_id, index);
        let known = known.unwrap_or(FrameKind::Pseudo(PseudoFrame::UnknownMethod));
        self.methods.insert((type_id, index), known);
        known
    }

    fn read_method(&mut self, type_id: i64, index: i64) -> Option<FrameKind> {
        let constant = Value::Constant(type_id, index);
        let Value::Object(type_id, values) = self.chunk.resolve(&constant) else { return None };
        let object_type = self.chunk.type_of(type_id)?;
        let name = jfr_names::text(self.chunk, values.get(object_type.field("name")?)?)?;
        let descriptor =
            object_type.field("descriptor").and_then(|row| jfr_names::text(self.chunk, values.get(row)?));
        let class = object_type.field("type").and_then(|row| jfr_names::class(self.chunk, values.get(row)?));
        let (class, loader) = class.unwrap_or_default();
        let modifiers = object_type.integer_field(&values, "modifiers").unwrap_or(0);
        let descriptor = descriptor?;
        if !jfr_names::is_descriptor(&descriptor) {
            return Some(match classify(&class, &name) {
                PseudoFrame::WalkFailed => FrameKind::Failed(self.index.reason_id(&name)),
                other => FrameKind::Pseudo(other),
            });
        }
        if class.is_empty() {
            return None;
        }
        let (class, hidden) = jfr_names::without_hidden_parts(&class);
        let method = Method {
            class: self.index.intern(&class),
            hidden,
            loader: self.index.intern(&loader),
            name: self.index.intern(&name),
            descriptor: self.index.intern(&descriptor),
            is_static: modifiers & 0x8 != 0,
            is_native: modifiers & 0x100 != 0,
        };
        let (row, _) = self.index.methods.insert_full(method);
        Some(FrameKind::Java(MethodId::from_row(row)))
    }
}

/// Adds the node of a frame to the index. The caller caches it, since most frames of a chunk are in
/// many stacks.
fn node(index: &mut RecordingIndex, (caller, method, [line, bci], filtered, gap): NodeKey) -> NodeId {
    let bci = match i32::try_from(bci) {
        // Recorders write 0 or nothing as the bci of a native method.
        _ if index.method(method).is_native => NATIVE,
        Ok(bci) if bci >= 0 => bci,
        _ => ENTRY,
    };
    let line = u16::try_from(line).unwrap_or(0);
    let (location, _) = index.locations.insert_full(CodeLocation { method, bci, line });
    let (node, _) =
        index.nodes.insert_full(Node { caller, location: LocationId::from_row(location), filtered, gap });
    NodeId::from_row(node)
}

impl EventFields {
    /// Finds the fields that the audit needs in an event type. Returns `None` if its events have no
    /// stack.
    fn from_type(kind: &Type, index: &mut RecordingIndex) -> Option<Self> {
        let stack = kind.field("stackTrace")?;
        // The stack of a thread start is that of the parent thread.
        let thread = kind
            .field("parentThread")
            .or_else(|| kind.field("sampledThread"))
            .or_else(|| kind.field("eventThread"));
        let samples = kinds::is_sample(&kind.name);
        // A wall-clock sample of an idle thread counts several samples at once.
        let count = kind.field("samples").filter(|_| kind.name == kinds::WALL);
        let period = kind.field("samplingPeriod").filter(|_| samples);
        let mut rows: Vec<usize> = [Some(stack), thread, count, period].into_iter().flatten().collect();
        rows.sort_unstable();
        let at = |row: usize| rows.iter().position(|known| *known == row);
        Some(Self {
            kind: index.kind_id(&kind.name, kind.title(), samples),
            stack: at(stack)?,
            thread: thread.and_then(at),
            count: count.and_then(at),
            period: period.and_then(at),
            began: kind.field("startTime"),
            took: kind.field("duration"),
            cpu_event: None,
            filtered: FILTERED_KINDS.contains(&kind.name.as_str()),
            rows,
        })
    }

    /// Returns an event's start in nanoseconds since 1970, and its duration. If the start is
    /// unreadable, it returns the start of the chunk.
    fn time(&self, chunk: &Chunk, event: &Event<'_>) -> (i64, u64) {
        let one = |row: Option<usize>| {
            let row = row?;
            Some((&event.kind.fields[row], event.selected_values(&[row]).ok()?.pop()?))
        };
        let began = one(self.began).and_then(|(field, value)| chunk.unix_ns(field, &value));
        let took = one(self.took).and_then(|(field, value)| chunk.duration_ns(field, &value));
        (began.unwrap_or(chunk.header.start_unix_ns), took.unwrap_or(0))
    }
}
