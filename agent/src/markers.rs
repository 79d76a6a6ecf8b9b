//! Markers are events that the program reports. This module has their kinds, and counts them.
//!
//! Kinds last as long as the process, because the program keeps their numbers. So their number is
//! limited. A number is never reused for another kind. All markers are counted, and only a part of
//! frequent markers is shown. A thread that reports a marker never waits.

pub mod natives;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;
use vouch_recording::{Category, MarkerField, MarkerKind, Unit};
use vouch_report::EventReport;
use vouch_sample::MAX_VALUES;
use vouch_sampling::clock;

use crate::events::calling_thread;
use crate::events::event_type::Row;
use crate::library::requested;

/// The maximum number of kinds.
const MAX_KINDS: usize = 256;
/// The maximum number of markers of a kind that are shown per second.
const MAX_SHOWN_PER_SECOND: u64 = 1_000;

/// The prefix of the names of the program's kinds. It keeps them apart from the agent's own kinds.
const PREFIX: &str = "marker:";

static MARKERS: Lazy<Markers> = Lazy::new(Markers::default);

/// Returns the kinds of the process.
pub fn markers() -> &'static Markers {
    &MARKERS
}

/// A kind of marker, as its class declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramMarkerKind {
    pub class: String,
    pub label: String,
    /// A sentence that describes the kind, or an empty text.
    pub description: String,
    /// The name, the label and the unit of each field.
    pub fields: Vec<(String, String, Unit)>,
}

/// All kinds of markers.
#[derive(Debug)]
pub struct Markers {
    /// The kinds by their numbers. They are read without a lock, so that a thread that reports a
    /// marker never waits.
    declared: Box<[OnceCell<DeclaredKind>]>,
    /// The lock for adding a kind.
    adding: Mutex<()>,
    /// True if a recording wants markers.
    wanted: AtomicBool,
    /// The number of markers that cannot be shown, such as markers of a kind beyond the limit.
    lost: AtomicU64,
}

impl Default for Markers {
    fn default() -> Self {
        Self {
            declared: (0..MAX_KINDS).map(|_| OnceCell::new()).collect(),
            adding: Mutex::default(),
            wanted: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        }
    }
}

#[derive(Debug)]
struct DeclaredKind {
    kind: ProgramMarkerKind,
    row: Row,
}

impl Markers {
    /// Returns the number of a kind, from 1. It is 0 if there are too many kinds.
    pub fn number(&self, kind: ProgramMarkerKind) -> u32 {
        let _one_at_a_time = self.adding.lock();
        let known = self.known().position(|known| known.kind == kind);
        let index = known.unwrap_or_else(|| self.known().count());
        let Some(declared) = self.declared.get(index).filter(|_| kind.fields.len() <= MAX_VALUES) else {
            return 0;
        };
        declared.get_or_init(|| {
            let same = self.known().filter(|known| known.kind.class == kind.class).count();
            let row = Row::of_program(Box::leak(Box::new(to_marker_kind(&kind, same))));
            DeclaredKind { kind, row }
        });
        u32::try_from(index + 1).unwrap_or(0)
    }

    fn known(&self) -> impl Iterator<Item = &DeclaredKind> {
        self.declared.iter().map_while(OnceCell::get)
    }

    /// Returns the row of a kind by its number.
    pub fn row(&'static self, number: u32) -> Option<&'static Row> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.declared.get(index)?.get().map(|declared| &declared.row)
    }

    /// Returns the row of a kind by the number that its events have.
    pub fn row_of_event(&'static self, event: u64) -> Option<&'static Row> {
        self.known().map(|declared| &declared.row).find(|row| row.number() == event)
    }

    /// Begins a recording.
    pub fn begin(&self) {
        self.begin_period();
        self.wanted.store(true, Relaxed);
        requested::set_requested(requested::MARKERS, true);
    }

    /// Counts markers anew, for a period of a recording that goes on.
    pub fn begin_period(&self) {
        self.known().for_each(|declared| declared.row.counts.begin());
        self.lost.store(0, Relaxed);
    }

    /// Ends the recording.
    pub fn end(&self) {
        requested::set_requested(requested::MARKERS, false);
        self.wanted.store(false, Relaxed);
    }

    /// Returns the times to show for a marker, or `None` if it is not shown. The times are limited
    /// to the recording so far.
    fn shown_times(&self, row: &Row, began: u64, ended: u64) -> Option<(u64, u64)> {
        let (since, now) = (calling_thread::started(), clock::monotonic());
        let ended = ended.min(now);
        if !self.wanted.load(Relaxed) || ended < since {
            return None;
        }
        let began = began.clamp(since, ended);
        row.counted_within(began, ended, MAX_SHOWN_PER_SECOND).then_some((began, ended))
    }

    /// Counts a marker that cannot be shown.
    fn count_lost(&self) {
        self.lost.fetch_add(u64::from(self.wanted.load(Relaxed)), Relaxed);
    }

    /// Returns the number of markers that cannot be shown since the recording began.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Returns the counters of each kind since the recording began, by its class.
    pub fn report(&self) -> BTreeMap<String, EventReport> {
        let kind_report = |declared: &DeclaredKind| {
            let name = declared.row.marker.key.strip_prefix(PREFIX).unwrap_or_default();
            (name.to_owned(), declared.row.counts.report())
        };
        self.known().map(kind_report).filter(|(_, report)| report.count > 0).collect()
    }
}

/// Converts a kind that the program declared. `same` is the number of different kinds of its class
/// so far.
fn to_marker_kind(kind: &ProgramMarkerKind, same: usize) -> MarkerKind<'static> {
    let ProgramMarkerKind { class, label, description, fields: declared } = kind;
    let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
    let number = if same == 0 { String::new() } else { format!("~{}", same + 1) };
    let mut fields: Vec<MarkerField<'static>> = Vec::new();
    for (name, label, unit) in declared {
        // A class and its superclass may have fields with the same name.
        let mut key = vouch_profile::merge::field_key(name);
        while fields.iter().any(|field| field.key == key) {
            key.push('_');
        }
        fields.push(MarkerField { key: kept(&key), label: kept(label), unit: *unit });
    }
    MarkerKind {
        key: kept(&format!("{PREFIX}{class}{number}")),
        label: kept(label),
        description: if description.is_empty() {
            "A marker of the program's own."
        } else {
            kept(description)
        },
        category: Category::Application,
        fields: Vec::leak(fields),
    }
}
