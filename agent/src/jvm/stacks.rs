//! Calls GetStackTrace for the thread of a sample, and finds the object that a thread waits for.
//!
//! GetStackTrace stops the thread, and the JVM uses about 4 KiB of memory for each frame meanwhile.
//! So it is not called for a stack as deep as walks may be.
//!
//! The object of a thread is found once, among all live threads. It is kept as a weak reference, so
//! that it can be collected. Each call checks that the JavaThread is still that of the same thread.
//!
//! # Invariants
//!
//! **Invariant 22.** GetStackTrace is asked for some 4,000 frames at most. Its thread is stopped
//! meanwhile, and the JVM takes memory for each frame. (`signal/src/witness_rendezvous.rs` and this
//! module.) Held by: `java-tests/profile/DeepWitness.java`.

use std::collections::HashMap;
use std::fmt;

use jni::JNIEnv;
use jni::objects::{JObject, WeakRef};
use vouch_signal::witness_rendezvous::MAX_WITNESSED_DEPTH;

use crate::events::blocker::{self, Blocker};
use crate::events::class_of_object;
use crate::facade::{Jvmti, StackFrame};
use crate::java;
use crate::threads::late;
use vouch_collect::jvm::{WaitTarget, Witnessed};
use vouch_sampling::clock;
use vouch_sampling::threads::Registry;

/// The first JDK in which GetObjectMonitorUsage is safe to call.
const MIN_JDK_FOR_OWNERS: u32 = 17;
/// The limit for GetStackTrace, in frames. A stack that reaches it is not used. It is more than the
/// depth of a witnessed sample, because the thread may have called methods since the walk.
const MAX_FRAMES: usize = MAX_WITNESSED_DEPTH + 256;

/// What to find out about a thread that waits.
#[derive(Debug, Clone, Copy)]
pub struct WaitQuery {
    /// The thread was about to lock a monitor. If JVMTI reports no monitor, the thread has it by
    /// now.
    pub is_lock: bool,
    /// Find the owner of the monitor, too.
    pub with_owner: bool,
}

/// The objects of threads, and a buffer for their stacks.
pub struct Stacks {
    jvmti: Jvmti,
    registry: &'static Registry,
    /// The thread objects by serial.
    threads: HashMap<u32, WeakRef>,
    buffer: Vec<StackFrame>,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Stacks {
    pub fn new(jvmti: Jvmti, registry: &'static Registry) -> Self {
        Self { jvmti, registry, threads: HashMap::new(), buffer: vec![StackFrame::default(); MAX_FRAMES] }
    }

    /// Returns the present stack of a thread. `None` if it has no stack any more, or a too deep
    /// one.
    pub fn ask(
        &mut self,
        tid: u32,
        serial: u32,
        asking: &mut dyn FnMut(),
        env: &mut JNIEnv<'_>,
    ) -> Option<Witnessed> {
        let (slot, java_thread) = self.registry.slot(tid, serial)?;
        let thread = self.thread(serial, java_thread, env)?;
        asking();
        let asked = self.jvmti.stack_trace(thread.as_raw(), &mut self.buffer, MAX_FRAMES);
        // Exact if the handler has not returned, or the thread has not run since it did.
        let handler_end = slot.witnessed_handler_end();
        let exact = handler_end == 0 || clock::thread_cpu(tid) == Some(handler_end);
        // Another thread may have got the JavaThread meanwhile. Then the stack is that thread's.
        let is_same = self.registry.slot(tid, serial).is_some_and(|(_, now)| now == java_thread);
        let _ = env.delete_local_ref(thread);
        let count = asked.ok().filter(|count| (1..MAX_FRAMES).contains(count) && is_same)?;
        let frames = self.buffer[..count].iter().map(|frame| frame.frame()).collect();
        Some(Witnessed { frames, exact })
    }

    /// Finds the objects of several threads in one pass over all live threads.
    pub fn find(&mut self, threads: &[(u32, u32)], env: &mut JNIEnv<'_>) {
        let java_thread = |(tid, serial): &(u32, u32)| Some((self.registry.slot(*tid, *serial)?.1, *serial));
        let unknown = threads.iter().filter(|(_, serial)| !self.threads.contains_key(serial));
        let unknown: HashMap<usize, u32> =
            unknown.filter_map(java_thread).filter(|(java_thread, _)| *java_thread != 0).collect();
        if !unknown.is_empty() {
            self.find_objects(&unknown, env);
        }
    }

    /// Finds the object that a thread wants to lock, waits on or is parked on, and its owner. The
    /// owner of a monitor is found only if the query asks for it.
    pub fn wait_target(
        &mut self,
        tid: u32,
        serial: u32,
        query: WaitQuery,
        env: &mut JNIEnv<'_>,
    ) -> Option<WaitTarget> {
        let (_, java_thread) = self.registry.slot(tid, serial)?;
        let thread = self.thread(serial, java_thread, env)?;
        let jvmti = self.jvmti;
        let target = env.with_local_frame(16, |env| -> jni::errors::Result<Option<WaitTarget>> {
            let monitor = match jvmti.contended_monitor(thread.as_raw()) {
                Ok(Some(monitor)) => monitor,
                // An agent that was attached, or does not record monitors, lacks the capability.
                none @ (Ok(None) | Err(_)) => {
                    let blocker = Blocker::read(&thread, env);
                    let parked = blocker.map(|blocker| blocker.describe(jvmti, env));
                    let parked = parked.map(|(class, owner)| WaitTarget { class, owner });
                    // JVMTI may not report the object. The thread may also have thrown instead of
                    // waiting, and JVMTI has no event for that.
                    let is_waiting =
                        || if query.is_lock { none.is_err() } else { jvmti.is_waiting(thread.as_raw()) };
                    return Ok(parked.or_else(|| is_waiting().then(WaitTarget::default)));
                }
            };
            let owner = if query.with_owner && jvmti.jdk().is_some_and(|jdk| jdk >= MIN_JDK_FOR_OWNERS) {
                jvmti.monitor_owner(monitor).ok().flatten()
            } else {
                None
            };
            // SAFETY: JVMTI has just returned this local reference to the calling thread.
            let owner = owner.map(|owner| unsafe { java::object(env, owner) });
            // The thread may have locked it in between.
            let owner = owner.filter(|owner| !env.is_same_object(owner, &thread).unwrap_or(false));
            let owner = owner.and_then(|owner| blocker::display_name(jvmti, &owner, env));
            // SAFETY: as above.
            let monitor = unsafe { java::object(env, monitor) };
            Ok(Some(WaitTarget { class: class_of_object(&monitor, env), owner }))
        });
        let _ = env.delete_local_ref(thread);
        // Another thread may have got the JavaThread meanwhile.
        let is_same = self.registry.slot(tid, serial).is_some_and(|(_, now)| now == java_thread);
        java::cleared(env, target).flatten().filter(|_| is_same)
    }

    /// Returns the thread's object as a local reference.
    fn thread<'e>(&mut self, serial: u32, java_thread: usize, env: &mut JNIEnv<'e>) -> Option<JObject<'e>> {
        if !self.threads.contains_key(&serial) && java_thread != 0 {
            self.find_objects(&HashMap::from([(java_thread, serial)]), env);
        }
        let thread = self.threads.get(&serial)?.upgrade_local(env).ok()?;
        thread.filter(|thread| !thread.is_null())
    }

    /// Finds the objects of threads among all live threads, by their JavaThreads.
    fn find_objects(&mut self, serials: &HashMap<usize, u32>, env: &mut JNIEnv<'_>) {
        // Threads that have ended are never passed again.
        self.threads.retain(|_, thread| !thread.is_garbage_collected(env).unwrap_or(true));
        late::each_java_thread(self.jvmti, env, |env, thread| {
            if let Some(serial) = serials.get(&java::java_thread(env, thread))
                && let Ok(Some(found)) = env.new_weak_ref(thread)
            {
                self.threads.insert(*serial, found);
            }
        });
    }
}
