//! What came of a walk: frames, or a reason why there are none.
//!
//! A reason has a number, so that an answer is one word of a lane, and a name, by which reports
//! count it.

use crate::stack::Stack;

/// A walk, leaf first, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk<'f> {
    Stack(Stack<'f>),
    None(Reason),
}

/// What a walker says: so many frames, one at least, or why there are none.
pub type Answer = Result<u32, Reason>;

/// Why there are no frames: a code of AsyncGetCallTrace's, or one of ours where it was not even
/// asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(i32);

impl Reason {
    /// The walker looked, and the thread runs no Java.
    pub const NO_JAVA_FRAME: Self = Self(0);
    /// The thread has no JNI environment: there was nothing to walk.
    pub const NO_JAVA_THREAD: Self = Self(i32::MIN);
    /// The walker's word for most of its failures: the thread is in Java, and it does not know
    /// where.
    pub const UNKNOWN_JAVA: Self = Self(-5);
    /// It knows where the thread is, and finds no frames.
    pub const NOT_WALKABLE_JAVA: Self = Self(-6);
    /// Nothing can be told of the thread.
    pub const UNKNOWN_STATE: Self = Self(-7);
    /// No signal came in which the stack could have been walked, and a sample was due.
    pub const NOT_SIGNALLED: Self = Self(i32::MIN + 1);
    /// The thread ran this since its last sample, and ended or left the recording before the next
    /// one.
    pub const THREAD_ENDED: Self = Self(i32::MIN + 5);
    /// The thread ran this while its signals were skipped: walks were slow, or all lanes were full.
    pub const PASSED_OVER: Self = Self(i32::MIN + 6);
    /// The walk faulted, and was ended by the guard.
    pub const CRASHED: Self = Self(i32::MIN + 2);
    /// So many walks had crashed that there are to be no more.
    pub const STOPPED: Self = Self(i32::MIN + 3);
    /// The handler ran on an alternate stack that is too small for a walk.
    pub const NO_ROOM: Self = Self(i32::MIN + 4);
    /// A code of AsyncGetCallTrace without a name.
    pub const UNNAMED: Self = Self(-11);

    /// True if that is no failure: the thread was outside of Java.
    #[must_use]
    pub const fn is_outside(self) -> bool {
        matches!(self, Self::NO_JAVA_FRAME | Self::NO_JAVA_THREAD)
    }

    /// True if the sample's time passed before its signal came: where the thread was then is
    /// unknown.
    #[must_use]
    pub const fn is_unseen(self) -> bool {
        matches!(self, Self::THREAD_ENDED | Self::PASSED_OVER)
    }

    /// True if the thread was in Java, by its own state, and its stack was not found.
    #[must_use]
    pub const fn is_in_java(self) -> bool {
        matches!(self, Self::UNKNOWN_JAVA | Self::NOT_WALKABLE_JAVA)
    }

    /// The name that the JVM's sources give to the code, or ours.
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

    /// For a person, who sees it where a stack would be.
    #[must_use]
    pub const fn words(self) -> &'static str {
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
    /// All that have a name of their own, and one of those that have none.
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

/// An answer from its number: AsyncGetCallTrace's count, or what [`number_of`] gave.
#[inline]
pub const fn answer_of(number: i32) -> Answer {
    if number > 0 { Ok(number.cast_unsigned()) } else { Err(Reason(number)) }
}

/// An answer as a number.
#[inline]
#[must_use]
pub const fn number_of(answer: Answer) -> i32 {
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
    fn an_answer_is_its_number() {
        for told in [3, 1, 0, -1, -10, -11, i32::MAX, i32::MIN, i32::MIN + 3] {
            assert_eq!(number_of(answer_of(told)), told);
        }
        assert_eq!(answer_of(2), Ok(2));
        assert_eq!(answer_of(0), Err(Reason::NO_JAVA_FRAME));
        assert_eq!(answer_of(-5).map_err(Reason::name), Err("unknown_Java"));
        assert_eq!(answer_of(-99).map_err(Reason::name), Err("unknown_code"));
    }

    #[test]
    fn what_has_another_name_has_other_words() {
        let all = || Reason::ALL.into_iter().filter(|reason| !reason.is_outside());
        for reason in all() {
            let of_words = all().filter(|other| other.words() == reason.words());
            assert_eq!(of_words.count(), 1, "{}", reason.words());
        }
    }

    #[test]
    fn only_a_thread_without_java_is_outside() {
        let outside = |number| answer_of(number).is_err_and(Reason::is_outside);
        assert!(outside(0) && outside(i32::MIN));
        assert!(![1, -1, -3, i32::MIN + 1, i32::MIN + 2].into_iter().any(outside));
    }
}
