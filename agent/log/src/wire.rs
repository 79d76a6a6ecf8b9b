//! Defines by hand the messages of docs/recording.proto, in which a recording is stored. The two
//! files must agree.
//!
//! The number of a field must never change its meaning, since old files keep it. Ids are row
//! numbers. An id that may be absent is the row plus one, and 0 means absent. `first` is the row of
//! a column's first value.

use prost::Message;
use vouch_recording::{
    Category as RecordingCategory, Trust as RecordingTrust, Unit as RecordingUnit, VmPart,
};
use vouch_sample::Certainty;

/// The content of one block of a recording's file. Every field except `number` and `time_ns` may be
/// missing.
#[derive(Clone, PartialEq, Message)]
pub struct Block {
    /// Number of the block within its file. The block at the beginning of a file has number 0.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Time when the block was written: CLOCK_MONOTONIC, in nanoseconds.
    #[prost(uint64, tag = "2")]
    pub time_ns: u64,
    /// State of the run as JSON, or empty. A reader takes the last state.
    #[prost(string, tag = "3")]
    pub state: String,
    #[prost(message, optional, tag = "4")]
    pub tables: Option<Tables>,
    #[prost(message, repeated, tag = "5")]
    pub threads: Vec<Thread>,
    #[prost(message, optional, tag = "6")]
    pub process: Option<Process>,
}

/// New rows of the recording's tables. They refer to rows of this block and of earlier blocks.
#[derive(Clone, PartialEq, Message)]
pub struct Tables {
    #[prost(message, optional, tag = "1")]
    pub strings: Option<Strings>,
    /// Rows of source paths, in which each value is the row of a string. `resources` has the same
    /// format.
    #[prost(message, optional, tag = "2")]
    pub sources: Option<Column>,
    #[prost(message, optional, tag = "3")]
    pub resources: Option<Column>,
    #[prost(message, optional, tag = "4")]
    pub funcs: Option<Funcs>,
    #[prost(message, optional, tag = "5")]
    pub frames: Option<Frames>,
    #[prost(message, optional, tag = "6")]
    pub stacks: Option<Stacks>,
    #[prost(message, optional, tag = "7")]
    pub refutations: Option<Refutations>,
    #[prost(message, optional, tag = "8")]
    pub context_kinds: Option<ContextKinds>,
    #[prost(message, optional, tag = "9")]
    pub contexts: Option<Contexts>,
    #[prost(message, optional, tag = "10")]
    pub mark_kinds: Option<MarkKinds>,
    #[prost(message, optional, tag = "11")]
    pub counters: Option<Counters>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Strings {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(string, repeated, tag = "2")]
    pub text: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Column {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(uint32, repeated, tag = "2")]
    pub value: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Funcs {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(uint32, repeated, tag = "2")]
    pub name: Vec<u32>,
    #[prost(enumeration = "Category", repeated, tag = "3")]
    pub category: Vec<i32>,
    /// Row of the function's source file plus one; 0 means that the function has no source file.
    #[prost(uint32, repeated, tag = "4")]
    pub source: Vec<u32>,
    /// Line at which the function begins. Lines count from 1; 0 means that the line is unknown.
    #[prost(uint32, repeated, tag = "5")]
    pub line: Vec<u32>,
    /// Row of the function's resource plus one; 0 means that the function has no resource.
    #[prost(uint32, repeated, tag = "6")]
    pub resource: Vec<u32>,
    #[prost(bool, repeated, tag = "7")]
    pub java: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Frames {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(uint32, repeated, tag = "2")]
    pub func: Vec<u32>,
    #[prost(uint32, repeated, tag = "3")]
    pub line: Vec<u32>,
    #[prost(enumeration = "Trust", repeated, tag = "4")]
    pub trust: Vec<i32>,
    /// Certainty of the top frame in the samples with this leaf. The column is empty in recordings
    /// of older versions.
    #[prost(enumeration = "TopFrame", repeated, tag = "5")]
    pub top_frame: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Stacks {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    /// Distance in rows from a stack back to the stack of its callers; 0 marks a root stack.
    #[prost(uint32, repeated, tag = "2")]
    pub parent: Vec<u32>,
    #[prost(uint32, repeated, tag = "3")]
    pub frame: Vec<u32>,
}

/// New refutations. Every column contains rows of strings, except `bci`, the bytecode index.
#[derive(Clone, PartialEq, Message)]
pub struct Refutations {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(uint32, repeated, tag = "2")]
    pub name: Vec<u32>,
    #[prost(uint32, repeated, tag = "3")]
    pub kind: Vec<u32>,
    #[prost(uint32, repeated, tag = "4")]
    pub caller: Vec<u32>,
    #[prost(sint32, repeated, tag = "5")]
    pub bci: Vec<i32>,
    #[prost(uint32, repeated, tag = "6")]
    pub expected: Vec<u32>,
    #[prost(uint32, repeated, tag = "7")]
    pub found: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ContextKinds {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(message, repeated, tag = "2")]
    pub kind: Vec<ContextKind>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ContextKind {
    #[prost(uint32, tag = "1")]
    pub class: u32,
    #[prost(uint32, tag = "2")]
    pub label: u32,
    #[prost(uint32, repeated, tag = "3")]
    pub field_key: Vec<u32>,
    #[prost(uint32, repeated, tag = "4")]
    pub field_label: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Contexts {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(message, repeated, tag = "2")]
    pub context: Vec<Context>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Context {
    /// Row of the enclosing context plus one; 0 means that the context is outermost.
    #[prost(uint32, tag = "1")]
    pub outer: u32,
    #[prost(uint32, tag = "2")]
    pub kind: u32,
    #[prost(uint32, repeated, tag = "3")]
    pub value: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MarkKinds {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(message, repeated, tag = "2")]
    pub kind: Vec<MarkKind>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MarkKind {
    /// Unique key of the marker kind: one word.
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub label: String,
    #[prost(string, tag = "3")]
    pub description: String,
    #[prost(enumeration = "Category", tag = "4")]
    pub category: i32,
    /// Describes the fields of the kind's markers, in the order of their values.
    #[prost(message, repeated, tag = "5")]
    pub figure: Vec<Figure>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Figure {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub label: String,
    #[prost(enumeration = "Unit", tag = "3")]
    pub unit: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Counters {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    #[prost(string, repeated, tag = "2")]
    pub name: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub description: Vec<String>,
    #[prost(enumeration = "Unit", repeated, tag = "4")]
    pub unit: Vec<i32>,
}

/// The data that one thread recorded under one name since the previous block.
#[derive(Clone, PartialEq, Message)]
pub struct Thread {
    /// Number of the thread in the recording.
    #[prost(uint32, tag = "1")]
    pub row: u32,
    /// Description of the thread, if it has changed. A reader takes the last description.
    #[prost(message, optional, tag = "2")]
    pub description: Option<Description>,
    #[prost(message, optional, tag = "3")]
    pub samples: Option<Samples>,
    #[prost(message, repeated, tag = "4")]
    pub refuted: Vec<Refuted>,
    #[prost(message, repeated, tag = "5")]
    pub marks: Vec<Mark>,
    /// The thread's allocations in recordings written before 2026-12. A reader accepts them; new
    /// recordings use `amounts`.
    #[prost(message, repeated, tag = "6")]
    pub allocations: Vec<Allocation>,
    /// The thread's samples of measures other than CPU time: one message for each measure.
    #[prost(message, repeated, tag = "7")]
    pub amounts: Vec<Amounts>,
}

/// A thread's samples of one measure. All columns have equal length, except `context`.
#[derive(Clone, PartialEq, Message)]
pub struct Amounts {
    /// Key of the measure, such as `alloc` for allocated bytes. In `alloc` the leaf of each stack
    /// is the class of the objects, in `lock` that of the lock.
    #[prost(string, tag = "1")]
    pub measure: String,
    /// Time of each sample, in nanoseconds since the previous sample in this message. The first
    /// value counts from 0.
    #[prost(sint64, repeated, tag = "2")]
    pub time_ns: Vec<i64>,
    #[prost(uint32, repeated, tag = "3")]
    pub stack: Vec<u32>,
    #[prost(uint64, repeated, tag = "4")]
    pub amount: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub events: Vec<u64>,
    /// Row of the sample's context plus one; 0 means that the sample has no context. It is empty if
    /// no sample in this message has one.
    #[prost(uint32, repeated, tag = "6")]
    pub context: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Description {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub tid: u64,
    #[prost(uint64, tag = "3")]
    pub started_ns: u64,
    #[prost(uint64, optional, tag = "4")]
    pub ended_ns: Option<u64>,
    /// CPU time that the kernel charged to the thread, in nanoseconds.
    #[prost(uint64, optional, tag = "5")]
    pub cpu_ns: Option<u64>,
}

/// A thread's CPU samples. All columns have equal length, except `context`: it is empty if no
/// sample has a context.
#[derive(Clone, PartialEq, Message)]
pub struct Samples {
    /// Number of the first sample in this message. The samples of a thread count from 0.
    #[prost(uint64, tag = "1")]
    pub first: u64,
    /// Time of each sample, in nanoseconds since the previous sample in this message. The first
    /// value counts from 0.
    #[prost(sint64, repeated, tag = "2")]
    pub time_ns: Vec<i64>,
    /// Reading of the thread's CPU clock at each sample, in nanoseconds since that of the previous
    /// sample. The first value counts from 0.
    #[prost(sint64, repeated, tag = "3")]
    pub cpu_ns: Vec<i64>,
    #[prost(uint32, repeated, tag = "4")]
    pub stack: Vec<u32>,
    /// Weight of the sample, in sampling intervals.
    #[prost(uint32, repeated, tag = "5")]
    pub weight: Vec<u32>,
    /// Row of the sample's context plus one; 0 means that the sample has no context.
    #[prost(uint32, repeated, tag = "6")]
    pub context: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Refuted {
    #[prost(uint64, tag = "1")]
    pub time_ns: u64,
    #[prost(uint32, tag = "2")]
    pub stack: u32,
    #[prost(uint32, tag = "3")]
    pub weight: u32,
    /// Row of the refutation that refutes the sample.
    #[prost(uint32, tag = "4")]
    pub how: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Mark {
    #[prost(uint32, tag = "1")]
    pub kind: u32,
    #[prost(uint64, tag = "2")]
    pub began_ns: u64,
    #[prost(uint64, tag = "3")]
    pub ended_ns: u64,
    /// Values of the marker, in the order of its kind's fields. A text value is the row of a
    /// string; all bits are set if the text is absent.
    #[prost(uint64, repeated, tag = "4")]
    pub value: Vec<u64>,
    /// Row of the marker's stack plus one; 0 means that no stack was recorded.
    #[prost(uint32, tag = "5")]
    pub stack: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Allocation {
    #[prost(uint64, tag = "1")]
    pub time_ns: u64,
    /// Row of the stack plus one; 0 means that no stack was recorded for the allocation.
    #[prost(uint32, tag = "2")]
    pub stack: u32,
    #[prost(uint32, tag = "3")]
    pub class: u32,
    #[prost(uint64, tag = "4")]
    pub bytes: u64,
    #[prost(uint64, tag = "5")]
    pub stands_for: u64,
}

/// The data that the whole process recorded since the previous block.
#[derive(Clone, PartialEq, Message)]
pub struct Process {
    #[prost(message, repeated, tag = "1")]
    pub marks: Vec<Mark>,
    #[prost(message, repeated, tag = "2")]
    pub readings: Vec<Reading>,
    /// Number of samples dropped since the recording began; `dropped_weight` is their weight in
    /// intervals. A reader takes the last value.
    #[prost(uint64, tag = "3")]
    pub dropped: u64,
    #[prost(uint64, tag = "4")]
    pub dropped_weight: u64,
}

/// The value of one counter at one time.
#[derive(Clone, PartialEq, Message)]
pub struct Reading {
    #[prost(uint32, tag = "1")]
    pub counter: u32,
    #[prost(uint64, tag = "2")]
    pub time_ns: u64,
    #[prost(uint64, tag = "3")]
    pub value: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Category {
    Other = 0,
    Application = 1,
    Library = 2,
    Jdk = 3,
    Native = 4,
    Vm = 5,
    VmGc = 6,
    VmJit = 7,
    Refuted = 8,
    NoStack = 9,
    Class = 10,
    Jvm = 11,
    Kernel = 12,
    Waiting = 13,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Trust {
    /// The frame is not the leaf of a sample's stack.
    None = 0,
    Proven = 1,
    Plausible = 2,
    Refuted = 3,
    Unwalked = 4,
    Unchecked = 5,
}

/// The certainty of the top frame of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum TopFrame {
    NotJudged = 0,
    Exact = 1,
    MethodCertain = 2,
    Approximate = 3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Unit {
    Count = 0,
    Nanoseconds = 1,
    Bytes = 2,
    Text = 3,
    Decimal = 4,
    Percentage = 5,
}

const UNITS: [(RecordingUnit, Unit); 6] = [
    (RecordingUnit::Count, Unit::Count),
    (RecordingUnit::Nanoseconds, Unit::Nanoseconds),
    (RecordingUnit::Bytes, Unit::Bytes),
    (RecordingUnit::Text, Unit::Text),
    (RecordingUnit::Decimal, Unit::Decimal),
    (RecordingUnit::Percentage, Unit::Percentage),
];

const CATEGORIES: [(RecordingCategory, Category); 14] = [
    (RecordingCategory::Other, Category::Other),
    (RecordingCategory::Application, Category::Application),
    (RecordingCategory::Library, Category::Library),
    (RecordingCategory::Jdk, Category::Jdk),
    (RecordingCategory::Native, Category::Native),
    (RecordingCategory::Vm(VmPart::Other), Category::Vm),
    (RecordingCategory::Vm(VmPart::Gc), Category::VmGc),
    (RecordingCategory::Vm(VmPart::Jit), Category::VmJit),
    (RecordingCategory::Refuted, Category::Refuted),
    (RecordingCategory::NoStack, Category::NoStack),
    (RecordingCategory::Class, Category::Class),
    (RecordingCategory::Jvm, Category::Jvm),
    (RecordingCategory::Kernel, Category::Kernel),
    (RecordingCategory::Waiting, Category::Waiting),
];

const TRUSTS: [(Option<RecordingTrust>, Trust); 6] = [
    (None, Trust::None),
    (Some(RecordingTrust::Proven), Trust::Proven),
    (Some(RecordingTrust::Plausible), Trust::Plausible),
    (Some(RecordingTrust::Refuted), Trust::Refuted),
    (Some(RecordingTrust::Unwalked), Trust::Unwalked),
    (Some(RecordingTrust::Unchecked), Trust::Unchecked),
];

const TOP_FRAMES: [(Option<Certainty>, TopFrame); 4] = [
    (None, TopFrame::NotJudged),
    (Some(Certainty::Exact), TopFrame::Exact),
    (Some(Certainty::MethodCertain), TopFrame::MethodCertain),
    (Some(Certainty::Approximate), TopFrame::Approximate),
];

pub fn from_category(category: RecordingCategory) -> i32 {
    to_number(&CATEGORIES, category)
}

pub fn to_category(number: i32) -> RecordingCategory {
    from_number(&CATEGORIES, number).unwrap_or(RecordingCategory::Other)
}

pub fn from_unit(unit: RecordingUnit) -> i32 {
    to_number(&UNITS, unit)
}

pub fn to_unit(number: i32) -> RecordingUnit {
    from_number(&UNITS, number).unwrap_or(RecordingUnit::Count)
}

pub fn from_trust(trust: Option<RecordingTrust>) -> i32 {
    to_number(&TRUSTS, trust)
}

pub fn to_trust(number: i32) -> Option<RecordingTrust> {
    from_number(&TRUSTS, number).flatten()
}

pub fn from_top_frame(certainty: Option<Certainty>) -> i32 {
    to_number(&TOP_FRAMES, certainty)
}

pub fn to_top_frame(number: i32) -> Option<Certainty> {
    from_number(&TOP_FRAMES, number).flatten()
}

fn to_number<M: Copy + PartialEq, N: Copy + Into<i32>>(table: &[(M, N)], meaning: M) -> i32 {
    table.iter().find(|(known, _)| *known == meaning).map_or(0, |(_, number)| (*number).into())
}

/// Looks up the meaning of an enum's number in `table`. Returns `None` for a number that only a
/// newer version uses.
fn from_number<M: Copy, N: Copy + Into<i32>>(table: &[(M, N)], number: i32) -> Option<M> {
    table.iter().find(|(_, known)| (*known).into() == number).map(|(meaning, _)| *meaning)
}
