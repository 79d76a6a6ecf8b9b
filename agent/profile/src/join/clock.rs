//! Converts the times of all profiles to one clock.
//!
//! A profile's times count from the boot of its machine. Profiles of the same boot have the same
//! clock, and their times must not change. Others are aligned by the time of day, which is as exact
//! as the machines' clocks.

use std::collections::HashMap;

use crate::join::opened::Opened;

/// The common clock of all profiles.
pub struct Clock {
    /// The epoch time at which the common clock was 0. It is the earliest such time of all
    /// profiles.
    pub start_ms: f64,
    /// The epoch time at which each boot's clock was 0. The first profile of a boot sets it, since
    /// the time of day may be adjusted later.
    starts: HashMap<String, f64>,
    by_time_of_day: Vec<String>,
}

impl Clock {
    pub fn new(all: &[Opened]) -> Self {
        let mut starts = HashMap::new();
        for (boot, start_ms) in all.iter().filter_map(|opened| Some((opened.boot()?, opened.start_ms))) {
            starts.entry(boot.to_owned()).or_insert(start_ms);
        }
        let mut clock = Self { start_ms: 0.0, starts, by_time_of_day: Vec::new() };
        clock.start_ms = all.iter().map(|opened| clock.own_ms(opened)).fold(f64::INFINITY, f64::min);
        let first = all.first();
        let differs = |opened: &&Opened| first.is_some_and(|first| !is_same_clock(first, opened));
        clock.by_time_of_day = all.iter().filter(differs).map(|opened| opened.file.clone()).collect();
        clock
    }

    fn own_ms(&self, opened: &Opened) -> f64 {
        opened.boot().and_then(|boot| self.starts.get(boot)).copied().unwrap_or(opened.start_ms)
    }

    /// Returns the milliseconds to add to a profile's times.
    pub fn shift_ms(&self, opened: &Opened) -> f64 {
        self.own_ms(opened) - self.start_ms
    }

    /// Returns the start of a profile on the common clock.
    pub fn begins(&self, opened: &Opened) -> f64 {
        opened.span_ms[0] + self.shift_ms(opened)
    }

    /// Returns the files that begin after the end of all earlier files, and the gap in
    /// milliseconds. `all` must be sorted by start.
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

    /// Returns the files with another clock than the first file.
    pub fn by_time_of_day(&self) -> &[String] {
        &self.by_time_of_day
    }
}

fn is_same_clock(first: &Opened, other: &Opened) -> bool {
    std::ptr::eq(first, other) || first.boot().is_some_and(|boot| other.boot() == Some(boot))
}

/// Shifts a time, and rounds it to the microsecond like all times of a profile.
pub fn shifted(time_ms: f64, shift_ms: f64) -> f64 {
    if shift_ms == 0.0 { time_ms } else { ((time_ms + shift_ms) * 1e3).round() / 1e3 }
}
