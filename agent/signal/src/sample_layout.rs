//! How a sample lies in a lane: ten words of head, then what the virtual thread is called that was
//! carried, then the accounts, each walker's, and then what was recovered.
//!
//! An account is three words, of its answer and its origin, of where it begins, and of where it is
//! cut; behind them lie the frames as the walker wrote them. Written by the handler, read by the
//! drain; the one place that knows the layout.

use vouch_sample::{Answer, Cut, Frame, Head, answer_of, number_of};
use vouch_walk::hotspot::mounted_vthread::{NAME_WORDS, VthreadName};
use vouch_walk::walker::{FRAME_WORDS, RawFrame, Room};

use crate::lane::{Claim, Entry};

/// Words before the name.
const HEAD_WORDS: usize = 10;
/// Words of an account before its frames.
const ACCOUNT_WORDS: usize = 3;

/// At most so many stacks are recovered of a sample.
pub const RECOVERED: usize = 3;

/// The words that the longest sample can need: of so many walkers, each with an account of so many
/// frames; and of so many that were recovered, which are one fewer where a walker has a stack: so
/// whichever are more have room for all frames.
#[must_use]
pub const fn longest(walkers: usize, recovered: usize, depth: usize) -> usize {
    let accounts = if recovered > walkers { recovered } else { walkers };
    HEAD_WORDS + NAME_WORDS + (walkers + recovered) * ACCOUNT_WORDS + accounts * depth * FRAME_WORDS
}

/// Whose walk it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The number of the walker.
    pub walker: u8,
    /// It was asked to be compared, whatever the first one said.
    pub compared: bool,
    /// It has not begun where the thread was interrupted; and whether there is a frame before,
    /// which is just being made or taken down.
    pub begun: Option<bool>,
    /// The number of the strategy that repaired the context; `None` if nobody did.
    pub strategy: Option<u16>,
}

impl Origin {
    /// The first walker's, of the context as it is.
    pub const FIRST: Self = Self { walker: 0, compared: false, begun: None, strategy: None };

    const fn number(self) -> u32 {
        let strategy = match self.strategy {
            Some(number) => number.wrapping_add(1),
            None => 0,
        };
        let begun = match self.begun {
            None => 0,
            Some(before) => 1 + before as u32,
        };
        (self.walker as u32) << 24 | (self.compared as u32) << 18 | begun << 16 | strategy as u32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a number")]
    const fn of(number: u32) -> Self {
        Self {
            walker: (number >> 24) as u8,
            compared: number & 1 << 18 != 0,
            begun: match number >> 16 & 3 {
                0 => None,
                before => Some(before == 2),
            },
            strategy: (number as u16).checked_sub(1),
        }
    }
}

/// A sample that is being written, account by account.
#[derive(Debug)]
pub struct Sample<'l, 'm> {
    claim: Claim<'l, 'm>,
    /// Where the next account begins.
    next: usize,
    named: Named,
    /// The most frames of an account.
    depth: usize,
}

impl<'l, 'm> Sample<'l, 'm> {
    /// A sample without an account, each of which may have so many frames, and one more, by the
    /// claim's length.
    #[inline]
    pub fn new(claim: Claim<'l, 'm>, depth: usize) -> Self {
        Self { claim, next: HEAD_WORDS, named: Named::default(), depth }
    }

    /// Writes what the virtual thread is called; before any account.
    #[inline]
    pub fn name(&mut self, name: &VthreadName) {
        self.named = Named { bytes: name.bytes, wide: name.wide, unread: name.unread };
        for word in name.words.iter().take(self.named.words()) {
            self.claim.set(self.next, *word);
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Where the next account's frames are to be written, and how many of them.
    #[inline]
    pub fn room(&self) -> Room {
        let frames = self.claim.pointer(self.next.wrapping_add(ACCOUNT_WORDS)).cast();
        Room { frames, depth: i32::try_from(self.depth).unwrap_or(i32::MAX) }
    }

    /// The first of those frames, before they are taken in.
    ///
    /// # Safety
    /// So many must have been written.
    #[inline]
    pub unsafe fn written(&self, count: u32) -> &[RawFrame] {
        // SAFETY: by the caller's promise; until the claim is published nobody else has its words.
        unsafe { core::slice::from_raw_parts(self.room().frames, count as usize) }
    }

    /// Takes in the account whose frames were written, of a walk that began at this pc, and where
    /// it is cut.
    #[inline]
    pub fn add(&mut self, answer: Answer, cut: Option<Cut>, origin: Origin, pc: usize) {
        self.claim.set(self.next, pair(number_of(answer).cast_unsigned(), origin.number()));
        self.claim.set(self.next.wrapping_add(1), pc as u64);
        self.claim.set(self.next.wrapping_add(2), word_of(cut));
        let frames = answer.map_or(0, |frames| frames as usize);
        self.next = self.next.wrapping_add(ACCOUNT_WORDS + frames.wrapping_mul(FRAME_WORDS));
    }

    /// How many words it has.
    #[inline]
    pub fn words(&self) -> usize {
        self.next
    }

    /// Publishes it under this head.
    #[inline]
    pub fn publish(self, head: &Head) {
        let Self { claim, next, named, .. } = self;
        claim.set(1, head.time);
        claim.set(2, head.cpu);
        claim.set(3, pair(head.tid, head.serial));
        claim.set(4, pair(head.weight, head.took));
        claim.set(5, pair(u32::from(head.witnessed) | named.number(), head.context));
        claim.set(6, head.carried);
        for (at, word) in (7..).zip(head.trace) {
            claim.set(at, word);
        }
        claim.publish(next);
    }
}

/// Reads the head of an entry; `None` if it is too short to be a sample.
#[must_use]
pub fn head(entry: &Entry<'_>) -> Option<Head> {
    let (tid, serial) = split(entry.word(3)?);
    let (weight, took) = split(entry.word(4)?);
    let (flags, context) = split(entry.word(5)?);
    Some(Head {
        time: entry.word(1)?,
        cpu: entry.word(2)?,
        tid,
        serial,
        weight,
        took,
        context,
        carried: entry.word(6)?,
        trace: [entry.word(7)?, entry.word(8)?, entry.word(9)?],
        witnessed: flags & 1 != 0,
    })
}

/// How much of a sample is a name.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    bytes: u8,
    /// Each letter has two of them.
    wide: bool,
    /// There may be one, which could not be read.
    unread: bool,
}

impl Named {
    /// Beside whether the sample is witnessed.
    const fn number(self) -> u32 {
        (self.wide as u32) << 1 | (self.unread as u32) << 2 | (self.bytes as u32) << 8
    }

    fn of(entry: &Entry<'_>) -> Self {
        let (flags, _) = entry.word(5).map_or((0, 0), split);
        #[expect(clippy::cast_possible_truncation, reason = "a byte of it")]
        Self { bytes: (flags >> 8) as u8, wide: flags & 2 != 0, unread: flags & 4 != 0 }
    }

    fn words(self) -> usize {
        usize::from(self.bytes).div_ceil(size_of::<u64>())
    }
}

/// What the virtual thread is called that was carried, letter by letter as UTF-16 has them; `None`
/// if that could not be read.
pub fn name<'e>(entry: &'e Entry<'_>) -> Option<impl Iterator<Item = u16> + 'e> {
    let named = Named::of(entry);
    let byte = move |at: usize| {
        let word = entry.word(HEAD_WORDS.checked_add(at / size_of::<u64>())?)?;
        word.to_le_bytes().get(at % size_of::<u64>()).copied()
    };
    let step = 1 + usize::from(named.wide);
    let letters = (0..usize::from(named.bytes)).step_by(step).map_while(move |at| {
        let low = byte(at)?;
        let high = if named.wide { byte(at.checked_add(1)?)? } else { 0 };
        Some(u16::from_le_bytes([low, high]))
    });
    (!named.unread).then_some(letters)
}

/// One walker's account of a sample.
#[derive(Debug)]
pub struct Account<'e> {
    pub answer: Answer,
    pub origin: Origin,
    /// The instruction that the walk begins at.
    pub pc: usize,
    /// Where frames are lacking.
    pub cut: Option<Cut>,
    entry: &'e Entry<'e>,
    /// Where its frames lie.
    words: core::ops::Range<usize>,
}

impl Account<'_> {
    /// Its frames, leaf first.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        self.words.clone().step_by(FRAME_WORDS).map_while(|at| {
            let words = [self.entry.word(at)?, self.entry.word(at.checked_add(1)?)?];
            Some(RawFrame::from_words(words).into())
        })
    }
}

/// The accounts of a sample: each walker's, in their order, and then what was recovered. One that
/// says that it has more than the entry does is cut.
pub fn accounts<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = Account<'e>> {
    let mut next = HEAD_WORDS.saturating_add(Named::of(entry).words());
    core::iter::from_fn(move || {
        let (told, origin) = split(entry.word(next)?);
        let answer = answer_of(told.cast_signed());
        let pc = usize::try_from(entry.word(next.checked_add(1)?)?).unwrap_or(0);
        let cut = cut_of(entry.word(next.checked_add(2)?)?);
        let begin = next.checked_add(ACCOUNT_WORDS)?;
        let frames = answer.map_or(0, |frames| frames as usize);
        let end = begin.saturating_add(frames.saturating_mul(FRAME_WORDS));
        next = end;
        Some(Account { answer, origin: Origin::of(origin), pc, cut, entry, words: begin..end })
    })
}

/// A cut as a word: never behind no frame, which is therefore none.
pub(crate) fn word_of(cut: Option<Cut>) -> u64 {
    cut.map_or(0, |cut| pair(cut.at, cut.frames))
}

pub(crate) fn cut_of(word: u64) -> Option<Cut> {
    let (at, frames) = split(word);
    (at > 0).then_some(Cut { at, frames })
}

pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
pub(crate) fn split(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::lane::{Lane, Word};
    use std::vec::Vec;
    use vouch_sample::{MethodId, NATIVE, Reason};

    const HEAD: Head = Head {
        time: u64::MAX - 1,
        cpu: 7,
        tid: u32::MAX,
        serial: 3,
        weight: 9,
        took: u32::MAX,
        context: u32::MAX - 1,
        carried: u64::MAX - 2,
        trace: [1, u64::MAX - 3, 4],
        witnessed: true,
    };

    fn words() -> Vec<Word> {
        (0..64).map(|_| Word::default()).collect()
    }

    /// Writes a sample with these accounts.
    fn write(lane: &Lane<'_>, accounts: &[Result<&[RawFrame], Reason>]) {
        let mut sample = Sample::new(lane.claim(longest(accounts.len(), 0, 4)).unwrap(), 3);
        for account in accounts {
            for (at, frame) in account.iter().flat_map(|frames| frames.iter()).enumerate() {
                // SAFETY: the claim has room for four frames in each account.
                unsafe { sample.room().frames.add(at).write(*frame) };
            }
            sample.add(account.map(|frames| u32::try_from(frames.len()).unwrap()), None, Origin::FIRST, 7);
        }
        sample.publish(&HEAD);
    }

    type Read = (Head, Vec<(Answer, Vec<Frame>)>);

    fn read(lane: &Lane<'_>) -> Vec<Read> {
        let mut seen = Vec::new();
        lane.drain(|entry| {
            let accounts = accounts(entry).map(|account| (account.answer, account.frames().collect()));
            seen.push((head(entry).unwrap(), accounts.collect()));
        });
        seen
    }

    #[test]
    fn a_sample_comes_out_as_it_went_in() {
        let words = words();
        let lane = Lane::new(&words);
        let frames = [RawFrame { bci: NATIVE, method: usize::MAX }, RawFrame { bci: 17, method: 1 }];
        write(&lane, &[Ok(&frames)]);
        let native = Frame::Native { method: MethodId(usize::MAX) };
        let java = Frame::Java { method: MethodId(1), bci: 17 };
        assert_eq!(read(&lane), [(HEAD, [(Ok(2), [native, java].to_vec())].to_vec())]);
    }

    #[test]
    fn a_name_stands_before_the_accounts() {
        for (bytes, wide, letters) in [
            (&b"worker-31"[..], false, "worker-31".encode_utf16().collect::<Vec<_>>()),
            (&[0x60, 0x4f, 0x7d, 0x59], true, "你好".encode_utf16().collect()),
            (&[b'x'; NAME_WORDS * 8], false, [u16::from(b'x'); NAME_WORDS * 8].to_vec()),
        ] {
            let words = words();
            let lane = Lane::new(&words);
            let mut name =
                VthreadName { bytes: u8::try_from(bytes.len()).unwrap(), wide, ..VthreadName::default() };
            for (word, bytes) in name.words.iter_mut().zip(bytes.chunks(8)) {
                let mut all = [0; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(all);
            }
            let write = || {
                let mut sample = Sample::new(lane.claim(longest(1, 0, 4)).unwrap(), 3);
                sample.name(&name);
                // SAFETY: the claim has room for four frames.
                unsafe { sample.room().frames.write(RawFrame { bci: 17, method: 1 }) };
                sample.add(Ok(1), None, Origin::FIRST, 7);
                sample.publish(&HEAD);
            };
            write();
            let mut seen = Vec::new();
            lane.drain(|entry| {
                seen.push((head(entry).unwrap(), self::name(entry).unwrap().collect::<Vec<_>>()));
            });
            assert_eq!(seen, [(HEAD, letters)]);
            write();
            let java = Frame::Java { method: MethodId(1), bci: 17 };
            assert_eq!(read(&lane), [(HEAD, [(Ok(1), [java].to_vec())].to_vec())]);
        }
    }

    #[test]
    fn a_sample_carries_an_account_for_each_walker() {
        let words = words();
        let lane = Lane::new(&words);
        let frame = |method| RawFrame { bci: 0, method };
        write(&lane, &[Ok(&[frame(1), frame(2)]), Err(Reason::CRASHED), Ok(&[frame(3)])]);
        let java = |method| Frame::Java { method: MethodId(method), bci: 0 };
        let accounts = [
            (Ok(2), [java(1), java(2)].to_vec()),
            (Err(Reason::CRASHED), Vec::new()),
            (Ok(1), [java(3)].to_vec()),
        ];
        assert_eq!(read(&lane), [(HEAD, accounts.to_vec())]);
    }

    #[test]
    fn an_account_says_whose_it_is_where_it_begins_and_where_it_is_cut() {
        let words = words();
        let lane = Lane::new(&words);
        let mut sample = Sample::new(lane.claim(longest(1, 3, 4)).unwrap(), 3);
        sample.add(Err(Reason::UNKNOWN_JAVA), None, Origin::FIRST, 11);
        let recovered = Origin { strategy: Some(3), ..Origin::FIRST };
        let second = Origin { walker: 1, compared: true, ..Origin::FIRST };
        let begun = Origin { begun: Some(true), ..Origin::FIRST };
        let called = Origin { begun: Some(false), strategy: Some(0), ..Origin::FIRST };
        for (origin, pc) in [(recovered, 12), (second, usize::MAX), (begun, 13), (called, 14)] {
            // SAFETY: the claim has room for four frames in each account.
            unsafe { sample.room().frames.write(RawFrame { bci: 0, method: 7 }) };
            sample.add(Ok(1), Some(Cut { at: 1, frames: 9 }), origin, pc);
        }
        sample.publish(&HEAD);
        let mut seen = Vec::new();
        lane.drain(|entry| {
            let told =
                accounts(entry).map(|it| (it.answer, it.origin, it.pc, it.cut.map_or(0, |cut| cut.frames)));
            seen = told.collect();
        });
        assert_eq!(
            seen,
            [
                (Err(Reason::UNKNOWN_JAVA), Origin::FIRST, 11, 0),
                (Ok(1), recovered, 12, 9),
                (Ok(1), second, usize::MAX, 9),
                (Ok(1), begun, 13, 9),
                (Ok(1), called, 14, 9)
            ]
        );
    }

    #[test]
    fn what_is_torn_or_no_sample_is_read_as_far_as_it_goes() {
        let words = words();
        let lane = Lane::new(&words);
        let mut sample = Sample::new(lane.claim(longest(1, 0, 4)).unwrap(), 3);
        // It says that it has a thousand frames, and has none.
        sample.claim.set(HEAD_WORDS, 1_000);
        sample.claim.set(HEAD_WORDS + 1, 0);
        sample.claim.set(HEAD_WORDS + 2, 0);
        sample.next = HEAD_WORDS + ACCOUNT_WORDS;
        sample.publish(&HEAD);
        assert_eq!(read(&lane), [(HEAD, [(Ok(1_000), Vec::new())].to_vec())]);
        for length in 1..HEAD_WORDS {
            lane.claim(longest(1, 0, 4)).unwrap().publish(length);
            lane.drain(|entry| assert_eq!((head(entry), accounts(entry).count()), (None, 0)));
        }
    }
}
