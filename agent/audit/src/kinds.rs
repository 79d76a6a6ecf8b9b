//! The names of the event kinds that are samples, and the clocks of these kinds.

pub const EXECUTION: &str = "jdk.ExecutionSample";
/// Samples of threads in native code. They complement `EXECUTION`, which has threads in Java.
const NATIVE: &str = "jdk.NativeMethodSample";
pub const CPU_TIME: &str = "jdk.CPUTimeSample";
/// Wall-clock samples, which waiting threads have, too.
pub const WALL: &str = "profiler.WallClockSample";
const OTHER_WALL: &str = "datadog.MethodSample";
const OTHER_CPU_TIME: &str = "datadog.ExecutionSample";

/// The event kinds that are samples. Each such event should have a stack; other events have one
/// only if their thread had one.
const SAMPLES: [&str; 6] = [EXECUTION, CPU_TIME, NATIVE, WALL, OTHER_WALL, OTHER_CPU_TIME];

/// True if samples of this kind are by the wall clock, and so do not measure CPU time.
pub fn is_wall(kind: &str) -> bool {
    kind == WALL || kind == OTHER_WALL
}

/// True if samples of this kind are by CPU time, whichever profiler recorded them.
pub fn is_cpu_time(kind: &str) -> bool {
    kind == CPU_TIME || kind == OTHER_CPU_TIME
}

/// True if events of this kind are samples.
pub fn is_sample(kind: &str) -> bool {
    SAMPLES.contains(&kind)
}

/// Returns the event kind that represents the clock of this kind of samples.
pub fn clock(kind: &str) -> &str {
    if kind == NATIVE { EXECUTION } else { kind }
}
