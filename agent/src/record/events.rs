//! What has happened beside the samples, as it comes: each event becomes a mark of its thread, or an allocation.
//!
//! A stack that comes with one is held to the bytecode and shown as a sample's is. It is no sample: it must never count as one.

use vouch_recording::kinds::ALLOCATION;
use vouch_recording::{Allocation, Figure, Mark, StackId, StringId, Unit};
use vouch_sample::{Event, Frame, VALUES};
use vouch_signal::event;
use vouch_signal::lane::{Entry, Lane};

use super::Recorder;
use super::show::Judged;
use super::tree::Standing;
use super::walks::fate;
use crate::events::{DEEPEST, Row};
use crate::jvm::Jvm;

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
        if thread.is_none() && event.tid != 0 {
            return;
        }
        row.counts.show();
        let Event { began: began_ns, ended: ended_ns, .. } = *event;
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| self.recording.string(text));
        let values = filled(row.mark.figures, event, text);
        match (thread, values) {
            (Some(thread), [_, bytes, stands_for, _]) if row.mark.key == ALLOCATION.mark.key => {
                let class = text.unwrap_or_else(|| self.recording.string("[unknown class]"));
                let allocation = Allocation { time_ns: began_ns, stack, class, bytes, stands_for };
                self.recording.allocation(thread, allocation);
            }
            _ => {
                let kind = self.recording.mark_kind(*row.mark);
                self.recording.mark(thread, Mark { kind, began_ns, ended_ns, values, stack });
            }
        }
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
        jvm.meant(frames, event.ended, &mut self.meant);
        let Self { recording, walks, names, shown, meant, .. } = self;
        let placed = walks.place(meant, DEEPEST, recording, names, jvm);
        let refuted = match placed.standing {
            Standing::Refuted(offence) => Some(offence),
            Standing::Proven | Standing::Explained => None,
        };
        self.events_refuted += u64::from(refuted.is_some());
        let fate = fate(placed.standing);
        let judged = Judged { leaf: placed.leaf?, lost: false, fate, refuted, parts: None };
        Some(shown.stack(judged, walks, recording, names, jvm))
    }
}

/// How the method of a frame is called.
fn name_of(frame: Frame, time: u64, jvm: &mut dyn Jvm) -> String {
    let meaning = jvm.meaning(frame.method(), time);
    jvm.method(meaning).map_or_else(|| "[unknown method]".to_owned(), |method| method.full_name())
}

/// The values of an event, its text in its place.
fn filled(figures: &[Figure], event: &Event, text: Option<StringId>) -> [u64; VALUES] {
    let mut values = event.values;
    for (value, figure) in values.iter_mut().zip(figures) {
        if figure.unit == Unit::Text {
            *value = Mark::of_text(text);
        }
    }
    values
}
