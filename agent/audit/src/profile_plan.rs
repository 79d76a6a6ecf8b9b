//! What of a recording its profile shows: the samples of one clock, and of the other events as many
//! as a timeline can bear.
//!
//! It must never add samples of two clocks: what a thread did by the one it did by the other, too.

use vouch_report::{Clock, grouped};

use crate::async_profiler::CPU_NS;
use crate::index::{KindId, Seen};
use crate::kinds::{CPU_TIME, EXECUTION, WALL, clock};
use crate::report::AuditReport;
use crate::run_info::{Period, Told};

/// A weight may be off by one in so many, where periods have no common measure.
const FINE: u64 = 20;
/// Nobody samples more often.
const LEAST_NS: u64 = 1_000;
/// Of a kind of events of which there are more only those are shown whose stack is refuted.
const MOST_MARKS: u64 = 20_000;
/// The clocks by which there are samples, the one that is shown first: a thread that waits has
/// samples by the last.
const CLOCKS: [&str; 3] = [CPU_TIME, EXECUTION, WALL];

/// How the events of a kind are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Each stands for so many nanoseconds, if it does not say itself for how many.
    Samples(u64),
    Marks,
    /// As marks, and those alone that are refuted.
    Refuted,
    /// They are samples by another clock.
    Not,
}

impl Shown {
    /// Whether an event is, which is refuted or not.
    pub fn is_shown(self, refuted: bool) -> bool {
        match self {
            Self::Samples(_) | Self::Marks => true,
            Self::Refuted => refuted,
            Self::Not => false,
        }
    }
}

/// What is shown.
#[derive(Debug)]
pub struct Plan {
    kinds: Vec<Shown>,
    /// In which samples are weighed.
    pub interval_ns: u64,
    /// By which clock, if that is told, or what they count that is no time.
    pub clock: Option<Clock>,
    pub event: Option<String>,
    /// What is not shown, in sentences.
    pub remarks: Vec<String>,
}

impl Plan {
    /// `wanted` are the samples of this kind; an error is the rest of a sentence, and names those
    /// that there are.
    pub fn of(report: &AuditReport, seen: &Seen, told: &Told, wanted: Option<&str>) -> Result<Self, String> {
        // Of a kind of which all were lost there is nothing to show.
        let sampled = report
            .kinds
            .iter()
            .filter(|(_, kind)| kind.samples && kind.fates.signals > kind.fates.fates.dropped);
        let mut clocks: Vec<&str> = sampled.map(|(name, _)| clock(name)).collect();
        clocks.sort_by_key(|clock| CLOCKS.iter().position(|known| known == clock));
        clocks.dedup();
        let shown = match wanted {
            Some(wanted) if !clocks.contains(&clock(wanted)) => {
                return Err(format!(
                    "has no samples {wanted}, but {}",
                    if clocks.is_empty() { "none at all".to_owned() } else { clocks.join(", ") }
                ));
            }
            Some(wanted) => Some(clock(wanted)),
            None => clocks.first().copied(),
        };
        let event = shown.and_then(|shown| told.event_of(shown));
        let count = |name: &str| report.kinds.get(name).map_or(0, |kind| kind.fates.signals);
        let mut interval: Option<Period> = None;
        let (mut crowded, mut left_out) = (0_u64, 0);
        let kinds = seen.kinds.iter().map(|(name, kind)| match kind.samples {
            true if Some(clock(name)) == shown => {
                // What counts no time has one length in the timeline, whatever else is told.
                let period = told.periods.get(name).copied().filter(|_| event.is_none());
                let period = period.unwrap_or(Period::of(told.usual_ns(name)));
                interval = Some(interval.map_or(period, |known| known.and(period)));
                Shown::Samples(period.least_ns)
            }
            true => Shown::Not,
            false if count(name) <= MOST_MARKS => Shown::Marks,
            false => {
                crowded += 1;
                left_out += count(name);
                Shown::Refuted
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
                grouped(MOST_MARKS)
            ));
        }
        let interval_ns = interval.map_or(CPU_NS, |all| all.common_ns.max(all.least_ns / FINE)).max(LEAST_NS);
        let clock = shown.and_then(|shown| told.clock(shown));
        Ok(Self { kinds, interval_ns, clock, event, remarks })
    }

    /// How the events of a kind are shown; None: there was none when it was audited.
    pub fn shown(&self, kind: KindId) -> Option<Shown> {
        self.kinds.get(kind.row()).copied()
    }

    /// How many intervals a time is, one at least.
    pub fn intervals(&self, ns: u64) -> u32 {
        u32::try_from(ns.saturating_add(self.interval_ns / 2) / self.interval_ns).unwrap_or(u32::MAX).max(1)
    }
}
