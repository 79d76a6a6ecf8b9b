//! What the JVM adds up from its beginning on, whether anybody asks or not: how long all threads
//! stood still, what its classes took, and its compilers. A report has what of it fell into the
//! recording.
//!
//! Times are the clock's, of all threads together: who sleeps in an initialiser takes time there.
//! The JVM adds up what has ended.

use once_cell::sync::OnceCell;
use vouch_hotspot::perf_data::{PerfCounters, PerfData};
use vouch_report::{ClassReport, CompilerReport, SafepointReport, float};

const SAFEPOINTS: [&str; 3] = ["sun.rt.safepoints", "sun.rt.safepointTime", "sun.rt.safepointSyncTime"];

/// What is a time of its own in another's is not counted twice: all of it, of that the
/// initialisers', and what linking and checking took.
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

/// What has come to some of its counters since a recording began.
#[derive(Debug)]
struct Since<const COUNT: usize> {
    names: [&'static str; COUNT],
    tally: OnceCell<PerfCounters<COUNT>>,
    /// What they stood at then. (A JVM makes some when it is up already: until then they stand at
    /// nothing.)
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

    /// `None` if this JVM does not publish it.
    fn now(&self) -> Option<[u64; COUNT]> {
        self.tally()?.growth_since(self.then?)
    }
}

/// All of it, since a recording began.
#[derive(Debug)]
pub struct Totals {
    safepoints: Since<{ SAFEPOINTS.len() }>,
    classes: Since<{ CLASSES.len() }>,
    compilers: Since<{ COMPILERS.len() }>,
    /// How many of the clock's ticks, in which the JVM counts times, are a second.
    ticks: OnceCell<u64>,
}

impl Totals {
    /// A recording begins.
    pub fn begin() -> Self {
        Self {
            safepoints: Since::begin(SAFEPOINTS),
            classes: Since::begin(CLASSES),
            compilers: Since::begin(COMPILERS),
            ticks: OnceCell::new(),
        }
    }

    /// How to tell ticks in milliseconds.
    fn millis(&self) -> Option<impl Fn(u64) -> f64> {
        let found = || DATA.get().and_then(PerfData::ticks_per_second).ok_or(());
        let in_a_second = float(*self.ticks.get_or_try_init(found).ok()?);
        Some(move |ticks| 1000.0 * float(ticks) / in_a_second)
    }

    /// How often and how long all threads have stood still since.
    pub fn safepoints(&self) -> Option<SafepointReport> {
        let ([count, stopped, reaching], millis) = (self.safepoints.now()?, self.millis()?);
        Some(SafepointReport { count, stopped_ms: millis(stopped), reaching_ms: millis(reaching) })
    }

    /// What classes have taken since.
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

    /// What the compilers have done since.
    pub fn compilers(&self) -> Option<CompilerReport> {
        let ([compiled, failed, took], millis) = (self.compilers.now()?, self.millis()?);
        Some(CompilerReport { compiled, failed, took_ms: millis(took) })
    }
}
