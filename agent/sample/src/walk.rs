//! The result of a stack walk: frames, or the reason why the walk found no frames.
//!
//! A reason has a number, so that a walker's answer fits into one word of a lane. It also has a
//! name, under which reports count it.

use crate::stack::Stack;

/// The result of a stack walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk<'f> {
    /// The walk found a stack with at least one frame.
    Stack(Stack<'f>),
    /// The walk found no frames, for the contained reason.
    None(Reason),
}

/// The answer of a walker: the number of frames that it found, at least 1, or the reason why it
/// found none.
pub type Answer = Result<u32, Reason>;

/// The reason why a walk has no frames. It is an error code of AsyncGetCallTrace, or one of Vouch's
/// own codes, which are close to `i32::MIN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(i32);

impl Reason {
    /// The thread has no Java frame on its stack. This is no failure.
    pub const NO_JAVA_FRAME: Self = Self(0);
    /// The thread has no JNI environment, so it has no Java stack to walk. This is no failure.
    pub const NO_JAVA_THREAD: Self = Self(i32::MIN);
    /// The thread is in Java, but the walker did not find its top frame. Most failures have this
    /// code.
    pub const UNKNOWN_JAVA: Self = Self(-5);
    /// The walker found the top frame of a thread in Java, but not its callers.
    pub const NOT_WALKABLE_JAVA: Self = Self(-6);
    /// The thread's state is one that the walker does not handle.
    pub const UNKNOWN_STATE: Self = Self(-7);
    /// A sample was due, but no signal came in which the stack could have been walked.
    pub const NOT_SIGNALLED: Self = Self(i32::MIN + 1);
    /// The sample counts time after the thread's last sample. The thread ended, or left the
    /// recording, before its next sample.
    pub const THREAD_ENDED: Self = Self(i32::MIN + 5);
    /// The sample counts time in which the thread's signals were skipped, because walks were slow
    /// or all lanes were full.
    pub const PASSED_OVER: Self = Self(i32::MIN + 6);
    /// The walk faulted, and the guard ended it.
    pub const CRASHED: Self = Self(i32::MIN + 2);
    /// Walking was stopped before this sample, because too many walks had faulted.
    pub const STOPPED: Self = Self(i32::MIN + 3);
    /// The handler ran on an alternate signal stack that is too small for a walk.
    pub const NO_ROOM: Self = Self(i32::MIN + 4);
    /// A code of AsyncGetCallTrace that has no name in the JVM's sources.
    pub const UNNAMED: Self = Self(-11);

    /// True if the thread was outside of Java, which is no failure of the walk.
    #[must_use]
    pub const fn is_outside(self) -> bool {
        matches!(self, Self::NO_JAVA_FRAME | Self::NO_JAVA_THREAD)
    }

    /// True if the sample counts time in which the thread was not interrupted, so the code that it
    /// ran is unknown.
    #[must_use]
    pub const fn is_unseen(self) -> bool {
        matches!(self, Self::THREAD_ENDED | Self::PASSED_OVER)
    }

    /// True if the thread's state was "in Java", and its stack was not found.
    #[must_use]
    pub const fn is_in_java(self) -> bool {
        matches!(self, Self::UNKNOWN_JAVA | Self::NOT_WALKABLE_JAVA)
    }

    /// Returns the name that the code has in the JVM's sources without its `ticks_`, or Vouch's own
    /// name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NO_JAVA_FRAME => "no_Java_frame",
            Self(-1) => "no_class_load",
            Self(-2) => "GC_active",
            Self(-3) => "unknown_not_Java",
            Self(-4) => "not_walkable_not_Java",
            Self::UNKNOWN_JAVA => "unknown_Java",
            Self::NOT_WALKABLE_JAVA => "not_walkable_Java",
            Self::UNKNOWN_STATE => "unknown_state",
            Self(-8) => "thread_exit",
            Self(-9) => "deopt",
            Self(-10) => "safepoint",
            Self::NO_JAVA_THREAD => "no_Java_thread",
            Self::NOT_SIGNALLED => "not_signalled",
            Self::THREAD_ENDED => "thread_ended",
            Self::PASSED_OVER => "passed_over",
            Self::CRASHED => "crashed",
            Self::STOPPED => "stopped",
            Self::NO_ROOM => "no_room",
            Self(_) => "unknown_code",
        }
    }

    /// Returns the text that users see instead of the sample's stack.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::NO_JAVA_FRAME | Self::NO_JAVA_THREAD => "outside of Java",
            Self(-1) => "the JVM sends no class events",
            Self(-2) => "during a garbage collection",
            Self(-3) => "outside Java code, unknown last Java frame",
            Self(-4) => "outside Java code, unknown callers",
            Self::UNKNOWN_JAVA => "in Java, unknown code",
            Self::NOT_WALKABLE_JAVA => "in Java, unknown callers",
            Self(-8) => "its thread was about to end",
            Self(-9) => "a frame was being deoptimised",
            Self(-10) => "at a safepoint",
            Self::UNKNOWN_STATE => "unknown thread state",
            Self::NOT_SIGNALLED => "a sample was due, and no signal came",
            Self::THREAD_ENDED => "its thread ended, or left the recording, before the next sample",
            Self::PASSED_OVER => "its signals were skipped, to keep sampling cheap",
            Self::CRASHED => "the walk faulted",
            Self::STOPPED => "walking was stopped",
            Self::NO_ROOM => "its signal stack is too small for a walk",
            Self(_) => "unknown reason",
        }
    }
}

impl Reason {
    /// All reasons that have a name, and [`Reason::UNNAMED`] for those without one.
    pub const ALL: [Self; 19] = [
        Self::NO_JAVA_THREAD,
        Self::NO_JAVA_FRAME,
        Self(-1),
        Self(-2),
        Self(-3),
        Self(-4),
        Self::UNKNOWN_JAVA,
        Self::NOT_WALKABLE_JAVA,
        Self::UNKNOWN_STATE,
        Self(-8),
        Self(-9),
        Self(-10),
        Self::NOT_SIGNALLED,
        Self::THREAD_ENDED,
        Self::PASSED_OVER,
        Self::CRASHED,
        Self::STOPPED,
        Self::NO_ROOM,
        Self::UNNAMED,
    ];
}

/// Decodes an answer from a number: AsyncGetCallTrace's frame count, or the result of
/// [`answer_to_number`].
#[inline]
pub const fn answer_from_number(number: i32) -> Answer {
    if number > 0 { Ok(number.cast_unsigned()) } else { Err(Reason(number)) }
}

/// Encodes an answer as a number: a frame count above 0, or a reason's code.
#[inline]
#[must_use]
pub const fn answer_to_number(answer: Answer) -> i32 {
    match answer {
        Ok(frames) if frames > i32::MAX.cast_unsigned() => i32::MAX,
        Ok(frames) => frames.cast_signed(),
        Err(Reason(code)) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_its_encoding() {
        for number in [3, 1, 0, -1, -10, -11, i32::MAX, i32::MIN, i32::MIN + 3] {
            assert_eq!(answer_to_number(answer_from_number(number)), number);
        }
        assert_eq!(answer_from_number(2), Ok(2));
        assert_eq!(answer_from_number(0), Err(Reason::NO_JAVA_FRAME));
        assert_eq!(answer_from_number(-5).map_err(Reason::name), Err("unknown_Java"));
        assert_eq!(answer_from_number(-99).map_err(Reason::name), Err("unknown_code"));
    }

    #[test]
    fn no_two_reasons_have_the_same_description() {
        let all = || Reason::ALL.into_iter().filter(|reason| !reason.is_outside());
        for reason in all() {
            let same = all().filter(|other| other.description() == reason.description());
            assert_eq!(same.count(), 1, "{}", reason.description());
        }
    }

    #[test]
    fn only_a_thread_without_java_is_outside() {
        let outside = |number| answer_from_number(number).is_err_and(Reason::is_outside);
        assert!(outside(0) && outside(i32::MIN));
        assert!(![1, -1, -3, i32::MIN + 1, i32::MIN + 2].into_iter().any(outside));
    }
}
