//! What a program says of itself: the kinds of its markers, and how many there were of each.
//!
//! They last as long as the process, since the program keeps their numbers; so there is a limit to
//! them. A number never comes to mean another kind. Of what comes too often a part is shown, and
//! all of it is counted; whoever tells of one waits for nobody.

pub mod natives;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;
use vouch_recording::{Category, Figure, MarkKind, Unit};
use vouch_report::EventReport;
use vouch_sample::MAX_VALUES;

use crate::clock;
use crate::events::calling_thread;
use crate::events::event_type::Row;
use crate::library::wanted;

/// So many kinds are told apart.
const MOST_KINDS: usize = 256;
/// So many of a kind are shown in a second.
const MOST_IN_A_SECOND: u64 = 1_000;

/// By which the name of a kind of the program's own begins, so that it is none of the agent's.
const PREFIX: &str = "marker:";

static MARKERS: Lazy<Markers> = Lazy::new(Markers::default);

/// Those of the process.
pub fn markers() -> &'static Markers {
    &MARKERS
}

/// A kind, as its class says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    pub class: String,
    pub label: String,
    /// A sentence, or none.
    pub description: String,
    /// Of each field, its name, what it is called and how it is to be read.
    pub fields: Vec<(String, String, Unit)>,
}

/// All kinds.
#[derive(Debug)]
pub struct Markers {
    /// By their numbers, which are read without a lock: whoever tells of one waits for nobody.
    declared: Box<[OnceCell<Declared>]>,
    /// Whoever adds one.
    adding: Mutex<()>,
    /// A recording wants them.
    wanted: AtomicBool,
    /// How many were told of which nothing can be shown: of kinds that are too many.
    lost: AtomicU64,
}

impl Default for Markers {
    fn default() -> Self {
        Self {
            declared: (0..MOST_KINDS).map(|_| OnceCell::new()).collect(),
            adding: Mutex::default(),
            wanted: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        }
    }
}

#[derive(Debug)]
struct Declared {
    kind: Kind,
    row: Row,
}

impl Markers {
    /// The number of a kind, from 1; 0 if there are too many.
    pub fn number(&self, kind: Kind) -> u32 {
        let _one_at_a_time = self.adding.lock();
        let known = self.known().position(|known| known.kind == kind);
        let place = known.unwrap_or_else(|| self.known().count());
        let Some(declared) = self.declared.get(place).filter(|_| kind.fields.len() <= MAX_VALUES) else {
            return 0;
        };
        declared.get_or_init(|| {
            let same = self.known().filter(|known| known.kind.class == kind.class).count();
            let row = Row::of_program(Box::leak(Box::new(shown(&kind, same))));
            Declared { kind, row }
        });
        u32::try_from(place + 1).unwrap_or(0)
    }

    fn known(&self) -> impl Iterator<Item = &Declared> {
        self.declared.iter().map_while(OnceCell::get)
    }

    /// The row of a kind's number.
    pub fn row(&'static self, number: u32) -> Option<&'static Row> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.declared.get(place)?.get().map(|declared| &declared.row)
    }

    /// The same by what an event says that it is.
    pub fn row_of(&'static self, event: u64) -> Option<&'static Row> {
        self.known().map(|declared| &declared.row).find(|row| row.number() == event)
    }

    /// A recording begins.
    pub fn begin(&self) {
        self.known().for_each(|declared| declared.row.counts.begin());
        self.lost.store(0, Relaxed);
        self.wanted.store(true, Relaxed);
        wanted::want(wanted::MARKERS, true);
    }

    /// It ends.
    pub fn end(&self) {
        wanted::want(wanted::MARKERS, false);
        self.wanted.store(false, Relaxed);
    }

    /// The times between which one is shown that went on between these, if it is: not before the
    /// recording began, and it has ended.
    fn admitted(&self, row: &Row, began: u64, ended: u64) -> Option<(u64, u64)> {
        let (since, now) = (calling_thread::started(), clock::monotonic());
        let ended = ended.min(now);
        if !self.wanted.load(Relaxed) || ended < since {
            return None;
        }
        let began = began.clamp(since, ended);
        row.counted_within(began, ended, MOST_IN_A_SECOND).then_some((began, ended))
    }

    /// One was told of which nothing can be shown.
    fn lose(&self) {
        self.lost.fetch_add(u64::from(self.wanted.load(Relaxed)), Relaxed);
    }

    /// How many these were since the recording began.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// How many there were of each kind since the recording began, by its class.
    pub fn report(&self) -> BTreeMap<String, EventReport> {
        let of = |declared: &Declared| {
            let name = declared.row.mark.key.strip_prefix(PREFIX).unwrap_or_default();
            (name.to_owned(), declared.row.counts.report())
        };
        self.known().map(of).filter(|(_, report)| report.count > 0).collect()
    }
}

/// How a kind stands in a timeline, where so many of its class are there already that look
/// otherwise.
fn shown(kind: &Kind, same: usize) -> MarkKind<'static> {
    let Kind { class, label, description, fields } = kind;
    let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
    let number = if same == 0 { String::new() } else { format!("~{}", same + 1) };
    let mut figures: Vec<Figure<'static>> = Vec::new();
    for (name, label, unit) in fields {
        // A class and its superclass may have fields of one name.
        let mut key = vouch_profile::merge::field_key(name);
        while figures.iter().any(|figure| figure.key == key) {
            key.push('_');
        }
        figures.push(Figure { key: kept(&key), label: kept(label), unit: *unit });
    }
    MarkKind {
        key: kept(&format!("{PREFIX}{class}{number}")),
        label: kept(label),
        description: if description.is_empty() {
            "A marker of the program's own."
        } else {
            kept(description)
        },
        category: Category::Application,
        figures: Vec::leak(figures),
    }
}
