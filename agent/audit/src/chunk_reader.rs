//! Goes through a recording's chunks, and takes from their events the stacks with what they are of.
//!
//! It must never believe a stack more than the recording does: what that says is cut, or failed,
//! stays so.

use foldhash::{HashMap, HashMapExt};
use vouch_jfr::{Chunk, Event, Table, Type, Value};
use vouch_sample::{ENTRY, NATIVE};

use crate::cpu_time::{Cpu, Tells};
use crate::index::{
    End, KindId, Method, MethodId, Node, NodeId, Place, PlaceId, ReasonId, Seen, Stack, Thread, ThreadId,
};
use crate::jfr_names;
use crate::kinds;
use crate::pseudo_frames::{Foreign, meaning};
use crate::run_info::Told;
use crate::stack_builder::{Climb, Foot};

/// The kinds of whose stacks Flight Recorder leaves some methods out, wherever they stand, from JDK
/// 22 on (`jdk.jfr.events.StackFilter`): the recording does not say so.
const FILTERED: [&str; 11] = [
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
/// A deeper stack is none.
const DEEPEST: usize = 100_000;
/// In the place of a stack where a sampler says that it has none.
const FAILED: &str = "failed";
/// In its place where the recording refers to one that it does not have.
const LOST: &str = "stack_not_in_the_recording";
/// In its place where there are native frames alone, and not all of them.
const FOREIGN: &str = "native_frames_alone";

/// An event with a stack.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub kind: KindId,
    pub thread: ThreadId,
    pub stack: Stack,
    /// For so many events it stands.
    pub events: u64,
    /// When it began, since 1970, and how long it took, if the recording is read for that.
    pub unix_ns: i64,
    pub took_ns: u64,
    /// Of a sample that says so: what it stands for.
    pub period_ns: Option<u64>,
}

/// The fields of a kind that matter, in the order in which they stand.
#[derive(Debug)]
struct Fields {
    kind: KindId,
    rows: Vec<usize>,
    /// Where among these.
    stack: usize,
    thread: Option<usize>,
    count: Option<usize>,
    period: Option<usize>,
    /// Where among all: when it was, and how long it took.
    began: Option<usize>,
    took: Option<usize>,
    filtered: bool,
    /// What it says besides.
    tells: Option<Tells>,
}

/// What is to be had of the events of a kind.
#[derive(Debug)]
enum Role {
    Stacks(Fields),
    /// They say something of a thread's CPU time,
    Cpu(Tells),
    /// or of the run.
    Tells,
    None,
}

/// What is known of a chunk's constants.
#[derive(Debug)]
pub struct Reading<'c, 's> {
    chunk: &'c Chunk,
    /// A stack of so many frames was cut.
    deepest: usize,
    seen: &'s mut Seen,
    told: &'s mut Told,
    cpu: Option<&'s mut Cpu>,
    kinds: HashMap<i64, Role>,
    stacks: HashMap<(i64, i64, bool), Option<Foot>>,
    methods: HashMap<(i64, i64), Known>,
    threads: HashMap<(i64, i64), (ThreadId, bool)>,
    /// Where the frames of a stack are, by its type.
    tables: HashMap<i64, Option<Table<3>>>,
    nodes: HashMap<Step, NodeId>,
    /// Those of the stack at hand.
    frames: Vec<[i64; 3]>,
}

/// A frame's method, as far as it is one; else what stands there.
#[derive(Debug, Clone, Copy)]
enum Known {
    Java(MethodId),
    /// What the recorder calls it.
    Failed(ReasonId),
    Foreign(Foreign),
}

/// A frame under another, as the chunk has it, and how it is shown there.
type Step = (Option<NodeId>, MethodId, [i64; 2], bool, bool);

impl<'c, 's> Reading<'c, 's> {
    /// Without `cpu` it is read once more, for when events were; what they tell of the run is
    /// known.
    pub fn new(
        chunk: &'c Chunk,
        deepest: Option<usize>,
        seen: &'s mut Seen,
        told: &'s mut Told,
        cpu: Option<&'s mut Cpu>,
    ) -> Self {
        Self {
            chunk,
            deepest: deepest.unwrap_or(usize::MAX),
            seen,
            told,
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

    /// Takes an event in, and passes on what there is of it if it has a stack. False: its own bytes
    /// cannot be read.
    pub fn event(&mut self, event: &Event<'_>, take: impl FnOnce(&mut Seen, &mut Told, Moment)) -> bool {
        let (seen, first) = (&mut *self.seen, self.cpu.is_some());
        let role = self.kinds.entry(event.kind.id).or_insert_with(|| {
            let tells = Tells::of(event.kind).filter(|_| first);
            // Up to JDK 17 some of these have a field for a stack, in which there is none.
            if Told::tells(&event.kind.name) {
                return if first { Role::Tells } else { Role::None };
            }
            match (Fields::of(event.kind, seen), tells) {
                (Some(fields), tells) => Role::Stacks(Fields { tells, ..fields }),
                (None, Some(tells)) => Role::Cpu(tells),
                (None, None) => Role::None,
            }
        });
        let fields = match role {
            Role::Stacks(fields) => fields,
            Role::Cpu(tells) => {
                let tells = *tells;
                return self.tells_of_cpu(tells, event);
            }
            Role::Tells => return self.told.event(self.chunk, event, seen),
            Role::None => return true,
        };
        let Ok(values) = event.some(&fields.rows) else { return false };
        let chunk = self.chunk;
        // They stand among those that are wanted, in the same order.
        let field = |at: usize| (&event.kind.fields[fields.rows[at]], &values[at]);
        let period = fields.period.map(field);
        let period_ns = period.and_then(|(field, value)| chunk.lasted_ns(field, value));
        let (unix_ns, took_ns) = if first { (0, 0) } else { fields.time(chunk, event) };
        let Fields { kind, count, filtered, tells, .. } = *fields;
        let (stack, thread) = (values[fields.stack].clone(), fields.thread.map(|row| values[row].clone()));
        if let Some(tells) = tells {
            self.tells_of_cpu(tells, event);
        }
        let (thread, is_java) = self.thread(thread.as_ref());
        let events = count.and_then(|row| {
            if let Value::Whole(count) = values[row] { u64::try_from(count).ok() } else { None }
        });
        let foot = self.stack(&stack, filtered);
        let samples = self.seen.kinds[kind.row()].samples;
        // 0 is none.
        let is_lost = foot.is_none() && matches!(stack, Value::Constant(_, 1..));
        let stack = match foot {
            Some(Foot { leaf: None, end: End::Outside }) | None if !samples && !is_lost => return true,
            // Of a thread of Java's native frames are a stack only from its beginning on.
            Some(Foot { leaf: None, end: End::Whole }) if is_java => {
                Stack { leaf: None, end: End::None(self.seen.reason(FOREIGN)) }
            }
            Some(Foot { leaf: None, end: End::Whole }) => Stack { leaf: None, end: End::Outside },
            Some(Foot { leaf, end }) => Stack { leaf, end },
            None => {
                let why = if is_lost { LOST } else { FAILED };
                Stack { leaf: None, end: End::None(self.seen.reason(why)) }
            }
        };
        let events = events.unwrap_or(1);
        if let Some(cpu) = &mut self.cpu {
            cpu.sample(thread, period_ns, events);
        }
        take(self.seen, self.told, Moment { kind, thread, stack, events, unix_ns, took_ns, period_ns });
        true
    }

    /// Takes in what an event tells of the CPU time of a thread.
    fn tells_of_cpu(&mut self, tells: Tells, event: &Event<'_>) -> bool {
        let Some(row) = event.kind.field(tells.thread()) else { return true };
        let Ok(values) = event.some(&[row]) else { return false };
        let (thread, _) = self.thread(values.first());
        let chunk = self.chunk;
        self.cpu.as_mut().is_none_or(|cpu| cpu.event(tells, chunk, event, thread))
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
        let thread = Thread { name: self.seen.text(&name), tid, number };
        let (row, _) = self.seen.threads.insert_full(thread);
        let known = (ThreadId::of(row), number != 0 || name == jfr_names::VIRTUAL);
        if let Some(key) = key {
            self.threads.insert(key, known);
        }
        known
    }

    fn stack(&mut self, value: &Value, filtered: bool) -> Option<Foot> {
        let key = if let Value::Constant(type_id, index) = value {
            Some((*type_id, *index, filtered))
        } else {
            None
        };
        if let Some(known) = key.and_then(|key| self.stacks.get(&key)) {
            return *known;
        }
        let foot = self.read_stack(value, filtered);
        if let Some(key) = key {
            self.stacks.insert(key, foot);
        }
        foot
    }

    fn read_stack(&mut self, value: &Value, filtered: bool) -> Option<Foot> {
        let Value::Constant(type_id, index) = *value else { return None };
        let chunk = self.chunk;
        let table = *self.tables.entry(type_id).or_insert_with(|| {
            chunk.table(type_id, "frames", "truncated", ["method", "lineNumber", "bytecodeIndex"])
        });
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let foot = table.and_then(|table| {
            let (cut, count) = chunk.rows(&table, index, DEEPEST, &mut frames)?;
            // (async-profiler cuts at its own limit, and does not say so.)
            let cut = cut || count > DEEPEST || count >= self.deepest;
            self.foot(table.constants(0)?, &frames, cut, filtered)
        });
        self.frames = frames;
        foot
    }

    /// The stack of these frames, the innermost first: method, line, bci.
    fn foot(&mut self, methods: i64, frames: &[[i64; 3]], cut: bool, filtered: bool) -> Option<Foot> {
        let mut climb = Climb::default();
        for frame in frames.iter().rev() {
            match self.method(methods, frame[0]) {
                Known::Java(method) => {
                    let Self { seen, nodes, .. } = self;
                    climb.java(seen, |seen, above, gap| {
                        let step = (above, method, [frame[1], frame[2]], filtered, gap);
                        *nodes.entry(step).or_insert_with(|| node(seen, step))
                    });
                }
                Known::Failed(why) => climb.failed(why),
                Known::Foreign(what) => climb.foreign(what),
            }
        }
        climb.foot(self.seen, frames.is_empty(), cut)
    }

    fn method(&mut self, type_id: i64, index: i64) -> Known {
        if let Some(known) = self.methods.get(&(type_id, index)) {
            return *known;
        }
        let known = self.read_method(type_id, index);
        let known = known.unwrap_or(Known::Foreign(Foreign::Unnamed));
        self.methods.insert((type_id, index), known);
        known
    }

    fn read_method(&mut self, type_id: i64, index: i64) -> Option<Known> {
        let constant = Value::Constant(type_id, index);
        let Value::Object(type_id, values) = self.chunk.resolve(&constant) else { return None };
        let of = self.chunk.type_of(type_id)?;
        let name = jfr_names::text(self.chunk, values.get(of.field("name")?)?)?;
        let descriptor = of.field("descriptor").and_then(|row| jfr_names::text(self.chunk, values.get(row)?));
        let class = of.field("type").and_then(|row| jfr_names::class(self.chunk, values.get(row)?));
        let (class, loader) = class.unwrap_or_default();
        let modifiers = of.whole(&values, "modifiers").unwrap_or(0);
        let descriptor = descriptor?;
        if !jfr_names::is_descriptor(&descriptor) {
            return Some(match meaning(&class, &name) {
                Foreign::Failed => Known::Failed(self.seen.reason(&name)),
                foreign => Known::Foreign(foreign),
            });
        }
        if class.is_empty() {
            return None;
        }
        let (class, hidden) = jfr_names::without_hidden_parts(&class);
        let method = Method {
            class: self.seen.text(&class),
            hidden,
            loader: self.seen.text(&loader),
            name: self.seen.text(&name),
            descriptor: self.seen.text(&descriptor),
            is_static: modifiers & 0x8 != 0,
            is_native: modifiers & 0x100 != 0,
        };
        let (row, _) = self.seen.methods.insert_full(method);
        Some(Known::Java(MethodId::of(row)))
    }
}

/// The node of a frame under another: most frames of a chunk stand in many of its stacks.
fn node(seen: &mut Seen, (above, method, [line, bci], filtered, gap): Step) -> NodeId {
    let bci = match i32::try_from(bci) {
        // Recorders write 0, or nothing, for a native method.
        _ if seen.method(method).is_native => NATIVE,
        Ok(bci) if bci >= 0 => bci,
        _ => ENTRY,
    };
    let line = u16::try_from(line).unwrap_or(0);
    let (place, _) = seen.places.insert_full(Place { method, bci, line });
    let (node, _) = seen.nodes.insert_full(Node { above, place: PlaceId::of(place), filtered, gap });
    NodeId::of(node)
}

impl Fields {
    /// None: its events have no stack.
    fn of(kind: &Type, seen: &mut Seen) -> Option<Self> {
        let stack = kind.field("stackTrace")?;
        // Of a thread that begins the stack is that of the thread which has begun it.
        let thread = kind
            .field("parentThread")
            .or_else(|| kind.field("sampledThread"))
            .or_else(|| kind.field("eventThread"));
        let samples = kinds::is_sample(&kind.name);
        // A thread that did nothing was looked at so often.
        let count = kind.field("samples").filter(|_| kind.name == kinds::WALL);
        let period = kind.field("samplingPeriod").filter(|_| samples);
        let mut rows: Vec<usize> = [Some(stack), thread, count, period].into_iter().flatten().collect();
        rows.sort_unstable();
        let at = |row: usize| rows.iter().position(|known| *known == row);
        Some(Self {
            kind: seen.kind(&kind.name, kind.title(), samples),
            stack: at(stack)?,
            thread: thread.and_then(at),
            count: count.and_then(at),
            period: period.and_then(at),
            began: kind.field("startTime"),
            took: kind.field("duration"),
            tells: None,
            filtered: FILTERED.contains(&kind.name.as_str()),
            rows,
        })
    }

    /// When an event was, since 1970, and how long it took. It is there whether or not that can be
    /// read.
    fn time(&self, chunk: &Chunk, event: &Event<'_>) -> (i64, u64) {
        let one = |row: Option<usize>| {
            let row = row?;
            Some((&event.kind.fields[row], event.some(&[row]).ok()?.pop()?))
        };
        let began = one(self.began).and_then(|(field, value)| chunk.unix_ns(field, &value));
        let took = one(self.took).and_then(|(field, value)| chunk.lasted_ns(field, &value));
        (began.unwrap_or(chunk.header.start_unix_ns), took.unwrap_or(0))
    }
}
