//! Records events other than samples. Each event becomes a marker of its thread or an allocation.
//!
//! An event's stack is checked against the bytecode and shown like a sample's stack. An event is no
//! sample, and must never count as one.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use vouch_recording::kinds::{ALLOCATION, COLLECTION, HELD_UP, STILL_ENTERS, STILL_PARKS};
use vouch_recording::measures::{ALLOCATED, LIVE};
use vouch_recording::{Amount, Leaf, Marker, Recording, StackId, Trust, Unit};
use vouch_report::{LiveObjectsReport, WaitingReport, millis};
use vouch_sample::{Event, Frame, MAX_VALUES, Measured, Stack};
use vouch_signal::event::{self, MAX_EVENT_FRAMES};
use vouch_signal::lane::{Entry, Lane};
use vouch_signal::slots::Waiting;

use super::Recorder;
use super::live_objects::TrackedObject;
use super::show::Judged;
use super::still::Still;
use super::tree::Standing;
use crate::events::{EventType, Payload};
use crate::jvm::{Jvm, WaitTarget};
use crate::weak_object::{WEAK_INDEX, WeakObject};

/// The maximum number of unfinished waits of a kind that are reported. `OWNERS` is the maximum
/// number of locks with a reported owner. For each lock the JVM stops at a safepoint.
const STILL: usize = 200;
const OWNERS: usize = 20;

/// The beginning of the names of methods in Vouch's Java library.
const LIBRARY: &str = "dev.vouch.";

impl Recorder {
    /// Records all events that the lanes contain. Each becomes a marker or an allocation.
    pub fn drain_events(&mut self, lanes: &[Lane<'_>], jvm: &mut dyn Jvm) {
        for lane in lanes {
            lane.drain(|entry| self.take_event(entry, jvm));
        }
    }

    /// Asks the JVM for what threads still wait for. Of each kind it keeps the longest waits, up to
    /// `STILL`.
    pub fn still_waiting(&self, mut waiting: Vec<Waiting>, jvm: &mut dyn Jvm) -> Vec<Still> {
        let event_type = |waiting: &Waiting| self.events.of_agent(waiting.wait.kind);
        let is_lock =
            |waiting: &Waiting| event_type(waiting).is_some_and(|row| row.marker.key == STILL_ENTERS.key);
        waiting.retain(|waiting| event_type(waiting).is_some());
        waiting.sort_by_key(|waiting| (!is_lock(waiting), waiting.wait.since));
        let mut kinds = HashMap::new();
        waiting.retain(|waiting| {
            let many = kinds.entry(waiting.wait.kind).or_insert(0);
            *many += 1;
            *many <= STILL
        });
        let threads: Vec<_> = waiting.iter().map(|waiting| (waiting.tid, waiting.serial)).collect();
        let locks = waiting.iter().filter(|waiting| is_lock(waiting)).count();
        let wanted = jvm.wait_targets(&threads, locks, locks.min(OWNERS));
        let each = waiting.into_iter().zip(wanted);
        each.filter_map(|(waiting, wanted)| {
            let wanted = wanted?;
            let stack = jvm.stack(waiting.tid, waiting.serial, &mut || {});
            Some(Still { waiting, wanted, frames: stack.map(|stack| stack.frames).unwrap_or_default() })
        })
        .collect()
    }

    /// Records waits that have not ended as markers. Returns those for a lock as lines of the
    /// report. `now` is in nanoseconds.
    pub fn take_still(&mut self, still: Vec<Still>, now: u64, jvm: &mut dyn Jvm) -> Vec<WaitingReport> {
        let mut reports = Vec::new();
        for Still { waiting: Waiting { tid, serial, wait }, wanted: WaitTarget { class, owner }, frames } in
            still
        {
            let Some(row) = self.events.of_agent(wait.kind) else { continue };
            let is_lock = row.marker.key == STILL_ENTERS.key;
            let is_park = row.marker.key == STILL_PARKS.key;
            let event = Event {
                kind: wait.kind,
                began: wait.since,
                ended: now,
                tid,
                serial,
                values: [0; MAX_VALUES],
            };
            let stack = self.stack_of(&event, &frames, jvm);
            let text = match &owner {
                Some(owner) => format!("{class}, which {owner} has"),
                None => class.clone(),
            };
            if self.keep(row, &event, &text, stack, jvm)
                && let Some(thread) = self.tracks.name(serial, wait.since)
                && (is_lock || is_park && owner.is_some())
            {
                let waited_ms = millis(now.saturating_sub(wait.since));
                reports.push(WaitingReport { thread, class, owner, waited_ms });
            }
        }
        reports
    }

    fn take_event(&mut self, entry: &Entry<'_>, jvm: &mut dyn Jvm) {
        let event = event::read(entry);
        let row = event.and_then(|event| self.events.find(event.kind));
        let (Some(event), Some(row)) = (event, row) else {
            self.events_lost += 1;
            return;
        };
        let event = Event { began: event.began.max(self.begins_ns), ..event };
        let frames: Vec<Frame> = event::frames(entry).collect();
        let text = String::from_utf8_lossy(&event::text(entry).collect::<Vec<u8>>()).into_owned();
        let (text, stack) = match (frames.first(), row.payload) {
            (Some(frame), Payload::Method) => (name_of(*frame, event.began, jvm), None),
            (Some(_), Payload::Program) => {
                (text, self.stack_of(&event, below_library(&frames, event.ended, jvm), jvm))
            }
            (Some(_), Payload::Constructors) => {
                let below = below_constructors(&frames, &text, event.ended, jvm);
                (text, self.stack_of(&event, below, jvm))
            }
            _ => (text, self.stack_of(&event, &frames, jvm)),
        };
        self.keep(row, &event, &text, stack, jvm);
    }

    /// Records an event. Returns false if its thread is not part of the recording.
    fn keep(
        &mut self,
        row: EventType,
        event: &Event,
        text: &str,
        stack: Option<StackId>,
        jvm: &mut dyn Jvm,
    ) -> bool {
        let thread = self.tracks.of_event(event, &mut self.recording);
        let is_allocation = row.marker.key == ALLOCATION.marker.key;
        let weak = WeakObject(if is_allocation { event.values[WEAK_INDEX] } else { 0 });
        if thread.is_none() && event.tid != 0 {
            if weak.0 != 0 {
                jvm.forget(weak);
            }
            return false;
        }
        let mut event = *event;
        if let Some(measure) = row.measure {
            let class = match row.payload {
                Payload::Texts => taken(&mut { text }, event.values[0]),
                _ => text,
            };
            let measured = Measured::take(&mut event.values);
            if let Some(thread) = thread.filter(|_| measured.amount > 0) {
                let stack = self.stack_of_class(stack, class);
                let Measured { amount, events, .. } = measured;
                let amount = Amount { time_ns: event.began, stack, amount, events, context: None };
                self.recording.amount(thread, measure, amount);
            }
            if !measured.is_shown {
                return true;
            }
        }
        let event = &event;
        row.shown.fetch_add(1, Relaxed);
        let Event { began: began_ns, ended: ended_ns, .. } = *event;
        let values = filled(row, event, text, &mut self.recording);
        match (thread, values) {
            (Some(thread), [_, bytes, stands_for, ..]) if is_allocation => {
                let stack = self.stack_of_class(stack, text);
                let objects = stands_for.div_ceil(bytes.max(1));
                let amount =
                    Amount { time_ns: began_ns, stack, amount: stands_for, events: objects, context: None };
                self.recording.amount(thread, &ALLOCATED, amount);
                if weak.0 != 0 {
                    let collections = event.values[WEAK_INDEX + 1];
                    let tracked = TrackedObject { object: weak, collections, thread, amount };
                    self.live_objects.track(tracked, jvm);
                }
            }
            _ => {
                let kind = self.recording.marker_kind(*row.marker);
                self.recording.add_marker(thread, Marker { kind, began_ns, ended_ns, values, stack });
                if row.marker.key == COLLECTION.marker.key {
                    // The profile's writer finds out which threads the collection has stopped.
                    self.recording.marker_kind(HELD_UP);
                }
            }
        }
        true
    }

    /// Adds a stack with a class as its leaf. The JVM may not have returned the class.
    fn stack_of_class(&mut self, stack: Option<StackId>, class: &str) -> StackId {
        let class = Some(class).filter(|class| !class.is_empty()).unwrap_or("[unknown class]");
        self.recording.stack_of_class(stack, class)
    }

    /// Adds the samples of live bytes: the objects that are alive after a collection.
    /// `collections` is the number of collections so far.
    pub fn take_live_objects(&mut self, collections: u64, jvm: &mut dyn Jvm) -> Option<LiveObjectsReport> {
        for (thread, amount) in self.live_objects.survivors(collections, jvm) {
            self.recording.amount(thread, &LIVE, amount);
        }
        self.live_objects.report(collections)
    }

    /// Forgets all tracked objects, at the end of a recording.
    pub fn forget_live_objects(&mut self, jvm: &mut dyn Jvm) {
        self.live_objects.clear(jvm);
    }

    /// Returns the number of events of unknown kinds.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// Returns the number of stacks of events that bytecode refutes, though the JVM reported them.
    pub fn events_refuted(&self) -> u64 {
        self.events_refuted
    }

    /// Returns the stack of an event as it is shown. Its top frame is certain, because the JVM
    /// itself has reported it.
    fn stack_of(&mut self, event: &Event, frames: &[Frame], jvm: &mut dyn Jvm) -> Option<StackId> {
        let walk = Stack::innermost(frames, self.walks.budget.depth().min(MAX_EVENT_FRAMES));
        let (stack, trust) = self.judged_stack(walk, event.ended, jvm)?;
        self.events_refuted += u64::from(trust == Trust::Refuted);
        Some(stack)
    }

    /// Returns a stack as it is shown, and its trust by proof. `time` is in nanoseconds. Returns
    /// `None` if the walk has no frames.
    pub(super) fn judged_stack(
        &mut self,
        walk: Stack<'_>,
        time: u64,
        jvm: &mut dyn Jvm,
    ) -> Option<(StackId, Trust)> {
        self.resolved.clear();
        jvm.resolve_frames(walk.frames, time, &mut self.resolved);
        let Self { recording, walks, names, shown, resolved, .. } = self;
        let walk = Stack { frames: resolved, cut: walk.cut };
        let placed = walks.place(walk, time, recording, names, jvm);
        let refuted = match placed.standing {
            Standing::Refuted(refutation) => Some(refutation),
            Standing::Proven | Standing::Explained(_) => None,
        };
        let trust = placed.standing.trust();
        let state = Leaf::new(trust);
        let judged = Judged { leaf: placed.leaf?, lost: false, shown: state, refuted, parts: None };
        Some((shown.stack(judged, walks, recording, names, jvm), trust))
    }
}

/// Returns the full name of a frame's method.
fn name_of(frame: Frame, time: u64, jvm: &mut dyn Jvm) -> String {
    let meaning = jvm.resolve(frame.method(), time);
    jvm.method(meaning).map_or_else(|| "[unknown method]".to_owned(), |method| method.full_name())
}

/// Skips the frames of Vouch's Java library on top of a stack.
fn below_library<'f>(frames: &'f [Frame], time: u64, jvm: &mut dyn Jvm) -> &'f [Frame] {
    let own = frames.iter().take_while(|frame| name_of(**frame, time, jvm).starts_with(LIBRARY)).count();
    &frames[own..]
}

/// Skips the frames that construct the throwable on top of a stack. The JVM leaves them out of the
/// throwable's stack trace as well. Constructors of other classes stay.
fn below_constructors<'f>(frames: &'f [Frame], class: &str, time: u64, jvm: &mut dyn Jvm) -> &'f [Frame] {
    const FILLS: &str = ".fillInStackTrace";
    const CONSTRUCTS: &str = ".<init>";
    let mut names = frames.iter().map(|frame| name_of(*frame, time, jvm)).peekable();
    let mut outside = 0;
    while names.next_if(|name| name.ends_with(FILLS)).is_some() {
        outside += 1;
    }
    let constructors = names.take_while(|name| name.ends_with(CONSTRUCTS));
    let own = constructors.enumerate().filter(|(_, name)| name.strip_suffix(CONSTRUCTS) == Some(class));
    outside += own.last().map_or(0, |(at, _)| at + 1);
    &frames[outside..]
}

/// Returns the values of an event, in which each text is replaced by its id in the table of
/// strings.
fn filled(row: EventType, event: &Event, text: &str, recording: &mut Recording) -> [u64; MAX_VALUES] {
    let mut values = event.values;
    let mut left = text;
    for (value, field) in values.iter_mut().zip(row.marker.fields) {
        if field.unit == Unit::Text {
            let text = match row.payload {
                Payload::Program | Payload::Texts => taken(&mut left, *value),
                Payload::Stack | Payload::Method | Payload::Constructors => text,
            };
            *value = Marker::text_to_value(
                Some(text).filter(|text| !text.is_empty()).map(|text| recording.string(text)),
            );
        }
    }
    values
}

/// Takes the first `bytes` bytes off the texts of an event. Returns an empty text if they do not
/// end at a character boundary.
fn taken<'t>(texts: &mut &'t str, bytes: u64) -> &'t str {
    let parts = usize::try_from(bytes).ok().and_then(|bytes| texts.split_at_checked(bytes));
    let (text, left) = parts.unwrap_or_default();
    *texts = left;
    text
}
