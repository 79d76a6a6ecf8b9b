//! Proof in the running agent: reads methods' code from the JVM, and judges each distinct edge once
//! with `vouch_verify::proof`.
//!
//! Verdicts are kept. This module must never run the program's code, and never pass the JVM a class
//! that may be unloaded.

mod methods;
pub mod roots;

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::{ResolvedFrame, ResolvedMethod};
use vouch_unwind::kernel::own_cpu;
use vouch_verify::proof::{Explanation, Method, Refutation, Relation, Verdict, without_hidden_part};

use crate::jvm::Jvm;
use methods::Methods;

/// The verdicts of all distinct edges and leaves of stacks.
#[derive(Debug, Default)]
pub struct Prover {
    methods: Methods,
    edges: HashMap<(ResolvedFrame, ResolvedMethod), Verdict>,
    /// The verdicts of edges that are in no recorded stack yet.
    guesses: HashMap<(ResolvedFrame, ResolvedMethod), Verdict>,
    leaves: HashMap<ResolvedFrame, Verdict>,
    counts: EdgeCounts,
    /// The number of verdicts that were computed so far.
    judged: u64,
    took_ns: u64,
}

/// One verdict in this number is timed, and its time is multiplied by this number. Reading the
/// clock costs as much CPU time as a verdict.
const TIMING_STRIDE: u64 = 8;

/// The number of distinct edges with each verdict, such as proven.
#[derive(Debug, Clone, Default)]
pub struct EdgeCounts {
    pub proven: u64,
    pub refuted: u64,
    pub explained: BTreeMap<Explanation, u64>,
}

impl Prover {
    /// Judges whether `caller` can have called the method `callee`, and counts the edge.
    pub fn edge(&mut self, caller: ResolvedFrame, callee: ResolvedMethod, jvm: &mut dyn Jvm) -> Verdict {
        let key = (caller, callee);
        if let Some(verdict) = self.edges.get(&key) {
            return *verdict;
        }
        let guess = self.guesses.remove(&key);
        let verdict = guess.unwrap_or_else(|| self.timed(|prover| prover.judge(caller, callee, jvm)));
        match verdict {
            Verdict::Proven => self.counts.proven += 1,
            Verdict::Explained(how) => *self.counts.explained.entry(how).or_default() += 1,
            Verdict::Refuted(_) => self.counts.refuted += 1,
        }
        self.edges.insert(key, verdict);
        verdict
    }

    /// Judges an edge like [`Self::edge`], but does not count it, because it may be in no stack.
    pub fn guess(&mut self, caller: ResolvedFrame, callee: ResolvedMethod, jvm: &mut dyn Jvm) -> Verdict {
        let key = (caller, callee);
        if let Some(verdict) = self.edges.get(&key).or_else(|| self.guesses.get(&key)) {
            return *verdict;
        }
        let verdict = self.timed(|prover| prover.judge(caller, callee, jvm));
        self.guesses.insert(key, verdict);
        verdict
    }

    /// Judges whether a stack's leaf can be at its bytecode index.
    pub fn leaf(&mut self, leaf: ResolvedFrame, jvm: &mut dyn Jvm) -> Verdict {
        if let Some(verdict) = self.leaves.get(&leaf) {
            return *verdict;
        }
        let verdict = self.timed(|prover| prover.judge_leaf(leaf, jvm));
        self.leaves.insert(leaf, verdict);
        verdict
    }

    /// Returns a method with its code, or `None` if the method's name is unknown.
    pub fn method(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        self.methods.get(id, jvm)
    }

    /// Returns a method if its code was read already.
    pub fn known(&self, id: ResolvedMethod) -> Option<&Method> {
        self.methods.known(id)
    }

    pub fn counts(&self) -> &EdgeCounts {
        &self.counts
    }

    /// Returns an estimate of the CPU time that all verdicts took, in nanoseconds.
    pub fn took_ns(&self) -> u64 {
        self.took_ns
    }

    fn judge(&mut self, caller: ResolvedFrame, callee_id: ResolvedMethod, jvm: &mut dyn Jvm) -> Verdict {
        let Some(callee) = self.method(callee_id, jvm) else { return unnamed(callee_id, jvm) };
        let Some(method) = self.method(caller.method(), jvm) else {
            return unnamed(caller.method(), jvm);
        };
        self.methods.load_pool(caller.method(), jvm);
        let verdict = self.judge_by_code(caller, &method, callee_id, &callee, jvm);
        if verdict.is_refuted() && self.methods.was_redefined(caller.method(), jvm) {
            let Some(present) = self.read_again(caller.method(), jvm) else { return redefined() };
            by_present_version(self.judge_by_code(caller, &present, callee_id, &callee, jvm))
        } else {
            verdict
        }
    }

    fn judge_leaf(&mut self, leaf: ResolvedFrame, jvm: &mut dyn Jvm) -> Verdict {
        let Some(method) = self.method(leaf.method(), jvm) else { return unnamed(leaf.method(), jvm) };
        let verdict = vouch_verify::proof::leaf(&method, leaf.bci());
        if verdict.is_refuted() && self.methods.was_redefined(leaf.method(), jvm) {
            let Some(present) = self.read_again(leaf.method(), jvm) else { return redefined() };
            by_present_version(vouch_verify::proof::leaf(&present, leaf.bci()))
        } else {
            verdict
        }
    }

    /// Judges whether `caller` can have called the callee, by the bytecode of the caller's method.
    fn judge_by_code(
        &mut self,
        caller: ResolvedFrame,
        method: &Method,
        callee_id: ResolvedMethod,
        callee: &Method,
        jvm: &mut dyn Jvm,
    ) -> Verdict {
        vouch_verify::proof::edge(method, caller.bci(), callee, |named| {
            self.relation(caller.method(), named, callee_id, jvm)
        })
    }

    /// Returns how the class of `callee` is related to the class that `caller` names `named`.
    pub fn relation(
        &self,
        caller: ResolvedMethod,
        named: &str,
        callee: ResolvedMethod,
        jvm: &mut dyn Jvm,
    ) -> Relation {
        let (Some(caller), Some(callee)) = (self.methods.resolved(caller), self.methods.resolved(callee))
        else {
            return Relation::Unknown;
        };
        jvm.relation(caller, self.methods.by_class_name(without_hidden_part(named)), callee)
    }

    /// Reads a method's code again, from the present version of its class.
    fn read_again(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        self.methods.forget(id);
        let present = self.method(id, jvm);
        self.methods.load_pool(id, jvm);
        present
    }

    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.judged += 1;
        if !self.judged.is_multiple_of(TIMING_STRIDE) {
            return work(self);
        }
        let begun = own_cpu();
        let result = work(self);
        self.took_ns += TIMING_STRIDE * own_cpu().saturating_sub(begun);
        result
    }
}

/// Returns the verdict on a stack with a redefined class, from the verdict by the class's present
/// version. If the present version refutes the stack, too, the stack may be of a version in
/// between.
fn by_present_version(verdict: Verdict) -> Verdict {
    if verdict.is_refuted() { redefined() } else { verdict }
}

fn redefined() -> Verdict {
    Verdict::Explained(Explanation::Redefined)
}

/// Returns the verdict on a frame of a method without a name. If classes were redefined, the method
/// may be an obsolete one that was freed before its name was read.
fn unnamed(id: ResolvedMethod, jvm: &dyn Jvm) -> Verdict {
    match id {
        ResolvedMethod::NONE => Verdict::Refuted(Refutation::NullMethod),
        ResolvedMethod::UNNUMBERED => Verdict::Explained(Explanation::NoId),
        _ if jvm.has_seen_obsolete() => redefined(),
        _ => Verdict::Refuted(Refutation::UnknownMethod),
    }
}
