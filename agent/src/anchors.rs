//! Anchors are waits that Flight Recorder records, too. They relate its clock to ours when its
//! recording is merged.
//!
//! While JFR records, the agent's thread now and then calls `Object.wait` for long enough that JFR
//! records it. It reads its own clock before and after. It must never do so without a JFR
//! recording, or while other work is due.

use std::mem::take;
use std::time::{Duration, Instant};

use jni::objects::JValue;
use jni::signature::{Primitive, ReturnType};
use jni::{JNIEnv, errors};
use vouch_hotspot::vmstructs::FlagValue;
use vouch_hotspot::{HotSpot, fields};
use vouch_sampling::clock;

use crate::java;

/// The length of one wait. JFR's default settings record waits from 20 ms on.
const WAIT: Duration = Duration::from_millis(25);
/// The pause between the first two anchors. Each pause is twice as long as the last, up to
/// `MAX_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two anchors, until `MAX_ANCHORS` are kept.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The maximum number of anchors kept. Above it, every second one is dropped and the pause doubles.
const MAX_ANCHORS: usize = 2_000;

/// The anchors of one recording.
#[derive(Debug)]
pub struct Anchors {
    /// JFR's flag in the JVM. It is on once a JFR recording has begun.
    jfr: Option<FlagValue>,
    next: Instant,
    pause: Duration,
    max_pause: Duration,
    kept: Vec<[u64; 2]>,
}

impl Anchors {
    /// Starts the anchors of a recording.
    pub fn new(hotspot: &HotSpot) -> Self {
        let jfr = FlagValue::find(hotspot, &fields::FLIGHT_RECORDER);
        Self {
            jfr,
            next: Instant::now() + FIRST_PAUSE,
            pause: FIRST_PAUSE,
            max_pause: MAX_PAUSE,
            kept: Vec::new(),
        }
    }

    /// Begins a period, which needs its own anchors.
    pub fn begin_period(&mut self) {
        self.kept.clear();
        self.pause = FIRST_PAUSE;
        self.next = Instant::now() + FIRST_PAUSE;
    }

    /// Returns true if an anchor is due now. `rest` is the time that the caller would wait anyway.
    pub fn are_due(&self, rest: Duration) -> bool {
        rest >= WAIT && self.jfr.is_some_and(FlagValue::is_on) && self.next <= Instant::now()
    }

    /// Adds an anchor: its begin and end by CLOCK_MONOTONIC. `None` means that the JVM refused.
    pub fn add(&mut self, anchor: Option<[u64; 2]>) {
        self.pause = (self.pause * 2).min(self.max_pause);
        self.next = Instant::now() + self.pause;
        self.kept.extend(anchor);
        if self.kept.len() > MAX_ANCHORS {
            self.max_pause *= 2;
            self.kept = take(&mut self.kept).into_iter().step_by(2).collect();
        }
    }

    /// Returns the begin and end of each anchor that is kept.
    pub fn kept(&self) -> &[[u64; 2]] {
        &self.kept
    }
}

/// Makes one anchor now. Returns `None` if the JVM refuses.
pub fn make_anchor(env: &mut JNIEnv<'_>) -> Option<[u64; 2]> {
    let anchor = env.with_local_frame(8, |env| -> errors::Result<[u64; 2]> {
        let class = env.find_class("java/lang/Object")?;
        let wait = env.get_method_id(&class, "wait", "(J)V")?;
        // The thread's own object serves as monitor. Nothing is allocated, since the heap may be
        // full.
        let own = env.call_static_method("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", &[])?;
        let monitor = own.l()?;
        let _held = env.lock_obj(&monitor)?;
        let timeout = JValue::Long(i64::try_from(WAIT.as_millis()).unwrap_or(i64::MAX)).as_jni();
        // Any work between our two clock readings and JFR's makes the anchor less exact.
        let began = clock::monotonic();
        // SAFETY: the method is of the object's class, has this one argument, and returns nothing.
        let waited = unsafe {
            env.call_method_unchecked(&monitor, wait, ReturnType::Primitive(Primitive::Void), &[timeout])
        };
        let ended = clock::monotonic();
        waited.map(|_| [began, ended])
    });
    java::cleared(env, anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_recording_keeps_anchors_from_all_of_its_time() {
        let now = Instant::now();
        let mut anchors =
            Anchors { jfr: None, next: now, pause: FIRST_PAUSE, max_pause: MAX_PAUSE, kept: Vec::new() };
        assert!(!anchors.are_due(WAIT), "nobody records");
        for at in 0..10_000 {
            anchors.add(Some([at, at + 1]));
        }
        let kept = anchors.kept();
        assert!(kept.len() <= MAX_ANCHORS && kept.len() > MAX_ANCHORS / 4, "{}", kept.len());
        assert_eq!(kept[0], [0, 1]);
        assert!(kept.is_sorted() && kept[kept.len() / 2][0] > 2_000 && anchors.max_pause > MAX_PAUSE);
    }
}
