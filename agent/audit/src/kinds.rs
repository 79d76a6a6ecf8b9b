//! The kinds of events that are samples, by the clocks that they are taken by.

pub const EXECUTION: &str = "jdk.ExecutionSample";
/// Of threads in native code: it complements the one above, which is of those in Java.
const NATIVE: &str = "jdk.NativeMethodSample";
pub const CPU_TIME: &str = "jdk.CPUTimeSample";
/// A thread that waits has these, too.
pub const WALL: &str = "profiler.WallClockSample";
const OTHER_WALL: &str = "datadog.MethodSample";
const OTHER_CPU_TIME: &str = "datadog.ExecutionSample";

/// Each of their events was to have a stack. All others have one if their thread had one to show.
const SAMPLES: [&str; 6] = [EXECUTION, CPU_TIME, NATIVE, WALL, OTHER_WALL, OTHER_CPU_TIME];

/// True where a sample tells nothing of CPU time.
pub fn is_wall(kind: &str) -> bool {
    kind == WALL || kind == OTHER_WALL
}

/// True where it is taken for CPU time, whoever recorded it.
pub fn is_cpu_time(kind: &str) -> bool {
    kind == CPU_TIME || kind == OTHER_CPU_TIME
}

pub fn is_sample(kind: &str) -> bool {
    SAMPLES.contains(&kind)
}

/// The clock of a kind of samples, by the name of a kind.
pub fn clock(kind: &str) -> &str {
    if kind == NATIVE { EXECUTION } else { kind }
}
