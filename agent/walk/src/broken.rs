//! A walker that is broken on purpose, to show that each kind of difference is recognised as
//! itself.
//!
//! It lets the true walker walk and then spoils what it wrote; or it faults, in its own code or, on
//! a damaged context, in the true walker's. It runs where the walker runs, so it keeps to the same
//! rules. It must never be used unless a test asked for it.

use core::sync::atomic::{AtomicU32, Ordering};

use vouch_sample::{Answer, NATIVE, Reason};

use crate::context;
use crate::kernel::peek;
use crate::walker::{RawFrame, Room, Subject, Walker};

/// A way to be broken. The names are those of the differences that it makes, where it makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    Truncated,
    Gap,
    Extra,
    WrongMethod,
    WrongBci,
    NullMethod,
    /// What is no method's id, by turns: the address of something else, a small number, the method
    /// itself.
    ForeignMethod,
    Nativeness,
    Unwalked,
    /// It faults, in four ways by turns.
    Crashed,
    /// The true walker gets a context that no thread ever had.
    Damaged,
}

impl Break {
    /// True if the true walker walks as it would, and what it wrote is spoilt.
    #[must_use]
    pub fn spoils(self) -> bool {
        !matches!(self, Self::Crashed | Self::Damaged)
    }
}

/// Every way, by its name.
pub const WAYS: [(&str, Break); 11] = [
    ("truncated", Break::Truncated),
    ("gap", Break::Gap),
    ("extra", Break::Extra),
    ("wrong_method", Break::WrongMethod),
    ("wrong_bci", Break::WrongBci),
    ("null_method", Break::NullMethod),
    ("foreign_method", Break::ForeignMethod),
    ("nativeness", Break::Nativeness),
    ("unwalked", Break::Unwalked),
    ("crashed", Break::Crashed),
    ("damaged", Break::Damaged),
];

/// A walker that breaks one of so many walks of another one's. If it breaks all, it does so in the
/// middle; else anywhere but at the leaf.
#[derive(Debug)]
pub struct Broken {
    whole: &'static dyn Walker,
    how: Break,
    every: u32,
    /// An address behind the end of a mapped file: SIGBUS.
    past_end: usize,
    walks: AtomicU32,
}

impl Broken {
    pub fn new(whole: &'static dyn Walker, how: Break, every: u32, past_end: usize) -> Self {
        Self { whole, how, every: every.max(1), past_end, walks: AtomicU32::new(0) }
    }

    /// The number of this walk, if it is one of those to be broken.
    fn turn(&self) -> Option<u32> {
        let number = self.walks.fetch_add(1, Ordering::Relaxed);
        is_turn(number, self.every).then_some(number)
    }
}

// SAFETY: the other one keeps the promise, and a frame more is written only where there is room for
// it.
unsafe impl Walker for Broken {
    fn runs_jvm(&self) -> bool {
        self.whole.runs_jvm()
    }

    /// The reason of a failed walk is left as it is.
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        if !self.how.spoils() {
            let turn = self.turn().map(|number| number.checked_div(self.every).unwrap_or(0));
            return match turn {
                Some(turn) if self.how == Break::Crashed => {
                    context::fault(turn, self.past_end);
                    Err(Reason::CRASHED)
                }
                // SAFETY: as our own caller's, but for the context.
                Some(turn) => unsafe { self.walk_damaged(turn, subject, room) },
                // SAFETY: the arguments are our own caller's.
                None => unsafe { self.whole.walk(subject, room) },
            };
        }
        // SAFETY: the arguments are our own caller's.
        let count = unsafe { self.whole.walk(subject, room) }?;
        let length = usize::try_from(count).unwrap_or(0);
        // SAFETY: the room is our caller's, and the walker wrote `count` frames into it.
        let frames = unsafe { core::slice::from_raw_parts_mut(room.frames, length) };
        let Some(number) = self.turn() else { return Ok(count) };
        let place = if self.every == 1 { length / 2 } else { anywhere(number, length) };
        let turn = number.checked_div(self.every).unwrap_or(0);
        spoil(frames, self.how, usize::try_from(room.depth).unwrap_or(0), (place, turn))
    }
}

impl Broken {
    /// Lets the walker walk a context that no thread ever had.
    ///
    /// # Safety
    /// As for [`Walker::walk`].
    unsafe fn walk_damaged(&self, turn: u32, subject: &Subject<'_>, room: Room) -> Answer {
        // SAFETY: the context is a ucontext, by the caller's promise; the copy is nobody's to
        // return to.
        unsafe {
            let mut copy = subject.context.cast::<libc::ucontext_t>().read();
            context::damage((&raw mut copy).cast(), mixed(turn));
            let damaged = Subject { context: (&raw mut copy).cast(), ..*subject };
            self.whole.walk(&damaged, room)
        }
    }
}

/// True for one in each so many, now this one of them and now that: at a stride of its own it would
/// keep step with what else comes at one, as witnesses do.
fn is_turn(number: u32, every: u32) -> bool {
    let round = number.checked_div(every).unwrap_or(0);
    number.checked_rem(every).map(u64::from) == (mixed(round) >> 33).checked_rem(every.into())
}

/// A number without a pattern: a step of a linear congruential generator is good enough.
fn mixed(number: u32) -> u64 {
    let mixed =
        u64::from(number).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    mixed ^ mixed >> 29
}

/// A frame other than the leaf, if there is one: another one for each walk.
fn anywhere(number: u32, length: usize) -> usize {
    usize::try_from(mixed(number) >> 33)
        .unwrap_or(0)
        .checked_rem(length.saturating_sub(1))
        .map_or(0, |place| place + 1)
}

/// Spoils one frame of a walk, or its root.
fn spoil(frames: &mut [RawFrame], how: Break, depth: usize, (middle, turn): (usize, u32)) -> Answer {
    let length = frames.len();
    let all = u32::try_from(length).unwrap_or(u32::MAX);
    let one_less = || Ok(all.saturating_sub(u32::from(length > 1)));
    match how {
        Break::Truncated => one_less(),
        Break::Gap => {
            for at in middle + 1..length {
                if let Some(next) = frames.get(at).copied()
                    && let Some(frame) = frames.get_mut(at - 1)
                {
                    *frame = next;
                }
            }
            one_less()
        }
        Break::Extra => {
            // The root twice, where the caller's array has room for it. Every id must be one that
            // the JVM knows.
            let Some(root) = frames.last().copied().filter(|_| length < depth) else { return Ok(all) };
            // SAFETY: the caller's array has room for `depth` frames.
            unsafe { frames.as_mut_ptr().add(length).write(root) };
            Ok(all.saturating_add(1))
        }
        Break::Unwalked => Err(Reason::UNKNOWN_JAVA),
        how => {
            let leaf = frames.first().map_or(0, |leaf| leaf.method);
            if let Some(frame) = frames.get_mut(middle) {
                spoil_frame(frame, leaf, how, turn);
            }
            Ok(all)
        }
    }
}

fn spoil_frame(frame: &mut RawFrame, leaf: usize, how: Break, turn: u32) {
    match how {
        Break::WrongMethod => frame.method = leaf,
        Break::NullMethod => frame.method = 0,
        Break::ForeignMethod => {
            frame.method = match turn % 3 {
                0 => core::ptr::from_mut(frame).addr(),
                1 => 0x25,
                _ => peek::<1>(frame.method).map_or(0x25, |[method]| method),
            }
        }
        Break::WrongBci => frame.bci = if frame.bci == 1 { 2 } else { 1 },
        Break::Nativeness => frame.bci = if frame.bci == NATIVE { 0 } else { NATIVE },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_each_so_many_walks_is_broken_and_any_of_them() {
        for every in [1_u32, 2, 5, 11, 101] {
            let mut places = [0_u32; 101];
            for round in 0..every * 20 {
                let mut broken = (0..every).filter(|place| is_turn(round * every + place, every));
                let one = broken.next().filter(|_| broken.next().is_none());
                places[one.unwrap() as usize] += 1;
            }
            let places = &places[..every as usize];
            assert!(places.iter().all(|times| (4..=45).contains(times)), "of {every}: {places:?}");
        }
    }

    /// Who looks at every second walk, and once at the third when it has found a broken one, would
    /// find those at a fixed stride of eleven twice as often.
    #[test]
    fn who_is_delayed_by_what_is_broken_does_not_find_it_more_often() {
        let (mut at, mut looks, mut found) = (0, 0, 0);
        while looks < 100_000 {
            let is_broken = is_turn(at, 11);
            (looks, found) = (looks + 1, found + u32::from(is_broken));
            at += if is_broken { 3 } else { 2 };
        }
        assert!((8_500..=9_700).contains(&found), "{found} of {looks}: one in eleven is 9,091");
    }
}
