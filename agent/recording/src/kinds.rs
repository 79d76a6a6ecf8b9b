//! The kinds of events of the JVM's that Vouch can record: the catalogue.
//!
//! What `events=` takes, what a timeline shows, what `vouch events` and docs/events.md say, all
//! comes from here: none of it may stand anywhere else.

use crate::category::{Category, VmPart};
use crate::marks::{Figure, MarkKind, Unit};

/// A kind of events of the JVM's.
#[derive(Debug, Clone, Copy)]
pub struct EventKind {
    /// By which `events=` asks for it.
    pub word: &'static str,
    pub by_default: bool,
    /// The first JDK that tells of it.
    pub since: u32,
    /// What takes less time is counted, and not shown.
    pub least_ns: u64,
    /// So many are shown in a second: each has its cost.
    pub most_in_a_second: u64,
    /// It has the stack of its thread.
    pub stack: bool,
    /// How it stands in a timeline.
    pub mark: MarkKind<'static>,
    /// How it is known.
    pub source: &'static str,
    /// What it does not tell.
    pub lacks: &'static str,
    /// What it costs.
    pub cost: &'static str,
}

impl EventKind {
    /// What there is to know of it, for a person: titles and texts.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let since = match self.since {
            8 => "8 and later".to_owned(),
            since => format!("{since} and later"),
        };
        let shown = match self.least_ns {
            0 => String::new(),
            least => format!("what takes {} ms and more (the rest is counted), ", least / MILLISECOND),
        };
        let fields = self.mark.figures.iter().map(|figure| figure.label).collect::<Vec<_>>().join(", ");
        let stack =
            if self.stack { "that of its thread, held to the bytecode as a sample's is" } else { "none" };
        vec![
            ("JDK", since),
            ("Default", if self.by_default { "on" } else { "off" }.to_owned()),
            ("Shown", format!("{shown}{} in a second at most, or soon after", self.most_in_a_second)),
            ("Fields", fields),
            ("Stack", stack.to_owned()),
            ("Known by", self.source.to_owned()),
            ("Lacks", self.lacks.to_owned()),
            ("Costs", self.cost.to_owned()),
        ]
    }
}

/// The kinds that there are, in the order in which they are told.
pub static EVENTS: [&EventKind; 9] =
    [&COLLECTION, &MONITOR, &WAIT, &PARK, &ALLOCATION, &EXCEPTION, &CLASS, &COMPILATION, &GIVEN_UP];

const MILLISECOND: u64 = 1_000_000;

/// The program stood still for a collection.
pub static COLLECTION: EventKind = EventKind {
    word: "gc",
    by_default: true,
    since: 8,
    least_ns: 0,
    most_in_a_second: 1_000,
    stack: false,
    mark: MarkKind {
        key: "gc_pause",
        label: "GC pause",
        description: "All threads stood still for the collector.",
        category: Category::Vm(VmPart::Gc),
        figures: &REASON,
    },
    source: "JVMTI GarbageCollectionStart and GarbageCollectionFinish; what for from the JVM's performance counters",
    lacks: "The time until all threads stood still is not in it, nor what a collector does while the program runs on (its threads have \
            samples), nor are other safepoints. Without -XX:+UsePerfData it is not known what \
            for; of G1's remark and cleanup it is not told which it was.",
    cost: "Nothing that can be measured: two calls for each pause.",
};

/// Of a thread: made of such a pause and of the thread's samples when a profile is written.
pub static HELD_UP: MarkKind<'static> = MarkKind {
    key: "held_up",
    label: "Held up by the collector",
    description: "The thread ran until the collector stopped it, and ran on when it was let go.",
    category: Category::Vm(VmPart::Gc),
    figures: &REASON,
};

static REASON: [Figure<'static>; 1] = [Figure::text("reason", "What for")];

/// A thread wanted a monitor that another one had.
pub static MONITOR: EventKind = EventKind {
    word: "monitor",
    by_default: true,
    since: 8,
    least_ns: MILLISECOND,
    most_in_a_second: 200,
    stack: true,
    mark: MarkKind {
        key: "monitor_enter",
        label: "Waited for a lock",
        description: "The thread wanted a monitor (synchronized) that another thread had.",
        category: Category::Other,
        figures: &[Figure::text("class", "Lock of class"), Figure::text("owner", "Held by")],
    },
    source: "JVMTI MonitorContendedEnter and MonitorContendedEntered; who held it as the wait began from the JVM's own tables",
    lacks: "Who held it, before JDK 17, where it was given on at that moment, and among more than 2,000 threads; of virtual threads, which have \
            no names there, it may be the carrier, or nobody; locks of java.util.concurrent, which `park` \
            tells of; virtual threads; before JDK 27 a thread that was notified, and waits for the monitor to go on.",
    cost: "Two clock readings, and a look at who has it, each time that a thread has to wait for a monitor; a stack where that took a millisecond.",
};

/// A thread waited to be notified.
pub static WAIT: EventKind = EventKind {
    word: "wait",
    by_default: false,
    since: 8,
    least_ns: MILLISECOND,
    most_in_a_second: 200,
    stack: true,
    mark: MarkKind {
        key: "monitor_wait",
        label: "Object.wait",
        description: "The thread waited to be notified.",
        category: Category::Other,
        figures: &[
            Figure::text("class", "Of class"),
            Figure { key: "timeout", label: "Timeout", unit: Unit::Nanoseconds },
            Figure { key: "timed_out", label: "Timed out", unit: Unit::Count },
        ],
    },
    source: "JVMTI MonitorWait and MonitorWaited",
    lacks: "Who notified it; before JDK 27 what of it was the way back to the monitor; of what is not over when the recording ends \
            the class, from JDK 25 on; virtual threads; what parks, which is `park`.",
    cost: "Two clock readings for each wait, and a stack for what is shown.",
};

/// A thread was parked.
pub static PARK: EventKind = EventKind {
    word: "park",
    by_default: false,
    since: 8,
    least_ns: MILLISECOND,
    most_in_a_second: 200,
    stack: true,
    mark: MarkKind {
        key: "park",
        label: "Parked",
        description: "The thread waited parked (LockSupport.park): for a lock of java.util.concurrent, a queue, a future, a time.",
        category: Category::Other,
        figures: &[
            Figure::text("class", "Parked on"),
            Figure::text("owner", "Held by"),
            Figure { key: "timeout", label: "Timeout", unit: Unit::Nanoseconds },
        ],
    },
    source: "the native method Unsafe.park, which is bound to a function of the agent's as the JVM starts; what for, and who had it as the wait \
             began, from fields of Thread and AbstractOwnableSynchronizer",
    lacks: "Who woke it; of a lock that several may have (read locks, semaphores) who has it; virtual threads, which park without it, but for \
            pinned ones. A JVM that runs already does not tell, since the method is bound.",
    cost: "Some 200 ns each time that a thread parks, and a stack where that took a millisecond. Programs with many idle threads park a lot.",
};

/// Memory was allocated.
pub static ALLOCATION: EventKind = EventKind {
    word: "alloc",
    by_default: false,
    since: 11,
    least_ns: 0,
    most_in_a_second: 200,
    stack: true,
    mark: MarkKind {
        key: "allocation",
        label: "Allocation",
        description: "An object was allocated that stands for what was allocated around it.",
        category: Category::Other,
        figures: &[
            Figure::text("class", "Class"),
            Figure { key: "size", label: "Size", unit: Unit::Bytes },
            Figure { key: "stands_for", label: "Stands for", unit: Unit::Bytes },
        ],
    },
    source: "JVMTI SampledObjectAlloc, an object each 512 KiB at random, more rarely while that would be more than 200 a second",
    lacks: "What becomes of the object; what compiled code never allocated, since it could do without. Of many short threads it is \
            two or three times too much or too little: the JVM draws for each anew. A virtual thread's is its carrier's.",
    cost: "A stack each 512 KiB.",
};

/// An exception was made.
pub static EXCEPTION: EventKind = EventKind {
    word: "exception",
    by_default: false,
    since: 8,
    least_ns: 0,
    most_in_a_second: 1_000,
    stack: true,
    mark: MarkKind {
        key: "exception",
        label: "Exception",
        description: "An exception was made, with its stack trace: nearly always to be thrown at once.",
        category: Category::Other,
        figures: &[Figure::text("class", "Class")],
    },
    source: "the native method Throwable.fillInStackTrace, which is bound to a function of the agent's as the JVM starts",
    lacks: "What it says; whether it is thrown, how often, and who catches it. Not seen: exceptions without a stack trace (such as those \
            that compiled code throws again and again, -XX:+OmitStackTraceInFastThrow) and StackOverflowError, whose trace the JVM \
            fills in itself.",
    cost: "Some 80 ns for each exception, and a stack for what is shown: the table in docs/cost.md. A JVM that runs already refuses it.",
};

/// A class was made ready.
pub static CLASS: EventKind = EventKind {
    word: "class",
    by_default: false,
    since: 8,
    least_ns: 0,
    most_in_a_second: 1_000,
    stack: true,
    mark: MarkKind {
        key: "class_prepare",
        label: "Class",
        description: "A class was loaded and prepared.",
        category: Category::Other,
        figures: &[Figure::text("class", "Class")],
    },
    source: "JVMTI ClassPrepare",
    lacks: "How long it took to load, to link and to initialise it.",
    cost: "A stack for each class.",
};

/// A method was compiled.
pub static COMPILATION: EventKind = EventKind {
    word: "jit",
    by_default: false,
    since: 8,
    least_ns: 0,
    most_in_a_second: 1_000,
    stack: false,
    mark: MarkKind {
        key: "compilation",
        label: "Compiled",
        description: "Compiled code of a method is ready. Tiers 1 to 3 are the quick compiler's (C1), 3 counts what the code does, for tier 4, \
                      which is the other's (C2); 0 is a native method's wrapper, or not known.",
        category: Category::Vm(VmPart::Jit),
        figures: &OF_CODE,
    },
    source: "JVMTI CompiledMethodLoad; the tier from the code itself",
    lacks: "How long it took: of all together that came to something the report tells, and the compilers' threads have samples. From JDK 15 on it is told some \
            milliseconds late.",
    cost: "Some ten microseconds for each.",
};

/// What is told of compiled code.
static OF_CODE: [Figure<'static>; 4] = [
    Figure::text("method", "Method"),
    Figure { key: "size", label: "Code", unit: Unit::Bytes },
    Figure { key: "tier", label: "Tier", unit: Unit::Count },
    Figure { key: "in_loop", label: "Entered in a loop", unit: Unit::Count },
];

/// Compiled code was given up.
pub static GIVEN_UP: EventKind = EventKind {
    word: "deopt",
    by_default: false,
    since: 8,
    least_ns: 0,
    most_in_a_second: 1_000,
    stack: false,
    mark: MarkKind {
        key: "code_given_up",
        label: "Code given up",
        description: "Compiled code of a method is not entered any more, and nothing as good has taken its place: most often since what it was built on was not so. \
                      The method goes on in worse code, or interpreted, until it is compiled anew.",
        category: Category::Vm(VmPart::Jit),
        figures: &OF_CODE,
    },
    source: "what the code says of itself, which the agent's thread looks at four times in a second",
    lacks: "When it was, to a quarter of a second (more where a JVM has above 4,000 methods compiled); why, and where in the method it was left: \
            JFR's jdk.Deoptimization tells that, from JDK 14 on. What was built anew and given up again within that time counts once. Not told: \
            single threads that left code which others go on with; what was seen in the last quarter of a second where it is not of the last tier; code that was thrown away with its class, or, from JDK 20 on, to make room: before, the JVM gives up \
            so what nobody has used for long.",
    cost: "A tenth of a microsecond four times a second for each compiled method, and some ten microseconds once.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_word_of_its_own_and_reads_well() {
        for (at, kind) in EVENTS.iter().enumerate() {
            assert!(
                EVENTS[..at].iter().all(|other| other.word != kind.word && other.mark.key != kind.mark.key)
            );
            assert!(!["off", "all", "default"].contains(&kind.word));
            for text in [kind.mark.description, kind.lacks, kind.cost] {
                assert!(text.ends_with('.') && !text.contains("  "), "{text}");
            }
        }
    }
}
