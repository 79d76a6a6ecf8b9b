//! The witness: some of the samples are compared with GetStackTrace, in the midst of ordinary profiling.
//!
//! The agent says when; the next walk that succeeds is marked by the handler, which wakes the agent's thread; that asks
//! GetStackTrace about the same thread. If the thread provably did not run in between, the two must agree in every
//! frame. Otherwise only their roots can be compared, and it is counted apart. The walk has always been taken before.
//! It must never cost more than it was allowed.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jni::objects::{JObject, WeakRef};
use vouch_report::WitnessReport;
use vouch_sample::{Frame, Head, MethodId};
use vouch_witness::{RootSide, compare, root_side, rules};

use crate::clock;
use crate::facade::{Jvmti, StackFrame};
use crate::java;
use crate::options::Witnessing;
use crate::resolve::Resolver;
use crate::threads::{late, registry};

/// By default the time between two is so many times what the last one took: a thousandth of the run, and some reserve.
const SPARING: u32 = 1_250;
/// And never less than this.
const LEAST: Duration = Duration::from_millis(100);
/// While a mark waits to be taken there is nothing to look at.
const PENDING: Duration = Duration::from_secs(1);

/// The methods by which a virtual thread's frames stand on its carrier's.
const ENTRIES: [&str; 2] =
    ["jdk.internal.vm.Continuation.enterSpecial", "jdk.internal.vm.Continuation.enter"];

/// What asks, and what came of it.
pub struct Witness {
    jvmti: Jvmti,
    wish: Witnessing,
    /// When the next one is due; `None` while one is marked for.
    next: Option<Instant>,
    /// Threads that were asked about, by serial. A weak reference keeps none of them.
    threads: HashMap<u32, WeakRef>,
    room: Vec<StackFrame>,
    counts: WitnessReport,
}

/// What the two accounts are good for.
enum Account {
    /// The thread did not run between them.
    Exact(Vec<Frame>),
    /// It may have.
    Later(Vec<Frame>),
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness")
            .field("wish", &self.wish)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Witness {
    pub fn new(jvmti: Jvmti, wish: Witnessing) -> Self {
        Self {
            jvmti,
            wish,
            next: Some(Instant::now()),
            threads: HashMap::new(),
            room: Vec::new(),
            counts: WitnessReport::default(),
        }
    }

    /// True once, when a sample is to be marked.
    pub fn is_due(&mut self) -> bool {
        let due = self.wish != Witnessing::Off && self.next.is_some_and(|next| next <= Instant::now());
        if due {
            self.next = None;
        }
        due
    }

    /// The time until it is.
    pub fn next(&self) -> Duration {
        match self.next {
            Some(next) if self.wish != Witnessing::Off => next.saturating_duration_since(Instant::now()),
            _ => PENDING,
        }
    }

    /// What came of it so far.
    pub fn counts(&self) -> &WitnessReport {
        &self.counts
    }

    /// Witnesses a marked sample, whose walk is given.
    pub fn take(
        &mut self,
        head: &Head,
        walk: &[Frame],
        depth: usize,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) {
        let begun = Instant::now();
        // A walk that was cut has no root to compare.
        if walk.len() <= depth {
            self.counts.asked += 1;
            let walk: Vec<Frame> = walk.iter().copied().map(rules::of_walk).collect();
            match self.account(head, env) {
                None => self.counts.gone += 1,
                Some(Account::Later(witness)) => self.count_root(root_side(&walk, &witness)),
                Some(Account::Exact(witness)) => {
                    let is_entry = |method: MethodId| {
                        let method = resolver.method(env, method, head.time);
                        method.is_some_and(|method| ENTRIES.contains(&method.full_name().as_str()))
                    };
                    if rules::mounted(&walk, &witness, is_entry) {
                        self.count_root(RootSide::Agrees);
                    } else {
                        self.count_exact(&walk, &witness);
                    }
                }
            }
        }
        let took = begun.elapsed();
        let took_ms = took.as_secs_f64() * 1_000.0;
        self.counts.took_ms += took_ms;
        self.counts.longest_ms = self.counts.longest_ms.max(took_ms);
        self.next = Some(match self.wish {
            Witnessing::Every(gap) => begun + gap,
            Witnessing::Auto | Witnessing::Off => begun + LEAST.max(took * SPARING),
        });
    }

    /// The method that the thread of a sample began with, as far as GetStackTrace tells now.
    pub fn present_root(&mut self, head: &Head, env: &mut JNIEnv<'_>) -> Option<MethodId> {
        if self.wish == Witnessing::Off {
            return None;
        }
        match self.account(head, env)? {
            Account::Exact(frames) | Account::Later(frames) => frames.last().map(|frame| frame.method()),
        }
    }

    fn count_root(&mut self, root: RootSide) {
        self.counts.root_only += 1;
        match root.kind() {
            None => self.counts.root_agreed += 1,
            Some(kind) => self.counts.difference(kind),
        }
    }

    fn count_exact(&mut self, walk: &[Frame], witness: &[Frame]) {
        self.counts.exact += 1;
        let differences = compare(walk, witness, usize::MAX).differences;
        if differences.is_empty() {
            self.counts.agreed += 1;
        }
        for difference in differences {
            self.counts.difference(difference.kind());
        }
    }

    /// GetStackTrace's account of the sample's thread; `None` if the thread has none any more.
    fn account(&mut self, head: &Head, env: &mut JNIEnv<'_>) -> Option<Account> {
        let (slot, java_thread) = registry().slot(head.tid, head.serial)?;
        let thread = self.thread(head.serial, java_thread, env)?;
        let asked = self.jvmti.stack_trace(thread.as_raw(), &mut self.room);
        // Its handler has not ended, or the thread has not had the processor since it did.
        let left = slot.left_witnessed();
        let still = left == 0 || clock::thread_cpu(head.tid) == Some(left);
        // The JVM may have given the thread's place to another one, whose stack this would be.
        let same = registry().slot(head.tid, head.serial).is_some_and(|(_, place)| place == java_thread);
        let _ = env.delete_local_ref(thread);
        let count = asked.ok().filter(|count| *count > 0 && same)?;
        let frames = self.room[..count].iter();
        let frames = frames.map(|frame| rules::of_witness(frame.method, frame.location)).collect();
        Some(if still { Account::Exact(frames) } else { Account::Later(frames) })
    }

    /// The thread's object, as a local reference.
    fn thread<'e>(&mut self, serial: u32, java_thread: usize, env: &mut JNIEnv<'e>) -> Option<JObject<'e>> {
        if !self.threads.contains_key(&serial) {
            self.look(serial, java_thread, env);
        }
        let thread = self.threads.get(&serial)?.upgrade_local(env).ok()?;
        thread.filter(|thread| !thread.is_null())
    }

    /// Finds a thread's object among all that are alive, by the JVM's side of it.
    fn look(&mut self, serial: u32, java_thread: usize, env: &mut JNIEnv<'_>) {
        // Those that have ended are never asked for again.
        self.threads.retain(|_, thread| !thread.is_garbage_collected(env).unwrap_or(true));
        late::each_java_thread(self.jvmti, env, |env, thread| {
            if java_thread != 0
                && java::java_thread(env, thread) == java_thread
                && let Ok(Some(found)) = env.new_weak_ref(thread)
            {
                self.threads.insert(serial, found);
            }
        });
    }
}
