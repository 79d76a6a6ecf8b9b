//! Proof in the running agent: brings methods' code from the JVM, and asks `vouch_verify::proof`
//! once for each distinct edge.
//!
//! What was answered is kept. It must never run the program's code, and never ask about a class
//! that may be gone.

mod methods;
pub mod roots;

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::{ResolvedFrame, ResolvedMethod};
use vouch_verify::proof::{Explanation, Method, Refutation, Relation, Verdict, without_hidden_part};

use crate::clock;
use crate::jvm::Jvm;
use methods::Methods;

/// All distinct edges, with their verdicts.
#[derive(Debug, Default)]
pub struct Prover {
    methods: Methods,
    edges: HashMap<(ResolvedFrame, ResolvedMethod), Verdict>,
    /// Those that are in nobody's stack, or not yet.
    guesses: HashMap<(ResolvedFrame, ResolvedMethod), Verdict>,
    leaves: HashMap<ResolvedFrame, Verdict>,
    counts: EdgeCounts,
    questions: u64,
    took_ns: u64,
}

/// Asking for the time costs as much as a question: one of so many is timed, and stands for the
/// others.
const TIMED: u64 = 8;

/// How many distinct edges there are of each verdict.
#[derive(Debug, Clone, Default)]
pub struct EdgeCounts {
    pub proven: u64,
    pub refuted: u64,
    pub explained: BTreeMap<Explanation, u64>,
}

impl Prover {
    /// Whether `caller` can have called the method `callee`.
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

    /// The same of an edge that may turn out to be in no stack: it is not counted.
    pub fn guess(&mut self, caller: ResolvedFrame, callee: ResolvedMethod, jvm: &mut dyn Jvm) -> Verdict {
        let key = (caller, callee);
        if let Some(verdict) = self.edges.get(&key).or_else(|| self.guesses.get(&key)) {
            return *verdict;
        }
        let verdict = self.timed(|prover| prover.judge(caller, callee, jvm));
        self.guesses.insert(key, verdict);
        verdict
    }

    /// Whether a stack's leaf can be where it is.
    pub fn leaf(&mut self, leaf: ResolvedFrame, jvm: &mut dyn Jvm) -> Verdict {
        if let Some(verdict) = self.leaves.get(&leaf) {
            return *verdict;
        }
        let verdict = self.timed(|prover| prover.judge_leaf(leaf, jvm));
        self.leaves.insert(leaf, verdict);
        verdict
    }

    /// What proof knows of a method; `None` if nobody can name it.
    pub fn method(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        self.methods.get(id, jvm)
    }

    /// What is known of a method already.
    pub fn known(&self, id: ResolvedMethod) -> Option<&Method> {
        self.methods.known(id)
    }

    pub fn counts(&self) -> &EdgeCounts {
        &self.counts
    }

    /// The CPU time that it all took, near enough.
    pub fn took_ns(&self) -> u64 {
        self.took_ns
    }

    fn judge(&mut self, caller: ResolvedFrame, callee_id: ResolvedMethod, jvm: &mut dyn Jvm) -> Verdict {
        let Some(callee) = self.method(callee_id, jvm) else { return unnamed(callee_id, jvm) };
        let Some(method) = self.method(caller.method(), jvm) else {
            return unnamed(caller.method(), jvm);
        };
        self.methods.load_pool(caller.method(), jvm);
        let verdict = self.held(caller, &method, callee_id, &callee, jvm);
        if verdict.is_refuted() && self.methods.was_redefined(caller.method(), jvm) {
            let Some(present) = self.present(caller.method(), jvm) else { return void() };
            again(self.held(caller, &present, callee_id, &callee, jvm))
        } else {
            verdict
        }
    }

    fn judge_leaf(&mut self, leaf: ResolvedFrame, jvm: &mut dyn Jvm) -> Verdict {
        let Some(method) = self.method(leaf.method(), jvm) else { return unnamed(leaf.method(), jvm) };
        let verdict = vouch_verify::proof::leaf(&method, leaf.bci());
        if verdict.is_refuted() && self.methods.was_redefined(leaf.method(), jvm) {
            let Some(present) = self.present(leaf.method(), jvm) else { return void() };
            again(vouch_verify::proof::leaf(&present, leaf.bci()))
        } else {
            verdict
        }
    }

    /// Holds a caller to its code.
    fn held(
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

    /// How the class of `callee` stands to the one that `caller` calls `named`.
    pub fn relation(
        &self,
        caller: ResolvedMethod,
        named: &str,
        callee: ResolvedMethod,
        jvm: &mut dyn Jvm,
    ) -> Relation {
        let (Some(caller), Some(callee)) = (self.methods.named(caller), self.methods.named(callee)) else {
            return Relation::Unknown;
        };
        jvm.relation(caller, self.methods.of_class(without_hidden_part(named)), callee)
    }

    /// A method as its class's present version has it.
    fn present(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        self.methods.forget(id);
        let present = self.method(id, jvm);
        self.methods.load_pool(id, jvm);
        present
    }

    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.questions += 1;
        if !self.questions.is_multiple_of(TIMED) {
            return work(self);
        }
        let begun = clock::own_cpu();
        let result = work(self);
        self.took_ns += TIMED * clock::own_cpu().saturating_sub(begun);
        result
    }
}

/// The verdict by a class's present version: if that refutes it too, it may be of one between.
fn again(verdict: Verdict) -> Verdict {
    if verdict.is_refuted() { void() } else { verdict }
}

fn void() -> Verdict {
    Verdict::Explained(Explanation::Redefined)
}

/// The verdict on a frame whose method nobody can name. Once classes are redefined it may be an
/// obsolete one that was gone before it could be asked about.
fn unnamed(id: ResolvedMethod, jvm: &dyn Jvm) -> Verdict {
    match id {
        ResolvedMethod::NONE => Verdict::Refuted(Refutation::NullMethod),
        ResolvedMethod::UNNUMBERED => Verdict::Explained(Explanation::NoId),
        _ if jvm.has_seen_obsolete() => void(),
        _ => Verdict::Refuted(Refutation::UnknownMethod),
    }
}
