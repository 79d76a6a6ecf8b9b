//! What names may mean: of all methods of a name, and of all calls in a line, those that make the
//! best of each stack.
//!
//! It must never have a stack refuted that some reading of its names allows.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use vouch_classes::{ClassFile, Declared, Library};
use vouch_sample::{Bci, ENTRY, NATIVE};
use vouch_verify::proof::{Body, Code, Constant, INVOKESTATIC, Instruction, Verdict, is_invoke};

use crate::index::{Method, MethodId, Node, NodeId, Place, PlaceId, Seen, Stack};
use crate::judge::Judge;
use crate::run_info::Changes;
use crate::unjudged::Judged;
use crate::versions::{Version, Versions};

/// Of more methods of one name nobody knows which is meant.
const MOST: usize = 64;

/// One method that a name may mean, and where in it a frame may stand.
#[derive(Debug, Clone)]
struct Reading {
    method: MethodId,
    /// Places that differ in what they call, those of calls first.
    bcis: Rc<[Bci]>,
}

/// What a call comes to at best, and from where.
#[derive(Debug, Clone, Copy)]
struct Best {
    cost: u64,
    bci: Option<Bci>,
}

/// What a call costs: no number of those that can be explained, or not be judged, is dearer than
/// one that cannot be.
fn cost(judged: Judged) -> u64 {
    match judged {
        Ok(Verdict::Proven) => 0,
        Ok(Verdict::Explained(_)) => 1,
        Err(_) => 2,
        Ok(Verdict::Refuted(_)) => REFUTED,
    }
}

const REFUTED: u64 = 1 << 32;

/// The recording with methods and places in the place of names, and the classes that they are of.
pub fn resolve(mut named: Seen, library: &Library, versions: Versions, changes: Changes) -> (Seen, Versions) {
    let mut full = named.without_stacks();
    let readings = Readings::of(&named, &versions, &mut full).0;
    let judge = Judge::new(&full, library, versions, changes);
    let mut resolver = Resolver { named: &named, judge, readings, asked: HashMap::new() };
    let ways = resolver.ways(&full);
    let counts: Vec<_> = named.counts.iter().map(|(key, count)| (*key, *count)).collect();
    for ((kind, thread, stack), count) in counts {
        let Stack { leaf, end } = named.stacks[stack.row()];
        let leaf = leaf.map(|leaf| resolver.write(leaf, &ways, &mut full));
        full.count(kind, thread, Stack { leaf, end }, count);
    }
    (full, resolver.judge.versions)
}

/// All readings of each of the recording's places.
struct Readings(Vec<Vec<Reading>>);

impl Readings {
    fn of(named: &Seen, versions: &Versions, full: &mut Seen) -> Self {
        let files = |method: MethodId| match versions.get(named.method(method)) {
            Version::Ran(ran) => Some(&ran.file),
            _ => None,
        };
        let mut readings = Vec::with_capacity(named.places.len());
        for place in &named.places {
            let method = named.method(place.method);
            let mut of: Vec<Reading> = Vec::new();
            if let Some(file) = files(place.method) {
                let may_be = |it: &&Declared| place.line == 0 || it.may_be_on(place.line);
                for declared in file.named(&method.name).filter(may_be) {
                    of.extend(Reading::of(declared, method, place.line, full));
                }
            }
            if of.is_empty() || of.len() > MOST {
                of = vec![Reading::unknown(method, full)];
            }
            readings.push(of);
        }
        let mut all = Self(readings);
        all.by_their_callers(named, files, full);
        all
    }

    /// A method of a class that nobody has is what its callers call by that name.
    fn by_their_callers<'f>(
        &mut self,
        named: &Seen,
        files: impl Fn(MethodId) -> Option<&'f ClassFile>,
        full: &mut Seen,
    ) {
        // Each caller is gone through once, whatever it is said to call.
        let mut callees: HashMap<PlaceId, HashMap<&str, HashSet<MethodId>>> = HashMap::new();
        for node in named.nodes.iter().filter(|node| !node.gap) {
            let Some(above) = node.above else { continue };
            let (caller, callee) = (named.node(above).place, named.place(node.place).method);
            if files(callee).is_none() && files(named.place(caller).method).is_some() {
                let name = &*named.method(callee).name;
                callees.entry(caller).or_default().entry(name).or_default().insert(callee);
            }
        }
        let mut called: HashMap<MethodId, BTreeSet<(String, bool)>> = HashMap::new();
        for (caller, callees) in callees {
            let Some(file) = files(named.place(caller).method) else { continue };
            for reading in &self.0[caller.row()] {
                let method = full.method(reading.method);
                let Some(declared) = file.method(&method.name, &method.descriptor) else { continue };
                let Body::Code(code) = &declared.body else { continue };
                for instruction in code.instructions() {
                    let Some(Constant::Member(member)) = constant(file, instruction) else { continue };
                    for callee in callees.get(member.name).into_iter().flatten() {
                        let of = called.entry(*callee).or_default();
                        if of.len() < MOST {
                            of.insert((member.descriptor.to_owned(), instruction.opcode == INVOKESTATIC));
                        }
                    }
                }
            }
        }
        for (row, place) in named.places.iter().enumerate() {
            for (descriptor, is_static) in called.get(&place.method).into_iter().flatten() {
                let descriptor = full.text(descriptor);
                let method =
                    Method { descriptor, is_static: *is_static, ..named.method(place.method).clone() };
                let (method, _) = full.methods.insert_full(method);
                self.0[row].push(Reading { method: MethodId::of(method), bcis: [ENTRY].into() });
            }
        }
    }
}

impl Reading {
    /// None: nobody can stand there.
    fn of(declared: &Declared, method: &Method, line: u16, full: &mut Seen) -> Option<Self> {
        let bcis: Vec<Bci> = match &declared.body {
            Body::Gone(_) => return None,
            Body::Native | Body::Code(_) => places(declared, line),
        };
        let descriptor = full.text(&declared.descriptor);
        let (row, _) = full.methods.insert_full(Method {
            descriptor,
            is_static: declared.is_static,
            is_native: matches!(declared.body, Body::Native),
            ..method.clone()
        });
        Some(Self { method: MethodId::of(row), bcis: bcis.into() })
    }

    fn unknown(method: &Method, full: &mut Seen) -> Self {
        let (row, _) = full.methods.insert_full(method.clone());
        Self { method: MethodId::of(row), bcis: [ENTRY].into() }
    }
}

/// The places of a line, or of all of a method, each of those that call the same thing once; calls
/// first.
pub fn places(declared: &Declared, line: u16) -> Vec<Bci> {
    let Body::Code(code) = &declared.body else { return vec![NATIVE] };
    let there = places_on(declared, code, line);
    // A table of lines may have some that no instruction is in.
    if there.is_empty() { places_on(declared, code, 0) } else { there }
}

fn places_on(declared: &Declared, code: &Code, line: u16) -> Vec<Bci> {
    let mut known = HashSet::new();
    let mut all: Vec<(bool, Bci)> = code
        .instructions()
        .filter_map(|instruction| {
            let bci = u16::try_from(instruction.bci).ok()?;
            let is_there = line == 0 || !declared.has_lines() || declared.is_on(bci, line);
            // What is done where a method begins is more than its instruction does.
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

/// The best way to each node: for each reading of its frame what it costs from the root on, and the
/// reading of the frame above.
struct Ways {
    first: Vec<usize>,
    ways: Vec<(u64, u16)>,
}

impl Ways {
    fn at(&self, node: NodeId, readings: usize) -> &[(u64, u16)] {
        let first = self.first[node.row()];
        &self.ways[first..first + readings]
    }
}

struct Resolver<'a> {
    named: &'a Seen,
    judge: Judge<'a>,
    readings: Vec<Vec<Reading>>,
    asked: HashMap<(PlaceId, usize, MethodId), Best>,
}

impl Resolver<'_> {
    fn readings(&self, node: Node) -> usize {
        self.readings[node.place.row()].len()
    }

    /// Callers stand before what they call.
    fn ways(&mut self, full: &Seen) -> Ways {
        let mut all = Ways { first: Vec::new(), ways: Vec::new() };
        for row in 0..self.named.nodes.len() {
            let node = self.named.nodes[row];
            all.first.push(all.ways.len());
            for reading in 0..self.readings(node) {
                let way = match node.above {
                    None => (0, 0),
                    Some(above) => self.way(node, reading, above, &all, full),
                };
                all.ways.push(way);
            }
        }
        all
    }

    fn way(&mut self, node: Node, reading: usize, above: NodeId, all: &Ways, full: &Seen) -> (u64, u16) {
        let caller = self.named.node(above);
        let callee = self.readings[node.place.row()][reading].method;
        let mut best = (u64::MAX, 0);
        for from in 0..self.readings(caller) {
            let (before, _) = all.at(above, self.readings(caller))[from];
            let more = if node.gap { 0 } else { self.best(caller.place, from, callee, full).cost };
            let sum = before.saturating_add(more);
            if sum < best.0 {
                best = (sum, u16::try_from(from).unwrap_or(u16::MAX));
            }
        }
        best
    }

    fn best(&mut self, caller: PlaceId, reading: usize, callee: MethodId, full: &Seen) -> Best {
        if let Some(known) = self.asked.get(&(caller, reading, callee)) {
            return *known;
        }
        let Reading { method, bcis } = self.readings[caller.row()][reading].clone();
        let line = self.named.place(caller).line;
        let mut best = Best { cost: REFUTED, bci: None };
        for bci in bcis.iter().copied() {
            let judged = self.judge.ask(full, Place { method, bci, line }, callee);
            if cost(judged) < best.cost {
                best = Best { cost: cost(judged), bci: Some(bci) };
            }
            if judged == Ok(Verdict::Proven) {
                break;
            }
        }
        self.asked.insert((caller, reading, callee), best);
        best
    }

    /// Puts the best reading of a stack into the recording.
    fn write(&self, leaf: NodeId, ways: &Ways, full: &mut Seen) -> NodeId {
        let mut frames = Vec::new();
        let (mut next, mut reading) = (Some(leaf), None);
        while let Some(at) = next {
            let node = self.named.node(at);
            let of = ways.at(at, self.readings(node));
            let chosen =
                reading.unwrap_or_else(|| (0..of.len()).min_by_key(|place| of[*place].0).unwrap_or(0));
            frames.push((node, chosen));
            next = node.above;
            reading = Some(usize::from(of[chosen].1));
        }
        let mut above = None;
        for at in (0..frames.len()).rev() {
            let (node, reading) = frames[at];
            let Reading { method, bcis } = &self.readings[node.place.row()][reading];
            let callee = at.checked_sub(1).map(|inner| {
                let (inner, reading) = frames[inner];
                self.readings[inner.place.row()][reading].method
            });
            let asked = callee.and_then(|callee| self.asked.get(&(node.place, reading, callee)));
            let bci = asked.and_then(|best| best.bci).or(bcis.first().copied()).unwrap_or(ENTRY);
            let place = Place { method: *method, bci, line: self.named.place(node.place).line };
            let (place, _) = full.places.insert_full(place);
            let node = Node { above, place: PlaceId::of(place), filtered: false, gap: node.gap };
            above = Some(NodeId::of(full.nodes.insert_full(node).0));
        }
        above.unwrap_or(NodeId::of(0))
    }
}
