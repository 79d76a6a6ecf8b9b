//! Records true stacks instead of samples: GetStackTrace of every Java thread, in repeated rounds.
//!
//! The truth lab uses it. Every stage after the walk then works on true stacks, and proof must
//! refute none of them. There is no engine and no signal. It must never be used for an ordinary
//! profile: it sees a thread only at safepoints.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use jni::JNIEnv;
use jni::objects::JObject;
use vouch::lab_api::{LoadedAgent, java_thread};
use vouch::lab_hooks::{RecordStack, StackSource};
use vouch_sample::{Frame, Head};
use vouch_sampling::clock;
use vouch_sampling::threads::registry;

/// Each thread's stack in the last round.
#[derive(Debug, Default)]
pub struct TrueStacks {
    last: HashMap<u32, u64>,
}

impl StackSource for TrueStacks {
    /// Asks about every thread once. An unchanged stack is not recorded.
    fn round(&mut self, env: &mut JNIEnv<'_>, record: &mut RecordStack<'_>) -> u64 {
        let mut stacks = 0;
        let Some(agent) = LoadedAgent::get() else { return stacks };
        agent.each_java_thread(env, |env, thread| {
            if let Some((head, frames)) = self.ask(agent, env, thread) {
                record(env, &head, &frames);
                stacks += 1;
            }
        });
        stacks
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(1)
    }
}

impl TrueStacks {
    fn ask(
        &mut self,
        agent: LoadedAgent,
        env: &mut JNIEnv<'_>,
        thread: &JObject<'_>,
    ) -> Option<(Head, Vec<Frame>)> {
        let (tid, serial) = registry().java_serial(java_thread(env, thread))?;
        if tid == clock::own_tid() {
            return None;
        }
        let frames = agent.stack_trace(thread.as_raw()).filter(|frames| !frames.is_empty())?;
        let mut hasher = DefaultHasher::new();
        frames.hash(&mut hasher);
        let hash = hasher.finish();
        if self.last.insert(serial, hash) == Some(hash) {
            return None;
        }
        let head = Head {
            time: clock::monotonic(),
            cpu: clock::thread_cpu(tid).unwrap_or(0),
            tid,
            serial,
            weight: 1,
            ..Head::default()
        };
        Some((head, frames))
    }
}
