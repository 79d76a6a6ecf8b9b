//! Finds the inlined frames on top of a stack by the machine code. Walkers find them by the pc
//! alone, which leads to a wrong method if an instruction has no debug information.
//!
//! Each site is decided once. A decision is valid while the same code is at the address, and
//! walkers find the same frames there. The loops of a method are analysed once it has enough
//! samples.
//!
//! The JVM may free code and put other code at its address. A decision must never be made from
//! debug information that differs from what the walker found.

use std::cell::RefCell;
use std::iter;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use foldhash::HashMap;
use vouch_hotspot::nmethods::{CachedMemory, CodeMemory, code_heaps};
use vouch_report::Power;
use vouch_sample::{Certainty, Frame, MethodId};
use vouch_unwind::code_cache::CodeCache;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::hotspot::debug_info::{DebugInfo, MAX_INLINING, PcDesc, ScopeFrame};
use vouch_unwind::memory::Memory;
use vouch_verify::machine::{DebugPoint, Described, Inlined, LeftOver, Loops, Nmethod, owner};
use vouch_verify::proof::Code;

use super::code::CompiledCode;
use crate::events::compilation::made_in;
use vouch_collect::compiled::KnownCode;
use vouch_collect::jvm::{DebugInfoAt, InlinedFrames, Site};

/// The number of samples of a method from which on its loops are analysed.
const MIN_SAMPLES_FOR_LOOPS: u32 = 16;
/// The number of sites, and of methods, that are kept.
const MAX_SITES: usize = 1 << 15;
/// The number of methods with analysed loops that are kept.
const MAX_ANALYSES: usize = 1 << 8;

/// The compilation level of C2.
const C2: u8 = 4;

/// A function that returns a method's bytecode, or `None` if it is not known.
pub type Bytecode<'b> = &'b mut dyn FnMut(MethodId) -> Option<Code>;

/// Frames, the innermost first.
type Frames = Box<[Frame]>;

/// How this JVM's compilers describe instructions that are no safepoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notes {
    /// C2's notes are reliable, by [`Nmethod::has_reliable_notes`].
    pub are_reliable: bool,
    /// The value of `DebugNonSafepoints`, if the JVM was started with it. By default, code has
    /// notes once an agent is loaded that asks for compiled code, as this one does.
    pub flag: Option<bool>,
}

impl Notes {
    /// Returns which instructions of this code have debug information.
    fn described(self, code: KnownCode) -> DebugInfoAt {
        match self.flag {
            Some(false) => DebugInfoAt::SafepointsByFlag,
            None if code.is_older => DebugInfoAt::SafepointsUntilAttach,
            _ => DebugInfoAt::AllInstructions,
        }
    }
}

/// The decisions so far.
#[derive(Debug, Default)]
pub struct TopFrames {
    notes: Notes,
    decisions: HashMap<Site, Decision>,
    methods: HashMap<u64, Method>,
    analyses: usize,
    /// The committed memory of the code cache when it was last read.
    heaps: Vec<Range<usize>>,
}

/// The decision for a site.
#[derive(Debug)]
struct Decision {
    /// The number of the code, which is never used again.
    code: u64,
    /// The frames that the walker found.
    found: Frames,
    /// The right frames, or `None` if the walker's are right.
    right: Option<Frames>,
    certainty: Certainty,
    /// True if the run of instructions before or after this one has other methods.
    neighbour_differs: bool,
    /// True if the decision considers the method's loops, or does not depend on them.
    with_loops: bool,
}

/// A compiled method that has samples.
#[derive(Debug)]
struct Method {
    /// The address of the nmethod, which is searched for once; `None` if it has no debug
    /// information.
    nmethod: Option<usize>,
    samples: u32,
    /// The scopes that several separate runs of instructions have, each with the number of runs.
    repeated: Option<HashMap<usize, usize>>,
    is_reliable: bool,
    left_over: Option<LeftOver>,
    loops: Analysis,
}

/// The analysis of a compiled method's loops.
#[derive(Debug)]
enum Analysis {
    Pending,
    /// The code could not be analysed.
    Failed,
    Done(Loops),
}

impl Analysis {
    /// Returns the loops. They are analysed at the first call.
    fn loops(&mut self, nmethod: &mut impl Nmethod) -> Option<&Loops> {
        if let Self::Pending = self {
            *self = Loops::new(nmethod).map_or(Self::Failed, Self::Done);
        }
        if let Self::Done(loops) = self { Some(loops) } else { None }
    }
}

impl TopFrames {
    pub fn new(notes: Notes) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Finds the inlined frames at a site. `walked` are the frames that a walker found there.
    /// `None` if nothing can be decided.
    pub fn at(
        &mut self,
        jvm: (&HotspotWalker, &CodeCache, &CompiledCode),
        site: Site,
        walked: &[Frame],
        bytecode: Bytecode<'_>,
    ) -> Option<InlinedFrames> {
        // Code that the JVM has not reported yet may be freed before it is reported.
        let (walker, code_cache, compiled) = jvm;
        let code = compiled.code_at(site.pc)?;
        let sizes = [self.decisions.len(), self.methods.len()];
        if sizes.into_iter().any(|size| size >= MAX_SITES) {
            *self = Self::new(self.notes);
        }
        if self.analyses >= MAX_ANALYSES {
            // Decisions that were made with the loops stay valid.
            self.methods.values_mut().for_each(|method| method.loops = Analysis::Pending);
            self.analyses = 0;
        }
        let with_loops = self.methods.get_mut(&code.serial).is_some_and(|method| {
            method.samples = method.samples.saturating_add(1);
            method.samples >= MIN_SAMPLES_FOR_LOOPS
        });
        let is_valid = |decision: &Decision| {
            decision.code == code.serial
                && walked.starts_with(&decision.found)
                && (decision.with_loops || !with_loops)
        };
        if !self.decisions.get(&site).is_some_and(is_valid) {
            let method = compiled.method_at(site.pc)?;
            let jvm = (walker, code_cache, method);
            let decision = self.decide(jvm, code, (site, walked), with_loops, bytecode)?;
            self.decisions.insert(site, decision);
        }
        let Decision { found, right, certainty, .. } = self.decisions.get(&site)?;
        let (right, certainty, described) = (right.clone(), *certainty, self.notes.described(code));
        Some(InlinedFrames { found: found.len(), right, certainty, described })
    }

    /// Decides by the compiled method's debug information and machine code. `None` if it has none,
    /// or other code is at the address by now.
    fn decide(
        &mut self,
        (walker, code_cache, compiled_method): (&HotspotWalker, &CodeCache, MethodId),
        code: KnownCode,
        (site, walked): (Site, &[Frame]),
        with_loops: bool,
        bytecode: Bytecode<'_>,
    ) -> Option<Decision> {
        let Self { notes, methods, analyses, heaps: known, .. } = self;
        let is_guarded = !walker.unguarded.load(Ordering::Relaxed);
        if !known.iter().any(|heap| heap.contains(&site.pc)) {
            *known = code_heaps(code_cache, &CachedMemory::new(is_guarded)).collect();
        }
        let memory = CodeMemory::new(known, is_guarded);
        let method = methods.entry(code.serial).or_insert_with(|| Method {
            nmethod: walker.nmethod_at(&memory, site.pc),
            samples: 1,
            repeated: None,
            is_reliable: notes.are_reliable && made_in(site.pc, &memory).tier == C2,
            left_over: None,
            loops: Analysis::Pending,
        });
        let info = walker.debug_info(&memory, method.nmethod?)?;
        let repeated = method.repeated.get_or_insert_with(|| repeated(&info));
        let is_reliable = method.is_reliable;
        let (bytecodes, scopes) = (HashMap::default(), RefCell::default());
        let mut compiled =
            Compiled { info, method: compiled_method, repeated, is_reliable, bytecode, bytecodes, scopes };
        let (by_pc, found) = compiled.find(site, walked)?;
        let left_over = &*method.left_over.get_or_insert_with(|| LeftOver::find(&mut compiled));
        let mut nmethod = Described::new(&mut compiled, left_over);
        *analyses += usize::from(with_loops && matches!(method.loops, Analysis::Pending));
        let loops = if with_loops { method.loops.loops(&mut nmethod) } else { None };
        let index = owner(&nmethod, site.charged_end(), loops);
        let original = index.and_then(|index| nmethod.original(index));
        let right = match original.filter(|index| *index != by_pc) {
            // Frames that cannot be read now may be readable at the next sample.
            Some(index) => {
                Some(nmethod.nmethod().frames(index, by_pc, &found)?).filter(|right| *right != found)
            }
            None => None,
        };
        let is_safepoint = index.is_some_and(|index| nmethod.is_safepoint(index, site.charged_end()));
        let certainty = match index {
            Some(index) if is_safepoint || notes.described(code) == DebugInfoAt::AllInstructions => {
                vouch_verify::machine::certainty(&nmethod, site.charged_end(), index, loops)
            }
            // A method without a safepoint that was inlined there cannot be seen any more.
            _ => Certainty::Approximate,
        };
        let neighbour_differs =
            index.filter(|_| !is_safepoint).is_some_and(|index| neighbour_differs(&nmethod, index));
        // At a safepoint, the decision does not depend on loops.
        let with_loops = with_loops || is_safepoint;
        Some(Decision { code: code.serial, found, right, certainty, neighbour_differs, with_loops })
    }

    /// Counts the sites with other methods in the run before or after (tried), and those of them
    /// that are certain nevertheless (noticed).
    pub fn neighbouring_runs(&self) -> Power {
        let tried = self.decisions.values().filter(|decision| decision.neighbour_differs);
        let is_noticed = |decision: &&Decision| decision.certainty > Certainty::Approximate;
        let count = |decisions: usize| u64::try_from(decisions).unwrap_or(u64::MAX);
        Power { tried: count(tried.clone().count()), noticed: count(tried.filter(is_noticed).count()) }
    }
}

/// A compiled method in memory.
struct Compiled<'n> {
    info: DebugInfo<'n, CodeMemory<'n>>,
    method: MethodId,
    repeated: &'n HashMap<usize, usize>,
    is_reliable: bool,
    bytecode: Bytecode<'n>,
    /// The results of `bytecode`, by the address of HotSpot's Method.
    bytecodes: HashMap<usize, Option<Code>>,
    /// The debug points that were read, by scope. Many PcDescs share a scope, and many scopes a
    /// caller's.
    scopes: RefCell<HashMap<usize, Option<DebugPoint>>>,
}

/// Returns the scopes that several separate runs of instructions have, each with the number of
/// runs.
fn repeated(info: &DebugInfo<'_, CodeMemory<'_>>) -> HashMap<usize, usize> {
    let mut runs: HashMap<usize, usize> = HashMap::default();
    let mut last = 0;
    for scope in (0..info.count()).map_while(|index| info.scope_offset(index)) {
        // Sentinels have no scope.
        if scope != last && scope != 0 {
            *runs.entry(scope).or_default() += 1;
        }
        last = scope;
    }
    runs.retain(|_, runs| *runs > 1);
    runs.shrink_to_fit();
    runs
}

/// Returns true if the run before or after that of a PcDesc has other methods.
fn neighbour_differs(nmethod: &impl Nmethod, index: usize) -> bool {
    let own = nmethod.point(index);
    let neighbours = [index.checked_sub(1), index.checked_add(1)].into_iter().flatten();
    let mut others = neighbours.filter_map(|neighbour| nmethod.point(neighbour));
    others.any(|other| own.as_ref().is_none_or(|own| !other.has_methods_of(own)))
}

impl Compiled<'_> {
    /// Returns the index of the PcDesc that walkers find at a site, and their frames there. `None`
    /// if other code is at the address by now.
    fn find(&self, site: Site, walked: &[Frame]) -> Option<(usize, Frames)> {
        let by_pc = self.index_at(site.pc.checked_add(1)?)?;
        // Without a scope, AsyncGetCallTrace reports the compiled method itself.
        let scope = self.scope(by_pc);
        let found = walked.get(..scope.as_ref().map_or(1, Vec::len))?;
        let is_same = scope.iter().flatten().zip(found).all(|(scope, frame)| scope.bci == frame.bci());
        (is_same && found.last()?.method() == self.method).then(|| (by_pc, found.into()))
    }

    /// Reads the frames of a PcDesc's scope, the innermost first.
    fn scope(&self, index: usize) -> Option<Vec<ScopeFrame>> {
        let mut scope = Vec::new();
        self.info.frames(self.desc(index)?, |frame| scope.push(frame))?;
        Some(scope)
    }

    /// Returns the frames of the PcDesc `index`. Method ids come from `found`, the walker's frames
    /// at the PcDesc `by_pc`. `None` if a method has no id yet, because it would have no name.
    fn frames(&self, index: usize, by_pc: usize, found: &[Frame]) -> Option<Frames> {
        let scope = self.scope(by_pc).unwrap_or_default();
        let known: Vec<(ScopeFrame, Frame)> = scope.into_iter().zip(found.iter().copied()).collect();
        let frame = |scope: ScopeFrame| {
            let known = known.iter().find(|(known, _)| known.method == scope.method);
            let frame = match known {
                Some((_, frame)) => Frame::new(frame.method(), scope.bci),
                None => Frame::from(self.info.raw(scope.method, scope.bci)?),
            };
            (!frame.method().is_none()).then_some(frame)
        };
        self.scope(index)?.into_iter().map(frame).collect()
    }

    /// Returns the bytecode of a method, which is read once in a decision.
    fn code_of(&mut self, method: usize) -> Option<&Code> {
        let Self { info, bytecode, bytecodes, .. } = self;
        let find = || {
            let id = MethodId(info.raw(method, 0)?.method);
            if id.is_none() { None } else { bytecode(id) }
        };
        bytecodes.entry(method).or_insert_with(find).as_ref()
    }

    fn desc(&self, index: usize) -> Option<PcDesc> {
        self.info.desc(index).filter(|desc| desc.scope != 0)
    }

    /// Reads the debug point of a scope. `None` if it cannot be read.
    fn point_of(&self, scope: usize) -> Option<DebugPoint> {
        let mut scopes = self.scopes.borrow_mut();
        if let Some(known) = scopes.get(&scope) {
            return known.clone();
        }
        let (mut read, mut caller) = (Vec::new(), scope);
        let mut point = loop {
            if let Some(known) = scopes.get(&caller) {
                break known.clone();
            }
            let frame = self.info.frame(caller).filter(|_| read.len() < MAX_INLINING);
            let Some((frame, next)) = frame else {
                break None;
            };
            read.push((caller, frame));
            caller = next;
            if caller == 0 {
                break Some(DebugPoint { chain: Rc::default(), at_safepoint: false });
            }
        };
        while let Some((scope, frame)) = read.pop() {
            point = point.filter(|callers| callers.chain.len() < MAX_INLINING).map(|callers| DebugPoint {
                chain: iter::once(Inlined { method: frame.method, bci: frame.bci })
                    .chain(callers.chain.iter().copied())
                    .collect(),
                at_safepoint: callers.at_safepoint || frame.has_values,
            });
            scopes.insert(scope, point.clone());
        }
        point
    }
}

impl Nmethod for Compiled<'_> {
    fn code(&self) -> Range<usize> {
        let begin = self.info.code();
        begin..self.info.code_end().unwrap_or(begin)
    }

    fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let mut skipped = at % size_of::<usize>();
        let mut words = (at - skipped..).step_by(size_of::<usize>());
        let mut rest = into;
        while !rest.is_empty() {
            let word = self.info.memory().word(words.next()?)?.to_le_bytes();
            let part = word.get(std::mem::take(&mut skipped)..)?;
            let (bytes, after) = rest.split_at_mut(part.len().min(rest.len()));
            bytes.copy_from_slice(part.get(..bytes.len())?);
            rest = after;
        }
        Some(())
    }

    fn count(&self) -> usize {
        self.info.count()
    }

    fn index_at(&self, address: usize) -> Option<usize> {
        self.info.index_at(address)
    }

    fn end(&self, index: usize) -> Option<usize> {
        self.desc(index).map(|desc| desc.end)
    }

    fn point(&self, index: usize) -> Option<DebugPoint> {
        let desc = self.desc(index)?;
        let mut point = self.point_of(desc.scope)?;
        point.at_safepoint |= desc.has_values;
        Some(point)
    }

    fn repetitions(&self, index: usize) -> usize {
        let runs = self.info.scope_offset(index).and_then(|scope| self.repeated.get(&scope));
        runs.copied().unwrap_or(1)
    }

    fn has_reliable_notes(&self) -> bool {
        self.is_reliable
    }

    fn bytecode_loops(&mut self, method: usize) -> Option<Vec<RangeInclusive<i32>>> {
        Some(self.code_of(method)?.loops())
    }

    fn is_invoke(&mut self, inlined: Inlined) -> Option<bool> {
        Some(self.code_of(inlined.method)?.is_invoke(inlined.bci))
    }

    fn is_last_call(&self, target: usize) -> bool {
        self.info.is_uncommon_trap(target)
    }
}
