//! Selects samples by their time since the beginning of the recording.

use std::time::Duration;

use clap::Args;
use vouch_report::options::value::Form;

use crate::profile::{Profile, Sample};

/// The options `--from` and `--to`.
#[derive(Debug, Args)]
pub struct Span {
    /// Count only samples from this time on, since the beginning of the recording, such as 1500ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Duration>,
    /// Count only samples before this time, since the beginning of the recording
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<Duration>,
}

fn time(text: &str) -> Result<Duration, vouch_report::Error> {
    Form::Length { least: "0ms", most: "10000d" }.length(text)
}

impl Span {
    /// True if all times are counted.
    pub fn is_unlimited(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Returns the limits as text, such as `from 1.5 s to 2 s`.
    pub fn words(&self) -> Option<String> {
        let limits = [("from", self.from), ("to", self.to)];
        let words =
            limits.iter().filter_map(|(name, time)| Some(format!("{name} {} s", (*time)?.as_secs_f64())));
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Returns the part of a sample that is within the limits.
    ///
    /// `ms_each` is the time of a weight of 1, if the sample is of a wait that begins at its time.
    /// Such a sample may be partly within the limits. Other samples are of one moment.
    pub fn part(&self, profile: &Profile, sample: Sample, ms_each: Option<f64>) -> Option<Sample> {
        let ms = |time: Duration| profile.meta.started_ms() + 1000.0 * time.as_secs_f64();
        let from_ms = self.from.map_or(f64::NEG_INFINITY, ms);
        let to_ms = self.to.map_or(f64::INFINITY, ms);
        let Some(ms_each) = ms_each else {
            return (from_ms..to_ms).contains(&sample.time_ms).then_some(sample);
        };
        let end_ms = sample.time_ms + vouch_report::float(sample.weight) * ms_each;
        let within_ms = end_ms.min(to_ms) - sample.time_ms.max(from_ms);
        if within_ms <= 0.0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is positive and at most the sample's weight"
        )]
        let weight = ((within_ms / ms_each).round() as u64).min(sample.weight);
        Some(Sample { weight, ..sample })
    }
}
