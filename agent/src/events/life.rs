//! Records the size of compiled code over time, and the code that was deoptimised.
//!
//! The JVM reports code that is installed or freed, which may be long after it was deoptimised. So
//! the agent's own thread reads the state of the code at intervals. Code that was replaced by
//! equally good code does not count as deoptimised.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::ops::Bound::{Excluded, Unbounded};

use vouch_hotspot::nmethods::{CachedMemory, Compilation};
use vouch_recording::{CounterId, Recording, Unit, kinds};
use vouch_sample::MethodId;
use vouch_sampling::clock;

use super::code::COMPILED_CODE;
use super::compilation::{field_values, made, nmethods};
use super::event_type::Row;
use vouch_collect::compiled::{self, Change};

pub static GIVEN_UP: Row =
    Row { can: || nmethods().is_some(), subscriptions: &COMPILED_CODE, ..Row::of_method(&kinds::GIVEN_UP) };

/// The time in ns between two looks. Replacing code is reported some milliseconds late, and after
/// this time it has been.
const LOOK_INTERVAL_NS: u64 = 250_000_000;
/// The maximum number of nmethods that one look reads.
const MAX_READ_PER_LOOK: usize = 4096;

/// Reads the state of compiled code at intervals, while a recording runs.
#[derive(Debug)]
pub struct Life {
    next: u64,
    /// True if the recording draws a graph of the code size.
    drawn: bool,
    counter: Option<CounterId>,
    lives: Lives,
}

impl Life {
    /// Returns `None` if neither the graph nor the event is wanted.
    pub fn new(drawn: bool) -> Option<Self> {
        if !drawn && !GIVEN_UP.counts.wanted() {
            return None;
        }
        compiled::watch();
        let mut life = Self { next: 0, drawn, counter: None, lives: Lives::default() };
        // Code that is deoptimised from now on is reported, however soon that is.
        life.take();
        Some(life)
    }

    /// Begins a graph in another recording.
    pub fn begin_period(&mut self) {
        self.counter = None;
    }

    pub fn look(&mut self, recording: &mut Recording) {
        let now = clock::monotonic();
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(LOOK_INTERVAL_NS);
        self.take();
        if self.drawn {
            let counter = self.counter.get_or_insert_with(|| {
                recording.counter("Compiled code", "Of all methods, discarded or not", Unit::Bytes)
            });
            recording.count(*counter, now, self.lives.bytes);
        }
        if GIVEN_UP.counts.wanted() {
            self.lives.known(now).into_iter().for_each(publish_deoptimised);
            self.lives.look(now, MAX_READ_PER_LOOK, not_entrant);
        }
    }

    /// Publishes all remaining events, when the recording ends or is to be written.
    pub fn finish(&mut self) {
        if GIVEN_UP.counts.wanted() {
            let now = clock::monotonic();
            self.take();
            self.lives.look(now, usize::MAX, not_entrant);
            let (known, certain) = (self.lives.known(now), self.lives.certain());
            known.into_iter().chain(certain).for_each(publish_deoptimised);
        }
    }

    fn take(&mut self) {
        // Reading the compiler takes some microseconds, so it is skipped if only bytes are counted.
        let made = if GIVEN_UP.counts.wanted() { made } else { |_| Compilation::default() };
        self.lives.take(compiled::take_changes(), made, not_entrant);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        compiled::unwatch();
    }
}

fn publish_deoptimised((at, Code { method, size, made, .. }): (u64, Code)) {
    if GIVEN_UP.counted(at, at) {
        GIVEN_UP.emit_for_method(at, method, field_values(size, made));
    }
}

/// Returns which code was deoptimised. Each nmethod is identified by its first address.
fn not_entrant(code: &[(usize, Compilation)]) -> Vec<bool> {
    let Some(nmethods) = nmethods() else { return vec![false; code.len()] };
    let states: Vec<usize> = code.iter().map(|(_, made)| made.state_address).collect();
    let not_entrant = nmethods.are_not_entrant(&states).into_iter();
    // Freed memory may contain other code, and any bytes at the offset of the state. Only a few
    // candidates remain to be checked.
    let is_it = |(begin, made): &(usize, Compilation)| {
        nmethods.compilation(*begin, &CachedMemory::default()) == Some(*made)
    };
    not_entrant.zip(code).map(|(not_entrant, code)| not_entrant && is_it(code)).collect()
}

/// A method's nmethod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Code {
    method: MethodId,
    size: usize,
    made: Compilation,
    /// Later code has a higher number. Code from before the first look has 0.
    number: u64,
    /// True unless the code was seen to be deoptimised.
    good: bool,
}

/// All nmethods of this JVM.
#[derive(Debug, Default)]
struct Lives {
    code: BTreeMap<usize, Code>,
    bytes: u64,
    numbers: u64,
    /// The number of the last code of each tier, for a method and for its loops (OSR).
    latest: HashMap<(MethodId, bool), [u64; TIERS]>,
    /// The code that was seen to be deoptimised, and when. It may yet turn out to be replaced.
    doubtful: Vec<(u64, Code)>,
    /// The address after which the next look begins.
    at: usize,
    /// True once the code from before the first look has been read.
    begun: bool,
}

const TIERS: usize = 5;
const BEST: u8 = 2;

/// Returns how good a tier is. The JVM's policy also replaces profiled code by other profiled code,
/// as the compilers have time.
fn worth(tier: usize) -> u8 {
    match tier {
        2 | 3 => 1,
        1 | 4 => BEST,
        _ => 0,
    }
}

impl Lives {
    /// Adds installed code and removes freed code. The first call adds all code that exists.
    fn take(
        &mut self,
        changes: Vec<Change>,
        made: impl Fn(usize) -> Compilation,
        not_entrant: impl Fn(&[(usize, Compilation)]) -> Vec<bool>,
    ) {
        for change in changes {
            match change {
                Change::Loaded { method, begin, size } => self.add(begin, method, size, made(begin)),
                Change::Unloaded { begin } => {
                    self.bytes -= self.code.remove(&begin).map_or(0, |code| code.size as u64);
                }
            }
        }
        if !self.begun {
            self.begun = true;
            self.begin(not_entrant);
        }
        // Methods are unloaded, too.
        if self.latest.len() > 2 * self.code.len() + 1_000 {
            self.latest.clear();
            for code in self.code.values() {
                note(&mut self.latest, code);
            }
        }
    }

    /// Removes code that was deoptimised before the recording. Such code is not reported, and its
    /// order is unknown.
    fn begin(&mut self, not_entrant: impl Fn(&[(usize, Compilation)]) -> Vec<bool>) {
        let all: Vec<(usize, Compilation)> =
            self.code.iter().map(|(begin, code)| (*begin, code.made)).collect();
        for (code, not_entrant) in self.code.values_mut().zip(not_entrant(&all)) {
            code.good &= !not_entrant;
            code.number = 0;
        }
        self.latest.clear();
    }

    fn add(&mut self, begin: usize, method: MethodId, size: usize, made: Compilation) {
        self.numbers += 1;
        let code = Code { method, size, made, number: self.numbers, good: made.tier > 0 };
        note(&mut self.latest, &code);
        self.bytes += size as u64;
        let before = self.code.insert(begin, code);
        self.bytes -= before.map_or(0, |code| code.size as u64);
    }

    /// Reads the state of `most` nmethods, from the end of the last look.
    fn look(&mut self, now: u64, most: usize, not_entrant: impl Fn(&[(usize, Compilation)]) -> Vec<bool>) {
        let from = if most < self.code.len() { self.at } else { 0 };
        let good = self.code.range((Excluded(from), Unbounded)).filter(|(_, code)| code.good).take(most);
        let good: Vec<(usize, Compilation)> = good.map(|(begin, code)| (*begin, code.made)).collect();
        self.at = good.last().filter(|_| good.len() == most).map_or(0, |(begin, _)| *begin);
        for ((begin, _), _) in good.iter().zip(not_entrant(&good)).filter(|(_, not_entrant)| *not_entrant) {
            if let Some(code) = self.code.get_mut(begin) {
                code.good = false;
                self.doubtful.push((now, *code));
            }
        }
    }

    /// Returns the code that was deoptimised long enough ago, and when that was seen. By then, code
    /// that replaces it would have been reported.
    fn known(&mut self, now: u64) -> Vec<(u64, Code)> {
        self.settle(|at, _| at + LOOK_INTERVAL_NS <= now)
    }

    /// Returns the code of a tier that no other tier replaces.
    fn certain(&mut self) -> Vec<(u64, Code)> {
        self.settle(|_, code| worth(code.made.tier.into()) == BEST)
    }

    fn settle(&mut self, is_known: impl Fn(u64, &Code) -> bool) -> Vec<(u64, Code)> {
        let all = take(&mut self.doubtful).into_iter();
        let (known, doubtful): (Vec<_>, Vec<_>) = all.partition(|(at, code)| is_known(*at, code));
        self.doubtful = doubtful;
        known.into_iter().filter(|(_, code)| !self.was_replaced(code)).collect()
    }

    /// Returns true if equally good code has been installed since.
    fn was_replaced(&self, code: &Code) -> bool {
        let Some(latest) = self.latest.get(&(code.method, code.made.is_osr)) else { return false };
        let tier = usize::from(code.made.tier);
        let mut others =
            latest.iter().enumerate().filter(|(other, _)| *other != tier && worth(*other) >= worth(tier));
        others.any(|(_, number)| *number > code.number)
    }
}

fn note(latest: &mut HashMap<(MethodId, bool), [u64; TIERS]>, code: &Code) {
    let latest = latest.entry((code.method, code.made.is_osr)).or_default();
    if let Some(latest) = latest.get_mut(usize::from(code.made.tier)) {
        *latest = code.number.max(*latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 4 * LOOK_INTERVAL_NS;

    /// Makes nmethods of these tiers. Each address is 100 times its method's number.
    fn with_code(tiers: &[(usize, u8, bool)]) -> Lives {
        let mut lives = Lives { begun: true, ..Lives::default() };
        come(&mut lives, tiers);
        lives
    }

    fn come(lives: &mut Lives, tiers: &[(usize, u8, bool)]) {
        for (method, tier, in_loop) in tiers {
            let begin = 100 * method + usize::try_from(lives.numbers).unwrap();
            lives.add(
                begin,
                MethodId(*method),
                10,
                Compilation { tier: *tier, is_osr: *in_loop, state_address: begin },
            );
        }
    }

    /// Marks the code of these methods as deoptimised.
    fn see(lives: &mut Lives, at: u64, methods: &[usize]) {
        lives.look(at, MAX_READ_PER_LOOK, |code| {
            code.iter().map(|(begin, _)| methods.contains(&(begin / 100))).collect()
        });
    }

    fn methods(published: Vec<(u64, Code)>) -> Vec<(u64, usize)> {
        published.into_iter().map(|(at, code)| (at, code.method.0)).collect()
    }

    #[test]
    fn deoptimised_code_is_reported_once_and_replaced_code_is_not() {
        let mut lives = with_code(&[
            (1, 3, false),
            (2, 4, false),
            (3, 3, true),
            (4, 3, false),
            (5, 2, false),
            (6, 3, false),
        ]);
        see(&mut lives, SECOND, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(methods(lives.known(SECOND + 1)), [], "what replaces it may not have been told");
        // The first gets better code, the second worse, and the third none for its loop. The fourth
        // gets the same again, and the last gets equally good code.
        come(
            &mut lives,
            &[(1, 4, false), (2, 3, false), (3, 4, false), (4, 3, false), (5, 3, false), (6, 2, false)],
        );
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 2), (SECOND, 3), (SECOND, 4)]);
        assert_eq!(methods(lives.known(3 * SECOND)), []);
    }

    #[test]
    fn in_the_end_it_is_certain_of_the_last_tier_alone() {
        let mut lives = with_code(&[(1, 3, false), (2, 4, false), (3, 1, false)]);
        see(&mut lives, SECOND, &[1, 2, 3]);
        assert_eq!(methods(lives.certain()), [(SECOND, 2), (SECOND, 3)]);
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 1)], "a dump is not the end");
    }

    #[test]
    fn a_look_has_a_bound_and_comes_to_all() {
        let all: Vec<_> = (1..=MAX_READ_PER_LOOK + 5).map(|method| (method, 4, false)).collect();
        let mut lives = Lives { begun: true, ..Lives::default() };
        for (method, tier, in_loop) in &all {
            lives.add(
                100 * method,
                MethodId(*method),
                10,
                Compilation { tier: *tier, is_osr: *in_loop, state_address: 1 },
            );
        }
        let last = MAX_READ_PER_LOOK + 3;
        see(&mut lives, SECOND, &[last]);
        assert!(lives.doubtful.is_empty());
        see(&mut lives, SECOND, &[last]);
        assert_eq!(methods(lives.certain()), [(SECOND, last)]);
        see(&mut lives, SECOND, &[]);
        lives.look(SECOND, usize::MAX, |code| vec![true; code.len()]);
        assert_eq!(lives.doubtful.len(), MAX_READ_PER_LOOK + 4, "all that is left");
    }

    #[test]
    fn code_from_before_is_not_reported_and_replaces_nothing() {
        let loaded = |begin, method| Change::Loaded { method: MethodId(method), begin, size: 10 };
        let made = |begin| Compilation {
            tier: if begin < 300 { 3 } else { 4 },
            is_osr: false,
            state_address: begin,
        };
        let mut lives = Lives::default();
        // One method has deoptimised code after good code.
        lives.take(vec![loaded(100, 1), loaded(200, 2), loaded(300, 1)], made, |code| {
            code.iter().map(|(begin, _)| *begin == 300).collect()
        });
        see(&mut lives, SECOND, &[1, 3]);
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 1)]);
        // Code that is installed later is reported, whatever its first state is.
        lives.take(vec![loaded(400, 4)], made, |code| vec![true; code.len()]);
        see(&mut lives, SECOND, &[4]);
        assert_eq!(methods(lives.certain()), [(SECOND, 4)]);
    }

    #[test]
    fn it_is_known_how_much_there_is() {
        let mut lives = Lives::default();
        let loaded = |begin, size| Change::Loaded { method: MethodId(1), begin, size };
        let unloaded = |begin| Change::Unloaded { begin };
        let mut take = |changes| {
            lives.take(changes, |_| Compilation::default(), |code| vec![false; code.len()]);
            lives.bytes
        };
        assert_eq!(take(vec![loaded(100, 30), loaded(200, 50), unloaded(100), unloaded(300)]), 50);
        assert_eq!(take(vec![loaded(200, 20)]), 20);
    }
}
