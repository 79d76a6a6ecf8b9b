//! An event type: which JVMTI events report it, how its events are counted, and how they are shown.
//!
//! A callback may publish an event at any point of the program, so publishing never blocks. All
//! events are counted. Only a part of frequent events is shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use vouch_collect::events::{EventType, Payload};
use vouch_recording::MarkerKind;
use vouch_recording::kinds::EventKind;
use vouch_report::EventReport;
use vouch_sample::{Event, Frame, MAX_VALUES, Measured, MethodId, pad_values};
use vouch_sampling::clock;
use vouch_signal::event::{EventDetails, Publication, publish};

use super::calling_thread;
use super::drawing::Drawing;
use crate::facade::EventSubscription;

/// The maximum number of shown events of one type. A recording must fit into memory, and a profile
/// into a browser.
const MAX_SHOWN: u64 = 100_000;

/// The CPU time in ns per second that all threads together may spend on the stacks of one type. A
/// stack of 2,000 frames takes a millisecond.
const MAX_STACK_NS_PER_SECOND: u64 = 50_000_000;

/// The lowest rate, in events per second, to which [`Counts::pace`] slows a type down.
const MIN_PER_SECOND: u64 = 8;

/// An event of at least this duration in ns is long. Long events matter most, so their limits are
/// higher.
const LONG_NS: u64 = 50_000_000;
/// The limits per second for long events are this many times higher.
const LONG_LIMIT_FACTOR: u64 = 5;

/// An event type.
#[derive(Debug)]
pub struct Row {
    /// The catalogue's entry. It is `None` for an event of the agent itself, which is always
    /// recorded.
    pub kind: Option<&'static EventKind>,
    /// The marker that shows an event in a timeline.
    pub marker: &'static MarkerKind<'static>,
    /// The JVMTI events to turn on while this kind is recorded. It is empty if they are always on.
    pub subscriptions: &'static [EventSubscription],
    /// Returns true if this process can record the events, provided that JVMTI reports them.
    pub can: fn() -> bool,
    pub payload: Payload,
    /// Draws the events that stand for a measure. It is `None` if the events count for no measure,
    /// or have a weight of the JVM's.
    pub drawing: Option<&'static Drawing>,
    pub counts: Counts,
}

impl Row {
    /// Makes the type of an event of the agent itself.
    pub const fn own(marker: &'static MarkerKind<'static>) -> Self {
        Self {
            kind: None,
            marker,
            subscriptions: &[],
            can: || true,
            payload: Payload::Stack,
            drawing: None,
            counts: Counts::new(),
        }
    }

    /// Makes the type of an event of the JVM.
    pub const fn new(kind: &'static EventKind, subscriptions: &'static [EventSubscription]) -> Self {
        Self { kind: Some(kind), subscriptions, ..Self::own(&kind.marker) }
    }

    /// Makes the type of an event of the JVM about a method.
    pub const fn of_method(kind: &'static EventKind) -> Self {
        Self { payload: Payload::Method, ..Self::new(kind, &[]) }
    }

    /// Makes the type of an event that the program reports through Vouch's Java library.
    pub const fn of_program(marker: &'static MarkerKind<'static>) -> Self {
        Self { payload: Payload::Program, ..Self::own(marker) }
    }

    /// Publishes an event of the whole process. Both times are in ns.
    pub fn emit_for_process<const N: usize>(
        &'static self,
        began: u64,
        ended: u64,
        field_values: [u64; N],
        text: &str,
    ) {
        let values = pad_values(field_values);
        let event = Event { kind: self.number(), began, ended, tid: 0, serial: 0, values };
        publish(&event, EventDetails { frames: &[], text });
    }

    /// Publishes an event of the calling thread, with its stack.
    pub fn emit_here<const N: usize>(
        &'static self,
        began: u64,
        ended: u64,
        field_values: [u64; N],
        text: &str,
    ) -> Publication {
        self.emit_here_with(began, ended, pad_values(field_values), text, true)
    }

    /// Publishes an event of the calling thread, with its stack. The first fields of its type are
    /// `texts`, and the others are `field_values`.
    pub fn emit_texts_here<const T: usize, const N: usize>(
        &'static self,
        began: u64,
        ended: u64,
        texts: [&str; T],
        field_values: [u64; N],
        measured: Measured,
    ) -> Publication {
        let mut values = [0; MAX_VALUES];
        let lengths = texts.iter().map(|text| text.len() as u64);
        for (value, field) in values.iter_mut().zip(lengths.chain(field_values)) {
            *value = field;
        }
        self.emit_measured_here(began, ended, values, &texts.concat(), measured)
    }

    /// Publishes an event of the calling thread that counts for a measure, with its stack.
    pub fn emit_measured_here(
        &'static self,
        began: u64,
        ended: u64,
        mut values: [u64; MAX_VALUES],
        text: &str,
        measured: Measured,
    ) -> Publication {
        measured.store(&mut values);
        let before = clock::own_cpu();
        let publication = self.emit_here_with(began, ended, values, text, true);
        if let Some(drawing) = self.drawing.filter(|_| measured.amount > 0) {
            drawing.spend(ended, clock::own_cpu().saturating_sub(before));
        }
        publication
    }

    /// Publishes an event of the calling thread, with or without its stack.
    pub fn emit_here_with(
        &'static self,
        began: u64,
        ended: u64,
        values: [u64; MAX_VALUES],
        text: &str,
        with_stack: bool,
    ) -> Publication {
        let (tid, serial) = calling_thread::own();
        let event = Event { kind: self.number(), began, ended, tid, serial, values };
        let publish = |frames: &[Frame]| publish(&event, EventDetails { frames, text });
        if !with_stack {
            return publish(&[]);
        }
        let before = clock::own_cpu();
        let publication = calling_thread::with_stack(publish);
        self.counts.pay(clock::own_cpu().saturating_sub(before));
        publication
    }

    /// Publishes an event about a method.
    pub fn emit_for_method<const N: usize>(&'static self, at: u64, method: MethodId, field_values: [u64; N]) {
        let values = pad_values(field_values);
        let event = Event { kind: self.number(), began: at, ended: at, tid: 0, serial: 0, values };
        publish(&event, EventDetails { frames: &[Frame::Java { method, bci: 0 }], text: "" });
    }

    /// Counts an event, and returns true if it is to be shown.
    pub fn counted(&self, began: u64, ended: u64) -> bool {
        let took = ended.saturating_sub(began);
        self.counts.add(took);
        self.kind
            .is_none_or(|kind| took >= kind.min_shown_ns && self.admits(took, ended, kind.max_per_second))
    }

    /// Counts an event like [`Self::counted`], also for the type's measure. Returns `None` if it is
    /// neither shown nor drawn for the measure.
    pub fn measured(&self, began: u64, ended: u64, amount: u64) -> Option<Measured> {
        let measured = self.drawing.map_or_else(Measured::default, |drawing| drawing.draw(amount));
        let measured = Measured { is_shown: self.counted(began, ended), ..measured };
        (measured.is_shown || measured.amount > 0).then_some(measured)
    }

    /// Counts an event, and returns true if it is to be shown within this limit per second. The
    /// limit for long events is higher.
    pub fn counted_within(&self, began: u64, ended: u64, max_per_second: u64) -> bool {
        let took = ended.saturating_sub(began);
        self.counts.add(took);
        self.admits(took, ended, max_per_second)
    }

    fn admits(&self, took: u64, ended: u64, max_per_second: u64) -> bool {
        let times = if took >= LONG_NS { LONG_LIMIT_FACTOR } else { 1 };
        self.counts.admits(ended, max_per_second * times, MAX_STACK_NS_PER_SECOND * times)
    }

    /// Returns this type as the recorder needs it.
    pub fn as_recorded(&'static self) -> EventType {
        EventType {
            number: self.number(),
            marker: self.marker,
            payload: self.payload,
            measure: self.drawing.map(|drawing| drawing.measure),
            shown: self.counts.shown(),
        }
    }

    /// Returns the number that identifies events of this type.
    pub fn number(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }
}

/// Defines how the rate of a type's events should change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Fewer,
    Same,
    /// Raise the rate by this factor.
    More(u64),
}

/// Counts the events of a type since the recording began.
#[derive(Debug)]
pub struct Counts {
    wanted: AtomicBool,
    all: AtomicU64,
    took_ns: AtomicU64,
    longest_ns: AtomicU64,
    admitted: AtomicU64,
    shown: AtomicU64,
    left_out: AtomicU64,
    second: AtomicU64,
    in_second: AtomicU64,
    ns_in_second: AtomicU64,
}

impl Counts {
    const fn new() -> Self {
        let [all, took_ns, longest_ns, admitted, shown, left_out, second, in_second, ns_in_second] =
            [const { AtomicU64::new(0) }; 9];
        let wanted = AtomicBool::new(false);
        Self { wanted, all, took_ns, longest_ns, admitted, shown, left_out, second, in_second, ns_in_second }
    }

    /// Returns true if the events are recorded.
    pub fn wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    /// Sets whether the events are recorded.
    pub fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Relaxed);
    }

    /// Resets all counters for a new recording.
    pub fn begin(&self) {
        let Self {
            wanted: _,
            all,
            took_ns,
            longest_ns,
            admitted,
            shown,
            left_out,
            second,
            in_second,
            ns_in_second,
        } = self;
        for count in [all, took_ns, longest_ns, admitted, shown, left_out, second, in_second, ns_in_second] {
            count.store(0, Relaxed);
        }
    }

    /// Counts an event that took this many ns.
    pub fn add(&self, took: u64) {
        self.all.fetch_add(1, Relaxed);
        self.took_ns.fetch_add(took, Relaxed);
        self.longest_ns.fetch_max(took, Relaxed);
    }

    /// Returns the event's ordinal in the present second, from 1. For the first event of a second,
    /// it also returns the number of events in the last second.
    fn ordinal_in_second(&self, now: u64) -> (u64, Option<u64>) {
        const SECOND: u64 = 1_000_000_000;
        // Threads may call this slightly out of order.
        let begins = self.second.fetch_max(now / SECOND, Relaxed) < now / SECOND;
        let last = begins.then(|| {
            self.ns_in_second.store(0, Relaxed);
            self.in_second.swap(0, Relaxed)
        });
        (self.in_second.fetch_add(1, Relaxed) + 1, last)
    }

    /// Returns true if one more event is to be shown.
    fn admits(&self, now: u64, max_per_second: u64, most_ns_in_a_second: u64) -> bool {
        let admitted = self.ordinal_in_second(now).0 <= max_per_second
            && self.ns_in_second.load(Relaxed) < most_ns_in_a_second
            && self.admitted.load(Relaxed) < MAX_SHOWN;
        self.admitted.fetch_add(admitted.into(), Relaxed);
        self.left_out.fetch_add((!admitted).into(), Relaxed);
        admitted
    }

    /// Adds the CPU time in ns that a stack took.
    fn pay(&self, ns: u64) {
        self.ns_in_second.fetch_add(ns, Relaxed);
    }

    /// Admits an event in any case, and returns how the rate should change from now on. It is for
    /// weighted events: their sum would be wrong if one were left out.
    pub fn pace(&self, now: u64, max_per_second: u64) -> Pace {
        const OFTEN: u64 = 50_000;
        let before = self.admitted.fetch_add(1, Relaxed);
        // The rate falls with the number of events so far. Otherwise a recording of a day would be
        // too large to open.
        let most = (max_per_second / (1 + before / OFTEN)).max(MIN_PER_SECOND);
        match self.ordinal_in_second(now) {
            (place, _) if place.is_multiple_of(most) => Pace::Fewer,
            (_, Some(last)) if last < most / 4 => Pace::More(most / (2 * last.max(1))),
            _ => Pace::Same,
        }
    }

    /// Returns the counter of the events that were added to the recording.
    pub fn shown(&self) -> &AtomicU64 {
        &self.shown
    }

    /// Returns the counters for the report.
    pub fn report(&self) -> EventReport {
        let millis = |ns: &AtomicU64| vouch_report::millis(ns.load(Relaxed));
        EventReport {
            count: self.all.load(Relaxed),
            shown: self.shown.load(Relaxed),
            left_out: self.left_out.load(Relaxed),
            took_ms: millis(&self.took_ns),
            longest_ms: millis(&self.longest_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ones_are_shown_where_there_are_too_many_others() {
        static ROW: Row = Row::new(&vouch_recording::kinds::MONITOR, &[]);
        let (second, milli) = (1_000_000_000, 1_000_000);
        let shown = |took| ROW.counted(7 * second - took, 7 * second);
        assert_eq!((0..300).filter(|_| shown(2 * milli)).count(), 200);
        assert_eq!((0..300).filter(|_| shown(60 * milli)).count(), 300);
        assert!(!shown(2 * milli) && !shown(milli / 2));
        assert_eq!(ROW.counts.report().count, 602, "all are counted");
    }

    #[test]
    fn all_are_counted_and_of_too_many_a_part_is_shown() {
        let counts = Counts::new();
        let second = 1_000_000_000;
        let mut shown = 0;
        for place in 0..1_000 {
            counts.add(place * 1_000);
            shown += u64::from(counts.admits(7 * second + place, 200, MAX_STACK_NS_PER_SECOND));
        }
        assert_eq!(shown, 200);
        assert_eq!(counts.report().left_out, 800);
        assert!(counts.admits(8 * second, 200, MAX_STACK_NS_PER_SECOND), "the next second has room again");
        counts.pay(MAX_STACK_NS_PER_SECOND);
        assert!(!counts.admits(8 * second, 200, MAX_STACK_NS_PER_SECOND), "its stacks took too long");
        assert!(
            counts.admits(8 * second, 200, 5 * MAX_STACK_NS_PER_SECOND),
            "what matters more has more time"
        );
        assert!(counts.admits(9 * second, 200, MAX_STACK_NS_PER_SECOND), "so has the next second");
        assert_eq!(counts.report().left_out, 801);
        let fewer = (0..1_000).filter(|_| counts.pace(19 * second, 200) == Pace::Fewer).count();
        assert_eq!(fewer, 5, "once for each budget");
        let paces = [20, 20, 21, 21].map(|at| counts.pace(at * second, 200));
        assert_eq!(paces, [Pace::Same, Pace::Same, Pace::More(50), Pace::Same], "after a second with two");
        // After 50,000 events, the rate is halved.
        let fewer =
            |counts: &Counts| (0..1_000).filter(|_| counts.pace(30 * second, 200) == Pace::Fewer).count();
        for _ in 0..50_000 {
            counts.pace(29 * second, 200);
        }
        assert_eq!(fewer(&counts), 10);
        let report = counts.report();
        assert_eq!((report.count, report.shown), (1_000, 0), "none has come into a recording");
        counts.shown().fetch_add(1, Relaxed);
        assert_eq!(counts.report().shown, 1);
        assert!((report.longest_ms - 0.999).abs() < 1e-9 && (report.took_ms - 499.5).abs() < 1e-9);
        counts.begin();
        assert_eq!(counts.report(), EventReport::default());
    }
}
