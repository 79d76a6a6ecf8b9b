//! What becomes of compiled code: how much of it there is, and what of it was given up.
//!
//! The JVM tells of code that comes and of code that it throws away, which is long after it has
//! given it up, if it ever does. So the agent's own thread looks now and then what the code says of
//! itself. What has other code in its place that is as good was not given up but replaced.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::ops::Bound::{Excluded, Unbounded};

use once_cell::sync::OnceCell;
use vouch_hotspot::nmethods::{CachedMemory, Compilation, NmethodLayout};
use vouch_recording::{CounterId, Recording, Unit, kinds};
use vouch_sample::MethodId;
use vouch_walk::memory::Memory;

use super::event_type::Row;
use crate::clock;
use crate::compiled::{self, Change};

pub static GIVEN_UP: Row = Row { can: || NMETHODS.get().is_some(), ..Row::of_method(&kinds::GIVEN_UP) };

/// How this JVM's code tells of itself.
static NMETHODS: OnceCell<NmethodLayout> = OnceCell::new();

/// The time between two looks. What replaces code is told some milliseconds late: after so long it
/// is known, too.
const PAUSE_NS: u64 = 250_000_000;
/// So much code is looked at in one.
const ONCE: usize = 4096;

pub fn told_by(nmethods: NmethodLayout) {
    let _ = NMETHODS.set(nmethods);
}

/// What the code around an address tells of itself.
pub fn made(pc: usize) -> Compilation {
    made_in(pc, &CachedMemory::default())
}

/// The same, by memory that the caller reads more of.
pub fn made_in(pc: usize, memory: &impl Memory) -> Compilation {
    NMETHODS.get().and_then(|nmethods| nmethods.compilation(pc, memory)).unwrap_or_default()
}

/// Looks now and then, while a recording runs.
#[derive(Debug)]
pub struct Life {
    next: u64,
    /// The graph of it is wanted.
    drawn: bool,
    counter: Option<CounterId>,
    lives: Lives,
}

impl Life {
    /// `None` if nobody wants to know.
    pub fn of(drawn: bool) -> Option<Self> {
        if !drawn && !GIVEN_UP.counts.wanted() {
            return None;
        }
        compiled::watch();
        let mut life = Self { next: 0, drawn, counter: None, lives: Lives::default() };
        // What is given up from here on is told, however soon that is.
        life.take();
        Some(life)
    }

    pub fn look(&mut self, recording: &mut Recording) {
        let now = clock::monotonic();
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(PAUSE_NS);
        self.take();
        if self.drawn {
            let counter = self.counter.get_or_insert_with(|| {
                recording.counter("Compiled code", "Of all methods, discarded or not", Unit::Bytes)
            });
            recording.count(*counter, now, self.lives.bytes);
        }
        if GIVEN_UP.counts.wanted() {
            self.lives.known(now).into_iter().for_each(tell);
            self.lives.look(now, ONCE, given_up);
        }
    }

    /// What there is to tell just now: the recording ends, or is to be written.
    pub fn finish(&mut self) {
        if GIVEN_UP.counts.wanted() {
            let now = clock::monotonic();
            self.take();
            self.lives.look(now, usize::MAX, given_up);
            let (known, certain) = (self.lives.known(now), self.lives.certain());
            known.into_iter().chain(certain).for_each(tell);
        }
    }

    fn take(&mut self) {
        // Nobody asks by whom it was made whose bytes are counted alone: it takes some
        // microseconds.
        let made = if GIVEN_UP.counts.wanted() { made } else { |_| Compilation::default() };
        self.lives.take(compiled::take_changes(), made, given_up);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        compiled::unwatch();
    }
}

fn tell((at, Code { method, size, made, .. }): (u64, Code)) {
    if GIVEN_UP.counted(at, at) {
        GIVEN_UP.happened_to(at, method, figures(size, made));
    }
}

/// What is told of code, in the catalogue's order; the first is its method's name.
pub fn figures(size: usize, Compilation { tier, is_osr, .. }: Compilation) -> [u64; 4] {
    [0, size as u64, tier.into(), is_osr.into()]
}

/// Which code, by where it begins, was given up.
fn given_up(code: &[(usize, Compilation)]) -> Vec<bool> {
    let Some(nmethods) = NMETHODS.get() else { return vec![false; code.len()] };
    let states: Vec<usize> = code.iter().map(|(_, made)| made.state_address).collect();
    let given_up = nmethods.are_not_entrant(&states).into_iter();
    // Where it lay another's code may lie, and anything stand where it had its state. Few are left
    // to be asked.
    let is_it = |(begin, made): &(usize, Compilation)| {
        nmethods.compilation(*begin, &CachedMemory::default()) == Some(*made)
    };
    given_up.zip(code).map(|(given_up, code)| given_up && is_it(code)).collect()
}

/// A method's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Code {
    method: MethodId,
    size: usize,
    made: Compilation,
    /// Later ones have higher numbers; what was there at first has none.
    number: u64,
    /// Nobody knows that it was given up.
    good: bool,
}

/// All code that there is.
#[derive(Debug, Default)]
struct Lives {
    code: BTreeMap<usize, Code>,
    bytes: u64,
    numbers: u64,
    /// Of a method, and of its loops, the last code of each tier.
    latest: HashMap<(MethodId, bool), [u64; TIERS]>,
    /// What was seen to be given up, and when; whether it was replaced is not known yet.
    doubtful: Vec<(u64, Code)>,
    /// Where the next look begins.
    at: usize,
    /// What was there at first is known.
    begun: bool,
}

const TIERS: usize = 5;
const BEST: u8 = 2;

/// How good code is. The JVM's own policy replaces code that counts what it does by other such
/// code, too, as the compilers have time.
fn worth(tier: usize) -> u8 {
    match tier {
        2 | 3 => 1,
        1 | 4 => BEST,
        _ => 0,
    }
}

impl Lives {
    /// What has come and gone; the first time that is all there is.
    fn take(
        &mut self,
        changes: Vec<Change>,
        made: impl Fn(usize) -> Compilation,
        given_up: impl Fn(&[(usize, Compilation)]) -> Vec<bool>,
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
            self.begin(given_up);
        }
        // Methods go, too.
        if self.latest.len() > 2 * self.code.len() + 1_000 {
            self.latest.clear();
            for code in self.code.values() {
                note(&mut self.latest, code);
            }
        }
    }

    /// What was given up before the recording is nothing to tell of, and in which order it came
    /// nobody knows.
    fn begin(&mut self, given_up: impl Fn(&[(usize, Compilation)]) -> Vec<bool>) {
        let all: Vec<(usize, Compilation)> =
            self.code.iter().map(|(begin, code)| (*begin, code.made)).collect();
        for (code, given_up) in self.code.values_mut().zip(given_up(&all)) {
            code.good &= !given_up;
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

    /// Looks at so much code, from where the last look ended.
    fn look(&mut self, now: u64, most: usize, given_up: impl Fn(&[(usize, Compilation)]) -> Vec<bool>) {
        let from = if most < self.code.len() { self.at } else { 0 };
        let good = self.code.range((Excluded(from), Unbounded)).filter(|(_, code)| code.good).take(most);
        let good: Vec<(usize, Compilation)> = good.map(|(begin, code)| (*begin, code.made)).collect();
        self.at = good.last().filter(|_| good.len() == most).map_or(0, |(begin, _)| *begin);
        for ((begin, _), _) in good.iter().zip(given_up(&good)).filter(|(_, given_up)| *given_up) {
            if let Some(code) = self.code.get_mut(begin) {
                code.good = false;
                self.doubtful.push((now, *code));
            }
        }
    }

    /// What was given up so long ago that what replaced it would have been told; and when it was
    /// seen.
    fn known(&mut self, now: u64) -> Vec<(u64, Code)> {
        self.settle(|at, _| at + PAUSE_NS <= now)
    }

    /// What is of a tier that no other replaces.
    fn certain(&mut self) -> Vec<(u64, Code)> {
        self.settle(|_, code| worth(code.made.tier.into()) == BEST)
    }

    fn settle(&mut self, is_known: impl Fn(u64, &Code) -> bool) -> Vec<(u64, Code)> {
        let all = take(&mut self.doubtful).into_iter();
        let (known, doubtful): (Vec<_>, Vec<_>) = all.partition(|(at, code)| is_known(*at, code));
        self.doubtful = doubtful;
        known.into_iter().filter(|(_, code)| !self.was_replaced(code)).collect()
    }

    /// Whether other code has come since that is as good.
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

    const SECOND: u64 = 4 * PAUSE_NS;

    /// Code that lies at these places, each a hundred times its method's number: by its tier.
    fn of(tiers: &[(usize, u8, bool)]) -> Lives {
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

    /// These methods' code is seen to be given up.
    fn see(lives: &mut Lives, at: u64, methods: &[usize]) {
        lives.look(at, ONCE, |code| code.iter().map(|(begin, _)| methods.contains(&(begin / 100))).collect());
    }

    fn methods(told: Vec<(u64, Code)>) -> Vec<(u64, usize)> {
        told.into_iter().map(|(at, code)| (at, code.method.0)).collect()
    }

    #[test]
    fn what_is_given_up_is_told_once_and_what_is_replaced_is_not() {
        let mut lives =
            of(&[(1, 3, false), (2, 4, false), (3, 3, true), (4, 3, false), (5, 2, false), (6, 3, false)]);
        see(&mut lives, SECOND, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(methods(lives.known(SECOND + 1)), [], "what replaces it may not have been told");
        // Better code for the first, worse for the second, for the third none of its loop, for the
        // fourth the same once more, for the last as good.
        come(
            &mut lives,
            &[(1, 4, false), (2, 3, false), (3, 4, false), (4, 3, false), (5, 3, false), (6, 2, false)],
        );
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 2), (SECOND, 3), (SECOND, 4)]);
        assert_eq!(methods(lives.known(3 * SECOND)), []);
    }

    #[test]
    fn in_the_end_it_is_certain_of_the_last_tier_alone() {
        let mut lives = of(&[(1, 3, false), (2, 4, false), (3, 1, false)]);
        see(&mut lives, SECOND, &[1, 2, 3]);
        assert_eq!(methods(lives.certain()), [(SECOND, 2), (SECOND, 3)]);
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 1)], "a dump is not the end");
    }

    #[test]
    fn a_look_has_a_bound_and_comes_to_all() {
        let all: Vec<_> = (1..=ONCE + 5).map(|method| (method, 4, false)).collect();
        let mut lives = Lives { begun: true, ..Lives::default() };
        for (method, tier, in_loop) in &all {
            lives.add(
                100 * method,
                MethodId(*method),
                10,
                Compilation { tier: *tier, is_osr: *in_loop, state_address: 1 },
            );
        }
        let last = ONCE + 3;
        see(&mut lives, SECOND, &[last]);
        assert!(lives.doubtful.is_empty());
        see(&mut lives, SECOND, &[last]);
        assert_eq!(methods(lives.certain()), [(SECOND, last)]);
        see(&mut lives, SECOND, &[]);
        lives.look(SECOND, usize::MAX, |code| vec![true; code.len()]);
        assert_eq!(lives.doubtful.len(), ONCE + 4, "all that is left");
    }

    #[test]
    fn what_was_there_at_first_is_not_told_of_and_replaces_nothing() {
        let loaded = |begin, method| Change::Loaded { method: MethodId(method), begin, size: 10 };
        let made = |begin| Compilation {
            tier: if begin < 300 { 3 } else { 4 },
            is_osr: false,
            state_address: begin,
        };
        let mut lives = Lives::default();
        // Of one method code that was given up lies behind code that is good.
        lives.take(vec![loaded(100, 1), loaded(200, 2), loaded(300, 1)], made, |code| {
            code.iter().map(|(begin, _)| *begin == 300).collect()
        });
        see(&mut lives, SECOND, &[1, 3]);
        assert_eq!(methods(lives.known(2 * SECOND)), [(SECOND, 1)]);
        // What comes later is told of, whatever it says of itself as it comes.
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
