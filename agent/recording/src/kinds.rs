//! The catalogue of the JVM events that Vouch can record.
//!
//! The option `events=`, the timeline, `vouch events` and docs/events.md all read the rows of this
//! catalogue. No other file may repeat them.

use crate::category::{Category, VmPart};
use crate::markers::{MarkerField, MarkerKind, Unit};

/// A kind of JVM events.
#[derive(Debug, Clone, Copy)]
pub struct EventKind {
    /// The word for this kind of events in the option `events=`.
    pub word: &'static str,
    /// True if this kind of events is recorded without the option `events=`.
    pub by_default: bool,
    /// The first JDK version that reports this kind of events.
    pub since: u32,
    /// The duration in nanoseconds below which events of this kind are counted but not shown.
    pub min_shown_ns: u64,
    /// The maximal number of events of this kind that are shown in a second. The limit bounds their
    /// cost.
    pub max_per_second: u64,
    /// True if an event of this kind has the stack of its thread.
    pub stack: bool,
    /// How this kind of events is shown in a timeline.
    pub marker: MarkerKind<'static>,
    /// A text for users that says where the agent gets the event from.
    pub source: &'static str,
    /// A text for users that says what the event does not record.
    pub lacks: &'static str,
    /// A text for users that says what the event costs.
    pub cost: &'static str,
}

impl EventKind {
    /// Returns the description of the kind of events for users, as pairs of a title and a text.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let since = match self.since {
            8 => "8 and later".to_owned(),
            since => format!("{since} and later"),
        };
        let shown = match self.min_shown_ns {
            0 => String::new(),
            least => format!("what takes {} ms and more (the rest is counted), ", least / MILLISECOND),
        };
        let fields = self.marker.fields.iter().map(|field| field.label).collect::<Vec<_>>().join(", ");
        let stack =
            if self.stack { "its thread's, checked against the bytecode like a sample's" } else { "none" };
        vec![
            ("JDK", since),
            ("Default", if self.by_default { "on" } else { "off" }.to_owned()),
            ("Shown", format!("{shown}{} in a second at most, or soon after", self.max_per_second)),
            ("Fields", fields),
            ("Stack", stack.to_owned()),
            ("Source", self.source.to_owned()),
            ("Lacks", self.lacks.to_owned()),
            ("Costs", self.cost.to_owned()),
        ]
    }
}

/// All kinds of JVM events, in the order in which texts list them.
pub static EVENTS: [&EventKind; 9] =
    [&COLLECTION, &MONITOR, &WAIT, &PARK, &ALLOCATION, &EXCEPTION, &CLASS, &COMPILATION, &GIVEN_UP];

const MILLISECOND: u64 = 1_000_000;

/// The event that all threads were stopped for a garbage collection.
pub static COLLECTION: EventKind = EventKind {
    word: "gc",
    by_default: true,
    since: 8,
    min_shown_ns: 0,
    max_per_second: 1_000,
    stack: false,
    marker: MarkerKind {
        key: "gc_pause",
        label: "GC pause",
        description: "The collector stopped all threads.",
        category: Category::Vm(VmPart::Gc),
        fields: &REASON,
    },
    source: "JVMTI GarbageCollectionStart and GarbageCollectionFinish; the reason from the JVM's \
             performance counters",
    lacks: "The time until all threads stopped. What a collector does while the program runs on \
            (its threads have samples). Other safepoints. The reason, without -XX:+UsePerfData. \
            For a pause of G1's remark or cleanup, which of the two it was.",
    cost: "Nothing that can be measured: two calls for each pause.",
};

/// The marker for a running thread that was stopped for a collection. It is computed from the pause
/// and the thread's samples when a profile is written.
pub static HELD_UP: MarkerKind<'static> = MarkerKind {
    key: "held_up",
    label: "Held up by the collector",
    description: "The thread ran until the collector stopped it, and ran on when it was let go.",
    category: Category::Vm(VmPart::Gc),
    fields: &REASON,
};

static REASON: [MarkerField<'static>; 1] = [MarkerField::text("reason", "What for")];

/// A thread still waited for a lock at the end of the recording.
pub static STILL_ENTERS: MarkerKind<'static> = MarkerKind {
    key: "monitor_still_enters",
    label: "Still waits for a lock",
    description: "The thread wanted a monitor (synchronized) that another thread has, and had not got it when this was written.",
    category: Category::Other,
    fields: &[MarkerField::text("class", "Lock of class")],
};

/// A thread was still parked at the end of the recording.
pub static STILL_PARKS: MarkerKind<'static> = MarkerKind {
    key: "still_parks",
    label: "Still parked",
    description: "The thread was parked (java.util.concurrent) when this was written.",
    category: Category::Other,
    fields: &[MarkerField::text("class", "Parked on")],
};

/// The event that a thread waited for a monitor that another thread had.
pub static MONITOR: EventKind = EventKind {
    word: "monitor",
    by_default: true,
    since: 8,
    min_shown_ns: MILLISECOND,
    max_per_second: 200,
    stack: true,
    marker: MarkerKind {
        key: "monitor_enter",
        label: "Waited for a lock",
        description: "The thread waited for a monitor (synchronized) that another thread had.",
        category: Category::Other,
        fields: &[MarkerField::text("class", "Lock of class"), MarkerField::text("owner", "Held by")],
    },
    source: "JVMTI MonitorContendedEnter and MonitorContendedEntered; the owner at the wait's \
             beginning from the JVM's own tables",
    lacks: "The owner, in three cases: before JDK 17, if the monitor changed its owner at that \
            moment, and among more than 2,000 threads. Virtual threads have no names there: the \
            owner may be shown as the carrier, or be missing. Locks of java.util.concurrent, which \
            `park` records. Waits of virtual threads. Before JDK 27 a notified thread that waits \
            for the monitor to go on.",
    cost: "Two clock readings and a look-up of the owner, each time that a thread has to wait for \
           a monitor. A stack if that took a millisecond.",
};

/// The event that a thread waited in `Object.wait`.
pub static WAIT: EventKind = EventKind {
    word: "wait",
    by_default: false,
    since: 8,
    min_shown_ns: MILLISECOND,
    max_per_second: 200,
    stack: true,
    marker: MarkerKind {
        key: "monitor_wait",
        label: "Object.wait",
        description: "The thread waited to be notified.",
        category: Category::Other,
        fields: &[
            MarkerField::text("class", "Of class"),
            MarkerField { key: "timeout", label: "Timeout", unit: Unit::Nanoseconds },
            MarkerField { key: "timed_out", label: "Timed out", unit: Unit::Count },
        ],
    },
    source: "JVMTI MonitorWait and MonitorWaited",
    lacks: "The thread that notified it. Before JDK 27, which part of the wait was the way back to \
            the monitor. From JDK 25 on, the class of a wait that is not over when the recording \
            ends. Virtual threads. Parked threads, which `park` records.",
    cost: "Two clock readings for each wait, and a stack for each one shown.",
};

/// The event that a thread was parked by `LockSupport.park`.
pub static PARK: EventKind = EventKind {
    word: "park",
    by_default: false,
    since: 8,
    min_shown_ns: MILLISECOND,
    max_per_second: 200,
    stack: true,
    marker: MarkerKind {
        key: "park",
        label: "Parked",
        description: "The thread was parked (LockSupport.park): for a lock of \
                      java.util.concurrent, a queue, a future, a time.",
        category: Category::Other,
        fields: &[
            MarkerField::text("class", "Parked on"),
            MarkerField::text("owner", "Held by"),
            MarkerField { key: "timeout", label: "Timeout", unit: Unit::Nanoseconds },
        ],
    },
    source: "the native method Unsafe.park, which the agent binds to its own function as the JVM \
             starts; the blocker, and its owner at the wait's beginning, from fields of Thread and \
             AbstractOwnableSynchronizer",
    lacks: "The thread that unparked it. The owner of a lock that several threads may have (read \
            locks, semaphores). Virtual threads, which park without this method, except pinned \
            ones. A JVM that runs already has bound the method, so an attached agent records no \
            parks.",
    cost: "Some 200 ns each time that a thread parks, and a stack if that took a millisecond. \
           Programs with many idle threads park a lot.",
};

/// The event that an object was allocated. Objects are drawn at random by bytes.
pub static ALLOCATION: EventKind = EventKind {
    word: "alloc",
    by_default: false,
    since: 11,
    min_shown_ns: 0,
    max_per_second: 200,
    stack: true,
    marker: MarkerKind {
        key: "allocation",
        label: "Allocation",
        description: "An object was allocated. It represents the bytes that were allocated around it.",
        category: Category::Other,
        fields: &[
            MarkerField::text("class", "Class"),
            MarkerField { key: "size", label: "Size", unit: Unit::Bytes },
            MarkerField { key: "stands_for", label: "Stands for", unit: Unit::Bytes },
        ],
    },
    source: "JVMTI SampledObjectAlloc: an object each 512 KiB at random, more rarely while that \
             would be more than 200 a second",
    lacks: "Allocations that compiled code has eliminated. For many short threads the sum is two or \
            three times too much or too little: the JVM draws a new random distance for each. A \
            virtual thread's allocations are its carrier's.",
    cost: "A stack and a weak reference each 512 KiB.",
};

/// The event that an exception was created.
pub static EXCEPTION: EventKind = EventKind {
    word: "exception",
    by_default: false,
    since: 8,
    min_shown_ns: 0,
    max_per_second: 1_000,
    stack: true,
    marker: MarkerKind {
        key: "exception",
        label: "Exception",
        description: "An exception was created, with its stack trace. Nearly always it is thrown \
                      at once.",
        category: Category::Other,
        fields: &[MarkerField::text("class", "Class")],
    },
    source: "the native method Throwable.fillInStackTrace, which the agent binds to its own \
             function as the JVM starts",
    lacks: "The message. Whether the exception is thrown, how often, and which method catches it. \
            Exceptions without a stack trace, such as those that compiled code throws again and \
            again (-XX:+OmitStackTraceInFastThrow). StackOverflowError: the JVM fills in its trace \
            itself.",
    cost: "Some 80 ns for each exception, and a stack for each one shown: the table in \
           docs/cost.md. A JVM that runs already refuses this kind.",
};

/// The event that a class was prepared.
pub static CLASS: EventKind = EventKind {
    word: "class",
    by_default: false,
    since: 8,
    min_shown_ns: 0,
    max_per_second: 1_000,
    stack: true,
    marker: MarkerKind {
        key: "class_prepare",
        label: "Class",
        description: "A class was loaded and prepared.",
        category: Category::Other,
        fields: &[MarkerField::text("class", "Class")],
    },
    source: "JVMTI ClassPrepare",
    lacks: "How long it took to load, to link and to initialise the class.",
    cost: "A stack for each class.",
};

/// The event that a method was compiled.
pub static COMPILATION: EventKind = EventKind {
    word: "jit",
    by_default: false,
    since: 8,
    min_shown_ns: 0,
    max_per_second: 1_000,
    stack: false,
    marker: MarkerKind {
        key: "compilation",
        label: "Compiled",
        description: "Compiled code of a method is ready. Tiers 1 to 3 are C1's, the quick \
                      compiler's. Tier 3 counts what the code does, for tier 4, which is C2's. \
                      Tier 0 is a native method's wrapper, or unknown.",
        category: Category::Vm(VmPart::Jit),
        fields: &OF_CODE,
    },
    source: "JVMTI CompiledMethodLoad; the tier from the code itself",
    lacks: "How long each compilation took: the report has the sum of all, and the compilers' \
            threads have samples. From JDK 15 on the JVM reports it some milliseconds late.",
    cost: "Some ten microseconds for each.",
};

/// The fields of an event about compiled code.
static OF_CODE: [MarkerField<'static>; 4] = [
    MarkerField::text("method", "Method"),
    MarkerField { key: "size", label: "Code", unit: Unit::Bytes },
    MarkerField { key: "tier", label: "Tier", unit: Unit::Count },
    MarkerField { key: "in_loop", label: "Entered in a loop", unit: Unit::Count },
];

/// The event that compiled code was discarded.
pub static GIVEN_UP: EventKind = EventKind {
    word: "deopt",
    by_default: false,
    since: 8,
    min_shown_ns: 0,
    max_per_second: 1_000,
    stack: false,
    marker: MarkerKind {
        key: "code_given_up",
        label: "Code discarded",
        description: "Compiled code of a method is not entered any more, and nothing as good has \
                      replaced it. Most often an assumption of the compiler was wrong. The method \
                      goes on in worse code, or interpreted, until it is compiled again.",
        category: Category::Vm(VmPart::Jit),
        fields: &OF_CODE,
    },
    source: "the state of the compiled code, which the agent's thread reads four times in a second",
    lacks: "The exact time: it is known to a quarter of a second (less exactly if a JVM has above \
            4,000 methods compiled). The reason, and where in the method threads left the code: \
            JFR's jdk.Deoptimization has both, from JDK 14 on. Code that was compiled again and \
            discarded again within that time counts once. Single threads that left code in which \
            others go on. Changes in the last quarter of a second, if the code is not of the last \
            tier. Code that was unloaded with its class. From JDK 20 on, code that was discarded \
            to free space; before, the JVM discards in this way code that has long been unused.",
    cost: "A tenth of a microsecond four times a second for each compiled method, and some ten \
           microseconds once.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_word_and_complete_sentences() {
        for (at, kind) in EVENTS.iter().enumerate() {
            assert!(
                EVENTS[..at]
                    .iter()
                    .all(|other| other.word != kind.word && other.marker.key != kind.marker.key)
            );
            assert!(!["off", "all", "default"].contains(&kind.word));
            for text in [kind.marker.description, kind.lacks, kind.cost] {
                assert!(text.ends_with('.') && !text.contains("  "), "{text}");
            }
        }
    }
}
