//! Selects the samples of a profile that are counted, and groups them by thread or by a field of
//! the program's contexts.
//!
//! It must never find a context by time: each sample has the context that it is in.

use std::path::Path;
use std::str::FromStr;

use clap::Args;
use regex_lite::Regex;
use vouch_recording::UNKNOWN;
use vouch_report::{WeightSum, grouped, percent, plain, share};

use crate::error::Error;
use crate::measure::Measure;
use crate::measured_profile;
use crate::profile::{Field, Profile, Sample};
use frames::{StateFilter, stacks_with};
use span::Span;

pub mod frames;
mod span;

/// The options that select samples.
#[derive(Debug, Args)]
pub struct SampleFilter {
    /// Count only samples in a context with this value, such as user=moe; if repeated, all must
    /// hold
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    conditions: Vec<Condition>,
    /// Count only threads with a name that contains a match
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,
    /// Count only samples with a frame that matches, such as 'HashMap\.get'; if repeated, all must
    /// match
    #[arg(long, value_name = "REGEX")]
    include: Vec<Regex>,
    /// Leave out samples with a frame that matches; may be repeated
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<Regex>,
    #[command(flatten)]
    span: Span,
    /// With --measure wall, count only threads in this state, such as parked, or '!running'
    #[arg(long, value_name = "REGEX")]
    state: Option<StateFilter>,
    /// What to count
    #[arg(long, value_enum, default_value_t)]
    pub measure: Measure,
}

/// A condition: a field of a context must have this value.
#[derive(Debug, Clone)]
struct Condition {
    field: String,
    value: String,
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once('=').filter(|(field, _)| !field.is_empty());
        let (field, value) = parts.ok_or(Error::Condition)?;
        Ok(Self { field: field.to_owned(), value: value.to_owned() })
    }
}

impl SampleFilter {
    /// True if the filter selects only some samples.
    pub fn is_part(&self) -> bool {
        self.thread.is_some() || !self.conditions.is_empty() || self.is_part_of_stacks()
    }

    /// True if the filter selects samples by their stacks, states or times.
    fn is_part_of_stacks(&self) -> bool {
        let Self { include, exclude, state, span, .. } = self;
        !include.is_empty() || !exclude.is_empty() || state.is_some() || !span.is_unlimited()
    }

    /// Reads a profile with the samples of the chosen measure.
    pub fn read(&self, file: &Path) -> Result<Profile, Error> {
        if self.state.is_some() && self.measure != Measure::Wall {
            return Err(Error::StateWithoutWall);
        }
        measured_profile::read(self.measure, file)
    }

    /// Returns the filter as text, such as `user=moe, thread worker`. It is empty if all samples
    /// are selected.
    pub fn words(&self) -> String {
        let conditions = self.conditions.iter().map(|Condition { field, value }| format!("{field}={value}"));
        let thread = self.thread.iter().map(|regex| format!("thread {regex}"));
        conditions.chain(thread).chain(self.words_of_stacks()).collect::<Vec<_>>().join(", ")
    }

    fn words_of_stacks(&self) -> impl Iterator<Item = String> {
        let include = self.include.iter().map(|regex| format!("with {regex}"));
        let exclude = self.exclude.iter().map(|regex| format!("without {regex}"));
        let state = self.state.iter().map(StateFilter::words);
        include.chain(exclude).chain(state).chain(self.span.words())
    }

    /// Returns the selected samples. If they have no weight, the error says why.
    pub fn samples(&self, profile: &Profile) -> Result<Vec<Sample>, Error> {
        let conditions: Result<Vec<(Field, &str)>, Error> = self
            .conditions
            .iter()
            .map(|condition| Ok((profile.field(&condition.field)?, condition.value.as_str())))
            .collect();
        let conditions = conditions?;
        let thread = self.thread.as_ref();
        let holds = |sample: &Sample| {
            conditions.iter().all(|(field, value)| profile.says(sample.context, field) == Some(value))
        };
        let samples: Vec<Sample> = profile.samples_of(thread).filter(holds).collect();
        if has_weight(&samples) {
            return self.part_of_stacks(profile, samples);
        }
        Err(match (thread, conditions.is_empty()) {
            (Some(regex), _) if !profile.threads.iter().any(|thread| regex.is_match(&thread.name)) => {
                let names = profile.threads.iter().take(8).map(|thread| thread.name.clone());
                Error::NoSuchThread(names.collect())
            }
            (None, true) => Error::NoSample,
            (Some(_), true) => Error::NoSampleOfThread,
            (_, false) => Error::NoSampleOfContext,
        })
    }

    /// Returns the samples with a selected stack, state and time. It is an error if they have no
    /// weight.
    fn part_of_stacks(&self, profile: &Profile, mut samples: Vec<Sample>) -> Result<Vec<Sample>, Error> {
        if !self.is_part_of_stacks() {
            return Ok(samples);
        }
        for (regexes, is_wanted) in [(&self.include, true), (&self.exclude, false)] {
            for regex in regexes {
                let stacks = stacks_with(profile, regex);
                samples.retain(|sample| stacks[sample.stack] == is_wanted);
            }
        }
        if let Some(state) = &self.state {
            let stacks = state.stacks(profile);
            samples.retain(|sample| stacks[sample.stack]);
        }
        if !self.span.is_unlimited() {
            if !profile.has_times {
                return Err(Error::SpanWithoutTimes);
            }
            let ms_each = profile.wait_unit_ms();
            samples = samples.into_iter().filter_map(|it| self.span.part(profile, it, ms_each)).collect();
        }
        if has_weight(&samples) {
            return Ok(samples);
        }
        Err(Error::NoSampleSelected(self.words_of_stacks().collect::<Vec<_>>().join(", ")))
    }
}

fn has_weight(samples: &[Sample]) -> bool {
    samples.iter().any(|sample| sample.weight > 0)
}

/// The property by which samples are grouped.
pub enum By {
    /// The names of the threads. Threads with the same name have their ids added.
    Thread(Vec<String>),
    Field(Field),
}

/// The group of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKey<'p> {
    Value(&'p str),
    Nothing,
    /// The sample is in the VM itself, which has no context.
    Vm,
}

/// The text for the group of samples in the VM itself.
pub const VM: &str = "[the VM itself]";

impl By {
    pub fn parse(profile: &Profile, name: &str) -> Result<Self, Error> {
        // A context's field named "thread" must be requested with its kind, as `Work.thread`.
        if name == "thread" {
            Ok(Self::Thread(profile.thread_names()))
        } else {
            profile.field(name).map(Self::Field)
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Thread(_) => "thread",
            Self::Field(field) => &field.name,
        }
    }

    /// Returns a note if some samples' virtual threads are unknown: these could belong to any
    /// group.
    pub fn bias(&self, profile: &Profile, samples: &[Sample]) -> Option<String> {
        let field = match self {
            Self::Field(field) if field.is_of_virtual_threads => field,
            _ => return None,
        };
        let (mut unknown, mut all) = (WeightSum::default(), WeightSum::default());
        for sample in samples {
            let Some(value) = profile.says(sample.context, field) else { continue };
            all.add_samples(sample.count, sample.weight);
            if value == UNKNOWN {
                unknown.add_samples(sample.count, sample.weight);
            }
        }
        (unknown.weight > 0).then(|| {
            let part = percent(100.0 * share(unknown, all).0);
            let (name, samples) = (plain(&field.name), grouped(unknown.samples));
            format!("note: {name} is unknown in {samples} samples, {part} of these: the shares of others are biased")
        })
    }

    pub fn says<'p>(&'p self, profile: &'p Profile, sample: &Sample) -> GroupKey<'p> {
        let says = match self {
            Self::Thread(names) => Some(names[sample.thread].as_str()),
            Self::Field(field) => profile.says(sample.context, field),
        };
        match says {
            Some(value) => GroupKey::Value(value),
            None if profile.is_vm(sample.stack) => GroupKey::Vm,
            None => GroupKey::Nothing,
        }
    }
}
