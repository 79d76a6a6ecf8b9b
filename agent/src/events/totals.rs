//! Totals of the recording from the JVM's performance counters: time at safepoints, for classes,
//! and in the compilers.
//!
//! Times are elapsed times, summed over all threads. So a thread that sleeps in a class initializer
//! adds to them. The JVM counts work when it has ended.

use once_cell::sync::OnceCell;
use vouch_hotspot::perf_data::{PerfCounters, PerfData};
use vouch_report::{ClassReport, CompilerReport, SafepointReport, float};

const SAFEPOINTS: [&str; 3] = ["sun.rt.safepoints", "sun.rt.safepointTime", "sun.rt.safepointSyncTime"];

/// The counters of classes. `sun.cls.time` includes the three times after it, which exclude each
/// other: initialization, linking and verification.
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

/// The performance counters of this JVM.
static DATA: OnceCell<PerfData> = OnceCell::new();

/// Sets the performance counters.
pub fn set_perf_data(data: &PerfData) {
    DATA.get_or_init(|| data.clone());
}

/// Counters, and their values when the recording began.
#[derive(Debug)]
struct Since<const COUNT: usize> {
    names: [&'static str; COUNT],
    tally: OnceCell<PerfCounters<COUNT>>,
    /// The values when the recording began. They are 0 for counters that the JVM creates later.
    then: Option<[u64; COUNT]>,
}

impl<const COUNT: usize> Since<COUNT> {
    fn begin(names: [&'static str; COUNT]) -> Self {
        let mut begun = Self { names, tally: OnceCell::new(), then: None };
        begun.then = match begun.tally() {
            Some(tally) => tally.read(),
            None => Some([0; COUNT]),
        };
        begun
    }

    fn tally(&self) -> Option<&PerfCounters<COUNT>> {
        self.tally.get_or_try_init(|| PerfCounters::find(DATA.get().ok_or(())?, self.names).ok_or(())).ok()
    }

    /// Returns the growth since the recording began. Returns `None` if this JVM lacks a counter.
    fn now(&self) -> Option<[u64; COUNT]> {
        self.tally()?.growth_since(self.then?)
    }
}

/// All totals since the recording began.
#[derive(Debug)]
pub struct Totals {
    safepoints: Since<{ SAFEPOINTS.len() }>,
    classes: Since<{ CLASSES.len() }>,
    compilers: Since<{ COMPILERS.len() }>,
    /// The number of ticks per second. The JVM counts times in ticks.
    ticks: OnceCell<u64>,
}

impl Totals {
    /// Begins a recording.
    pub fn begin() -> Self {
        Self {
            safepoints: Since::begin(SAFEPOINTS),
            classes: Since::begin(CLASSES),
            compilers: Since::begin(COMPILERS),
            ticks: OnceCell::new(),
        }
    }

    /// Returns a function that converts ticks to milliseconds.
    fn millis(&self) -> Option<impl Fn(u64) -> f64> {
        let found = || DATA.get().and_then(PerfData::ticks_per_second).ok_or(());
        let in_a_second = float(*self.ticks.get_or_try_init(found).ok()?);
        Some(move |ticks| 1000.0 * float(ticks) / in_a_second)
    }

    /// Returns the number of safepoints and their times.
    pub fn safepoints(&self) -> Option<SafepointReport> {
        let ([count, stopped, reaching], millis) = (self.safepoints.now()?, self.millis()?);
        Some(SafepointReport { count, stopped_ms: millis(stopped), reaching_ms: millis(reaching) })
    }

    /// Returns the number of classes and the times for them.
    pub fn classes(&self) -> Option<ClassReport> {
        let [loaded, shared, initialized, all, initializing, linking, checking] = self.classes.now()?;
        let millis = self.millis()?;
        let linking = linking + checking;
        Some(ClassReport {
            loaded: loaded + shared,
            initialized,
            loading_ms: millis(all.saturating_sub(initializing + linking)),
            linking_ms: millis(linking),
            initializing_ms: millis(initializing),
        })
    }

    /// Returns the number of compilations and their time.
    pub fn compilers(&self) -> Option<CompilerReport> {
        let ([compiled, failed, took], millis) = (self.compilers.now()?, self.millis()?);
        Some(CompilerReport { compiled, failed, took_ms: millis(took) })
    }
}
