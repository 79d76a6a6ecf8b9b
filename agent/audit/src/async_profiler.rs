//! The settings that async-profiler writes into its files: what it sampled, and how often.
//!
//! It must never take a count for time, or one clock for another. If samples of several clocks are
//! mixed, the clock is unknown.

use std::collections::BTreeSet;

use vouch_report::{Clock, grouped, shortened};

use crate::kinds::{EXECUTION, WALL};

/// async-profiler's default interval by CPU time, in nanoseconds.
pub const DEFAULT_CPU_INTERVAL_NS: u64 = 10_000_000;
/// async-profiler's default interval by wall-clock time, in nanoseconds.
pub const DEFAULT_WALL_INTERVAL_NS: u64 = 50_000_000;
/// The names of events by which async-profiler samples CPU time.
const CPU_CLOCKS: [&str; 4] = ["cpu", "cpu-clock", "itimer", "ctimer"];
/// The name of the event by which async-profiler samples wall-clock time.
const WALL_CLOCK: &str = "wall";
/// A longer event name is shortened in texts, since an event may have a method's name.
const MAX_NAME_LENGTH: usize = 60;
/// A text names at most this many events.
const MAX_NAMES: usize = 3;

/// The settings of async-profiler in all files that were read.
#[derive(Debug, Default)]
pub struct AsyncProfilerSettings {
    /// The events that `jdk.ExecutionSample` counts.
    events: BTreeSet<String>,
    /// The number of counted events between two samples, for events that are not time.
    events_per_sample: Option<u64>,
    /// True if `events_per_sample` differs between files.
    is_uneven: bool,
    /// The value of the setting `event` in the current chunk. Settings may come in any order.
    event: Option<String>,
    interval: Option<u64>,
    wall: Option<u64>,
    /// True if wall-clock samples have the same event kind as the others.
    is_mixed: bool,
}

/// Returns the clock that an event name stands for, if it stands for one.
fn clock_of(event: &str) -> Option<Clock> {
    match event {
        WALL_CLOCK => Some(Clock::Wall),
        event if CPU_CLOCKS.contains(&event) => Some(Clock::Cpu),
        _ => None,
    }
}

/// Returns the interval of a setting, in which 0 means the default.
fn or_default_interval(ns: u64, default_ns: u64) -> u64 {
    if ns == 0 { default_ns } else { ns }
}

impl AsyncProfilerSettings {
    /// Forgets the settings of the previous chunk.
    pub fn start_chunk(&mut self) {
        (self.event, self.interval, self.wall, self.is_mixed) = (None, None, None, false);
    }

    /// Adds a setting, and returns the sampling periods that are known now, by event kind.
    /// `wall_has_own_event` says whether wall-clock samples have their own event kind, which they
    /// have since version 4.
    pub fn add_setting(
        &mut self,
        name: &str,
        value: &str,
        wall_has_own_event: impl Fn() -> bool,
    ) -> Vec<(&'static str, u64)> {
        let number: Option<u64> = value.parse().ok();
        match name {
            "event" => self.event = Some(value.to_owned()),
            "interval" => self.interval = number,
            "wall" => (self.wall, self.is_mixed) = (number, self.is_mixed || !wall_has_own_event()),
            "nobatch" => self.is_mixed |= value == "true",
            _ => return Vec::new(),
        }
        let mut periods = Vec::new();
        if let Some(ns) = self.wall.map(|ns| or_default_interval(ns, DEFAULT_WALL_INTERVAL_NS)) {
            periods.push((WALL, ns));
            if self.is_mixed {
                self.events.insert(WALL_CLOCK.to_owned());
                periods.push((EXECUTION, ns));
            }
        }
        let Some(event) = self.event.as_ref().filter(|event| !event.is_empty()) else { return periods };
        self.events.insert(event.clone());
        let Some(interval) = self.interval else { return periods };
        match clock_of(event) {
            Some(Clock::Cpu) => {
                periods.push((EXECUTION, or_default_interval(interval, DEFAULT_CPU_INTERVAL_NS)));
            }
            // The kind of these samples depends on `nobatch`, which is not written in this case.
            Some(Clock::Wall) => {
                periods.extend(
                    [EXECUTION, WALL]
                        .map(|kind| (kind, or_default_interval(interval, DEFAULT_WALL_INTERVAL_NS))),
                );
            }
            None => {
                self.is_uneven |= self.events_per_sample.is_some_and(|known| known != interval);
                self.events_per_sample = Some(interval);
            }
        }
        periods
    }

    /// True if the files contain settings of async-profiler.
    pub fn is_async_profiler(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the clock of `jdk.ExecutionSample`. It is `None` if there are several clocks, a
    /// counted event, or no settings.
    pub fn clock(&self) -> Option<Clock> {
        let mut clocks = self.events.iter().map(|event| clock_of(event));
        let first = clocks.next()??;
        clocks.all(|clock| clock == Some(first)).then_some(first)
    }

    /// Returns the event that samples count, if they do not count time. Mixed events are all named,
    /// since their samples cannot be distinguished.
    pub fn event(&self) -> Option<String> {
        self.events.iter().any(|event| clock_of(event).is_none()).then(|| {
            let mut names: Vec<String> =
                self.events.iter().take(MAX_NAMES).map(|event| shortened(event, MAX_NAME_LENGTH)).collect();
            names.extend((self.events.len() > MAX_NAMES).then(|| "others".to_owned()));
            names.join(" and ")
        })
    }

    /// Returns a note if samples count no time.
    pub fn no_time_note(&self) -> Option<String> {
        let event = self.event()?;
        let is_one = self.events.len() == 1 && !self.is_uneven;
        let each = self.events_per_sample.filter(|each| is_one && *each > 1);
        let each = each.map_or_else(String::new, |each| format!(", one for each {}", grouped(each)));
        Some(format!(
            "samples {EXECUTION} are of {event}{each}, and of no time: they are counted, and shares are of their number"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the clock of the samples of several files, with the periods of both kinds in
    /// milliseconds.
    fn clock_and_periods(
        files: &[&[(&str, &str)]],
        wall_has_own_event: bool,
    ) -> (Option<Clock>, Vec<u64>, Vec<u64>) {
        let (mut settings, mut all) = (AsyncProfilerSettings::default(), BTreeSet::new());
        for file in files {
            settings.start_chunk();
            for (name, value) in *file {
                all.extend(settings.add_setting(name, value, || wall_has_own_event));
            }
        }
        let of = |wanted| all.iter().filter(|(kind, _)| *kind == wanted).map(|(_, ns)| ns / MS).collect();
        (settings.clock(), of(EXECUTION), of(WALL))
    }

    #[test]
    fn each_file_has_its_own_settings_in_any_order() {
        let (cpu, wall) = (Some(Clock::Cpu), Some(Clock::Wall));
        let by_cpu = &[("event", "cpu"), ("interval", "0")][..];
        let by_wall = &[("interval", "0"), ("event", "wall")][..];
        assert_eq!(clock_and_periods(&[by_cpu], true), (cpu, vec![10], vec![]));
        assert_eq!(clock_and_periods(&[by_wall], true), (wall, vec![50], vec![50]));
        for files in [[by_cpu, by_wall], [by_wall, by_cpu]] {
            assert_eq!(clock_and_periods(&files, true), (None, vec![10, 50], vec![50]));
        }
        let both = &[("event", "cpu"), ("interval", "5000000"), ("wall", "30000000"), ("nobatch", "false")];
        assert_eq!(clock_and_periods(&[both], true), (cpu, vec![5], vec![30]));
        assert_eq!(clock_and_periods(&[both], false), (None, vec![5, 30], vec![30]), "of an older version");
        let mixed = &[("nobatch", "true"), ("wall", "30000000"), ("event", "")];
        assert_eq!(clock_and_periods(&[mixed], true), (wall, vec![30], vec![30]));
        assert_eq!(clock_and_periods(&[&[("event", "cpu"), ("wall", "-1")]], false), (cpu, vec![], vec![]));
    }

    #[test]
    fn events_per_sample_are_named_only_if_all_files_agree() {
        let of = |intervals: &[&str]| {
            let mut settings = AsyncProfilerSettings::default();
            for interval in intervals {
                settings.start_chunk();
                for (name, value) in [("event", "cache-misses"), ("interval", interval)] {
                    assert_eq!(settings.add_setting(name, value, || true), []);
                }
            }
            settings.no_time_note().unwrap()
        };
        assert!(of(&["1000", "1000"]).contains("cache-misses, one for each 1,000, and"));
        assert!(of(&["1000", "5000"]).contains("cache-misses, and"));
        assert!(of(&["0"]).contains("cache-misses, and"));
    }
}
