//! A fake JVM for tests. A test adds the methods of a small program, and sets the results of
//! GetStackTrace and of other calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vouch_report::Power;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_verify::proof::testing::PoolBuilder;
use vouch_verify::proof::{Body, Code, Gone, Pool, Relation};

use super::{CodeAt, InlinedFrames, Jvm, Site, Top, TopFrame, WaitTarget, Witnessed};
use crate::method::{Class, Handle, LineEntry, Method, Origin};
use crate::weak_object::WeakObject;

/// A fake JVM with a small program, for tests.
#[derive(Debug, Default)]
pub struct FakeJvm {
    methods: HashMap<ResolvedMethod, FakeMethod>,
    /// The method ids that were used again, each with the time since when, and the newer method.
    later: HashMap<MethodId, (u64, ResolvedMethod)>,
    /// The stack that GetStackTrace returns for every thread.
    pub stack: Option<Witnessed>,
    /// The object that the fake JVM reports every thread to wait for.
    pub wait_target: Option<WaitTarget>,
    /// The virtual thread that the fake JVM reports as mounted on every thread.
    pub mounted: Option<(u64, String)>,
    /// The top frame that the fake JVM reports for every thread that waits in its handler.
    pub top: Top,
    /// The kind of code at each address of the fake JVM.
    pub code: HashMap<usize, CodeAt>,
    /// The inlined frames at sites in the fake JVM's compiled code.
    pub inlined: HashMap<Site, InlinedFrames>,
    pub neighbouring_runs: Power,
    /// The number of calls of GetStackTrace so far.
    pub asked: u32,
    /// True if all classes of the fake JVM have been redefined.
    pub redefined: bool,
    /// True if a native program created the fake JVM, and not the JDK's launcher.
    pub hosted: bool,
    /// The weak references to objects that have been collected.
    pub dead: HashSet<u64>,
    /// The weak references that were deleted.
    pub forgotten: Vec<u64>,
}

#[derive(Debug)]
struct FakeMethod {
    method: Method,
    body: Body,
    pool: Option<(Vec<u8>, u16)>,
}

/// The number of bytes of bytecode from one call to the next: an `invokestatic` and a `nop`.
pub const STEP: i32 = 4;

impl FakeJvm {
    /// Adds a static method to the program. It has the id from the time `since` on. It calls the
    /// methods `calls` of the same class one after the other. The first call is on line 10, and
    /// each other one on the next.
    pub fn add_method(&mut self, id: usize, since: u64, class: &str, name: &str, calls: &[&str]) {
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

    /// Adds a native method to the fake JVM's program.
    pub fn add_native(&mut self, id: usize, class: &str, name: &str) {
        self.add(id, 0, (class, name), Body::Native, None, Vec::new());
    }

    /// Adds a method of an unloaded class to the fake JVM's program.
    pub fn add_unloaded(&mut self, id: usize, class: &str, name: &str) {
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
        let class = Class::new(&format!("L{class};"), None, Origin::default(), Handle::None);
        let method = Method {
            id: MethodId(id),
            class: Arc::new(class),
            name: name.into(),
            descriptor: descriptor(name).into(),
            lines: lines.into(),
        };
        let mut resolved = ResolvedMethod(id);
        if self.methods.contains_key(&resolved) {
            resolved = ResolvedMethod(id + 1_000);
            self.later.insert(method.id, (since, resolved));
        }
        self.methods.insert(resolved, FakeMethod { method, body, pool });
    }

    fn find(&self, method: &Method) -> Option<&FakeMethod> {
        self.methods.values().find(|known| Arc::ptr_eq(&known.method.class, &method.class))
    }
}

fn descriptor(name: &str) -> &'static str {
    if name == "main" { "([Ljava/lang/String;)V" } else { "()V" }
}

impl Jvm for FakeJvm {
    fn resolve(&mut self, id: MethodId, time: u64) -> ResolvedMethod {
        let later = self.later.get(&id).filter(|(since, _)| *since <= time);
        later.map_or(ResolvedMethod(id.0), |(_, resolved)| *resolved)
    }

    fn resolve_frames(&mut self, frames: &[Frame], time: u64, resolved: &mut Vec<ResolvedFrame>) {
        resolved.extend(
            frames.iter().map(|frame| ResolvedFrame::new(self.resolve(frame.method(), time), frame.bci())),
        );
    }

    fn method(&mut self, resolved: ResolvedMethod) -> Option<Method> {
        Some(self.methods.get(&resolved)?.method.clone())
    }

    fn has_seen_obsolete(&self) -> bool {
        false
    }

    fn body(&mut self, method: &Method) -> (bool, Body) {
        (true, self.find(method).map_or(Body::Gone(Gone::Unloaded), |known| known.body.clone()))
    }

    fn constants(&mut self, method: &Method) -> Option<Pool> {
        let (bytes, count) = self.find(method)?.pool.clone()?;
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

    fn is_thread_entry(&self, routine: usize) -> bool {
        routine == THREAD_ENTRY
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

    fn wait_targets(&mut self, threads: &[(u32, u32)], _: usize, _: usize) -> Vec<Option<WaitTarget>> {
        vec![self.wait_target.clone(); threads.len()]
    }

    fn is_alive(&mut self, object: WeakObject) -> bool {
        !self.dead.contains(&object.0)
    }

    fn forget(&mut self, object: WeakObject) {
        self.forgotten.push(object.0);
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

/// The address of the routine with which the fake JVM starts its threads.
pub const THREAD_ENTRY: usize = 0x1000;
