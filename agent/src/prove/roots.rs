//! Whether a stack ends where its thread began.
//!
//! How a thread came to be is known from its making. What its stacks end in is learned from GetStackTrace where the
//! closed list of entries does not say it; seldom, since a thread has few roots.

use std::collections::HashMap;

use vouch_proof::{Thread, Verdict, root};
use vouch_sample::MethodId;

use super::{Asking, Prover};
use crate::facade::Jvmti;
use crate::hotspot::HotSpot;
use crate::java;
use crate::threads::registry;

/// A thread that goes on showing new roots is asked about no more than this often.
const MOST_QUESTIONS: u32 = 16;

/// What is known of the threads' beginnings, by serial.
#[derive(Debug)]
pub struct Roots {
    jvmti: Jvmti,
    hotspot: HotSpot,
    threads: HashMap<u32, Known>,
    verdicts: HashMap<(u32, MethodId), Verdict>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    thread: Option<Thread>,
    /// The root that a witness had.
    learned: Option<MethodId>,
    questions: u32,
}

impl Roots {
    pub fn new(jvmti: Jvmti, hotspot: HotSpot) -> Self {
        Self { jvmti, hotspot, threads: HashMap::new(), verdicts: HashMap::new() }
    }

    /// Whether a stack of this thread may end in the method `id`. `witness` asks GetStackTrace what it ends in now.
    pub fn verdict(
        &mut self,
        serial: u32,
        id: MethodId,
        prover: &mut Prover,
        asking: &mut Asking<'_, '_>,
        witness: impl FnOnce(&mut Asking<'_, '_>) -> Option<MethodId>,
    ) -> Verdict {
        if let Some(verdict) = self.verdicts.get(&(serial, id)) {
            return *verdict;
        }
        let verdict = self.judge(serial, id, prover, asking, witness);
        self.verdicts.insert((serial, id), verdict);
        verdict
    }

    /// Ids have come to mean other methods.
    pub fn forget(&mut self) {
        self.verdicts.clear();
        for known in self.threads.values_mut() {
            known.learned = None;
        }
    }

    fn judge(
        &mut self,
        serial: u32,
        id: MethodId,
        prover: &mut Prover,
        asking: &mut Asking<'_, '_>,
        witness: impl FnOnce(&mut Asking<'_, '_>) -> Option<MethodId>,
    ) -> Verdict {
        // Without a name it is refuted already.
        let Some(method) = prover.method(id, asking) else { return Verdict::Proven };
        let mut known = *self.threads.entry(serial).or_insert_with(|| Known {
            thread: thread(serial, &self.hotspot),
            learned: None,
            questions: 0,
        });
        let jvmti = self.jvmti;
        let judge =
            |thread, asking: &mut Asking<'_, '_>| root(&method, thread, || is_thread(jvmti, id, asking));
        // Of a thread whose making was not seen, the strictest is asked first.
        let mut verdict = judge(known.thread.unwrap_or(Thread::Started), asking);
        if verdict != Verdict::Proven && known.learned.is_none() && known.questions < MOST_QUESTIONS {
            known.questions += 1;
            known.learned = witness(asking);
            if known.thread.is_none() {
                let began =
                    known.learned.and_then(|learned| Some((learned, prover.method(learned, asking)?)));
                known.thread = began.map(|(learned, began)| {
                    let started = root(&began, Thread::Started, || is_thread(jvmti, learned, asking));
                    if started == Verdict::Proven { Thread::Started } else { Thread::Attached }
                });
                verdict = judge(known.thread.unwrap_or(Thread::Attached), asking);
            }
        }
        self.threads.insert(serial, known);
        if known.learned == Some(id) { Verdict::Proven } else { verdict }
    }
}

/// How the thread came to be; `None` if nobody saw it.
fn thread(serial: u32, hotspot: &HotSpot) -> Option<Thread> {
    let (routine, main) =
        registry().with_life(serial, 0, |life| (life.routine, life.names() > 0 && life.name(0) == "main"))?;
    match routine {
        Some(routine) if hotspot.holds(routine) => Some(Thread::Started),
        _ if main => Some(Thread::Main),
        Some(_) => Some(Thread::Attached),
        None => None,
    }
}

/// True if the class of a method is a `java.lang.Thread`.
fn is_thread(jvmti: Jvmti, id: MethodId, asking: &mut Asking<'_, '_>) -> bool {
    let Some(method) = asking.resolver.method(asking.env, id, asking.time) else { return false };
    let resolver = asking.resolver;
    let found = asking.env.with_local_frame(64, |env| -> jni::errors::Result<bool> {
        let mut next = resolver.class_of(env, id, &method);
        while let Some(class) = next.take() {
            if jvmti.class_signature(class.as_raw()).as_deref() == Ok("Ljava/lang/Thread;") {
                return Ok(true);
            }
            let superclass = env.get_superclass(jni::objects::JClass::from(class))?;
            next = superclass.map(Into::into);
        }
        Ok(false)
    });
    java::cleared(asking.env, found).unwrap_or(false)
}
