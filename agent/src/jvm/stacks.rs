//! GetStackTrace of the thread of a sample: the same thread, whoever has its place now.
//!
//! The thread stands still while it is walked, and the JVM takes some 4 KiB of memory for each
//! frame until it has answered: so it is not asked about a stack as deep as walks may be.
//!
//! A thread's object is found once, among all that are alive, and kept weakly: nobody is kept alive
//! by being asked about.
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

use super::{Wanted, Witnessed};
use crate::clock;
use crate::events::blocker::{self, Blocker};
use crate::events::class_of_object;
use crate::facade::{Jvmti, StackFrame};
use crate::java;
use crate::threads::{Registry, late};

/// From this JDK on one may ask who has a monitor.
const OWNERS_SINCE: u32 = 17;
/// A stack of so many frames is not told of: as deep as a sample's that is witnessed may be, and
/// some more, since the thread may have called somebody meanwhile.
const MOST: usize = MAX_WITNESSED_DEPTH + 256;

/// What is asked of what a thread wants.
#[derive(Debug, Clone, Copy)]
pub struct Wants {
    /// It has said that it wants a lock: to know nothing of one is to know that it has it.
    pub lock: bool,
    /// Who has it is asked, too.
    pub owner: bool,
}

/// Threads that were asked about, and room for their stacks.
pub struct Stacks {
    jvmti: Jvmti,
    registry: &'static Registry,
    /// By serial.
    threads: HashMap<u32, WeakRef>,
    room: Vec<StackFrame>,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Stacks {
    pub fn new(jvmti: Jvmti, registry: &'static Registry) -> Self {
        Self { jvmti, registry, threads: HashMap::new(), room: vec![StackFrame::default(); MOST] }
    }

    /// The stack that a thread has now; `None` if it has none any more, or one that is too deep.
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
        let asked = self.jvmti.stack_trace(thread.as_raw(), &mut self.room, MOST);
        // Its handler has not ended, or the thread has not had the processor since it did.
        let left = slot.witnessed_handler_end();
        let exact = left == 0 || clock::thread_cpu(tid) == Some(left);
        // The JVM may have given the thread's place to another one, whose stack this would be.
        let same = self.registry.slot(tid, serial).is_some_and(|(_, place)| place == java_thread);
        let _ = env.delete_local_ref(thread);
        let count = asked.ok().filter(|count| (1..MOST).contains(count) && same)?;
        let frames = self.room[..count].iter().map(|frame| frame.frame()).collect();
        Some(Witnessed { frames, exact })
    }

    /// Finds the objects of several threads, by one look at all.
    pub fn find(&mut self, threads: &[(u32, u32)], env: &mut JNIEnv<'_>) {
        let place = |(tid, serial): &(u32, u32)| Some((self.registry.slot(*tid, *serial)?.1, *serial));
        let unknown = threads.iter().filter(|(_, serial)| !self.threads.contains_key(serial));
        let unknown: HashMap<usize, u32> =
            unknown.filter_map(place).filter(|(place, _)| *place != 0).collect();
        if !unknown.is_empty() {
            self.look(&unknown, env);
        }
    }

    /// What a thread wants to enter, waits on or is parked on, and who has it; of a monitor, if
    /// that is asked for.
    pub fn wanted(&mut self, tid: u32, serial: u32, wants: Wants, env: &mut JNIEnv<'_>) -> Option<Wanted> {
        let (_, java_thread) = self.registry.slot(tid, serial)?;
        let thread = self.thread(serial, java_thread, env)?;
        let jvmti = self.jvmti;
        let wanted = env.with_local_frame(16, |env| -> jni::errors::Result<Option<Wanted>> {
            let monitor = match jvmti.contended_monitor(thread.as_raw()) {
                Ok(Some(monitor)) => monitor,
                // An agent that is attached, or records no monitors, is not allowed to ask.
                none @ (Ok(None) | Err(_)) => {
                    let blocker = Blocker::of(&thread, env);
                    let told = blocker.map(|blocker| blocker.told(jvmti, env));
                    let told = told.map(|(class, owner)| Wanted { class, owner });
                    // It may not be told what, or it may have thrown in the place of waiting, of
                    // which the JVM does not tell.
                    let something =
                        || if wants.lock { none.is_err() } else { jvmti.is_waiting(thread.as_raw()) };
                    return Ok(told.or_else(|| something().then(Wanted::default)));
                }
            };
            let owner = if wants.owner && jvmti.jdk().is_some_and(|jdk| jdk >= OWNERS_SINCE) {
                jvmti.monitor_owner(monitor).ok().flatten()
            } else {
                None
            };
            // SAFETY: the JVM gave this reference a moment ago, to the calling thread.
            let owner = owner.map(|owner| unsafe { java::object(env, owner) });
            // It may have got it in between.
            let owner = owner.filter(|owner| !env.is_same_object(owner, &thread).unwrap_or(false));
            let owner = owner.and_then(|owner| blocker::called(jvmti, &owner, env));
            // SAFETY: as above.
            let monitor = unsafe { java::object(env, monitor) };
            Ok(Some(Wanted { class: class_of_object(&monitor, env), owner }))
        });
        let _ = env.delete_local_ref(thread);
        // The JVM may have given the thread's place to another one.
        let same = self.registry.slot(tid, serial).is_some_and(|(_, place)| place == java_thread);
        java::cleared(env, wanted).flatten().filter(|_| same)
    }

    /// The thread's object, as a local reference.
    fn thread<'e>(&mut self, serial: u32, java_thread: usize, env: &mut JNIEnv<'e>) -> Option<JObject<'e>> {
        if !self.threads.contains_key(&serial) && java_thread != 0 {
            self.look(&HashMap::from([(java_thread, serial)]), env);
        }
        let thread = self.threads.get(&serial)?.upgrade_local(env).ok()?;
        thread.filter(|thread| !thread.is_null())
    }

    /// Finds threads' objects among all that are alive, by the JVM's side of each.
    fn look(&mut self, serials: &HashMap<usize, u32>, env: &mut JNIEnv<'_>) {
        // Those that have ended are never asked for again.
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
