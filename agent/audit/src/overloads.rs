//! Finds the methods that names may mean. Of all overloads, and of all calls in a line, it chooses
//! those that make the best of each stack.
//!
//! It must never refute a stack that some combination of overloads allows.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use vouch_classes::{ClassFile, DeclaredMethod, Library};
use vouch_sample::{Bci, ENTRY, NATIVE};
use vouch_verify::proof::{Body, Code, Constant, INVOKESTATIC, Instruction, Verdict, is_invoke};

use crate::index::{CodeLocation, LocationId, Method, MethodId, Node, NodeId, RecordingIndex, Stack};
use crate::judge::Judge;
use crate::run_info::Changes;
use crate::unjudged::Judged;
use crate::versions::{Version, Versions};

/// A name that more methods have than this is not resolved.
const MAX_CANDIDATES: usize = 64;

/// A method that a name may mean, with the bcis that its frame may have.
#[derive(Debug, Clone)]
struct Candidate {
    method: MethodId,
    /// The bcis that the frame may have, one for each distinct instruction. Calls come first.
    bcis: Rc<[Bci]>,
}

/// The lowest cost of a call from a candidate, and the bci that has this cost.
#[derive(Debug, Clone, Copy)]
struct BestCall {
    cost: u64,
    bci: Option<Bci>,
}

/// Returns the cost of a verdict. Any number of explained or unjudged calls costs less than one
/// refuted call.
fn cost(judged: Judged) -> u64 {
    match judged {
        Ok(Verdict::Proven) => 0,
        Ok(Verdict::Explained(_)) => 1,
        Err(_) => 2,
        Ok(Verdict::Refuted(_)) => REFUTED_COST,
    }
}

const REFUTED_COST: u64 = 1 << 32;

/// Resolves the names of a recording to methods and bcis, and returns the new index with its
/// classes.
pub fn resolve(
    mut names: RecordingIndex,
    library: &Library,
    versions: Versions,
    changes: Changes,
) -> (RecordingIndex, Versions) {
    let mut resolved = names.take_all_but_stacks();
    let candidates = Candidates::new(&names, &versions, &mut resolved).0;
    let judge = Judge::new(&resolved, library, versions, changes);
    let mut resolver = Resolver { names: &names, judge, candidates, known_calls: HashMap::new() };
    let best_paths = resolver.best_paths(&resolved);
    let counts: Vec<_> = names.counts.iter().map(|(key, count)| (*key, *count)).collect();
    for ((kind, thread, stack), count) in counts {
        let Stack { leaf, end } = names.stacks[stack.row()];
        let leaf = leaf.map(|leaf| resolver.write_stack(leaf, &best_paths, &mut resolved));
        resolved.count(kind, thread, Stack { leaf, end }, count);
    }
    (resolved, resolver.judge.versions)
}

/// The candidates for the method at each location of the recording.
struct Candidates(Vec<Vec<Candidate>>);

impl Candidates {
    fn new(names: &RecordingIndex, versions: &Versions, resolved: &mut RecordingIndex) -> Self {
        let files = |method: MethodId| match versions.get(names.method(method)) {
            Version::Loaded(loaded) => Some(&loaded.file),
            _ => None,
        };
        let mut candidates = Vec::with_capacity(names.locations.len());
        for location in &names.locations {
            let method = names.method(location.method);
            let mut candidates_here: Vec<Candidate> = Vec::new();
            if let Some(file) = files(location.method) {
                let may_be = |it: &&DeclaredMethod| location.line == 0 || it.may_be_on(location.line);
                for declared in file.named(&method.name).filter(may_be) {
                    candidates_here.extend(Candidate::new(declared, method, location.line, resolved));
                }
            }
            if candidates_here.is_empty() || candidates_here.len() > MAX_CANDIDATES {
                candidates_here = vec![Candidate::from_unknown_method(method, resolved)];
            }
            candidates.push(candidates_here);
        }
        let mut all = Self(candidates);
        all.add_from_callers(names, files, resolved);
        all
    }

    /// Adds candidates for methods of missing classes, with the descriptors that their callers use.
    fn add_from_callers<'f>(
        &mut self,
        names: &RecordingIndex,
        files: impl Fn(MethodId) -> Option<&'f ClassFile>,
        resolved: &mut RecordingIndex,
    ) {
        // The instructions of each caller are read once, whatever it may call.
        let mut callees: HashMap<LocationId, HashMap<&str, HashSet<MethodId>>> = HashMap::new();
        for node in names.nodes.iter().filter(|node| !node.gap) {
            let Some(caller) = node.caller else { continue };
            let (caller, callee) = (names.node(caller).location, names.location(node.location).method);
            if files(callee).is_none() && files(names.location(caller).method).is_some() {
                let name = &*names.method(callee).name;
                callees.entry(caller).or_default().entry(name).or_default().insert(callee);
            }
        }
        let mut called: HashMap<MethodId, BTreeSet<(String, bool)>> = HashMap::new();
        for (caller, callees) in callees {
            let Some(file) = files(names.location(caller).method) else { continue };
            for candidate in &self.0[caller.row()] {
                let method = resolved.method(candidate.method);
                let Some(declared) = file.method(&method.name, &method.descriptor) else { continue };
                let Body::Code(code) = &declared.body else { continue };
                for instruction in code.instructions() {
                    let Some(Constant::Member(member)) = constant(file, instruction) else { continue };
                    for callee in callees.get(member.name).into_iter().flatten() {
                        let of = called.entry(*callee).or_default();
                        if of.len() < MAX_CANDIDATES {
                            of.insert((member.descriptor.to_owned(), instruction.opcode == INVOKESTATIC));
                        }
                    }
                }
            }
        }
        for (row, location) in names.locations.iter().enumerate() {
            for (descriptor, is_static) in called.get(&location.method).into_iter().flatten() {
                let descriptor = resolved.intern(descriptor);
                let method =
                    Method { descriptor, is_static: *is_static, ..names.method(location.method).clone() };
                let (method, _) = resolved.methods.insert_full(method);
                self.0[row].push(Candidate { method: MethodId::from_row(method), bcis: [ENTRY].into() });
            }
        }
    }
}

impl Candidate {
    /// Makes a candidate from a declared method. Returns `None` if the method has no code.
    fn new(
        declared: &DeclaredMethod,
        method: &Method,
        line: u16,
        resolved: &mut RecordingIndex,
    ) -> Option<Self> {
        let bcis: Vec<Bci> = match &declared.body {
            Body::Gone(_) => return None,
            Body::Native | Body::Code(_) => call_sites(declared, line),
        };
        let descriptor = resolved.intern(&declared.descriptor);
        let (row, _) = resolved.methods.insert_full(Method {
            descriptor,
            is_static: declared.is_static,
            is_native: matches!(declared.body, Body::Native),
            ..method.clone()
        });
        Some(Self { method: MethodId::from_row(row), bcis: bcis.into() })
    }

    fn from_unknown_method(method: &Method, resolved: &mut RecordingIndex) -> Self {
        let (row, _) = resolved.methods.insert_full(method.clone());
        Self { method: MethodId::from_row(row), bcis: [ENTRY].into() }
    }
}

/// Returns the bcis in a line, or in the whole method for line 0, calls first. Of several
/// instructions with the same effect only one is listed.
pub fn call_sites(declared: &DeclaredMethod, line: u16) -> Vec<Bci> {
    let Body::Code(code) = &declared.body else { return vec![NATIVE] };
    let there = call_sites_on(declared, code, line);
    // A line number table may have lines without an instruction.
    if there.is_empty() { call_sites_on(declared, code, 0) } else { there }
}

fn call_sites_on(declared: &DeclaredMethod, code: &Code, line: u16) -> Vec<Bci> {
    let mut known = HashSet::new();
    let mut all: Vec<(bool, Bci)> = code
        .instructions()
        .filter_map(|instruction| {
            let bci = u16::try_from(instruction.bci).ok()?;
            let is_there = line == 0 || !declared.has_lines() || declared.is_on(bci, line);
            // A frame at bci 0 may be in the method's entry code, so it differs from others with
            // its instruction.
            let alike = (instruction.opcode, instruction.constant(), bci == 0);
            (is_there && known.insert(alike)).then_some((!is_invoke(instruction.opcode), bci.into()))
        })
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, bci)| bci).collect()
}

fn constant<'f>(file: &'f ClassFile, instruction: Instruction<'_>) -> Option<Constant<'f>> {
    file.class.pool().get(instruction.constant()?)
}

/// The best path from the root to each node. Each candidate has its total cost, and the candidate
/// for its caller.
struct BestPaths {
    first: Vec<usize>,
    best_paths: Vec<(u64, u16)>,
}

impl BestPaths {
    fn at(&self, node: NodeId, candidates: usize) -> &[(u64, u16)] {
        let first = self.first[node.row()];
        &self.best_paths[first..first + candidates]
    }
}

struct Resolver<'a> {
    names: &'a RecordingIndex,
    judge: Judge<'a>,
    candidates: Vec<Vec<Candidate>>,
    known_calls: HashMap<(LocationId, usize, MethodId), BestCall>,
}

impl Resolver<'_> {
    fn candidates(&self, node: Node) -> usize {
        self.candidates[node.location.row()].len()
    }

    /// Finds the best path to each node. One pass is enough, because a caller always has a smaller
    /// row than its callee.
    fn best_paths(&mut self, resolved: &RecordingIndex) -> BestPaths {
        let mut all = BestPaths { first: Vec::new(), best_paths: Vec::new() };
        for row in 0..self.names.nodes.len() {
            let node = self.names.nodes[row];
            all.first.push(all.best_paths.len());
            for candidate in 0..self.candidates(node) {
                let best_path = match node.caller {
                    None => (0, 0),
                    Some(above) => self.best_path(node, candidate, above, &all, resolved),
                };
                all.best_paths.push(best_path);
            }
        }
        all
    }

    fn best_path(
        &mut self,
        node: Node,
        candidate: usize,
        above: NodeId,
        all: &BestPaths,
        resolved: &RecordingIndex,
    ) -> (u64, u16) {
        let caller = self.names.node(above);
        let callee = self.candidates[node.location.row()][candidate].method;
        let mut best = (u64::MAX, 0);
        for from in 0..self.candidates(caller) {
            let (before, _) = all.at(above, self.candidates(caller))[from];
            let more =
                if node.gap { 0 } else { self.best_call(caller.location, from, callee, resolved).cost };
            let sum = before.saturating_add(more);
            if sum < best.0 {
                best = (sum, u16::try_from(from).unwrap_or(u16::MAX));
            }
        }
        best
    }

    fn best_call(
        &mut self,
        caller: LocationId,
        candidate: usize,
        callee: MethodId,
        resolved: &RecordingIndex,
    ) -> BestCall {
        if let Some(known) = self.known_calls.get(&(caller, candidate, callee)) {
            return *known;
        }
        let Candidate { method, bcis } = self.candidates[caller.row()][candidate].clone();
        let line = self.names.location(caller).line;
        let mut best_call = BestCall { cost: REFUTED_COST, bci: None };
        for bci in bcis.iter().copied() {
            let judged = self.judge.judge_edge(resolved, CodeLocation { method, bci, line }, callee);
            if cost(judged) < best_call.cost {
                best_call = BestCall { cost: cost(judged), bci: Some(bci) };
            }
            if judged == Ok(Verdict::Proven) {
                break;
            }
        }
        self.known_calls.insert((caller, candidate, callee), best_call);
        best_call
    }

    /// Adds a stack with its best candidates to the resolved index.
    fn write_stack(&self, leaf: NodeId, best_paths: &BestPaths, resolved: &mut RecordingIndex) -> NodeId {
        let mut frames = Vec::new();
        let (mut next, mut candidate) = (Some(leaf), None);
        while let Some(at) = next {
            let node = self.names.node(at);
            let paths = best_paths.at(at, self.candidates(node));
            let chosen =
                candidate.unwrap_or_else(|| (0..paths.len()).min_by_key(|row| paths[*row].0).unwrap_or(0));
            frames.push((node, chosen));
            next = node.caller;
            candidate = Some(usize::from(paths[chosen].1));
        }
        let mut caller = None;
        for at in (0..frames.len()).rev() {
            let (node, candidate) = frames[at];
            let Candidate { method, bcis } = &self.candidates[node.location.row()][candidate];
            let callee = at.checked_sub(1).map(|inner| {
                let (inner, candidate) = frames[inner];
                self.candidates[inner.location.row()][candidate].method
            });
            let known_calls =
                callee.and_then(|callee| self.known_calls.get(&(node.location, candidate, callee)));
            let bci =
                known_calls.and_then(|best_call| best_call.bci).or(bcis.first().copied()).unwrap_or(ENTRY);
            let location =
                CodeLocation { method: *method, bci, line: self.names.location(node.location).line };
            let (location, _) = resolved.locations.insert_full(location);
            let node =
                Node { caller, location: LocationId::from_row(location), filtered: false, gap: node.gap };
            caller = Some(NodeId::from_row(resolved.nodes.insert_full(node).0));
        }
        caller.unwrap_or(NodeId::from_row(0))
    }
}
