//! One thread's record in the recording: its start and end, its names and its CPU time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread's name, as an index into its list of names.
pub type NameId = usize;

/// The maximum number of names that a thread record keeps. All further names of the thread share
/// the last entry.
const MOST_NAMES: usize = 64;

/// The minimum and maximum number of renames that are kept. Above the minimum, a rename is kept
/// while a sample may still ask for it, because samples arrive a moment late. The limit saves
/// memory when a worker is renamed for each request.
const FEW_SPANS: usize = 256;
const MOST_SPANS: usize = 1 << 16;
const LATE_NS: u64 = 10_000_000_000;

/// How many characters of a name are kept.
pub const MAX_NAME_CHARS: usize = 256;

/// How many longer names were cut since the agent was loaded.
static NAMES_CUT: AtomicU64 = AtomicU64::new(0);

/// Returns how many thread names had more than [`MAX_NAME_CHARS`] characters.
pub fn names_cut() -> u64 {
    NAMES_CUT.load(Ordering::Relaxed)
}

/// Returns the end of the part of a name that is kept before an ellipsis. Returns `None` if all of
/// it is kept.
fn cut_at(name: &str) -> Option<usize> {
    let mut ends = name.char_indices().skip(MAX_NAME_CHARS - 1);
    let (end, _) = ends.next()?;
    ends.next().map(|_| end)
}

/// A thread, from its start (or the recording's) to its end.
#[derive(Debug, Clone)]
pub struct Life {
    pub serial: u32,
    pub tid: u32,
    pub started: u64,
    pub ended: Option<u64>,
    pub java: bool,
    /// True for the agent's own threads, which no profile shows.
    pub own: bool,
    /// The address of the start routine, if the agent saw the thread's creation.
    pub routine: Option<usize>,
    /// True once the engine was armed for the thread.
    pub sampled: bool,
    /// The thread's CPU clock when it joined the recording, and at the last reading.
    pub cpu_start: u64,
    pub cpu_now: u64,
    /// The thread's kernel name; empty if it was not read.
    pub kernel_name: String,
    names: Vec<Named>,
    /// The renames, in order of time.
    spans: VecDeque<Span>,
    /// The name before the first span.
    before: NameId,
    /// The thread's CPU clock when it took its present name.
    present_since: u64,
}

/// A Java thread that the recording samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JavaThread {
    pub tid: u32,
    pub serial: u32,
    /// The time of the thread's start, or of the recording's: CLOCK_MONOTONIC, in nanoseconds.
    pub started: u64,
    /// The thread's CPU clock at that time, in nanoseconds.
    pub cpu_start: u64,
}

/// A name, and the thread's CPU time under it before it took the present name.
#[derive(Debug, Clone)]
struct Named {
    text: String,
    cpu: u64,
}

impl Named {
    fn new(name: &str) -> Self {
        let text = match cut_at(name) {
            None => name.to_owned(),
            Some(end) => {
                NAMES_CUT.fetch_add(1, Ordering::Relaxed);
                format!("{}…", &name[..end])
            }
        };
        Self { text, cpu: 0 }
    }

    fn is(&self, name: &str) -> bool {
        match cut_at(name) {
            None => self.text == name,
            Some(end) => self.text.strip_suffix('…') == Some(&name[..end]),
        }
    }
}

/// A rename: the time from which the thread has this name.
#[derive(Debug, Clone, Copy)]
struct Span {
    since: u64,
    name: NameId,
}

impl Life {
    pub fn new(serial: u32, tid: u32, started: u64, cpu: u64) -> Self {
        Self {
            serial,
            tid,
            started,
            ended: None,
            java: false,
            own: false,
            routine: None,
            sampled: false,
            cpu_start: cpu,
            cpu_now: cpu,
            kernel_name: String::new(),
            names: Vec::new(),
            spans: VecDeque::new(),
            before: 0,
            present_since: cpu,
        }
    }

    /// Resets the record when a recording begins. Earlier names and CPU time do not count.
    pub fn restart(&mut self, now: u64, cpu: u64) {
        self.started = now;
        self.cpu_start = cpu;
        self.cpu_now = cpu;
        self.sampled = false;
        let current = self.present_name().map(str::to_owned);
        self.begin_names(current.as_deref());
    }

    /// Begins a period of a recording that goes on. CPU time and names of earlier periods do not
    /// count any more.
    pub fn begin_period(&mut self, now: u64) {
        self.started = self.ended.map_or(now, |ended| ended.min(now));
        let current = self.present_name().map(str::to_owned);
        self.begin_names(current.as_deref());
        self.present_since = self.cpu_now;
    }

    /// Replaces all names by this one.
    fn begin_names(&mut self, name: Option<&str>) {
        self.names = name.into_iter().map(Named::new).collect();
        self.spans.clear();
        self.before = 0;
        self.present_since = self.cpu_start;
    }

    /// Sets the name that a Java thread begins with. It replaces the kernel's name of a native
    /// thread that attaches.
    pub fn first_name(&mut self, name: &str) {
        self.begin_names(Some(name));
    }

    /// Sets a native thread's names from the kernel. The last one that was read replaces the
    /// earlier ones.
    pub fn native_name(&mut self, kernel: &str, whole: &str) {
        kernel.clone_into(&mut self.kernel_name);
        self.first_name(whole);
    }

    /// Records the thread's name since `now`. `cpu` is its CPU clock then.
    pub fn rename(&mut self, name: &str, now: u64, cpu: u64) {
        if self.names.is_empty() {
            self.first_name(name);
            return;
        }
        if self.spans.back().is_some_and(|span| span.since > now) {
            // The name was read while the thread took another one.
            return;
        }
        let known = self.names.iter().position(|known| known.is(name));
        let id = known.unwrap_or_else(|| {
            if self.names.len() < MOST_NAMES {
                self.names.push(Named::new(name));
            } else if self.names.len() == MOST_NAMES {
                self.names.push(Named::new(&format!("{} (renamed)", self.names[0].text)));
            }
            self.names.len() - 1
        });
        let present = self.name_at(u64::MAX);
        if present != id {
            self.names[present].cpu += cpu.saturating_sub(self.present_since);
            self.present_since = cpu.max(self.present_since);
            self.spans.push_back(Span { since: now, name: id });
            self.forget(now);
        }
    }

    /// Removes renames that no sample will look up any more.
    fn forget(&mut self, now: u64) {
        let is_late = |span: &Span| span.since.saturating_add(LATE_NS) < now;
        while self.spans.len() > MOST_SPANS
            || self.spans.len() > FEW_SPANS && self.spans.get(1).is_some_and(is_late)
        {
            self.before = self.spans.pop_front().map_or(self.before, |span| span.name);
        }
    }

    /// Returns the name that the thread had at a time.
    pub fn name_at(&self, time: u64) -> NameId {
        let after = self.spans.partition_point(|span| span.since <= time);
        after.checked_sub(1).map_or(self.before, |at| self.spans[at].name)
    }

    /// Returns a name, or a substitute until one is known.
    pub fn name(&self, id: NameId) -> String {
        self.names.get(id).map_or_else(|| format!("thread {}", self.tid), |name| name.text.clone())
    }

    /// Returns true once the thread has a final name. A young native thread may not have set its
    /// name yet.
    pub fn is_named(&self, now: u64) -> bool {
        const YOUNG: u64 = 1_000_000_000;
        !self.names.is_empty() && (self.java || now.saturating_sub(self.started) > YOUNG)
    }

    /// Returns the thread's present name, if it is known.
    pub fn present_name(&self) -> Option<&str> {
        self.names.get(self.name_at(u64::MAX)).map(|name| name.text.as_str())
    }

    /// Records a reading of the thread's CPU clock. The value never decreases.
    pub fn ran_until(&mut self, cpu: u64) {
        self.cpu_now = self.cpu_now.max(cpu);
    }

    /// Returns how many names the thread has: at least one, even if it is unknown.
    pub fn names(&self) -> usize {
        self.names.len().max(1)
    }

    /// Returns the CPU time under one of the names since the thread joined the recording, in
    /// nanoseconds.
    pub fn cpu_under(&self, name: NameId) -> u64 {
        let before = self.names.get(name).map_or(0, |name| name.cpu);
        let is_present = self.name_at(u64::MAX) == name;
        before + if is_present { self.cpu_now.saturating_sub(self.present_since) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Life {
        let mut life = Life::new(1, 2, 100, 0);
        life.first_name(name);
        life
    }

    #[test]
    fn a_long_name_is_cut_and_counted_once() {
        let before = names_cut();
        let long = "ä".repeat(3000);
        let mut life = named(&long);
        assert_eq!(life.name(0), "ä".repeat(MAX_NAME_CHARS - 1) + "…");
        assert_eq!(names_cut(), before + 1);
        life.rename(&long, 200, 10);
        assert_eq!((life.names(), names_cut()), (1, before + 1));
        life.restart(300, 20);
        assert_eq!((life.names(), names_cut()), (1, before + 1));
        let whole = "x".repeat(MAX_NAME_CHARS);
        life.rename(&whole, 400, 30);
        assert_eq!((life.name(1), names_cut()), (whole, before + 1));
    }

    #[test]
    fn each_time_has_the_name_of_that_time() {
        let mut life = named("pool-1");
        life.rename("request A", 200, 10);
        life.rename("pool-1", 300, 15);
        life.rename("pool-1", 350, 17);
        life.rename("request A", 400, 20);
        life.cpu_now = 50;
        let at = |time| life.name(life.name_at(time));
        assert_eq!(at(100), "pool-1");
        assert_eq!(at(200), "request A");
        assert_eq!(at(399), "pool-1");
        assert_eq!(at(400), "request A");
        assert_eq!((life.names(), life.cpu_under(0), life.cpu_under(1)), (2, 15, 35));
    }

    #[test]
    fn names_without_end_share_the_last_place() {
        let mut life = named("worker");
        for request in 0..10_000 {
            life.rename(&format!("request {request}"), 200 + request, 0);
        }
        assert!(life.names.len() <= MOST_NAMES + 1);
        assert_eq!(life.name(life.name_at(205)), "request 5");
        assert_eq!(life.name(life.name_at(9_000)), "worker (renamed)");
    }

    #[test]
    fn a_name_for_each_request_takes_no_memory_for_ever() {
        let mut life = named("idle");
        let rename = |life: &mut Life, number: u64, gap: u64| {
            life.rename(
                if number.is_multiple_of(2) { "busy" } else { "idle" },
                200 + number * gap,
                number * 10,
            );
        };
        for number in 0..1_000_000 {
            rename(&mut life, number, 1_000);
        }
        assert_eq!(life.spans.len(), MOST_SPANS);
        life.cpu_now = 10_000_010;
        // Half of the CPU time belongs to each name. The time before the first rename is left out.
        assert_eq!((life.cpu_under(0), life.cpu_under(1)), (5_000_020 - 10, 5_000_000));
        let at = |life: &Life, time| life.name(life.name_at(time));
        let last = 200 + 999_999 * 1_000;
        assert_eq!(
            [last, last - 1, last - 1_000 * 60_000].map(|time| at(&life, time)),
            ["idle", "busy", "idle"]
        );
        for number in 1_000_000..1_001_000 {
            rename(&mut life, number, 1_000_000);
        }
        // The renames of one second are kept, because a sample may still ask for them.
        assert!(life.spans.len() > 999);
        for number in 1_001_000..1_002_000 {
            rename(&mut life, number, 1_000_000_000);
        }
        assert_eq!(life.spans.len(), FEW_SPANS);
    }

    #[test]
    fn a_period_begins_where_the_one_before_has_ended() {
        let mut life = named("a");
        life.sampled = true;
        life.rename("b", 200, 10);
        life.ran_until(25);
        assert_eq!((life.cpu_under(0), life.cpu_under(1)), (10, 15));
        life.begin_period(300);
        life.ran_until(32);
        assert_eq!((life.names(), life.name(0), life.cpu_under(0)), (1, "b".to_owned(), 7));
        assert!(life.sampled && life.started == 300 && life.cpu_start == 0);
    }

    #[test]
    fn a_new_recording_keeps_only_the_present_name() {
        let mut life = named("a");
        life.rename("b", 200, 0);
        life.restart(300, 5);
        assert_eq!(life.name(life.name_at(0)), "b");
        assert_eq!(life.cpu_under(0), 0);
    }
}
