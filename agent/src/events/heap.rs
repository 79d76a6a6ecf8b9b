//! Records the used heap over time, by the methods of `java.lang.Runtime`.
//!
//! The agent's own thread calls them at intervals. They run no code of the program.

use std::time::Duration;

use jni::JNIEnv;
use jni::objects::{GlobalRef, JMethodID};
use jni::signature::{Primitive, ReturnType};
use vouch_recording::{CounterId, Recording, Unit};
use vouch_sampling::clock;

use crate::java;

/// The time between two values.
const PAUSE: Duration = Duration::from_millis(50);

/// Records the used heap of this JVM.
#[derive(Debug, Default)]
pub struct Heap {
    ways: Option<Ways>,
    /// True once the methods were looked up.
    looked: bool,
    next: u64,
    counter: Option<CounterId>,
}

/// The object of `java.lang.Runtime`, and its methods.
#[derive(Debug)]
struct Ways {
    runtime: GlobalRef,
    total: JMethodID,
    free: JMethodID,
}

impl Heap {
    /// Begins a graph in another recording.
    pub fn begin_period(&mut self) {
        (self.counter, self.next) = (None, 0);
    }

    /// Records a value if it is time for one.
    pub fn record_if_due(&mut self, recording: &mut Recording, env: &mut JNIEnv<'_>) {
        let now = clock::monotonic();
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(clock::nanos(PAUSE));
        if !self.looked {
            self.looked = true;
            self.ways = Ways::find(env);
        }
        if let Some(used) = self.ways.as_ref().and_then(|ways| ways.used(env)) {
            let counter = self.counter.get_or_insert_with(|| {
                recording.counter("Heap", "Java objects, dead ones included", Unit::Bytes)
            });
            recording.count(*counter, now, used);
        }
    }
}

impl Ways {
    fn find(env: &mut JNIEnv<'_>) -> Option<Self> {
        const CLASS: &str = "java/lang/Runtime";
        let found = env.with_local_frame(4, |env| -> jni::errors::Result<Option<Self>> {
            let Some(runtime) = java::ask_class(env, CLASS, "getRuntime", "Ljava/lang/Runtime;") else {
                return Ok(None);
            };
            let runtime = env.new_global_ref(runtime)?;
            let total = env.get_method_id(CLASS, "totalMemory", "()J")?;
            let free = env.get_method_id(CLASS, "freeMemory", "()J")?;
            Ok(Some(Self { runtime, total, free }))
        });
        java::cleared(env, found).flatten()
    }

    fn used(&self, env: &mut JNIEnv<'_>) -> Option<u64> {
        let mut ask = |method| {
            let long = ReturnType::Primitive(Primitive::Long);
            // SAFETY: these are methods of the object's class without arguments, which return a
            // long.
            let answer = unsafe { env.call_method_unchecked(&self.runtime, method, long, &[]) };
            let answer = answer.and_then(jni::objects::JValueOwned::j);
            java::cleared(env, answer)
        };
        let (total, free) = (ask(self.total)?, ask(self.free)?);
        // The heap may have been resized between the two calls.
        if ask(self.total)? != total {
            return None;
        }
        u64::try_from(total.saturating_sub(free)).ok()
    }
}
