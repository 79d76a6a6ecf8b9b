//! What becomes of compiled code: how much of it there is, and what of it was given up.
//!
//! The JVM tells of code that comes and of code that it throws away, which is long after it has given it up, if it ever does. So the
//! agent's own thread looks now and then what the code says of itself. What has better code in its place was not given up but
//! replaced.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use once_cell::sync::OnceCell;
use vouch_recording::{CounterId, Recording, Unit, kinds};
use vouch_sample::MethodId;

use super::row::Row;
use crate::clock;
use crate::compiled::{self, Change};
use crate::hotspot::nmethods::{Made, Nmethods};

pub static GIVEN_UP: Row = Row::of_method(&kinds::GIVEN_UP);

/// How this JVM's code tells of itself.
static NMETHODS: OnceCell<Nmethods> = OnceCell::new();

/// The time between two looks: what replaces code is told some milliseconds late.
const PAUSE: Duration = Duration::from_millis(250);
/// So much code is looked at in one.
const ONCE: usize = 4096;

pub fn told_by(nmethods: Nmethods) {
    let _ = NMETHODS.set(nmethods);
}

/// What the code around an address tells of itself.
pub fn made(pc: usize) -> Made {
    NMETHODS.get().and_then(|nmethods| nmethods.made(pc)).unwrap_or_default()
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
        let mut lives = Lives::default();
        lives.begin(compiled::changes(), given_up);
        Some(Self { next: 0, drawn, counter: None, lives })
    }

    pub fn look(&mut self, recording: &mut Recording) {
        let now = clock::monotonic();
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(clock::nanos(PAUSE));
        self.lives.take(compiled::changes());
        if self.drawn {
            let counter = self.counter.get_or_insert_with(|| {
                recording.counter("Compiled code", "Of all methods, given up or not", Unit::Bytes)
            });
            recording.count(*counter, now, self.lives.bytes);
        }
        self.tell(now);
    }

    /// What there is to tell just now: nothing comes later.
    pub fn finish(&mut self) {
        self.lives.take(compiled::changes());
        self.tell(clock::monotonic());
        self.lives.certain().into_iter().for_each(tell);
    }

    fn tell(&mut self, now: u64) {
        if GIVEN_UP.counts.wanted() {
            self.lives.round(now, given_up).into_iter().for_each(tell);
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        compiled::unwatch();
    }
}

fn tell((at, Code { method, size, made, .. }): (u64, Code)) {
    if GIVEN_UP.counted(at, at) {
        GIVEN_UP.happened_to(at, method, [0, size as u64, made.tier.into(), made.in_loop.into()]);
    }
}

fn given_up(states: &[usize]) -> Vec<bool> {
    NMETHODS.get().map_or_else(|| vec![false; states.len()], |nmethods| nmethods.given_up(states))
}

/// A method's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Code {
    method: MethodId,
    size: usize,
    made: Made,
    /// Later ones have higher numbers.
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
}

const TIERS: usize = 5;
const BEST: u8 = 2;

/// How good code is. The JVM's own policy replaces code that counts what it does by other such code, too, as the compilers have time.
fn worth(tier: usize) -> u8 {
    match tier {
        2 | 3 => 1,
        1 | 4 => BEST,
        _ => 0,
    }
}

impl Lives {
    /// What is there as a recording begins. What was given up before is nothing to tell of.
    fn begin(&mut self, changes: Vec<Change>, given_up: impl Fn(&[usize]) -> Vec<bool>) {
        self.take(changes);
        let states: Vec<usize> = self.code.values().map(|code| code.made.state).collect();
        for (code, given_up) in self.code.values_mut().zip(given_up(&states)) {
            code.good &= !given_up;
        }
    }

    fn take(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Loaded { method, begin, size } => self.add(begin, method, size, made(begin)),
                Change::Unloaded { begin } => {
                    self.bytes -= self.code.remove(&begin).map_or(0, |code| code.size as u64);
                }
            }
        }
        // Methods go, too.
        if self.latest.len() > 2 * self.code.len() + 1_000 {
            self.latest.clear();
            for code in self.code.values() {
                note(&mut self.latest, code);
            }
        }
    }

    fn add(&mut self, begin: usize, method: MethodId, size: usize, made: Made) {
        self.numbers += 1;
        let code = Code { method, size, made, number: self.numbers, good: made.tier > 0 };
        note(&mut self.latest, &code);
        self.bytes += size as u64;
        let before = self.code.insert(begin, code);
        self.bytes -= before.map_or(0, |code| code.size as u64);
    }

    /// What was given up, and when it was seen first. It is told a round later: by then it is known whether it was replaced.
    fn round(&mut self, now: u64, given_up: impl Fn(&[usize]) -> Vec<bool>) -> Vec<(u64, Code)> {
        let doubtful = take(&mut self.doubtful);
        let told = doubtful.into_iter().filter(|(_, code)| !self.was_replaced(code)).collect();
        let good = self.code.range((Excluded(self.at), Unbounded)).filter(|(_, code)| code.good).take(ONCE);
        let (begins, states): (Vec<usize>, Vec<usize>) =
            good.map(|(begin, code)| (*begin, code.made.state)).unzip();
        self.at = if begins.len() < ONCE { 0 } else { begins.last().copied().unwrap_or(0) };
        for (begin, _) in begins.iter().zip(given_up(&states)).filter(|(_, given_up)| *given_up) {
            if let Some(code) = self.code.get_mut(begin) {
                code.good = false;
                self.doubtful.push((now, *code));
            }
        }
        told
    }

    /// What was seen to be given up in the last round and is of a tier that no other replaces.
    fn certain(&mut self) -> Vec<(u64, Code)> {
        self.doubtful.extract_if(.., |(_, code)| worth(code.made.tier.into()) == BEST).collect()
    }

    /// Whether other code has come since that is as good.
    fn was_replaced(&self, code: &Code) -> bool {
        let Some(latest) = self.latest.get(&(code.method, code.made.in_loop)) else { return false };
        let tier = usize::from(code.made.tier);
        let mut others =
            latest.iter().enumerate().filter(|(other, _)| *other != tier && worth(*other) >= worth(tier));
        others.any(|(_, number)| *number > code.number)
    }
}

fn note(latest: &mut HashMap<(MethodId, bool), [u64; TIERS]>, code: &Code) {
    let latest = latest.entry((code.method, code.made.in_loop)).or_default();
    if let Some(latest) = latest.get_mut(usize::from(code.made.tier)) {
        *latest = code.number.max(*latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: fn(&[usize]) -> Vec<bool> = |states| vec![false; states.len()];

    fn add(lives: &mut Lives, begin: usize, method: usize, tier: u8, in_loop: bool) {
        lives.add(begin, MethodId(method), 10, Made { tier, in_loop, state: begin });
    }

    fn told(lives: &mut Lives, given_up: &[usize]) -> Vec<(u64, usize)> {
        let round = lives.round(7, |states| states.iter().map(|state| given_up.contains(state)).collect());
        round.into_iter().map(|(at, code)| (at, code.method.0)).collect()
    }

    #[test]
    fn what_is_given_up_is_told_once_and_what_is_replaced_is_not() {
        let (mut lives, mut next) = (Lives::default(), 0);
        let mut come = |lives: &mut Lives, tiers: &[(usize, u8, bool)]| {
            for (method, tier, in_loop) in tiers {
                next += 100;
                add(lives, next, *method, *tier, *in_loop);
            }
        };
        come(
            &mut lives,
            &[(1, 3, false), (2, 4, false), (3, 3, true), (4, 3, false), (5, 2, false), (6, 3, false)],
        );
        assert_eq!(told(&mut lives, &[100, 200, 300, 400, 500, 600]), []);
        // Better code for the first, worse for the second, for the third none of its loop, for the fourth the same once more, for the last as good.
        come(
            &mut lives,
            &[(1, 4, false), (2, 3, false), (3, 4, false), (4, 3, false), (5, 3, false), (6, 2, false)],
        );
        assert_eq!(told(&mut lives, &[]), [(7, 2), (7, 3), (7, 4)]);
        assert_eq!(told(&mut lives, &[700, 800]), []);
        assert_eq!(
            lives.certain().iter().map(|(_, code)| code.method.0).collect::<Vec<_>>(),
            [1],
            "of the last tier"
        );
        assert_eq!(told(&mut lives, &[]), [(7, 2)]);
    }

    #[test]
    fn a_look_has_a_bound_and_comes_to_all() {
        let mut lives = Lives::default();
        for method in 1..=ONCE + 5 {
            add(&mut lives, 100 * method, method, 4, false);
        }
        let last = ONCE + 3;
        assert_eq!(told(&mut lives, &[100 * last]), []);
        assert_eq!(told(&mut lives, &[100 * last]), []);
        assert_eq!(told(&mut lives, &[]), [(7, last)]);
    }

    #[test]
    fn what_was_given_up_before_is_not_told() {
        let mut lives = Lives::default();
        let loaded = |begin| Change::Loaded { method: MethodId(begin), begin, size: 10 };
        lives.begin(vec![loaded(100)], NONE);
        assert!(
            lives.code.values().all(|code| !code.good),
            "nothing is known of it: it is no code of this process's"
        );
        add(&mut lives, 200, 2, 4, false);
        lives.begin(Vec::new(), |states| vec![true; states.len()]);
        assert_eq!(told(&mut lives, &[200]), []);
        assert_eq!(told(&mut lives, &[200]), []);
    }

    #[test]
    fn it_is_known_how_much_there_is() {
        let mut lives = Lives::default();
        let loaded = |begin, size| Change::Loaded { method: MethodId(1), begin, size };
        let unloaded = |begin| Change::Unloaded { begin };
        lives.take(vec![loaded(100, 30), loaded(200, 50), unloaded(100), unloaded(300)]);
        assert_eq!(lives.bytes, 50);
        lives.take(vec![loaded(200, 20)]);
        assert_eq!(lives.bytes, 20);
    }
}
