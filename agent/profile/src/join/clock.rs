//! The one clock of profiles that have each their own.
//!
//! A profile's times count from when its machine was started. As long as that is the same start
//! they are the same clock, and must not be touched; else the time of day relates them, as far as
//! the machines agree on that.

use std::collections::HashMap;

use crate::join::opened::Opened;

pub struct Clock {
    /// The epoch time at which the common clock was 0: of all of them the first.
    pub start_ms: f64,
    /// The same of the clock of each start of a machine: a machine whose time of day was put right
    /// has several.
    starts: HashMap<String, f64>,
    by_time_of_day: Vec<String>,
}

impl Clock {
    pub fn of(all: &[Opened]) -> Self {
        let mut starts = HashMap::new();
        for (boot, start_ms) in all.iter().filter_map(|opened| Some((opened.boot()?, opened.start_ms))) {
            starts.entry(boot.to_owned()).or_insert(start_ms);
        }
        let mut clock = Self { start_ms: 0.0, starts, by_time_of_day: Vec::new() };
        clock.start_ms = all.iter().map(|opened| clock.own_ms(opened)).fold(f64::INFINITY, f64::min);
        let first = all.first();
        let strange = |opened: &&Opened| first.is_some_and(|first| !is_one(first, opened));
        clock.by_time_of_day = all.iter().filter(strange).map(|opened| opened.file.clone()).collect();
        clock
    }

    fn own_ms(&self, opened: &Opened) -> f64 {
        opened.boot().and_then(|boot| self.starts.get(boot)).copied().unwrap_or(opened.start_ms)
    }

    /// What is to be added to a profile's times.
    pub fn shift_ms(&self, opened: &Opened) -> f64 {
        self.own_ms(opened) - self.start_ms
    }

    /// When a profile begins, on the common clock.
    pub fn begins(&self, opened: &Opened) -> f64 {
        opened.span_ms[0] + self.shift_ms(opened)
    }

    /// The files that begin after all files before them have ended, and how many milliseconds
    /// after; `all` is sorted by begin.
    pub fn gaps(&self, all: &[Opened]) -> Vec<(String, f64)> {
        let (mut gaps, mut end) = (Vec::new(), f64::INFINITY);
        for opened in all {
            let begins = self.begins(opened);
            if begins > end {
                gaps.push((opened.file.clone(), begins - end));
            }
            let ends = opened.span_ms[1] + self.shift_ms(opened);
            end = if end.is_finite() { end.max(ends) } else { ends };
        }
        gaps
    }

    /// The files whose clocks have nothing in common with the first one's but the time of day.
    pub fn by_time_of_day(&self) -> &[String] {
        &self.by_time_of_day
    }
}

fn is_one(first: &Opened, other: &Opened) -> bool {
    std::ptr::eq(first, other) || first.boot().is_some_and(|boot| other.boot() == Some(boot))
}

/// A time on another clock, to the microsecond, as all times of a profile.
pub fn shifted(time_ms: f64, shift_ms: f64) -> f64 {
    if shift_ms == 0.0 { time_ms } else { ((time_ms + shift_ms) * 1e3).round() / 1e3 }
}
