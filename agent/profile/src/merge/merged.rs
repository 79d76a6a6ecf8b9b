//! What became of a recording that was put into a profile.

use serde::Serialize;
use vouch_report::grouped;

use crate::merge::anchors::A_DAY;

/// What became of a recording: the profile has it under `meta.vouchMerged`, and a person gets it in
/// words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    pub recording: String,
    /// When its chunks began, and how long they were: by that they are known again.
    pub(crate) chunks: Vec<(i64, u64)>,
    /// The process that made it, if it says so and is another than the profile's.
    pub stranger: Option<String>,
    pub kinds: Vec<Kind>,
    /// Events that lie before or after the profile.
    pub outside: u64,
    /// Events whose own bytes cannot be read.
    pub unreadable: u64,
    /// Kinds that tell what was and not what happened, which nobody asked for.
    pub left_out: Vec<String>,
    pub clock: Clock,
    /// What is wrong with the file.
    pub damage: Vec<String>,
}

/// What became of the events of a kind.
#[derive(Debug, Serialize)]
pub struct Kind {
    pub name: String,
    pub label: String,
    pub count: u64,
    pub shown: u64,
}

/// How the recording's clock and the profile's relate.
#[derive(Debug, Serialize)]
pub struct Clock {
    /// Pauses for the collector that both saw, and waits of the agent's own thread; 0 of both: the
    /// time of day alone relates them.
    pub pauses: usize,
    pub waits: usize,
    pub uncertainty_ns: f64,
    /// How much the recording's clock loses.
    pub drift_ns_a_minute: f64,
    /// How far the time of day in the recording was off.
    pub offset_ns: f64,
}

impl Merged {
    pub fn shown(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.shown).sum()
    }

    /// In a line, as the front-end's panel has it.
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
    /// `by 33 pauses for the collector and 4 waits of the agent's that both saw`
    pub fn by(&self) -> String {
        let told =
            |count: usize, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count as u64)));
        let moments =
            [told(self.pauses, "pauses for the collector"), told(self.waits, "waits of Vouch's own thread")];
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

    /// `± 12 µs`
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
