//! Records true stacks instead of samples: GetStackTrace of every Java thread, in repeated rounds.
//!
//! The truth lab uses it. Every stage after the walk then works on true stacks, and proof must
//! refute none of them. There is no engine and no signal. It must never be used for an ordinary
//! profile: it sees a thread only at safepoints.

use std::collections::HashMap;
use std::time::Duration;

use jni::JNIEnv;
use jni::objects::JObject;
use vouch_collect::record::Recorder;
use vouch_sample::{Frame, Head, Stack, Walk};
use vouch_sampling::clock;
use vouch_sampling::threads::registry;
use xxhash_rust::xxh3::xxh3_64;

use crate::facade::{Jvmti, StackFrame};
use crate::java;
use crate::jvm::live::JvmState;
use crate::resolve::Resolver;
use crate::threads::late;

/// The pause between two rounds.
pub const PAUSE: Duration = Duration::from_millis(1);

/// The source of true stacks, and each thread's stack in the last round.
#[derive(Debug)]
pub struct Truth {
    jvmti: Jvmti,
    room: Vec<StackFrame>,
    last: HashMap<u32, u64>,
}

impl Truth {
    pub fn new(jvmti: Jvmti) -> Self {
        Self { jvmti, room: Vec::new(), last: HashMap::new() }
    }

    /// Asks about every thread once, and returns how many stacks were recorded. An unchanged stack
    /// is not counted.
    pub fn round(
        &mut self,
        recorder: &mut Recorder,
        questions: &mut JvmState,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) -> u64 {
        let mut stacks = 0;
        late::each_java_thread(self.jvmti, env, |env, thread| {
            if let Some((head, frames)) = self.ask(env, thread) {
                recorder.take_walk(
                    &head,
                    Walk::Stack(Stack::whole(&frames)),
                    &mut questions.on(resolver, env),
                );
                stacks += 1;
            }
        });
        stacks
    }

    fn ask(&mut self, env: &mut JNIEnv<'_>, thread: &JObject<'_>) -> Option<(Head, Vec<Frame>)> {
        let (tid, serial) = registry().java_serial(java::java_thread(env, thread))?;
        if tid == clock::own_tid() {
            return None;
        }
        let count = self
            .jvmti
            .stack_trace(thread.as_raw(), &mut self.room, usize::MAX)
            .ok()
            .filter(|count| *count > 0)?;
        let words: Vec<u8> = self.room[..count]
            .iter()
            .flat_map(|frame| [frame.method.0 as u64, frame.location.cast_unsigned()])
            .flat_map(u64::to_le_bytes)
            .collect();
        if self.last.insert(serial, xxh3_64(&words)) == Some(xxh3_64(&words)) {
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
        let frames = self.room[..count].iter();
        Some((head, frames.map(|frame| frame.frame()).collect()))
    }
}
