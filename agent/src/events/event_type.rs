//! A kind of events: how it is told, how it is counted, how it is shown.
//!
//! Whoever publishes an event waits for nobody, be it a callback of the JVM's in the midst of
//! something. All are counted; of what comes too often a part is shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use vouch_recording::MarkKind;
use vouch_recording::kinds::EventKind;
use vouch_report::EventReport;
use vouch_sample::{Event, Frame, MAX_VALUES, MethodId, pad_values};
use vouch_signal::event::{EventDetails, publish};

use super::calling_thread;
use crate::clock;
use crate::facade::EventSubscription;

/// So many of a kind are shown in all: a recording is to fit into memory, and into a browser.
const MOST: u64 = 100_000;

/// Threads spend at most so much CPU time in a second on the stacks of a kind, all together: a
/// stack of 2,000 frames takes a millisecond.
const MOST_NS: u64 = 50_000_000;

/// Where none is left out so many are to come in a second, however many there are already.
const FEWEST: u64 = 8;

/// What took so long matters most: it is shown where there are already too many,
const LONG_NS: u64 = 50_000_000;
/// until there are so many times more.
const TIMES: u64 = 5;

/// What the frames and the text of an event are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    /// Its thread's stack, and a text for its figure that is one.
    Stack,
    /// Its thread's stack, and the texts of all figures that are texts, of which each has its
    /// length for a value.
    Texts,
    /// One frame of the method that it is about, which is named when there is time for it.
    Method,
    /// The same, where the Java library's frames are on top of the stack.
    Program,
    /// Its thread's stack with the constructors of a throwable on top, and the throwable's class as
    /// a text.
    Constructors,
}

/// A kind of events.
#[derive(Debug)]
pub struct Row {
    /// Its place in the catalogue; the agent's own have none, and are always told.
    pub kind: Option<&'static EventKind>,
    /// How it stands in a timeline.
    pub mark: &'static MarkKind<'static>,
    /// The JVMTI events to turn on while this kind is recorded. It is empty if they are always on.
    pub subscriptions: &'static [EventSubscription],
    /// Whether it can be told of in this process, when all that is there.
    pub can: fn() -> bool,
    pub brings: Brings,
    pub counts: Counts,
}

impl Row {
    /// Of what the agent itself does.
    pub const fn own(mark: &'static MarkKind<'static>) -> Self {
        Self {
            kind: None,
            mark,
            subscriptions: &[],
            can: || true,
            brings: Brings::Stack,
            counts: Counts::new(),
        }
    }

    /// Of what the JVM tells.
    pub const fn of(kind: &'static EventKind, subscriptions: &'static [EventSubscription]) -> Self {
        Self { kind: Some(kind), subscriptions, ..Self::own(&kind.mark) }
    }

    /// Of what the JVM tells of a method.
    pub const fn of_method(kind: &'static EventKind) -> Self {
        Self { brings: Brings::Method, ..Self::of(kind, &[]) }
    }

    /// Of what the program tells.
    pub const fn of_program(mark: &'static MarkKind<'static>) -> Self {
        Self { brings: Brings::Program, ..Self::own(mark) }
    }

    /// It happened to all of the process, from a time to a time.
    pub fn happened<const N: usize>(&'static self, began: u64, ended: u64, figures: [u64; N], text: &str) {
        let values = pad_values(figures);
        let event = Event { kind: self.number(), began, ended, tid: 0, serial: 0, values };
        publish(&event, EventDetails { frames: &[], text });
    }

    /// The same of the calling thread, with its stack; false if there was no room for it.
    pub fn happened_here<const N: usize>(
        &'static self,
        began: u64,
        ended: u64,
        figures: [u64; N],
        text: &str,
    ) -> bool {
        self.told_here(began, ended, pad_values(figures), text, true)
    }

    /// The same of a kind whose first figures are texts, with these.
    pub fn said_here<const T: usize, const N: usize>(
        &'static self,
        began: u64,
        ended: u64,
        texts: [&str; T],
        figures: [u64; N],
    ) -> bool {
        let mut values = [0; MAX_VALUES];
        let lengths = texts.iter().map(|text| text.len() as u64);
        for (value, figure) in values.iter_mut().zip(lengths.chain(figures)) {
            *value = figure;
        }
        self.told_here(began, ended, values, &texts.concat(), true)
    }

    /// The same, with its stack or without.
    pub fn told_here(
        &'static self,
        began: u64,
        ended: u64,
        values: [u64; MAX_VALUES],
        text: &str,
        with_stack: bool,
    ) -> bool {
        let (tid, serial) = calling_thread::own();
        let event = Event { kind: self.number(), began, ended, tid, serial, values };
        let publish = |frames: &[Frame]| publish(&event, EventDetails { frames, text });
        if !with_stack {
            return publish(&[]);
        }
        let before = clock::own_cpu();
        let has_room = calling_thread::with_stack(publish);
        self.counts.pay(clock::own_cpu().saturating_sub(before));
        has_room
    }

    /// It happened to a method.
    pub fn happened_to<const N: usize>(&'static self, at: u64, method: MethodId, figures: [u64; N]) {
        let values = pad_values(figures);
        let event = Event { kind: self.number(), began: at, ended: at, tid: 0, serial: 0, values };
        publish(&event, EventDetails { frames: &[Frame::Java { method, bci: 0 }], text: "" });
    }

    /// Counts one that took from a time to a time; true if it is to be shown.
    pub fn counted(&self, began: u64, ended: u64) -> bool {
        let took = ended.saturating_sub(began);
        self.counts.add(took);
        self.kind
            .is_none_or(|kind| took >= kind.min_shown_ns && self.admits(took, ended, kind.max_per_second))
    }

    /// The same, where so many are shown in a second, and of long ones more.
    pub fn counted_within(&self, began: u64, ended: u64, max_per_second: u64) -> bool {
        let took = ended.saturating_sub(began);
        self.counts.add(took);
        self.admits(took, ended, max_per_second)
    }

    fn admits(&self, took: u64, ended: u64, max_per_second: u64) -> bool {
        let times = if took >= LONG_NS { TIMES } else { 1 };
        self.counts.admits(ended, max_per_second * times, MOST_NS * times)
    }

    /// By which an event says that it is one of these.
    pub fn number(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }
}

/// How often a kind should be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Fewer,
    Same,
    /// So many times more.
    More(u64),
}

/// How many there were, since a recording began that wants them.
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

    /// Whether they are recorded.
    pub fn wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    /// A recording begins that wants them, or ends.
    pub fn set_wanted(&self, wanted: bool) {
        self.wanted.store(wanted, Relaxed);
    }

    /// A recording begins.
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

    /// Counts one.
    pub fn add(&self, took: u64) {
        self.all.fetch_add(1, Relaxed);
        self.took_ns.fetch_add(took, Relaxed);
        self.longest_ns.fetch_max(took, Relaxed);
    }

    /// Its place among those of the present second, from 1; and how many the last one had, if a new
    /// one begins with it.
    fn place(&self, now: u64) -> (u64, Option<u64>) {
        const SECOND: u64 = 1_000_000_000;
        // Threads come here a little out of order.
        let begins = self.second.fetch_max(now / SECOND, Relaxed) < now / SECOND;
        let last = begins.then(|| {
            self.ns_in_second.store(0, Relaxed);
            self.in_second.swap(0, Relaxed)
        });
        (self.in_second.fetch_add(1, Relaxed) + 1, last)
    }

    /// Whether one more is to be shown.
    fn admits(&self, now: u64, max_per_second: u64, most_ns_in_a_second: u64) -> bool {
        let admitted = self.place(now).0 <= max_per_second
            && self.ns_in_second.load(Relaxed) < most_ns_in_a_second
            && self.admitted.load(Relaxed) < MOST;
        self.admitted.fetch_add(admitted.into(), Relaxed);
        self.left_out.fetch_add((!admitted).into(), Relaxed);
        admitted
    }

    /// The stack of one took so much CPU time.
    fn pay(&self, ns: u64) {
        self.ns_in_second.fetch_add(ns, Relaxed);
    }

    /// Admits one whatever the budget; and says whether there should be fewer of them from here on,
    /// or more.
    pub fn pace(&self, now: u64, max_per_second: u64) -> Pace {
        const OFTEN: u64 = 50_000;
        let before = self.admitted.fetch_add(1, Relaxed);
        // The more there are already, the fewer are to come: else those of a day would be more than
        // anybody can open.
        let most = (max_per_second / (1 + before / OFTEN)).max(FEWEST);
        match self.place(now) {
            (place, _) if place.is_multiple_of(most) => Pace::Fewer,
            (_, Some(last)) if last < most / 4 => Pace::More(most / (2 * last.max(1))),
            _ => Pace::Same,
        }
    }

    /// One has come into the recording.
    pub fn show(&self) {
        self.shown.fetch_add(1, Relaxed);
    }

    /// As the report has them.
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
        static ROW: Row = Row::of(&vouch_recording::kinds::MONITOR, &[]);
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
            shown += u64::from(counts.admits(7 * second + place, 200, MOST_NS));
        }
        assert_eq!(shown, 200);
        assert_eq!(counts.report().left_out, 800);
        assert!(counts.admits(8 * second, 200, MOST_NS), "the next second has room again");
        counts.pay(MOST_NS);
        assert!(!counts.admits(8 * second, 200, MOST_NS), "its stacks took too long");
        assert!(counts.admits(8 * second, 200, 5 * MOST_NS), "what matters more has more time");
        assert!(counts.admits(9 * second, 200, MOST_NS), "so has the next second");
        assert_eq!(counts.report().left_out, 801);
        let fewer = (0..1_000).filter(|_| counts.pace(19 * second, 200) == Pace::Fewer).count();
        assert_eq!(fewer, 5, "once for each budget");
        let paces = [20, 20, 21, 21].map(|at| counts.pace(at * second, 200));
        assert_eq!(paces, [Pace::Same, Pace::Same, Pace::More(50), Pace::Same], "after a second with two");
        // After a first fifty thousand half as many are to come.
        let fewer =
            |counts: &Counts| (0..1_000).filter(|_| counts.pace(30 * second, 200) == Pace::Fewer).count();
        for _ in 0..50_000 {
            counts.pace(29 * second, 200);
        }
        assert_eq!(fewer(&counts), 10);
        let report = counts.report();
        assert_eq!((report.count, report.shown), (1_000, 0), "none has come into a recording");
        counts.show();
        assert_eq!(counts.report().shown, 1);
        assert!((report.longest_ms - 0.999).abs() < 1e-9 && (report.took_ms - 499.5).abs() < 1e-9);
        counts.begin();
        assert_eq!(counts.report(), EventReport::default());
    }
}
