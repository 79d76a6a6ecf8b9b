//! What async-profiler was to sample, and how often, by its own settings.
//!
//! It must never have for time what is counted, nor one clock for another: of what nobody can tell
//! apart no clock is told.

use std::collections::BTreeSet;

use vouch_report::{Clock, grouped, shortened};

use crate::kinds::{EXECUTION, WALL};

/// Its intervals by CPU time and by the wall clock, unless it says others, or where nobody says
/// anything.
pub const CPU_NS: u64 = 10_000_000;
pub const WALL_NS: u64 = 50_000_000;
/// What it calls its clocks: those of CPU time,
const BY_CPU_TIME: [&str; 4] = ["cpu", "cpu-clock", "itimer", "ctimer"];
/// and the other one.
const BY_WALL: &str = "wall";
/// No more of an event's name is told: it may be that of a method.
const NAME: usize = 60;
/// Nor of more events.
const NAMES: usize = 3;

/// What its files have told.
#[derive(Debug, Default)]
pub struct Sampled {
    /// What `jdk.ExecutionSample`s are of.
    events: BTreeSet<String>,
    /// How many of what is no time there are to a sample, and whether that is not the same for all.
    each: Option<u64>,
    is_uneven: bool,
    /// What the chunk at hand has told, in whatever order.
    event: Option<String>,
    interval: Option<u64>,
    wall: Option<u64>,
    /// Those by the wall clock are among the others.
    is_mixed: bool,
}

/// The clock that it samples by, if this event of its is one.
fn clock_of(event: &str) -> Option<Clock> {
    match event {
        BY_WALL => Some(Clock::Wall),
        event if BY_CPU_TIME.contains(&event) => Some(Clock::Cpu),
        _ => None,
    }
}

/// What it says of an interval: 0 is the usual one.
fn or_usual(ns: u64, usual_ns: u64) -> u64 {
    if ns == 0 { usual_ns } else { ns }
}

impl Sampled {
    /// Another chunk begins.
    pub fn chunk(&mut self) {
        (self.event, self.interval, self.wall, self.is_mixed) = (None, None, None, false);
    }

    /// Takes one of its settings; gives how often there is a sample of which kind, as far as that
    /// is known now. `apart` tells whether samples by the wall clock are events of their own: until
    /// version 4 they never were.
    pub fn setting(&mut self, name: &str, value: &str, apart: impl Fn() -> bool) -> Vec<(&'static str, u64)> {
        let number: Option<u64> = value.parse().ok();
        match name {
            "event" => self.event = Some(value.to_owned()),
            "interval" => self.interval = number,
            "wall" => (self.wall, self.is_mixed) = (number, self.is_mixed || !apart()),
            "nobatch" => self.is_mixed |= value == "true",
            _ => return Vec::new(),
        }
        let mut periods = Vec::new();
        if let Some(ns) = self.wall.map(|ns| or_usual(ns, WALL_NS)) {
            periods.push((WALL, ns));
            if self.is_mixed {
                self.events.insert(BY_WALL.to_owned());
                periods.push((EXECUTION, ns));
            }
        }
        let Some(event) = self.event.as_ref().filter(|event| !event.is_empty()) else { return periods };
        self.events.insert(event.clone());
        let Some(interval) = self.interval else { return periods };
        match clock_of(event) {
            Some(Clock::Cpu) => periods.push((EXECUTION, or_usual(interval, CPU_NS))),
            // Which of the two they are depends on `nobatch`, of which it does not tell then.
            Some(Clock::Wall) => {
                periods.extend([EXECUTION, WALL].map(|kind| (kind, or_usual(interval, WALL_NS))));
            }
            None => {
                self.is_uneven |= self.each.is_some_and(|known| known != interval);
                self.each = Some(interval);
            }
        }
        periods
    }

    /// True if it was async-profiler's.
    pub fn is_told(&self) -> bool {
        !self.events.is_empty()
    }

    /// By which clock its samples are; none: by several of which nobody can tell which sample is by
    /// which, by what is no time, or nothing is told.
    pub fn clock(&self) -> Option<Clock> {
        let mut clocks = self.events.iter().map(|event| clock_of(event));
        let first = clocks.next()??;
        clocks.all(|clock| clock == Some(first)).then_some(first)
    }

    /// What they count, if it is no time: the event that they were taken by, or several of which
    /// nobody can tell which sample is by which.
    pub fn event(&self) -> Option<String> {
        self.events.iter().any(|event| clock_of(event).is_none()).then(|| {
            let mut names: Vec<String> =
                self.events.iter().take(NAMES).map(|event| shortened(event, NAME)).collect();
            names.extend((self.events.len() > NAMES).then(|| "others".to_owned()));
            names.join(" and ")
        })
    }

    /// That they count no time, if so.
    pub fn counts_no_time(&self) -> Option<String> {
        let event = self.event()?;
        let is_one = self.events.len() == 1 && !self.is_uneven;
        let each = self.each.filter(|each| is_one && *each > 1);
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

    /// Of files one after another, each with its settings: the clock of their samples, and of each
    /// kind the periods in milliseconds.
    fn told(files: &[&[(&str, &str)]], apart: bool) -> (Option<Clock>, Vec<u64>, Vec<u64>) {
        let (mut sampled, mut all) = (Sampled::default(), BTreeSet::new());
        for settings in files {
            sampled.chunk();
            for (name, value) in *settings {
                all.extend(sampled.setting(name, value, || apart));
            }
        }
        let of = |wanted| all.iter().filter(|(kind, _)| *kind == wanted).map(|(_, ns)| ns / MS).collect();
        (sampled.clock(), of(EXECUTION), of(WALL))
    }

    #[test]
    fn each_file_tells_of_its_own_samples_in_any_order() {
        let (cpu, wall) = (Some(Clock::Cpu), Some(Clock::Wall));
        let by_cpu = &[("event", "cpu"), ("interval", "0")][..];
        let by_wall = &[("interval", "0"), ("event", "wall")][..];
        assert_eq!(told(&[by_cpu], true), (cpu, vec![10], vec![]));
        assert_eq!(told(&[by_wall], true), (wall, vec![50], vec![50]));
        for files in [[by_cpu, by_wall], [by_wall, by_cpu]] {
            assert_eq!(told(&files, true), (None, vec![10, 50], vec![50]));
        }
        let both = &[("event", "cpu"), ("interval", "5000000"), ("wall", "30000000"), ("nobatch", "false")];
        assert_eq!(told(&[both], true), (cpu, vec![5], vec![30]));
        assert_eq!(told(&[both], false), (None, vec![5, 30], vec![30]), "of an older version");
        let mixed = &[("nobatch", "true"), ("wall", "30000000"), ("event", "")];
        assert_eq!(told(&[mixed], true), (wall, vec![30], vec![30]));
        assert_eq!(told(&[&[("event", "cpu"), ("wall", "-1")]], false), (cpu, vec![], vec![]));
    }

    #[test]
    fn one_stands_for_so_many_where_all_do() {
        let of = |intervals: &[&str]| {
            let mut sampled = Sampled::default();
            for interval in intervals {
                sampled.chunk();
                for (name, value) in [("event", "cache-misses"), ("interval", interval)] {
                    assert_eq!(sampled.setting(name, value, || true), []);
                }
            }
            sampled.counts_no_time().unwrap()
        };
        assert!(of(&["1000", "1000"]).contains("cache-misses, one for each 1,000, and"));
        assert!(of(&["1000", "5000"]).contains("cache-misses, and"));
        assert!(of(&["0"]).contains("cache-misses, and"));
    }
}
