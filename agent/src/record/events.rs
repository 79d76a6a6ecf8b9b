//! What has happened beside the samples, as it comes: each event becomes a mark of its thread, or an allocation.
//!
//! A stack that comes with one is held to the bytecode and shown as a sample's is. It is no sample: it must never count as one.

use vouch_recording::kinds::ALLOCATION;
use vouch_recording::{Allocation, Figure, Mark, Recording, StackId, Unit};
use vouch_sample::{Event, Frame};
use vouch_signal::event;
use vouch_signal::lane::{Entry, Lane};

use super::Recorder;
use super::show::Judged;
use super::tree::Standing;
use super::walks::fate;
use crate::events::Row;
use crate::jvm::Jvm;

/// Between the texts of an event that has several.
const APART: char = '\0';

impl Recorder {
    /// Takes in what has happened meanwhile.
    pub fn drain_events(&mut self, lanes: &[Lane<'_>], jvm: &mut dyn Jvm) {
        for lane in lanes {
            lane.drain(|entry| self.take_event(entry, jvm));
        }
    }

    fn take_event(&mut self, entry: &Entry<'_>, jvm: &mut dyn Jvm) {
        let event = event::read(entry);
        let row = event.and_then(|event| self.events.iter().find(|row| row.number() == event.kind));
        let (Some(event), Some(row)) = (event, row) else {
            self.events_lost += 1;
            return;
        };
        let frames: Vec<Frame> = event::frames(entry).collect();
        let text = String::from_utf8_lossy(&event::text(entry).collect::<Vec<u8>>()).into_owned();
        let (text, stack) = match frames.first() {
            Some(frame) if row.of_method => (name_of(*frame, event.began, jvm), None),
            _ => (text, self.stack_of(&event, &frames, jvm)),
        };
        self.keep(row, &event, &text, stack);
    }

    fn keep(&mut self, row: &Row, event: &Event, text: &str, stack: Option<StackId>) {
        let thread = self.tracks.of_event(event, &mut self.recording);
        let values = filled(row.mark.figures, event, text, &mut self.recording);
        if let ([class, bytes, stands_for, _], true) = (values, row.mark.key == ALLOCATION.mark.key) {
            // Of a thread that nobody wants to see.
            let Some(thread) = thread else { return };
            let class = Mark::text_of(class).unwrap_or_else(|| self.recording.string("[unknown class]"));
            let allocation = Allocation { time_ns: event.began, stack, class, bytes, stands_for };
            return self.recording.allocation(thread, allocation);
        }
        let kind = self.recording.mark_kind(*row.mark);
        let mark = Mark { kind, began_ns: event.began, ended_ns: event.ended, values, stack };
        self.recording.mark(thread, mark);
    }

    /// How many events there were of which nobody knows what they are.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// The stack of an event, as it is shown.
    fn stack_of(&mut self, event: &Event, frames: &[Frame], jvm: &mut dyn Jvm) -> Option<StackId> {
        self.meant.clear();
        jvm.meant(frames, event.ended, &mut self.meant);
        let Self { recording, walks, names, shown, meant, .. } = self;
        let placed = walks.place(meant, recording, names, jvm);
        // The JVM itself has told it: there is no other account of the root.
        let root = meant.last().map(|root| root.method());
        let standing = walks.judge(placed, event.serial, jvm, |_| root);
        let refuted = match standing {
            Standing::Refuted(offence) => Some(offence),
            Standing::Proven | Standing::Explained => None,
        };
        let judged = Judged { leaf: placed.leaf?, lost: false, fate: fate(standing), refuted, parts: None };
        Some(shown.stack(judged, walks, recording, names, jvm))
    }
}

/// How the method of a frame is called.
fn name_of(frame: Frame, time: u64, jvm: &mut dyn Jvm) -> String {
    let meaning = jvm.meaning(frame.method(), time);
    jvm.method(meaning).map_or_else(|| "[unknown method]".to_owned(), |method| method.full_name())
}

/// The values of an event, its texts in their places.
fn filled(
    figures: &[Figure],
    event: &Event,
    text: &str,
    recording: &mut Recording,
) -> [u64; vouch_sample::VALUES] {
    let mut values = event.values;
    let mut texts = text.split(APART);
    for (value, figure) in values.iter_mut().zip(figures) {
        if figure.unit == Unit::Text {
            let text = texts.next().filter(|text| !text.is_empty());
            *value = Mark::of_text(text.map(|text| recording.string(text)));
        }
    }
    values
}
