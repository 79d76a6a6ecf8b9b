//! A walker that is broken on purpose. Tests use it to show that each kind of difference is
//! recognised.
//!
//! The broken walker calls a real walker and then damages the frames. Or it faults: in its own
//! code, or in the real walker on a damaged context. It runs in a signal handler like any walker.
//! It must never be used unless a test asked for it.

use std::sync::atomic::{AtomicU32, Ordering};

use vouch::lab_hooks::WalkerWrapper;
use vouch_sample::{Answer, NATIVE, Reason};

use vouch_unwind::kernel::peek;
use vouch_unwind::walker::{RawFrame, Room, Subject, Walker};

use crate::fault::{damage, fault, past_end};

/// A way to break a walk. It has the name of the difference that it causes between a walk and its
/// witness, if it causes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    Truncated,
    Gap,
    Extra,
    WrongMethod,
    WrongBci,
    NullMethod,
    /// Replaces a jmethodID by a value that is no jmethodID. In turn it is the address of something
    /// else, a small number, and the address of the Method itself.
    ForeignMethod,
    Nativeness,
    Unwalked,
    /// Makes the walk fault, in four ways in turn.
    Crashed,
    /// Passes a damaged context to the real walker.
    Damaged,
}

impl Break {
    /// True if this way to break a walk damages the frames after a walk of the real context.
    #[must_use]
    pub fn spoils(self) -> bool {
        !matches!(self, Self::Crashed | Self::Damaged)
    }
}

/// All ways to break a walk, by name.
pub const BREAKS: [(&str, Break); 11] = [
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

/// A way to break a walker's walks, and the number n if it breaks one of n.
#[derive(Debug, Clone, Copy)]
pub struct BreakOneIn {
    pub how: Break,
    pub every: u32,
}

impl WalkerWrapper for BreakOneIn {
    fn wrap(&self, whole: &'static dyn Walker) -> &'static dyn Walker {
        Box::leak(Box::new(BrokenWalker::new(whole, self.how, self.every, past_end())))
    }

    /// The walk of a CPU context that no thread had says nothing about the walker.
    fn is_comparable(&self) -> bool {
        self.how.spoils()
    }

    fn warning(&self) -> String {
        let Self { how, every } = self;
        format!(
            "the walker is broken on purpose ({how:?}, one walk of {every}): believe nothing of this profile"
        )
    }
}

/// A walker that breaks one in `every` walks of another walker. If it breaks all of them, it
/// damages the middle frame of each. Otherwise it damages any frame but the leaf.
#[derive(Debug)]
pub struct BrokenWalker {
    whole: &'static dyn Walker,
    kind: Break,
    every: u32,
    /// An address after the end of a mapped file, where a read causes SIGBUS.
    past_end: usize,
    walks: AtomicU32,
}

impl BrokenWalker {
    pub fn new(whole: &'static dyn Walker, kind: Break, every: u32, past_end: usize) -> Self {
        Self { whole, kind, every: every.max(1), past_end, walks: AtomicU32::new(0) }
    }

    /// Counts a walk, and returns its number if this walk has to be broken.
    fn turn(&self) -> Option<u32> {
        let number = self.walks.fetch_add(1, Ordering::Relaxed);
        is_turn(number, self.every).then_some(number)
    }
}

// SAFETY: the wrapped walker keeps the promises of the trait. This one adds a frame only if the
// buffer has room for it.
unsafe impl Walker for BrokenWalker {
    fn runs_jvm(&self) -> bool {
        self.whole.runs_jvm()
    }

    /// Walks, and breaks the walk if it is its turn. The reason of a failed walk is not changed.
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        if !self.kind.spoils() {
            let turn = self.turn().map(|number| number.checked_div(self.every).unwrap_or(0));
            return match turn {
                Some(turn) if self.kind == Break::Crashed => {
                    // SAFETY: walkers are asked under the guard, and own nothing then. The address
                    // is past the end of a mapped file.
                    unsafe { fault(turn, self.past_end) };
                    Err(Reason::CRASHED)
                }
                // SAFETY: the caller made the same promise for these arguments.
                Some(turn) => unsafe { self.walk_damaged(turn, subject, room) },
                // SAFETY: the caller made the same promise for these arguments.
                None => unsafe { self.whole.walk(subject, room) },
            };
        }
        // SAFETY: the caller made the same promise for these arguments.
        let count = unsafe { self.whole.walk(subject, room) }?;
        let length = usize::try_from(count).unwrap_or(0);
        // SAFETY: the walker wrote `count` frames into the caller's buffer, which nothing else
        // uses.
        let frames = unsafe { std::slice::from_raw_parts_mut(room.frames, length) };
        let Some(number) = self.turn() else { return Ok(count) };
        let index = if self.every == 1 { length / 2 } else { index_without_leaf(number, length) };
        let turn = number.checked_div(self.every).unwrap_or(0);
        spoil(frames, self.kind, usize::try_from(room.depth).unwrap_or(0), (index, turn))
    }
}

impl BrokenWalker {
    /// Calls the real walker with a damaged copy of the context.
    ///
    /// # Safety
    /// As for [`Walker::walk`].
    unsafe fn walk_damaged(&self, turn: u32, subject: &Subject<'_>, room: Room) -> Answer {
        // SAFETY: the caller promised a ucontext. No thread resumes from the copy.
        unsafe {
            let mut copy = subject.context.cast::<libc::ucontext_t>().read();
            damage((&raw mut copy).cast(), mixed(turn));
            let damaged = Subject { context: (&raw mut copy).cast(), ..*subject };
            self.whole.walk(&damaged, room)
        }
    }
}

/// True for one walk number in `every`, at a pseudorandom position. A fixed stride would keep in
/// step with other periodic events, such as witnesses.
fn is_turn(number: u32, every: u32) -> bool {
    let round = number.checked_div(every).unwrap_or(0);
    number.checked_rem(every).map(u64::from) == (mixed(round) >> 33).checked_rem(every.into())
}

/// Maps a number to a pseudorandom one. One step of a linear congruential generator is good enough.
fn mixed(number: u32) -> u64 {
    let mixed =
        u64::from(number).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    mixed ^ mixed >> 29
}

/// Returns the index of a frame that is not the leaf, or `None` if the stack has no other. The
/// index differs between walks.
fn index_without_leaf(number: u32, length: usize) -> usize {
    usize::try_from(mixed(number) >> 33)
        .unwrap_or(0)
        .checked_rem(length.saturating_sub(1))
        .map_or(0, |index| index + 1)
}

/// Damages a finished walk: one of its frames, or its root.
fn spoil(frames: &mut [RawFrame], kind: Break, depth: usize, (middle, turn): (usize, u32)) -> Answer {
    let length = frames.len();
    let all = u32::try_from(length).unwrap_or(u32::MAX);
    let one_less = || Ok(all.saturating_sub(u32::from(length > 1)));
    match kind {
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
            // The root is written twice if the buffer has room. It has a valid id, as all frames
            // must have here.
            let Some(root) = frames.last().copied().filter(|_| length < depth) else { return Ok(all) };
            // SAFETY: the caller's buffer has room for `depth` frames, and `length` is less.
            unsafe { frames.as_mut_ptr().add(length).write(root) };
            Ok(all.saturating_add(1))
        }
        Break::Unwalked => Err(Reason::UNKNOWN_JAVA),
        kind => {
            let leaf = frames.first().map_or(0, |leaf| leaf.method);
            if let Some(frame) = frames.get_mut(middle) {
                spoil_frame(frame, leaf, kind, turn);
            }
            Ok(all)
        }
    }
}

fn spoil_frame(frame: &mut RawFrame, leaf: usize, kind: Break, turn: u32) {
    match kind {
        Break::WrongMethod => frame.method = leaf,
        Break::NullMethod => frame.method = 0,
        Break::ForeignMethod => {
            frame.method = match turn % 3 {
                0 => std::ptr::from_mut(frame).addr(),
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
    fn one_walk_per_period_is_broken_at_any_position() {
        for every in [1_u32, 2, 5, 11, 101] {
            let mut places = [0_u32; 101];
            for round in 0..every * 20 {
                let mut broken = (0..every).filter(|index| is_turn(round * every + index, every));
                let one = broken.next().filter(|_| broken.next().is_none());
                places[one.unwrap() as usize] += 1;
            }
            let places = &places[..every as usize];
            assert!(places.iter().all(|times| (4..=45).contains(times)), "of {every}: {places:?}");
        }
    }

    /// Checks that an observer that looks at every second walk, and at the third after a broken
    /// one, finds few broken walks. With a fixed stride of eleven it would find twice as many.
    #[test]
    fn an_observer_that_broken_walks_delay_does_not_find_more_of_them() {
        let (mut at, mut looks, mut found) = (0, 0, 0);
        while looks < 100_000 {
            let is_broken = is_turn(at, 11);
            (looks, found) = (looks + 1, found + u32::from(is_broken));
            at += if is_broken { 3 } else { 2 };
        }
        assert!((8_500..=9_700).contains(&found), "{found} of {looks}: one in eleven is 9,091");
    }
}
