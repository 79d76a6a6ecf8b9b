//! What the JVM adds up from its beginning on, whether anybody asks or not: how long all threads stood still, what its classes took, and
//! its compilers. A report has what of it fell into the recording.
//!
//! Times are the clock's, of all threads together: who sleeps in an initialiser takes time there. The JVM adds up what has ended.

use once_cell::sync::OnceCell;
use vouch_report::{ClassReport, CompilerReport, SafepointReport, float};

use crate::hotspot::perf_data::{PerfData, Tally};

const SAFEPOINTS: [&str; 3] = ["sun.rt.safepoints", "sun.rt.safepointTime", "sun.rt.safepointSyncTime"];

/// What is a time of its own in another's is not counted twice: all of it, of that the initialisers', and what linking and checking took.
const CLASSES: [&str; 7] = [
    "java.cls.loadedClasses",
    "java.cls.sharedLoadedClasses",
    "sun.cls.initializedClasses",
    "sun.cls.time",
    "sun.cls.classInitTime.self",
    "sun.cls.classLinkedTime.self",
    "sun.cls.classVerifyTime.self",
];

const COMPILERS: [&str; 3] = ["sun.ci.totalCompiles", "sun.ci.totalBailouts", "java.ci.totalTime"];

/// Where this JVM counts.
static DATA: OnceCell<PerfData> = OnceCell::new();

/// The counters by which this JVM tells.
pub fn told_by(data: &PerfData) {
    DATA.get_or_init(|| data.clone());
}

/// What had been counted when a recording began. (A JVM makes some counters when it is up already: until then they stand at nothing.)
#[derive(Debug)]
pub struct Totals {
    safepoints: Option<[u64; SAFEPOINTS.len()]>,
    classes: Option<[u64; CLASSES.len()]>,
    compilers: Option<[u64; COMPILERS.len()]>,
}

fn now<const COUNT: usize>(names: [&str; COUNT]) -> Option<[u64; COUNT]> {
    Tally::of(DATA.get()?, names).map_or(Some([0; COUNT]), |tally| tally.now())
}

/// What has come to each since then, and how to tell ticks in milliseconds; `None` if this JVM does not tell.
fn since<const COUNT: usize>(
    names: [&str; COUNT],
    then: Option<[u64; COUNT]>,
) -> Option<([u64; COUNT], impl Fn(u64) -> f64)> {
    let tally = Tally::of(DATA.get()?, names)?;
    let in_a_second = tally.ticks_in_a_second()?;
    Some((tally.since(then?)?, move |ticks| 1000.0 * float(ticks) / float(in_a_second)))
}

impl Totals {
    /// A recording begins.
    pub fn begin() -> Self {
        Self { safepoints: now(SAFEPOINTS), classes: now(CLASSES), compilers: now(COMPILERS) }
    }

    /// How often and how long all threads have stood still since.
    pub fn safepoints(&self) -> Option<SafepointReport> {
        let ([count, stopped, reaching], millis) = since(SAFEPOINTS, self.safepoints)?;
        Some(SafepointReport { count, stopped_ms: millis(stopped), reaching_ms: millis(reaching) })
    }

    /// What classes have taken since.
    pub fn classes(&self) -> Option<ClassReport> {
        let ([loaded, shared, initialized, all, initializing, linking, checking], millis) =
            since(CLASSES, self.classes)?;
        let linking = linking + checking;
        Some(ClassReport {
            loaded: loaded + shared,
            initialized,
            loading_ms: millis(all.saturating_sub(initializing + linking)),
            linking_ms: millis(linking),
            initializing_ms: millis(initializing),
        })
    }

    /// What the compilers have done since.
    pub fn compilers(&self) -> Option<CompilerReport> {
        let ([compiled, failed, took], millis) = since(COMPILERS, self.compilers)?;
        Some(CompilerReport { compiled, failed, took_ms: millis(took) })
    }
}
