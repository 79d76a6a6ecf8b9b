//! Judges whether the root of a stack is a method with which its thread began.
//!
//! The routine with which a thread was created says how the thread began. If the root is not in the
//! closed list of entries, GetStackTrace returns the right root. That is rare, since a thread has
//! few roots.

use std::collections::HashSet;

use foldhash::{HashMap, HashMapExt};
use vouch_sample::ResolvedMethod;
use vouch_verify::proof::{Thread, Verdict, root};

use crate::jvm::Jvm;
use crate::prove::Prover;
use crate::threads::{ThreadStart, Threads};

/// The maximum number of times that GetStackTrace is called for the roots of one thread.
const MAX_WITNESSES: u32 = 16;
/// The JVM's threads that run commands of `jcmd`, attached agents and listeners of collections.
/// They call any Java method, so their roots are not in the closed list.
const SERVICE_THREADS: [&str; 2] = ["Attach Listener", "Notification Thread"];

/// The roots that the stacks of each thread may have.
#[derive(Debug)]
pub struct Roots {
    known: &'static dyn Threads,
    /// The roots of each thread, by the thread's serial.
    threads: HashMap<u32, ThreadRoots>,
    verdicts: HashMap<(u32, ResolvedMethod), Verdict>,
}

/// The roots that the stacks of one thread may have.
#[derive(Debug, Clone)]
struct ThreadRoots {
    /// The way in which the thread began; `None` if it is unknown.
    thread: Option<Thread>,
    /// The root methods that GetStackTrace returned for the thread.
    witnessed: Vec<ResolvedMethod>,
    /// The number of calls of GetStackTrace for the thread's roots.
    witnesses: u32,
}

impl Roots {
    pub fn new(known: &'static dyn Threads) -> Self {
        Self { known, threads: HashMap::new(), verdicts: HashMap::new() }
    }

    /// Removes the roots of threads that have ended.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.threads.retain(|serial, _| !ended.contains(serial));
        self.verdicts.retain(|(serial, _), _| !ended.contains(serial));
    }

    /// Judges whether the method `id` may be the root of a stack of this thread. `witness` returns
    /// the present root by GetStackTrace. If `witness` is `None`, GetStackTrace cannot be called
    /// now, and an uncertain verdict is not kept.
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
        let has_witness = witness.is_some();
        let (verdict, is_settled) = self.judge(serial, id, prover, jvm, witness);
        if verdict == Verdict::Proven || has_witness && is_settled {
            self.verdicts.insert((serial, id), verdict);
        }
        verdict
    }

    /// Returns the verdict on a root, and whether it is final. It is not final if GetStackTrace was
    /// needed and returned nothing.
    fn judge(
        &mut self,
        serial: u32,
        id: ResolvedMethod,
        prover: &mut Prover,
        jvm: &mut dyn Jvm,
        witness: Option<impl FnOnce(&mut dyn Jvm) -> Option<ResolvedMethod>>,
    ) -> (Verdict, bool) {
        // Without a name, the stack is refuted already, or proof does not decide it.
        let Some(method) = prover.method(id, jvm) else { return (Verdict::Proven, true) };
        let Self { known, threads, .. } = self;
        let roots = threads.entry(serial).or_insert_with(|| ThreadRoots {
            thread: thread(*known, serial, jvm),
            witnessed: Vec::new(),
            witnesses: 0,
        });
        if roots.witnessed.contains(&id) {
            return (Verdict::Proven, true);
        }
        let judge = |thread, jvm: &mut dyn Jvm| root(&method, thread, || is_of_thread(id, jvm));
        // If it is unknown how the thread began, the strictest case is tried first.
        let mut verdict = judge(roots.thread.unwrap_or(Thread::Started), jvm);
        let mut is_settled = !verdict.is_refuted();
        if verdict != Verdict::Proven && roots.witnesses < MAX_WITNESSES {
            let answer = witness.and_then(|witness| {
                roots.witnesses += 1;
                witness(jvm)
            });
            is_settled |= answer.is_some();
            roots.witnessed.extend(answer);
            if roots.thread.is_none() {
                let began = answer.and_then(|root| Some((root, prover.method(root, jvm)?)));
                roots.thread = began.map(|(id, began)| {
                    let started = root(&began, Thread::Started, || is_of_thread(id, jvm));
                    if started == Verdict::Proven { Thread::Started } else { Thread::Attached }
                });
                verdict = judge(roots.thread.unwrap_or(Thread::Attached), jvm);
            }
            if answer == Some(id) {
                return (Verdict::Proven, true);
            }
        }
        (verdict, is_settled || roots.witnesses >= MAX_WITNESSES)
    }
}

/// Returns how a thread began; `None` if its creation was not seen.
fn thread(threads: &dyn Threads, serial: u32, jvm: &dyn Jvm) -> Option<Thread> {
    let ThreadStart { routine, first_name } = threads.start(serial)?;
    let main = first_name == "main";
    match routine {
        _ if SERVICE_THREADS.contains(&first_name.as_str()) => Some(Thread::Attached),
        Some(routine) if jvm.is_thread_entry(routine) => Some(Thread::Started),
        _ if main && jvm.is_launched() => Some(Thread::Main),
        None if !main => None,
        // The first thread of a JVM that is embedded in a native program is attached, too.
        _ => Some(Thread::Attached),
    }
}

/// Returns true if the class of a method is a subclass of `java.lang.Thread`.
fn is_of_thread(id: ResolvedMethod, jvm: &mut dyn Jvm) -> bool {
    jvm.method(id).is_some_and(|method| jvm.is_of_thread(&method))
}
