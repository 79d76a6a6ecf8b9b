//! This module lists the event types. Each one is declared in the file with its callbacks.
//!
//! A row has the JVMTI events that report the event, and the marker that shows it in a timeline. No
//! other module depends on the individual rows.
//!
//! # Invariants
//!
//! **Invariant 23.** What the JVM did is no sample and never counts as one. What a thread waited
//! for is reported of that thread and of no other, or not at all. Held by:
//! `collect/src/record/tests/events.rs`; `java-tests/events`, against what the program itself
//! measured.

mod allocation;
pub mod blocker;
pub mod calling_thread;
pub mod code;
mod collection;
pub mod compilation;
mod drawing;
pub mod event_choice;
pub mod event_type;
pub mod exception;
pub mod governor_acts;
pub mod heap;
pub mod life;
pub mod live_objects;
pub mod monitor;
pub mod park;
pub mod totals;

use std::collections::BTreeMap;

use jni::JNIEnv;
use vouch_collect::compiled;
use vouch_hotspot::monitors::MonitorLayout;
use vouch_hotspot::perf_data::PerfData;
use vouch_recording::kinds::EVENTS;
use vouch_report::{EventReport, ExactTotal, grouped};

use crate::facade::{Event, Jvmti};
use crate::groups::task;

pub use allocation::on_thread_start;
pub use calling_thread::{class_of_object, is_of_this_recording};
pub use code::{COMPILED_CODE, prepared};
use drawing::Drawing;
pub use event_choice::{Chosen, are_chosen};
pub use event_type::Row;

/// This type is a list of event types.
pub type Rows = &'static [&'static Row];

/// These are the event types of this agent.
pub static ROWS: Rows = &[
    &governor_acts::PAUSED,
    &governor_acts::LENGTHENED,
    &governor_acts::RELIEVED,
    &governor_acts::STOPPED,
    &collection::COLLECTION,
    &monitor::MONITOR,
    &monitor::WAIT,
    &monitor::STILL_ENTERS,
    &monitor::STILL_WAITS,
    &park::PARK,
    &park::STILL_PARKS,
    &allocation::ALLOCATION,
    &exception::EXCEPTION,
    &code::CLASS,
    &code::COMPILATION,
    &life::GIVEN_UP,
    &task::TASK,
];

/// Returns the rows of the chosen kinds.
fn rows(chosen: Chosen) -> impl Iterator<Item = &'static Row> {
    let is_chosen = move |row: &&&Row| row.kind.is_some_and(|kind| are_chosen(chosen, kind));
    ROWS.iter().filter(is_chosen).copied()
}

/// Sets the JVM's performance counters. The causes of collections and the totals are read from
/// them.
pub fn set_perf_data(data: &PerfData, is_g1: bool) {
    collection::set_perf_data(data, is_g1);
    totals::set_perf_data(data);
}

/// Finds the fields that events read. It runs after VM initialization.
pub fn meet(env: &mut JNIEnv<'_>, monitors: Option<MonitorLayout>) {
    monitor::meet(monitors);
    if park::is_bound() {
        blocker::meet(env);
    }
}

/// Adds the capabilities for the chosen kinds. Some JVMs grant them only before VM initialization.
pub fn ask_for(jvmti: Jvmti, chosen: Chosen) {
    for capability in rows(chosen).flat_map(|row| row.subscriptions).flat_map(|event| event.capabilities) {
        // Without a capability, enabling the event fails later.
        let _ = jvmti.add_capability(*capability);
    }
}

/// Begins a recording with the chosen kinds and `depth` frames of a stack. Removes the kinds that
/// this JVM cannot report from `chosen`. Returns a sentence that names the removed kinds.
pub fn begin(jvmti: Jvmti, chosen: &mut Chosen, depth: usize) -> Option<String> {
    calling_thread::start(jvmti, depth);
    ask_for(jvmti, *chosen);
    allocation::begin(jvmti);
    collection::begin();
    let (mut missing, mut late) = (Vec::new(), Vec::new());
    begin_period(*chosen);
    for row in rows(*chosen) {
        row.drawing.into_iter().for_each(Drawing::begin);
        row.counts.set_wanted(true);
        let can = (row.can)();
        if !can || row.subscriptions.iter().any(|subscription| jvmti.enable(subscription.event).is_err()) {
            row.counts.set_wanted(false);
            let refused = if can { &mut missing } else { &mut late };
            refused.extend(row.kind.map(|kind| kind.word));
        }
    }
    let counts_code = [&code::COMPILATION, &life::GIVEN_UP].iter().any(|row| row.counts.wanted());
    if counts_code && !compiled::is_reported() {
        // The events were off until now.
        compiled::forget();
        code::add_existing(jvmti);
    }
    for (kind, chosen) in EVENTS.iter().zip(chosen) {
        *chosen &= !missing.iter().chain(&late).any(|word| *word == kind.word);
    }
    let missing = (!missing.is_empty()).then(|| {
        let missing = missing.join("+");
        format!("this JVM cannot report events={missing}: `vouch events` lists the JDKs that can, and when they refuse")
    });
    let late = (!late.is_empty()).then(|| {
        let late = late.join("+");
        format!("events={late} is missing: it needs the agent from the JVM's start (-agentpath or vouch run)")
    });
    let notes: Vec<String> = missing.into_iter().chain(late).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Counts the events of the chosen kinds anew, for a recording or a period of one.
pub fn begin_period(chosen: Chosen) {
    // The program reports tasks even if the user has not chosen them.
    task::TASK.counts.begin();
    for row in rows(chosen) {
        row.counts.begin();
        row.drawing.into_iter().for_each(Drawing::begin_period);
    }
}

/// Ends the recording, and turns off all events that are on for it alone.
pub fn end(jvmti: Jvmti) {
    let stays =
        |event: Event| compiled::is_reported() && COMPILED_CODE.iter().any(|code| code.event == event);
    for row in ROWS {
        row.counts.set_wanted(false);
        for subscription in row.subscriptions.iter().filter(|subscription| !stays(subscription.event)) {
            // An event that was never enabled is off already.
            let _ = jvmti.disable(subscription.event);
        }
    }
    if !compiled::is_reported() {
        compiled::forget();
    }
}

/// Returns the counters of each recorded kind, by its word.
pub fn report(chosen: Chosen) -> BTreeMap<String, EventReport> {
    let told = |row: &Row| Some((row.kind?.word.to_owned(), row.counts.report()));
    rows(chosen).filter_map(told).collect()
}

/// Returns the exact totals of each measure that recorded kinds count, by its key. The samples of
/// the measure are a part of the events.
pub fn exact_totals(chosen: Chosen) -> BTreeMap<String, ExactTotal> {
    let mut totals = BTreeMap::<String, ExactTotal>::new();
    for drawing in rows(chosen).filter_map(|row| row.drawing) {
        totals.entry(drawing.measure.key.to_owned()).or_default().add(&drawing.report());
    }
    totals
}

/// Returns a sentence if the timeline lacks events that were left out to keep recording cheap.
pub fn left_out(chosen: Chosen) -> Option<String> {
    let report = report(chosen).into_iter().filter(|(_, events)| events.left_out > 0);
    let kinds = report.map(|(word, EventReport { count, left_out, .. })| {
        format!("{} of {} of events={word}", grouped(left_out), grouped(count))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| {
        format!(
            "the timeline lacks {}, to keep recording cheap (docs/events.md); all are counted",
            kinds.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::event_choice::chosen;
    use super::*;
    use std::collections::HashSet;
    use vouch_sample::{MAX_VALUES, MEASURED_INDEX};

    #[test]
    fn each_row_can_be_shown() {
        let mut keys = HashSet::new();
        for row in ROWS {
            let marker = row.marker;
            assert!(keys.insert(marker.key) && marker.key != "refuted", "{} is taken", marker.key);
            assert!(
                marker.fields.len() <= MAX_VALUES,
                "{} has more fields than an event has values",
                marker.key
            );
            let mut names = HashSet::from(["cause", "type"]);
            if row.drawing.is_some() {
                assert!(marker.fields.len() <= MEASURED_INDEX, "{} hides what it stands for", marker.key);
            }
            for field in marker.fields {
                assert!(names.insert(field.key), "{}: {} is taken", marker.key, field.key);
            }
        }
    }

    #[test]
    fn each_kind_of_the_catalogue_has_a_row() {
        assert_eq!(rows([true; EVENTS.len()]).count(), EVENTS.len());
        assert_eq!(rows(chosen("off").unwrap()).count(), 0);
        let words = |chosen| rows(chosen).filter_map(|row| Some(row.kind?.word)).collect::<Vec<_>>();
        assert_eq!(words(chosen("default").unwrap()), ["gc", "monitor"]);
        assert_eq!(words(chosen("wait+gc").unwrap()), ["gc", "wait"]);
        assert_eq!(words(chosen("default+jit").unwrap()), ["gc", "monitor", "jit"]);
        assert_eq!(words(chosen("gc+lock").unwrap()), ["gc", "monitor", "park"]);
        assert!(chosen("gc+").is_err() && chosen("none").is_err());
    }
}
