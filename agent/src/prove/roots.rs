//! Whether a stack ends where its thread began.
//!
//! How a thread came to be is known from its making. What its stacks end in is learned from
//! GetStackTrace where the closed list of entries does not say it; seldom, since a thread has few
//! roots.

use std::collections::HashSet;

use foldhash::{HashMap, HashMapExt};
use vouch_sample::ResolvedMethod;
use vouch_verify::proof::{Thread, Verdict, root};

use super::Prover;
use crate::jvm::Jvm;
use crate::threads::{Life, Registry};

/// A thread that goes on showing new roots is asked about no more than this often.
const MOST_QUESTIONS: u32 = 16;
/// The VM's threads that do what `jcmd` and attaching agents ask for, and tell who listens of
/// collections: by no method of Java's, but by whatever is to be called.
const SERVE: [&str; 2] = ["Attach Listener", "Notification Thread"];

/// What is known of the threads' beginnings, by serial.
#[derive(Debug)]
pub struct Roots {
    registry: &'static Registry,
    threads: HashMap<u32, Beginning>,
    verdicts: HashMap<(u32, ResolvedMethod), Verdict>,
}

#[derive(Debug, Clone)]
struct Beginning {
    thread: Option<Thread>,
    /// The roots that a witness had.
    learned: Vec<ResolvedMethod>,
    questions: u32,
}

impl Roots {
    pub fn new(registry: &'static Registry) -> Self {
        Self { registry, threads: HashMap::new(), verdicts: HashMap::new() }
    }

    /// Threads that will not be asked about again.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.threads.retain(|serial, _| !ended.contains(serial));
        self.verdicts.retain(|(serial, _), _| !ended.contains(serial));
    }

    /// Whether a stack of this thread may end in the method `id`. `witness` asks GetStackTrace what
    /// it ends in now; without it that cannot be asked now, and nothing is concluded from it.
    pub fn verdict(
        &mut self,
        serial: u32,
        id: ResolvedMethod,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
        witness: Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod>>,
    ) -> Verdict {
        if let Some(verdict) = self.verdicts.get(&(serial, id)) {
            return *verdict;
        }
        let asks = witness.is_some();
        let (verdict, is_settled) = self.judge(serial, id, prover, jvm, witness);
        if verdict == Verdict::Proven || asks && is_settled {
            self.verdicts.insert((serial, id), verdict);
        }
        verdict
    }

    /// The verdict, and whether it holds from now on: one that nobody could be asked about may be
    /// another the next time.
    fn judge(
        &mut self,
        serial: u32,
        id: ResolvedMethod,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
        witness: Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod>>,
    ) -> (Verdict, bool) {
        // Without a name the stack is refuted already, or does not stand by proof.
        let Some(method) = prover.method(id, jvm) else { return (Verdict::Proven, true) };
        let Self { registry, threads, .. } = self;
        let known = threads.entry(serial).or_insert_with(|| Beginning {
            thread: thread(registry, serial, jvm),
            learned: Vec::new(),
            questions: 0,
        });
        if known.learned.contains(&id) {
            return (Verdict::Proven, true);
        }
        let judge = |thread, jvm: &mut dyn Jvm| root(&method, thread, || is_of_thread(id, jvm));
        // Of a thread whose making was not seen, the strictest is asked first.
        let mut verdict = judge(known.thread.unwrap_or(Thread::Started), jvm);
        let mut is_settled = !verdict.is_refuted();
        if verdict != Verdict::Proven && known.questions < MOST_QUESTIONS {
            let answer = witness.and_then(|witness| {
                known.questions += 1;
                witness(jvm)
            });
            is_settled |= answer.is_some();
            known.learned.extend(answer);
            if known.thread.is_none() {
                let began = answer.and_then(|learned| Some((learned, prover.method(learned, jvm)?)));
                known.thread = began.map(|(learned, began)| {
                    let started = root(&began, Thread::Started, || is_of_thread(learned, jvm));
                    if started == Verdict::Proven { Thread::Started } else { Thread::Attached }
                });
                verdict = judge(known.thread.unwrap_or(Thread::Attached), jvm);
            }
            if answer == Some(id) {
                return (Verdict::Proven, true);
            }
        }
        (verdict, is_settled || known.questions >= MOST_QUESTIONS)
    }
}

/// How the thread came to be; `None` if nobody saw it.
fn thread(registry: &Registry, serial: u32, jvm: &dyn Jvm) -> Option<Thread> {
    let name = |life: &Life| (life.names() > 0).then(|| life.name(0).clone());
    let (routine, name) = registry.life(serial, |life| (life.routine, name(life)))?;
    let main = name.as_deref() == Some("main");
    match routine {
        _ if name.is_some_and(|name| SERVE.contains(&name.as_str())) => Some(Thread::Attached),
        Some(routine) if jvm.is_thread_entry(routine) => Some(Thread::Started),
        _ if main && jvm.is_launched() => Some(Thread::Main),
        None if !main => None,
        // As is the first thread of a JVM that is part of somebody's program.
        _ => Some(Thread::Attached),
    }
}

/// True if the class of a method is a `java.lang.Thread`.
fn is_of_thread(id: ResolvedMethod, jvm: &mut dyn Jvm) -> bool {
    jvm.method(id).is_some_and(|method| jvm.is_of_thread(&method))
}
