//! A JVM that answers what a test has told it: a program of a few methods, and what GetStackTrace
//! would say.

use std::collections::HashMap;
use std::sync::Arc;

use vouch_report::Power;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_verify::proof::testing::PoolBuilder;
use vouch_verify::proof::{Body, Code, Gone, Pool, Relation};

use super::{CodeAt, InlinedFrames, Jvm, Site, Top, TopFrame, Wanted, Witnessed};
use crate::facade::LineEntry;
use crate::resolve::{Class, Handle, Method, Origin};

/// What is told of a program.
#[derive(Debug, Default)]
pub struct Pretend {
    methods: HashMap<ResolvedMethod, Told>,
    /// Ids that were told again: since when, and under which id the new meaning is known.
    later: HashMap<MethodId, (u64, ResolvedMethod)>,
    /// What GetStackTrace says of whatever thread.
    pub stack: Option<Witnessed>,
    /// What whatever thread waits for.
    pub wanted: Option<Wanted>,
    /// The virtual thread that whatever thread runs.
    pub mounted: Option<(u64, String)>,
    /// What stands on top of a thread that stays.
    pub top: Top,
    /// Whose code lies where.
    pub code: HashMap<usize, CodeAt>,
    /// The inlined frames at places in compiled code.
    pub inlined: HashMap<Site, InlinedFrames>,
    pub neighbouring_runs: Power,
    /// How often it was asked.
    pub asked: u32,
    /// All classes have been redefined, as often as nobody knows.
    pub redefined: bool,
    /// A program of somebody's has made it.
    pub hosted: bool,
}

#[derive(Debug)]
struct Told {
    method: Method,
    body: Body,
    pool: Option<(Vec<u8>, u16)>,
}

/// Bytes from one call of a method's to the next: an `invokestatic`, and a `nop`.
pub const STEP: i32 = 4;

impl Pretend {
    /// From `since` on the id means this static method, which calls these methods of its own class
    /// one after the other. Line 10 is its first, and each call has the next one.
    pub fn tell(&mut self, id: usize, since: u64, class: &str, name: &str, calls: &[&str]) {
        let mut builder = PoolBuilder::default();
        let (mut code, mut lines) = (Vec::new(), Vec::new());
        for (line, call) in (10..).zip(calls) {
            let start = u16::try_from(code.len()).unwrap();
            lines.push(LineEntry { start, line });
            let number = builder.method(class, call, descriptor(call)).to_be_bytes();
            code.extend([0xb8, number[0], number[1], 0]);
        }
        code.push(0xb1);
        self.add(id, since, (class, name), Body::Code(Code::new(code)), Some(builder.parts()), lines);
    }

    /// A native method.
    pub fn tell_native(&mut self, id: usize, class: &str, name: &str) {
        self.add(id, 0, (class, name), Body::Native, None, Vec::new());
    }

    /// A method whose class is gone.
    pub fn tell_gone(&mut self, id: usize, class: &str, name: &str) {
        self.add(id, 0, (class, name), Body::Gone(Gone::Unloaded), None, Vec::new());
    }

    fn add(
        &mut self,
        id: usize,
        since: u64,
        (class, name): (&str, &str),
        body: Body,
        pool: Option<(Vec<u8>, u16)>,
        lines: Vec<LineEntry>,
    ) {
        let class = Class::new(&format!("L{class};"), None, Origin::default(), Handle::Gone);
        let method = Method {
            id: MethodId(id),
            class: Arc::new(class),
            name: name.into(),
            descriptor: descriptor(name).into(),
            lines: lines.into(),
        };
        let mut meaning = ResolvedMethod(id);
        if self.methods.contains_key(&meaning) {
            meaning = ResolvedMethod(id + 1_000);
            self.later.insert(method.id, (since, meaning));
        }
        self.methods.insert(meaning, Told { method, body, pool });
    }

    fn told(&self, method: &Method) -> Option<&Told> {
        self.methods.values().find(|told| Arc::ptr_eq(&told.method.class, &method.class))
    }
}

fn descriptor(name: &str) -> &'static str {
    if name == "main" { "([Ljava/lang/String;)V" } else { "()V" }
}

impl Jvm for Pretend {
    fn meaning(&mut self, id: MethodId, time: u64) -> ResolvedMethod {
        let later = self.later.get(&id).filter(|(since, _)| *since <= time);
        later.map_or(ResolvedMethod(id.0), |(_, meaning)| *meaning)
    }

    fn meant(&mut self, frames: &[Frame], time: u64, meant: &mut Vec<ResolvedFrame>) {
        meant.extend(
            frames.iter().map(|frame| ResolvedFrame::new(self.meaning(frame.method(), time), frame.bci())),
        );
    }

    fn method(&mut self, meaning: ResolvedMethod) -> Option<Method> {
        Some(self.methods.get(&meaning)?.method.clone())
    }

    fn met_obsolete(&self) -> bool {
        false
    }

    fn body(&mut self, method: &Method) -> (bool, Body) {
        (true, self.told(method).map_or(Body::Gone(Gone::Unloaded), |told| told.body.clone()))
    }

    fn constants(&mut self, method: &Method) -> Option<Pool> {
        let (bytes, count) = self.told(method)?.pool.clone()?;
        Some(Pool::new(bytes, count))
    }

    fn was_redefined(&mut self, _: &Method) -> bool {
        self.redefined
    }

    fn relation(&mut self, _: &Method, _: &[Method], _: &Method) -> Relation {
        Relation::Unrelated
    }

    fn is_of_thread(&mut self, _: &Method) -> bool {
        false
    }

    fn begins_with(&self, routine: usize) -> bool {
        routine == BEGINS
    }

    fn is_launched(&self) -> bool {
        !self.hosted
    }

    fn stack(&mut self, _: u32, _: u32, asking: &mut dyn FnMut()) -> Option<Witnessed> {
        self.asked += 1;
        asking();
        self.stack.clone()
    }

    fn mounted(&mut self, _: u32, _: u32) -> Option<(u64, String)> {
        self.mounted.clone()
    }

    fn make_ids(&mut self) {}

    fn wanted(&mut self, threads: &[(u32, u32)], _: usize, _: usize) -> Vec<Option<Wanted>> {
        vec![self.wanted.clone(); threads.len()]
    }

    fn code_at(&mut self, pc: usize) -> CodeAt {
        self.code.get(&pc).copied().unwrap_or_default()
    }

    fn inlined_at(&mut self, site: Site, _: &[Frame]) -> Option<InlinedFrames> {
        self.inlined.get(&site).cloned()
    }

    fn neighbouring_runs(&self) -> Power {
        self.neighbouring_runs
    }

    fn top_at(&mut self, _: usize) -> Option<TopFrame> {
        self.top.frame
    }

    fn top(&mut self, _: &PostedThread) -> Top {
        self.top
    }
}

/// With this routine the JVM begins its threads.
pub const BEGINS: usize = 0x1000;
