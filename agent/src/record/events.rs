//! What has happened beside the samples, as it comes: each event becomes a mark of its thread, or
//! an allocation.
//!
//! A stack that comes with one is held to the bytecode and shown as a sample's is. It is no sample:
//! it must never count as one.

use std::collections::HashMap;

use vouch_recording::kinds::{ALLOCATION, COLLECTION, HELD_UP};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Mark, Recording, StackId, Unit};
use vouch_report::{WaitingReport, millis};
use vouch_sample::{Event, Frame, MAX_VALUES, Stack};
use vouch_signal::event;
use vouch_signal::lane::{Entry, Lane};

use super::Recorder;
use super::show::Judged;
use super::still::Still;
use super::tree::Standing;
use super::walks::fate;
use crate::events::{Brings, DEEPEST, Row, STILL_ENTERS, STILL_PARKS};
use crate::jvm::{Jvm, WaitTarget};
use crate::markers::markers;
use crate::threads::Waiting;

/// So many waits of a kind that are not over are told, and of so many who has what they want: the
/// JVM stands still for each.
const STILL: usize = 200;
const OWNERS: usize = 20;

/// What the names of the Java library's methods begin with.
const LIBRARY: &str = "dev.vouch.";

impl Recorder {
    /// Takes in what has happened meanwhile.
    pub fn drain_events(&mut self, lanes: &[Lane<'_>], jvm: &mut dyn Jvm) {
        for lane in lanes {
            lane.drain(|entry| self.take_event(entry, jvm));
        }
    }

    /// What threads wait for that is not over, as far as the JVM says: of those that have waited
    /// the longest.
    pub fn still_waiting(&self, mut waiting: Vec<Waiting>, jvm: &mut dyn Jvm) -> Vec<Still> {
        let is_lock = |waiting: &Waiting| waiting.wait.kind == STILL_ENTERS.number();
        waiting.retain(|waiting| self.events.iter().any(|row| row.number() == waiting.wait.kind));
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

    /// Tells of these, each with a mark, and those that want a lock as lines of the report.
    pub fn take_still(&mut self, still: Vec<Still>, now: u64, jvm: &mut dyn Jvm) -> Vec<WaitingReport> {
        let mut told = Vec::new();
        for Still { waiting: Waiting { tid, serial, wait }, wanted: WaitTarget { class, owner }, frames } in
            still
        {
            let Some(row) = self.events.iter().find(|row| row.number() == wait.kind) else { continue };
            let is_park = wait.kind == STILL_PARKS.number();
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
            if self.keep(row, &event, &text, stack)
                && let Some(thread) = self.tracks.name(serial, wait.since)
                && (wait.kind == STILL_ENTERS.number() || is_park && owner.is_some())
            {
                let waited_ms = millis(now.saturating_sub(wait.since));
                told.push(WaitingReport { thread, class, owner, waited_ms });
            }
        }
        told
    }

    fn take_event(&mut self, entry: &Entry<'_>, jvm: &mut dyn Jvm) {
        let event = event::read(entry);
        let row = event.and_then(|event| self.row(event.kind));
        let (Some(event), Some(row)) = (event, row) else {
            self.events_lost += 1;
            return;
        };
        let frames: Vec<Frame> = event::frames(entry).collect();
        let text = String::from_utf8_lossy(&event::text(entry).collect::<Vec<u8>>()).into_owned();
        let (text, stack) = match (frames.first(), row.brings) {
            (Some(frame), Brings::Method) => (name_of(*frame, event.began, jvm), None),
            (Some(_), Brings::Program) => {
                (text, self.stack_of(&event, below_library(&frames, event.ended, jvm), jvm))
            }
            (Some(_), Brings::Constructors) => {
                let below = below_constructors(&frames, &text, event.ended, jvm);
                (text, self.stack_of(&event, below, jvm))
            }
            _ => (text, self.stack_of(&event, &frames, jvm)),
        };
        self.keep(row, &event, &text, stack);
    }

    /// The row of a kind of events: one of the agent's, or of the program's own.
    fn row(&self, kind: u64) -> Option<&'static Row> {
        self.events.iter().copied().find(|row| row.number() == kind).or_else(|| markers().row_of(kind))
    }

    /// False if it happened to a thread that is none of the recording's.
    fn keep(&mut self, row: &Row, event: &Event, text: &str, stack: Option<StackId>) -> bool {
        let thread = self.tracks.of_event(event, &mut self.recording);
        if thread.is_none() && event.tid != 0 {
            return false;
        }
        row.counts.show();
        let Event { began: began_ns, ended: ended_ns, .. } = *event;
        let values = filled(row, event, text, &mut self.recording);
        match (thread, values) {
            (Some(thread), [_, bytes, stands_for, ..]) if row.mark.key == ALLOCATION.mark.key => {
                let class = Some(text).filter(|text| !text.is_empty()).unwrap_or("[unknown class]");
                let stack = self.recording.stack_of_class(stack, class);
                let objects = stands_for.div_ceil(bytes.max(1));
                let amount = Amount { time_ns: began_ns, stack, amount: stands_for, events: objects };
                self.recording.amount(thread, &ALLOCATED, amount);
            }
            _ => {
                let kind = self.recording.mark_kind(*row.mark);
                self.recording.mark(thread, Mark { kind, began_ns, ended_ns, values, stack });
                if row.mark.key == COLLECTION.mark.key {
                    // Whom it has held up is found out by whoever writes the profile.
                    self.recording.mark_kind(HELD_UP);
                }
            }
        }
        true
    }

    /// How many events there were of which nobody knows what they are.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// How many stacks of events bytecode speaks against, though the JVM itself has told them.
    pub fn events_refuted(&self) -> u64 {
        self.events_refuted
    }

    /// The stack of an event, as it is shown. Where it ends the JVM itself has said.
    fn stack_of(&mut self, event: &Event, frames: &[Frame], jvm: &mut dyn Jvm) -> Option<StackId> {
        self.meant.clear();
        jvm.resolve_frames(frames, event.ended, &mut self.meant);
        let Self { recording, walks, names, shown, meant, .. } = self;
        let walk = Stack::innermost(meant, walks.room.depth().min(DEEPEST));
        let placed = walks.place(walk, event.ended, recording, names, jvm);
        let refuted = match placed.standing {
            Standing::Refuted(offence) => Some(offence),
            Standing::Proven | Standing::Explained(_) => None,
        };
        self.events_refuted += u64::from(refuted.is_some());
        let fate = fate(placed.standing);
        let shown_leaf = fate.into();
        let judged = Judged { leaf: placed.leaf?, lost: false, shown: shown_leaf, refuted, parts: None };
        Some(shown.stack(judged, walks, recording, names, jvm))
    }
}

/// How the method of a frame is called.
fn name_of(frame: Frame, time: u64, jvm: &mut dyn Jvm) -> String {
    let meaning = jvm.resolve(frame.method(), time);
    jvm.method(meaning).map_or_else(|| "[unknown method]".to_owned(), |method| method.full_name())
}

/// The frames of a stack that are none of the Java library's, which stand on top of it.
fn below_library<'f>(frames: &'f [Frame], time: u64, jvm: &mut dyn Jvm) -> &'f [Frame] {
    let own = frames.iter().take_while(|frame| name_of(**frame, time, jvm).starts_with(LIBRARY)).count();
    &frames[own..]
}

/// The frames of a stack without those that construct the throwable on top of it: the JVM leaves
/// the same frames out of the throwable's own stack trace. A constructor of another class stays.
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

/// The values of an event, its texts in their places.
fn filled(row: &Row, event: &Event, text: &str, recording: &mut Recording) -> [u64; MAX_VALUES] {
    let mut values = event.values;
    let mut left = text;
    for (value, figure) in values.iter_mut().zip(row.mark.figures) {
        if figure.unit == Unit::Text {
            let text = match row.brings {
                Brings::Program | Brings::Texts => taken(&mut left, *value),
                Brings::Stack | Brings::Method | Brings::Constructors => text,
            };
            *value = Mark::text_to_value(
                Some(text).filter(|text| !text.is_empty()).map(|text| recording.string(text)),
            );
        }
    }
    values
}

/// Takes so many bytes from the front of texts; what lies askew is none.
fn taken<'t>(texts: &mut &'t str, bytes: u64) -> &'t str {
    let parts = usize::try_from(bytes).ok().and_then(|bytes| texts.split_at_checked(bytes));
    let (text, left) = parts.unwrap_or_default();
    *texts = left;
    text
}
