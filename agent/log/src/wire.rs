//! What stands in a block: the messages of docs/recording.proto, by hand.
//!
//! A number that was given to a field must never mean anything else. Ids are row numbers; where
//! there may be none they are the row plus one, and 0 is none. `first` is the row of the first of a
//! column's values.

use prost::Message;
use vouch_recording::{Category as Whose, Fate as Became, Unit as Told, VmPart};
use vouch_sample::Certainty;

/// What a block holds. All parts but the first two may be missing.
#[derive(Clone, PartialEq, Message)]
pub struct Block {
    /// Blocks count from 0, which is the one that begins a file.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// When it was written, on CLOCK_MONOTONIC.
    #[prost(uint64, tag = "2")]
    pub time_ns: u64,
    /// Of the run as a whole, as JSON: what came last holds.
    #[prost(string, tag = "3")]
    pub state: String,
    #[prost(message, optional, tag = "4")]
    pub tables: Option<Tables>,
    #[prost(message, repeated, tag = "5")]
    pub threads: Vec<Thread>,
    #[prost(message, optional, tag = "6")]
    pub process: Option<Process>,
}

/// New rows of the tables. They refer to rows of this block and of earlier ones.
#[derive(Clone, PartialEq, Message)]
pub struct Tables {
    #[prost(message, optional, tag = "1")]
    pub strings: Option<Strings>,
    /// Their values are strings.
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
    /// Or none.
    #[prost(uint32, repeated, tag = "4")]
    pub source: Vec<u32>,
    /// Lines count from 1; 0 is none.
    #[prost(uint32, repeated, tag = "5")]
    pub line: Vec<u32>,
    /// Or none.
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
    #[prost(enumeration = "Fate", repeated, tag = "4")]
    pub fate: Vec<i32>,
    /// Empty in recordings of a Vouch that did not judge it.
    #[prost(enumeration = "TopFrame", repeated, tag = "5")]
    pub top_frame: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Stacks {
    #[prost(uint32, tag = "1")]
    pub first: u32,
    /// By how many rows the callers' stack stands further up; 0 is a root.
    #[prost(uint32, repeated, tag = "2")]
    pub parent: Vec<u32>,
    #[prost(uint32, repeated, tag = "3")]
    pub frame: Vec<u32>,
}

/// Strings all, but for the place in the bytecode.
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
    /// Or none.
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
    /// One word, as no other kind has it.
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub label: String,
    #[prost(string, tag = "3")]
    pub description: String,
    #[prost(enumeration = "Category", tag = "4")]
    pub category: i32,
    /// What the values of its marks are, in their order.
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

/// What came of a thread under one name.
#[derive(Clone, PartialEq, Message)]
pub struct Thread {
    /// Its number.
    #[prost(uint32, tag = "1")]
    pub row: u32,
    /// What came last holds.
    #[prost(message, optional, tag = "2")]
    pub description: Option<Description>,
    #[prost(message, optional, tag = "3")]
    pub samples: Option<Samples>,
    #[prost(message, repeated, tag = "4")]
    pub refuted: Vec<Refuted>,
    #[prost(message, repeated, tag = "5")]
    pub marks: Vec<Mark>,
    /// The allocations of recordings of before 2026-12. They are only read.
    #[prost(message, repeated, tag = "6")]
    pub allocations: Vec<Allocation>,
    /// One message for each measure other than CPU time.
    #[prost(message, repeated, tag = "7")]
    pub amounts: Vec<Amounts>,
}

/// Samples of one measure, in columns of equal length.
#[derive(Clone, PartialEq, Message)]
pub struct Amounts {
    /// The measure's key.
    #[prost(string, tag = "1")]
    pub measure: String,
    /// The time since the sample before in this block; of the first, since 0.
    #[prost(sint64, repeated, tag = "2")]
    pub time_ns: Vec<i64>,
    #[prost(uint32, repeated, tag = "3")]
    pub stack: Vec<u32>,
    #[prost(uint64, repeated, tag = "4")]
    pub amount: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub events: Vec<u64>,
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
    /// What the kernel charged it.
    #[prost(uint64, optional, tag = "5")]
    pub cpu_ns: Option<u64>,
}

/// As many values in each column, but for the last, which is empty where no sample has a context.
#[derive(Clone, PartialEq, Message)]
pub struct Samples {
    /// The first of them is that of its thread.
    #[prost(uint64, tag = "1")]
    pub first: u64,
    /// Since the sample before in this block; the first since 0.
    #[prost(sint64, repeated, tag = "2")]
    pub time_ns: Vec<i64>,
    /// The thread's own CPU clock, in the same way.
    #[prost(sint64, repeated, tag = "3")]
    pub cpu_ns: Vec<i64>,
    #[prost(uint32, repeated, tag = "4")]
    pub stack: Vec<u32>,
    /// In intervals.
    #[prost(uint32, repeated, tag = "5")]
    pub weight: Vec<u32>,
    /// Or none.
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
    /// The refutation.
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
    /// As many as its kind has figures count. Of a text the string's row, or all bits for none.
    #[prost(uint64, repeated, tag = "4")]
    pub value: Vec<u64>,
    /// Or none.
    #[prost(uint32, tag = "5")]
    pub stack: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Allocation {
    #[prost(uint64, tag = "1")]
    pub time_ns: u64,
    /// Or none.
    #[prost(uint32, tag = "2")]
    pub stack: u32,
    #[prost(uint32, tag = "3")]
    pub class: u32,
    #[prost(uint64, tag = "4")]
    pub bytes: u64,
    #[prost(uint64, tag = "5")]
    pub stands_for: u64,
}

/// What came of all of the process.
#[derive(Clone, PartialEq, Message)]
pub struct Process {
    #[prost(message, repeated, tag = "1")]
    pub marks: Vec<Mark>,
    #[prost(message, repeated, tag = "2")]
    pub readings: Vec<Reading>,
    /// Samples for which there was no room, so far, and what they weigh.
    #[prost(uint64, tag = "3")]
    pub dropped: u64,
    #[prost(uint64, tag = "4")]
    pub dropped_weight: u64,
}

/// What a counter was at a time.
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Fate {
    /// It is no leaf.
    None = 0,
    Proven = 1,
    Plausible = 2,
    Refuted = 3,
    Unwalked = 4,
    Outside = 5,
    Dropped = 6,
}

/// How the top frame of samples is known.
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

const UNITS: [(Told, Unit); 6] = [
    (Told::Count, Unit::Count),
    (Told::Nanoseconds, Unit::Nanoseconds),
    (Told::Bytes, Unit::Bytes),
    (Told::Text, Unit::Text),
    (Told::Decimal, Unit::Decimal),
    (Told::Percentage, Unit::Percentage),
];

const CATEGORIES: [(Whose, Category); 11] = [
    (Whose::Other, Category::Other),
    (Whose::Application, Category::Application),
    (Whose::Library, Category::Library),
    (Whose::Jdk, Category::Jdk),
    (Whose::Native, Category::Native),
    (Whose::Vm(VmPart::Other), Category::Vm),
    (Whose::Vm(VmPart::Gc), Category::VmGc),
    (Whose::Vm(VmPart::Jit), Category::VmJit),
    (Whose::Refuted, Category::Refuted),
    (Whose::NoStack, Category::NoStack),
    (Whose::Class, Category::Class),
];

const FATES: [(Option<Became>, Fate); 7] = [
    (None, Fate::None),
    (Some(Became::Proven), Fate::Proven),
    (Some(Became::Plausible), Fate::Plausible),
    (Some(Became::Refuted), Fate::Refuted),
    (Some(Became::Unwalked), Fate::Unwalked),
    (Some(Became::Outside), Fate::Outside),
    (Some(Became::Dropped), Fate::Dropped),
];

const TOP_FRAMES: [(Option<Certainty>, TopFrame); 4] = [
    (None, TopFrame::NotJudged),
    (Some(Certainty::Exact), TopFrame::Exact),
    (Some(Certainty::MethodCertain), TopFrame::MethodCertain),
    (Some(Certainty::Approximate), TopFrame::Approximate),
];

pub fn of_category(category: Whose) -> i32 {
    number(&CATEGORIES, category)
}

pub fn to_category(number: i32) -> Whose {
    meaning(&CATEGORIES, number).unwrap_or(Whose::Other)
}

pub fn of_unit(unit: Told) -> i32 {
    number(&UNITS, unit)
}

pub fn to_unit(number: i32) -> Told {
    meaning(&UNITS, number).unwrap_or(Told::Count)
}

pub fn of_fate(fate: Option<Became>) -> i32 {
    number(&FATES, fate)
}

pub fn to_fate(number: i32) -> Option<Became> {
    meaning(&FATES, number).flatten()
}

pub fn from_top_frame(certainty: Option<Certainty>) -> i32 {
    number(&TOP_FRAMES, certainty)
}

pub fn to_top_frame(number: i32) -> Option<Certainty> {
    meaning(&TOP_FRAMES, number).flatten()
}

fn number<M: Copy + PartialEq, N: Copy + Into<i32>>(table: &[(M, N)], meaning: M) -> i32 {
    table.iter().find(|(known, _)| *known == meaning).map_or(0, |(_, number)| (*number).into())
}

/// `None`: a newer Vouch knows more.
fn meaning<M: Copy, N: Copy + Into<i32>>(table: &[(M, N)], number: i32) -> Option<M> {
    table.iter().find(|(_, known)| (*known).into() == number).map(|(meaning, _)| *meaning)
}
