//! Decides which events a profile shows: the samples of one clock, and as many other events as a
//! timeline can show.
//!
//! It must never add samples of two clocks, because they cover the same time.

use vouch_report::{Clock, grouped};

use crate::async_profiler::DEFAULT_CPU_INTERVAL_NS;
use crate::error::Error;
use crate::index::{KindId, RecordingIndex};
use crate::kinds::{CPU_TIME, EXECUTION, WALL, clock};
use crate::report::AuditReport;
use crate::run_info::{Period, RunInfo};

/// If the periods have no common measure, the interval is at least the shortest period divided by
/// this. A weight is then off by at most one in twenty.
const MAX_INTERVALS_PER_PERIOD: u64 = 20;
/// The interval is never shorter than this, because no sampler is faster.
const MIN_INTERVAL_NS: u64 = 1_000;
/// A kind with more events than this shows only its refuted events.
const MAX_MARKERS: u64 = 20_000;
/// Sample kinds in the order in which they are preferred. Wall-clock samples come last, because
/// waiting threads have them, too.
const CLOCK_ORDER: [&str; 3] = [CPU_TIME, EXECUTION, WALL];

/// The way in which a profile shows the events of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// The events are shown as samples. Each represents this many nanoseconds, unless it states its
    /// own period.
    Samples(u64),
    Markers,
    /// Only the refuted events are shown, as markers.
    RefutedMarkers,
    /// The events are not shown, because they are samples of another clock.
    Hidden,
}

impl Display {
    /// True if an event of this kind is shown. It may depend on whether the event is refuted.
    pub fn shows(self, refuted: bool) -> bool {
        match self {
            Self::Samples(_) | Self::Markers => true,
            Self::RefutedMarkers => refuted,
            Self::Hidden => false,
        }
    }
}

/// The choice of the events that a profile shows.
#[derive(Debug)]
pub struct ProfilePlan {
    kinds: Vec<Display>,
    /// The unit of sample weights, in nanoseconds.
    pub interval_ns: u64,
    /// The clock of the samples, if it is known.
    pub clock: Option<Clock>,
    /// The event that samples count, if it is not time.
    pub event: Option<String>,
    /// Sentences about what the profile does not show, for the user.
    pub remarks: Vec<String>,
}

impl ProfilePlan {
    /// Plans a profile with samples of the `wanted` kind. The error is the rest of a sentence, and
    /// names the kinds that exist.
    pub fn new(
        report: &AuditReport,
        index: &RecordingIndex,
        run_info: &RunInfo,
        wanted: Option<&str>,
    ) -> Result<Self, Error> {
        // A kind cannot be shown if all of its samples were lost.
        let sampled = report
            .kinds
            .iter()
            .filter(|(_, kind)| kind.samples && kind.fates.signals > kind.fates.fates.dropped);
        let mut clocks: Vec<&str> = sampled.map(|(name, _)| clock(name)).collect();
        clocks.sort_by_key(|clock| CLOCK_ORDER.iter().position(|known| known == clock));
        clocks.dedup();
        let shown = match wanted {
            Some(wanted) if !clocks.contains(&clock(wanted)) => {
                return Err(Error::NoSuchSamples {
                    wanted: wanted.to_owned(),
                    clocks: clocks.into_iter().map(str::to_owned).collect(),
                });
            }
            Some(wanted) => Some(clock(wanted)),
            None => clocks.first().copied(),
        };
        let event = shown.and_then(|shown| run_info.counted_event(shown));
        let count = |name: &str| report.kinds.get(name).map_or(0, |kind| kind.fates.signals);
        let mut interval: Option<Period> = None;
        let (mut crowded, mut left_out) = (0_u64, 0);
        let kinds = index.kinds.iter().map(|(name, kind)| match kind.samples {
            true if Some(clock(name)) == shown => {
                // Samples of a counted event all have the same length in the timeline.
                let period = run_info.periods.get(name).copied().filter(|_| event.is_none());
                let period = period.unwrap_or(Period::new(run_info.default_period_ns(name)));
                interval = Some(interval.map_or(period, |known| known.and(period)));
                Display::Samples(period.least_ns)
            }
            true => Display::Hidden,
            false if count(name) <= MAX_MARKERS => Display::Markers,
            false => {
                crowded += 1;
                left_out += count(name);
                Display::RefutedMarkers
            }
        });
        let kinds = kinds.collect();
        let mut remarks = Vec::new();
        match shown {
            None => {
                remarks
                    .push("there are no samples in the profile: the other events are its markers".to_owned());
            }
            Some(shown) => {
                let others: Vec<&str> = clocks.iter().copied().filter(|clock| *clock != shown).collect();
                if let Some(first) = others.first() {
                    remarks.push(format!(
                        "the profile has the samples of one clock, {shown}; --samples {first} makes it of those instead"
                    ));
                }
            }
        }
        if crowded > 0 {
            remarks.push(format!(
                "of {} events of {crowded} kinds the profile has the refuted ones alone: there are more than {} of each",
                grouped(left_out),
                grouped(MAX_MARKERS)
            ));
        }
        let interval_ns = interval
            .map_or(DEFAULT_CPU_INTERVAL_NS, |all| all.common_ns.max(all.least_ns / MAX_INTERVALS_PER_PERIOD))
            .max(MIN_INTERVAL_NS);
        let clock = shown.and_then(|shown| run_info.clock(shown));
        Ok(Self { kinds, interval_ns, clock, event, remarks })
    }

    /// Returns how a profile shows a kind, or `None` if the audit saw no event of it.
    pub fn display(&self, kind: KindId) -> Option<Display> {
        self.kinds.get(kind.row()).copied()
    }

    /// Converts a time to intervals, rounded, and at least 1.
    pub fn intervals(&self, ns: u64) -> u32 {
        u32::try_from(ns.saturating_add(self.interval_ns / 2) / self.interval_ns).unwrap_or(u32::MAX).max(1)
    }
}
