//! Moments that Flight Recorder sees, too: by them its clock and ours are related when its
//! recording is merged.
//!
//! Now and then, while JFR records, the agent's thread rests by `Object.wait` for as long as JFR
//! cares to tell of, and reads its clock before and after. It must never do so in a JVM without a
//! recording, nor while there is something else to do.

use std::mem::take;
use std::time::{Duration, Instant};

use jni::objects::JValue;
use jni::signature::{Primitive, ReturnType};
use jni::{JNIEnv, errors};
use vouch_hotspot::vmstructs::FlagValue;
use vouch_hotspot::{HotSpot, fields};

use crate::clock;
use crate::java;

/// JFR's own settings tell of what takes 20 ms.
const LASTS: Duration = Duration::from_millis(25);
/// The time between the first two; each is twice as long,
const FIRST: Duration = Duration::from_millis(100);
/// up to this one.
const USUAL: Duration = Duration::from_secs(10);
/// So many are kept. When there are more every second one goes, and they come half as often.
const MOST: usize = 2_000;

/// Those of a recording.
#[derive(Debug)]
pub struct Anchors {
    /// On from when a recording of JFR's has begun in this JVM.
    jfr: Option<FlagValue>,
    next: Instant,
    pause: Duration,
    usual: Duration,
    kept: Vec<[u64; 2]>,
}

impl Anchors {
    /// A recording begins.
    pub fn of(hotspot: &HotSpot) -> Self {
        let jfr = FlagValue::find(hotspot, &fields::FLIGHT_RECORDER);
        Self { jfr, next: Instant::now() + FIRST, pause: FIRST, usual: USUAL, kept: Vec::new() }
    }

    /// Whether there should be one now, by one who would rest for so long anyway.
    pub fn are_due(&self, rest: Duration) -> bool {
        rest >= LASTS && self.jfr.is_some_and(FlagValue::is_on) && self.next <= Instant::now()
    }

    /// There was one, from when to when by CLOCK_MONOTONIC; `None`: the JVM would not.
    pub fn add(&mut self, anchor: Option<[u64; 2]>) {
        self.pause = (self.pause * 2).min(self.usual);
        self.next = Instant::now() + self.pause;
        self.kept.extend(anchor);
        if self.kept.len() > MOST {
            self.usual *= 2;
            self.kept = take(&mut self.kept).into_iter().step_by(2).collect();
        }
    }

    /// From when to when each of them was.
    pub fn kept(&self) -> &[[u64; 2]] {
        &self.kept
    }
}

/// One, now; `None` if the JVM will not.
pub fn meet(env: &mut JNIEnv<'_>) -> Option<[u64; 2]> {
    let met = env.with_local_frame(8, |env| -> errors::Result<[u64; 2]> {
        let class = env.find_class("java/lang/Object")?;
        let wait = env.get_method_id(&class, "wait", "(J)V")?;
        // Its own object, of which nobody else knows: nothing is allocated, since the heap may be
        // full.
        let own = env.call_static_method("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", &[])?;
        let monitor = own.l()?;
        let _held = env.lock_obj(&monitor)?;
        let lasts = JValue::Long(i64::try_from(LASTS.as_millis()).unwrap_or(i64::MAX)).as_jni();
        // Whatever is done between the two readings and JFR's own makes all times less sure.
        let began = clock::monotonic();
        // SAFETY: the method is of the object's class, has this one argument, and returns nothing.
        let waited = unsafe {
            env.call_method_unchecked(&monitor, wait, ReturnType::Primitive(Primitive::Void), &[lasts])
        };
        let ended = clock::monotonic();
        waited.map(|_| [began, ended])
    });
    java::cleared(env, met)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_recording_keeps_anchors_from_all_of_its_time() {
        let now = Instant::now();
        let mut anchors = Anchors { jfr: None, next: now, pause: FIRST, usual: USUAL, kept: Vec::new() };
        assert!(!anchors.are_due(LASTS), "nobody records");
        for at in 0..10_000 {
            anchors.add(Some([at, at + 1]));
        }
        let kept = anchors.kept();
        assert!(kept.len() <= MOST && kept.len() > MOST / 4, "{}", kept.len());
        assert_eq!(kept[0], [0, 1]);
        assert!(kept.is_sorted() && kept[kept.len() / 2][0] > 2_000 && anchors.usual > USUAL);
    }
}
