//! Reads one run and divides it into blocks of time, with the time of each method in each block.
//!
//! Samples of one moment are much alike. So variances must come from the differences between
//! blocks, and never from the number of samples alone.

use std::collections::HashMap;
use std::path::Path;

use regex_lite::Regex;
use vouch_report::{TrustReport, float, grouped, plain};

use crate::counted::Counted;
use crate::error::Error;
use crate::flame;
use crate::measure::Measure;
use crate::measured_profile;
use crate::profile::{Recorded, Sample};
use crate::tally::{Rows, Time};

/// A run has this many blocks, if it is long enough.
const BLOCKS: u64 = 40;
/// A block has at least this many samples on average, except in the shortest runs.
const FILLED: u64 = 20;

#[derive(Debug)]
pub struct Run {
    name: String,
    samples: u64,
    /// The weight of all samples.
    weight: u64,
    /// The meaning of the samples' weights.
    pub counted: Counted,
    /// The time of all methods in each block, in milliseconds. For weights that are no time, it
    /// serves only to calculate shares.
    pub all: Vec<f64>,
    /// The average amount that one sample stands for.
    pub sample_ms: f64,
    /// The time of each method in each block.
    pub methods: HashMap<String, Vec<f64>>,
    /// The folded stacks for a picture, in microseconds, or as counts if weights are no time. Empty
    /// without a picture.
    pub folded: Vec<String>,
    report: Option<TrustReport>,
    /// The fates in the report, if they are about the samples that the run counts.
    fates: Option<Fates>,
    began: Option<String>,
    recorded: Vec<Recorded>,
}

/// The fates of the samples that a run counts.
#[derive(Debug)]
struct Fates {
    words: String,
    /// The percentage of the time or the samples of Java code that has no valid stack.
    percent_without_stack: f64,
}

impl Fates {
    fn from_report(report: &TrustReport) -> Self {
        let fates = report.weights();
        let without = fates.refuted + fates.unwalked + fates.dropped;
        let percent_without_stack = 100.0 * without / (fates.sum() - fates.outside).max(1e-9);
        Self { words: report.fates(), percent_without_stack }
    }
}

/// The name of a property of runs, and a function that returns its value.
type Circumstance = (&'static str, fn(&Run) -> String);

/// The properties that two runs should have in common.
pub const CIRCUMSTANCES: [Circumstance; 7] = [
    ("the command line", |run| run.of_report(|report| report.run.command.clone())),
    ("the JDK", |run| run.of_report(|report| report.run.jdk.clone())),
    ("what their samples count", |run| run.counted.what.to_string()),
    ("the engine", |run| run.of_report(|report| report.run.engine.clone())),
    ("the interval", |run| run.of_report(|report| format!("{} µs", report.run.interval_ns / 1000))),
    ("the options", |run| {
        run.of_report(|report| report.run.options.as_deref().map(listed).unwrap_or_default())
    }),
    ("Vouch's version", |run| run.of_report(|report| report.run.vouch.clone())),
];

impl Run {
    /// Reads a run and counts this measure. With `total` a method's time includes its callees. With
    /// `drawn` the run has stacks for a picture.
    pub fn read(
        path: &Path,
        (measure, total): (Measure, bool),
        thread: Option<&Regex>,
        drawn: bool,
    ) -> Result<Self, Error> {
        let profile = measured_profile::read(measure, path)?;
        if !profile.has_times {
            return Err(Error::DiffWithoutTimes.about(path));
        }
        let samples: Vec<Sample> = profile.samples_of(thread).filter(|sample| sample.weight > 0).collect();
        if samples.is_empty() {
            return Err(Error::NothingToCompare.about(path));
        }
        let rows = Rows::named(&profile, |profile, stack| {
            without_generated_numbers(profile.function_name(profile.function(stack)))
        });
        let (block_of, blocks) = blocks(&samples);
        let mut methods = vec![Vec::with_capacity(blocks); rows.names.len()];
        let mut all = Vec::new();
        for block in 0..blocks {
            let mut of_stack = vec![0; profile.stacks()];
            for (sample, _) in samples.iter().zip(&block_of).filter(|(_, of)| **of == block) {
                of_stack[sample.stack] += sample.weight;
            }
            all.push(float(of_stack.iter().sum()) * profile.meta.interval);
            let times = rows.count(&profile, of_stack);
            for (method, Time { own, total: with_callees, .. }) in methods.iter_mut().zip(times) {
                method.push(float(if total { with_callees } else { own }) * profile.meta.interval);
            }
        }
        let methods = rows.names.into_iter().zip(methods);
        let report = profile.report();
        let fates = report.as_ref().filter(|_| measure == Measure::Cpu).map(Fates::from_report);
        let counted = profile.counted(report.as_ref());
        Ok(Self {
            name: path.display().to_string(),
            samples: samples.len() as u64,
            weight: samples.iter().map(|sample| sample.weight).sum(),
            sample_ms: all.iter().sum::<f64>() / float(samples.len() as u64),
            all,
            methods: methods.filter(|(_, blocks)| blocks.iter().any(|time| *time > 0.0)).collect(),
            folded: if drawn {
                flame::folded(
                    &profile,
                    &samples,
                    counted.each_ms().map_or(1, micros),
                    without_generated_numbers,
                )
            } else {
                Vec::new()
            },
            counted,
            report,
            fates,
            began: profile.began(),
            recorded: profile.recorded(),
        })
    }

    /// True if both are the same recording. Two runs are never equal in every sample, except for
    /// very short ones, which differ in their processes or their times.
    pub fn is_same(&self, other: &Self) -> bool {
        let two = matches!((&self.began, &other.began), (Some(began), Some(other)) if began != other);
        !two && self.samples == other.samples && self.all == other.all && self.methods == other.methods
    }

    /// True if both runs contain the same time of the same process.
    pub fn shares_a_time(&self, other: &Self) -> bool {
        self.recorded.iter().any(|one| other.recorded.iter().any(|other| one.is_in(other)))
    }

    pub fn path(&self) -> &str {
        &self.name
    }

    /// Returns the name of the run's file, without folders.
    pub fn name(&self) -> String {
        Path::new(&self.name).file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn of_report(&self, of: impl Fn(&TrustReport) -> String) -> String {
        self.report.as_ref().map(of).unwrap_or_default()
    }

    /// Returns the percentage of the time or the samples of Java code that has no valid stack.
    pub fn without_stack(&self) -> f64 {
        self.fates.as_ref().map_or(0.0, |fates| fates.percent_without_stack)
    }
}

fn listed(options: &[String]) -> String {
    if options.is_empty() { "none".to_owned() } else { options.join(", ") }
}

/// Describes the runs of one side in a line: the files, their amount, and how far they can be
/// trusted if they are whole runs.
pub fn line(runs: &[Run], whole: bool) -> String {
    let [samples, weight] =
        [|run: &Run| run.samples, |run: &Run| run.weight].map(|of| runs.iter().map(of).sum::<u64>());
    let Some((first, others)) = runs.split_first() else { return String::new() };
    let name = plain(&first.name);
    let all = if others.iter().all(|run| run.counted == first.counted) {
        first.counted.total(weight, samples)
    } else if runs.iter().all(|run| run.counted.is_time()) {
        let millis: f64 = runs.iter().flat_map(|run| &run.all).sum();
        format!("{millis:.1} ms of time in {} samples", grouped(samples))
    } else {
        format!("{} samples", grouped(samples))
    };
    let (more, fates) = match runs {
        [_] if !whole => (String::new(), String::new()),
        [run] => {
            let fates = run.fates.as_ref().map(|fates| format!("; {}", fates.words));
            (String::new(), fates.unwrap_or_default())
        }
        _ => (format!(" and {} more", runs.len() - 1), String::new()),
    };
    format!("{name}{more}: {all}{fates}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an interval is some microseconds"
)]
fn micros(interval_ms: f64) -> u64 {
    (interval_ms * 1e3).round().max(1.0) as u64
}

/// Returns the block of each sample, and the number of blocks.
fn blocks(samples: &[Sample]) -> (Vec<usize>, usize) {
    let count = (samples.len() as u64 / FILLED).clamp(4, BLOCKS);
    let times = || samples.iter().map(|sample| sample.time_ms);
    let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
    let length = (last - first).max(1e-9) / float(count);
    let count = usize::try_from(count).unwrap_or(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number, from 0 on")]
    let block = |time: f64| (((time - first) / length) as usize).min(count - 1);
    (times().map(block).collect(), count)
}

/// Returns a method's name as every JDK writes it, without the numbers of generated classes. These
/// numbers depend on the order of generation, which differs in each run.
fn without_generated_numbers(name: &str) -> String {
    // The texts before a number, each with the text that replaces both.
    const NUMBERED: [(&str, &str); 8] = [
        ("$$Lambda$", "$$Lambda"),
        ("com.sun.proxy", "jdk.proxy"),
        ("jdk.proxy", "jdk.proxy"),
        ("$Proxy", "$Proxy"),
        ("GeneratedMethodAccessor", "GeneratedMethodAccessor"),
        ("GeneratedConstructorAccessor", "GeneratedConstructorAccessor"),
        ("GeneratedSerializationConstructorAccessor", "GeneratedSerializationConstructorAccessor"),
        ("LambdaForm$", "LambdaForm$"),
    ];
    let mut rest = name;
    let mut text = String::with_capacity(name.len());
    let first = |rest: &str| {
        NUMBERED.into_iter().filter_map(|(mark, written)| Some((rest.find(mark)?, mark, written))).min()
    };
    while let Some((at, mark, written)) = first(rest) {
        text.push_str(&rest[..at]);
        text.push_str(written);
        rest = rest[at + mark.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::without_generated_numbers;

    #[test]
    fn numbers_of_generated_classes_are_left_out() {
        assert_eq!(without_generated_numbers("Demo$Pricing$$Lambda$5.run"), "Demo$Pricing$$Lambda.run");
        assert_eq!(without_generated_numbers("Demo$Pricing$$Lambda.run"), "Demo$Pricing$$Lambda.run");
        assert_eq!(without_generated_numbers("com.sun.proxy.$Proxy12.a1"), "jdk.proxy.$Proxy.a1");
        assert_eq!(without_generated_numbers("jdk.proxy2.$Proxy7.a1"), "jdk.proxy.$Proxy.a1");
        assert_eq!(
            without_generated_numbers("a.GeneratedMethodAccessor17.invoke"),
            "a.GeneratedMethodAccessor.invoke"
        );
        assert_eq!(without_generated_numbers("a.Log4j2.log10"), "a.Log4j2.log10");
    }
}
