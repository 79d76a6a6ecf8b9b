//! Describes a Flight Recorder file that was added to a profile.

use serde::Serialize;
use vouch_report::grouped;

use crate::merge::anchors::A_DAY;

/// The result of adding a recording. The profile has it under `meta.vouchMerged`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    pub recording: String,
    /// The start and length of each chunk, by which a chunk is recognised if it is added again.
    pub(crate) chunks: Vec<(i64, u64)>,
    /// The pid of the recording's process, if the profile is of another process.
    pub stranger: Option<String>,
    pub kinds: Vec<KindSummary>,
    /// The number of events that were before or after the profile's time.
    pub outside: u64,
    /// The number of events that cannot be read.
    pub unreadable: u64,
    /// The kinds that describe a state and no event, and that the user did not request.
    pub left_out: Vec<String>,
    pub clock: Clock,
    /// Descriptions of damage in the file.
    pub damage: Vec<String>,
}

/// The number of events of one kind.
#[derive(Debug, Serialize)]
pub struct KindSummary {
    pub name: String,
    pub label: String,
    pub count: u64,
    pub shown: u64,
}

/// The relation between the recording's clock and the profile's.
#[derive(Debug, Serialize)]
pub struct Clock {
    /// The number of collector pauses that both recorded. If this and `waits` are 0, the clocks
    /// were aligned by the time of day.
    pub pauses: usize,
    /// The number of waits of the agent's own thread that both recorded.
    pub waits: usize,
    pub uncertainty_ns: f64,
    /// The nanoseconds that the recording's clock loses in a minute.
    pub drift_ns_a_minute: f64,
    /// The error of the recording's time of day, in nanoseconds.
    pub offset_ns: f64,
}

impl Merged {
    pub fn shown(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.shown).sum()
    }

    /// Returns the line about this recording in the front-end's panel.
    pub fn line(&self) -> String {
        let Self { recording, clock, .. } = self;
        format!(
            "{recording}: {} events of {} kinds, times within {}",
            grouped(self.shown()),
            self.kinds.len(),
            clock.within()
        )
    }
}

impl Clock {
    /// Describes how the clocks were aligned, such as `by 33 pauses for the collector that both
    /// saw`.
    pub fn by(&self) -> String {
        let counted =
            |count: usize, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count as u64)));
        let moments = [
            counted(self.pauses, "pauses for the collector"),
            counted(self.waits, "waits of Vouch's own thread"),
        ];
        let moments: Vec<String> = moments.into_iter().flatten().collect();
        if self.is_astray() {
            "by the time of day alone, which jumped or stopped during the run: waits of Vouch's own thread disagree with it".to_owned()
        } else if moments.is_empty() {
            "by the time of day alone".to_owned()
        } else {
            format!("by {} that both saw", moments.join(" and "))
        }
    }

    fn is_astray(&self) -> bool {
        self.uncertainty_ns >= A_DAY
    }

    /// Returns the uncertainty as text, such as `± 12 µs`.
    pub fn within(&self) -> String {
        let micros = self.uncertainty_ns / 1e3;
        if self.is_astray() {
            "by an unknown time".to_owned()
        } else if micros < 1_000.0 {
            format!("± {:.0} µs", micros.ceil())
        } else {
            format!("± {:.1} ms", micros / 1e3)
        }
    }
}
