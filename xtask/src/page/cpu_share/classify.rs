//! Decides from the output of `perf script` which samples are a profiler's.

use std::collections::HashMap;

use regex_lite::Regex;
use vouch_report::float;

/// Numbers of samples: all, those in a profiler's own code, and those in the kernel for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts<N = u64> {
    pub all: N,
    pub own: N,
    pub kernel: N,
}

impl Counts {
    pub fn add(&mut self, more: Self) {
        self.all += more.all;
        self.own += more.own;
        self.kernel += more.kernel;
    }

    pub fn as_floats(self) -> Counts<f64> {
        Counts { all: float(self.all), own: float(self.own), kernel: float(self.kernel) }
    }
}

/// Counts samples by process.
///
/// A profiler's own code is its library, its threads, and what the JVM does to call it. In the
/// kernel its signals and events count.
pub struct Counter {
    by_process: HashMap<String, Counts>,
    sample: Option<Sample>,
    profilers_thread: Regex,
    peer: Regex,
    called_by_jvm: Regex,
    /// Two functions of the JVM with the same code have one name, which is JFR's by chance.
    not_called: Regex,
    signals: Regex,
}

/// The sample with the lines that are being read.
struct Sample {
    process: String,
    is_own: bool,
    is_kernel: bool,
    /// True after a frame of the JVM. Frames are leaf first.
    has_jvm: bool,
}

impl Counter {
    pub fn new() -> Self {
        let regex = |text: &str| Regex::new(text).expect("a constant regular expression");
        Self {
            by_process: HashMap::new(),
            sample: None,
            profilers_thread: regex("^(Vouch|JFR |Async-profiler)"),
            peer: regex(r"libasyncProfiler[^/]*\.so\)$"),
            called_by_jvm: regex("JvmtiExport|[^A-Za-z](Jfr|JFR)[A-Z]|[ :]jfr_"),
            not_called: regex("JfrJavaCall|JfrDCmd"),
            signals: regex(
                "perf_|sigreturn|get_signal|setup_rt_frame|signal_setup_done|posix_cpu_timer|posix_timer|send_sig|sigio",
            ),
        }
    }

    /// Reads a line: the head of a sample, with a thread's name and its process, or a frame.
    pub fn line(&mut self, line: &str) {
        if line.is_empty() {
            self.end_sample();
        } else if line.starts_with('\t') {
            self.frame(line);
        } else {
            self.end_sample();
            // Names of threads have spaces in them.
            let process = line.split_whitespace().next_back().unwrap_or_default().to_owned();
            let is_own = self.profilers_thread.is_match(line.trim_start_matches(' '));
            self.sample = Some(Sample { process, is_own, is_kernel: false, has_jvm: false });
        }
    }

    fn frame(&mut self, line: &str) {
        let Some(sample) = &mut self.sample else { return };
        if line.ends_with("libvouch.so)") {
            // Vouch's `park` calls the JVM's wait, which is the JVM's.
            sample.is_own |= !sample.has_jvm || !line.contains("park");
        } else if self.peer.is_match(line) {
            sample.is_own = true;
        } else if line.ends_with("libjvm.so)") {
            sample.has_jvm = true;
            sample.is_own |= self.called_by_jvm.is_match(line) && !self.not_called.is_match(line);
        } else if line.contains("[kernel") || line.contains("[unknown") {
            sample.is_kernel |= self.signals.is_match(line);
        }
    }

    fn end_sample(&mut self) {
        let Some(sample) = self.sample.take().filter(|sample| sample.process != "0") else { return };
        let counts = self.by_process.entry(sample.process).or_default();
        counts.all += 1;
        if sample.is_own {
            counts.own += 1;
        } else if sample.is_kernel {
            counts.kernel += 1;
        }
    }

    /// Returns the counts of the process with most samples, which is the JVM.
    pub fn of_the_busiest_process(mut self) -> Counts {
        self.end_sample();
        self.by_process.into_values().max_by_key(|counts| counts.all).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_by_the_code_they_were_in() {
        let mut counter = Counter::new();
        let text = "main thread   17 \n\
                    \t7f00 walk (/a/libvouch.so)\n\
                    \t7f00 run (/a/libjvm.so)\n\n\
                    Vouch worker   17 \n\t1 read ([kernel.kallsyms])\n\n\
                    C2   17 \n\t1 perf_event_task_tick ([kernel.kallsyms])\n\n\
                    C2   17 \n\t1 os::wait (/a/libjvm.so)\n\t2 vouch::park (/a/libvouch.so)\n\n\
                    C2   17 \n\t1 JvmtiExport::post_class_load (/a/libjvm.so)\n\n\
                    C2   17 \n\t1 x::JfrJavaCall (/a/libjvm.so)\n\n\
                    C2   17 \n\t1 sample (/a/libasyncProfiler-4.so)\n\n\
                    swapper     0 \n\t1 perf_ ([kernel.kallsyms])\n\n\
                    sh   18 \n\t1 main (/bin/sh)\n";
        text.lines().for_each(|line| counter.line(line));
        assert_eq!(counter.of_the_busiest_process(), Counts { all: 7, own: 4, kernel: 1 });
    }
}
