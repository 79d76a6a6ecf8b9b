//! The layout of a sample in a lane, the ring that a handler writes to.
//!
//! A sample is ten words of head, the name of the mounted virtual thread, and the candidate stacks:
//! first one of each walker, then the recovered ones. A candidate is three words and then its
//! frames as the walker wrote them. The three words are answer and origin, the pc where the walk
//! began, and the cut. The native frames come last, in the form of a candidate. The handler writes
//! the layout and the drain reads it, both only by this module.

use vouch_sample::{Answer, Cut, Frame, Head, answer_from_number, answer_to_number};
use vouch_unwind::hotspot::mounted_vthread::{NAME_WORDS, VthreadName};
use vouch_unwind::walker::{FRAME_WORDS, RawFrame, Room};

use crate::lane::{Claim, Entry};

/// The number of words of a sample before the virtual thread's name.
const HEAD_WORDS: usize = 10;
/// The number of words of a candidate stack before its frames.
const CANDIDATE_WORDS: usize = 3;

/// The maximal number of stacks that are recovered for a sample.
pub const MAX_RECOVERED: usize = 3;
/// How many native frames a sample has at most. A compiler's recursion has some two hundred.
pub const MAX_NATIVE_FRAMES: usize = 256;
/// Words of the native frames.
pub const NATIVE_WORDS: usize = CANDIDATE_WORDS + MAX_NATIVE_FRAMES * FRAME_WORDS;

/// Returns the maximal number of words of a sample without native frames. Each candidate of
/// `walkers` has up to `depth` frames, and so has each recovered one. If a walker has a stack, one
/// fewer is recovered. So space for the frames of the larger group is enough.
#[must_use]
pub const fn max_words(walkers: usize, recovered: usize, depth: usize) -> usize {
    let candidates = if recovered > walkers { recovered } else { walkers };
    HEAD_WORDS + NAME_WORDS + (walkers + recovered) * CANDIDATE_WORDS + candidates * depth * FRAME_WORDS
}

/// The walk that a candidate stack comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The index of the walker that found the stack.
    pub walker: u8,
    /// True if all walkers were called to compare them, whatever the first one found.
    pub compared: bool,
    /// `Some` if the walk began at a resume point instead of the interrupted instruction. The value
    /// is true if a younger frame was being set up or removed.
    pub resumed: Option<bool>,
    /// The number of the recovery strategy that repaired the context, or `None` if the context was
    /// not repaired.
    pub strategy: Option<u16>,
    /// True for the native frames, which are no candidate.
    pub is_native: bool,
}

impl Origin {
    /// The origin of a stack that the first walker found from the context as it was.
    pub const FIRST: Self =
        Self { walker: 0, compared: false, resumed: None, strategy: None, is_native: false };

    const fn to_bits(self) -> u32 {
        let strategy = match self.strategy {
            Some(number) => number.wrapping_add(1),
            None => 0,
        };
        let resumed = match self.resumed {
            None => 0,
            Some(before) => 1 + before as u32,
        };
        (self.walker as u32) << 24
            | (self.is_native as u32) << 19
            | (self.compared as u32) << 18
            | resumed << 16
            | strategy as u32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a number")]
    const fn from_bits(bits: u32) -> Self {
        Self {
            walker: (bits >> 24) as u8,
            compared: bits & 1 << 18 != 0,
            resumed: match bits >> 16 & 3 {
                0 => None,
                before => Some(before == 2),
            },
            strategy: (bits as u16).checked_sub(1),
            is_native: bits & 1 << 19 != 0,
        }
    }
}

/// A sample that is being written, one candidate stack after the other.
#[derive(Debug)]
pub struct Sample<'l, 'm> {
    claim: Claim<'l, 'm>,
    /// The index of the next candidate stack's first word.
    next: usize,
    name_flags: NameFlags,
    /// The maximal number of frames of a candidate stack.
    depth: usize,
}

impl<'l, 'm> Sample<'l, 'm> {
    /// Makes a sample without candidates. The claim must have space for `depth` frames, and one
    /// more, in each candidate.
    #[inline]
    pub fn new(claim: Claim<'l, 'm>, depth: usize) -> Self {
        Self { claim, next: HEAD_WORDS, name_flags: NameFlags::default(), depth }
    }

    /// Writes the name of the mounted virtual thread. This must happen before any candidate is
    /// added.
    #[inline]
    pub fn set_name(&mut self, name: &VthreadName) {
        self.name_flags = NameFlags { bytes: name.bytes, wide: name.wide, unread: name.unread };
        for word in name.words.iter().take(self.name_flags.words()) {
            self.claim.set(self.next, *word);
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Returns the buffer for the frames of the next candidate stack.
    #[inline]
    pub fn buffer(&self) -> Room {
        let frames = self.claim.pointer(self.next.wrapping_add(CANDIDATE_WORDS)).cast();
        Room { frames, depth: i32::try_from(self.depth).unwrap_or(i32::MAX) }
    }

    /// Returns the first `count` frames that a walker has written into the next candidate's buffer,
    /// before the candidate is added.
    ///
    /// # Safety
    /// A walker must have written that many frames.
    #[inline]
    pub unsafe fn written_frames(&self, count: u32) -> &[RawFrame] {
        // SAFETY: the caller promised that the frames were written. Until the claim is published,
        // no other thread uses its words.
        unsafe { core::slice::from_raw_parts(self.buffer().frames, count as usize) }
    }

    /// Adds a candidate stack. A walker has written its frames into the buffer, and the walk began
    /// at `pc`.
    #[inline]
    pub fn add_candidate(&mut self, answer: Answer, cut: Option<Cut>, origin: Origin, pc: usize) {
        self.claim.set(self.next, pair(answer_to_number(answer).cast_unsigned(), origin.to_bits()));
        self.claim.set(self.next.wrapping_add(1), pc as u64);
        self.claim.set(self.next.wrapping_add(2), encode_cut(cut));
        let frames = answer.map_or(0, |frames| frames as usize);
        self.next = self.next.wrapping_add(CANDIDATE_WORDS + frames.wrapping_mul(FRAME_WORDS));
    }

    /// Returns the buffer for the native frames, or `None` if the claim has no space for them.
    #[inline]
    pub fn native_buffer(&self) -> Option<Room> {
        let last = self.next.wrapping_add(NATIVE_WORDS).wrapping_sub(1);
        if self.claim.pointer(last).is_null() {
            return None;
        }
        let depth = i32::try_from(MAX_NATIVE_FRAMES).unwrap_or(0);
        Some(Room { depth, ..self.buffer() })
    }

    /// Adds the native frames, which are in that buffer. No candidate may follow.
    #[inline]
    pub fn add_native(&mut self, frames: u32, cut: Option<Cut>) {
        self.add_candidate(Ok(frames), cut, Origin { is_native: true, ..Origin::FIRST }, 0);
    }

    /// Returns how many words the sample has so far.
    #[inline]
    pub fn words(&self) -> usize {
        self.next
    }

    /// Publishes the sample in its lane, with this head.
    #[inline]
    pub fn publish(self, head: &Head) {
        let Self { claim, next, name_flags, .. } = self;
        claim.set(1, head.time);
        claim.set(2, head.cpu);
        claim.set(3, pair(head.tid, head.serial));
        claim.set(4, pair(head.weight, head.handler_ns));
        claim.set(5, pair(u32::from(head.wants_witness) | name_flags.to_bits(), head.context));
        claim.set(6, head.mounted_vthread);
        for (at, word) in (7..).zip(head.trace) {
            claim.set(at, word);
        }
        claim.publish(next);
    }
}

/// Reads the head of an entry. The result is `None` if the entry is too short to be a sample.
#[must_use]
pub fn head(entry: &Entry<'_>) -> Option<Head> {
    let (tid, serial) = split(entry.word(3)?);
    let (weight, handler_ns) = split(entry.word(4)?);
    let (flags, context) = split(entry.word(5)?);
    Some(Head {
        time: entry.word(1)?,
        cpu: entry.word(2)?,
        tid,
        serial,
        weight,
        handler_ns,
        context,
        mounted_vthread: entry.word(6)?,
        trace: [entry.word(7)?, entry.word(8)?, entry.word(9)?],
        wants_witness: flags & 1 != 0,
    })
}

/// The encoding and the length of a virtual thread's name.
#[derive(Debug, Clone, Copy, Default)]
struct NameFlags {
    bytes: u8,
    /// True if a character of the name has two bytes (UTF-16), false if it has one (Latin-1).
    wide: bool,
    /// True if the virtual thread may have a name that could not be read.
    unread: bool,
}

impl NameFlags {
    /// Encodes the flags of the name for the head's flag word. The lowest bit of that word requests
    /// a witness.
    const fn to_bits(self) -> u32 {
        (self.wide as u32) << 1 | (self.unread as u32) << 2 | (self.bytes as u32) << 8
    }

    fn from_entry(entry: &Entry<'_>) -> Self {
        let (flags, _) = entry.word(5).map_or((0, 0), split);
        #[expect(clippy::cast_possible_truncation, reason = "a byte of it")]
        Self { bytes: (flags >> 8) as u8, wide: flags & 2 != 0, unread: flags & 4 != 0 }
    }

    fn words(self) -> usize {
        usize::from(self.bytes).div_ceil(size_of::<u64>())
    }
}

/// Returns the name of the mounted virtual thread as UTF-16 code units. The result is `None` if the
/// name could not be read.
pub fn name<'e>(entry: &'e Entry<'_>) -> Option<impl Iterator<Item = u16> + 'e> {
    let name_flags = NameFlags::from_entry(entry);
    let byte = move |at: usize| {
        let word = entry.word(HEAD_WORDS.checked_add(at / size_of::<u64>())?)?;
        word.to_le_bytes().get(at % size_of::<u64>()).copied()
    };
    let step = 1 + usize::from(name_flags.wide);
    let letters = (0..usize::from(name_flags.bytes)).step_by(step).map_while(move |at| {
        let low = byte(at)?;
        let high = if name_flags.wide { byte(at.checked_add(1)?)? } else { 0 };
        Some(u16::from_le_bytes([low, high]))
    });
    (!name_flags.unread).then_some(letters)
}

/// A candidate stack of a sample: one walker's result, or a recovered one.
#[derive(Debug)]
pub struct CandidateStack<'e> {
    pub answer: Answer,
    pub origin: Origin,
    /// The address of the instruction at which the walk began.
    pub pc: usize,
    /// Where frames of the candidate are missing, or `None` if it is whole.
    pub cut: Option<Cut>,
    entry: &'e Entry<'e>,
    /// The indices in the entry of the words of the candidate's frames.
    words: core::ops::Range<usize>,
}

impl CandidateStack<'_> {
    /// Returns the candidate's frames, leaf first.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        self.words.clone().step_by(FRAME_WORDS).map_while(|at| {
            let words = [self.entry.word(at)?, self.entry.word(at.checked_add(1)?)?];
            let raw = RawFrame::from_words(words);
            Some(if self.origin.is_native { Frame::from_words(raw.bci, raw.method) } else { raw.into() })
        })
    }
}

/// Returns the candidate stacks of a sample: first the walkers' in their order, then the recovered
/// ones. A candidate that is longer than the entry ends with the entry.
pub fn candidates<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = CandidateStack<'e>> {
    stacks(entry).take_while(|stack| !stack.origin.is_native)
}

/// Returns the native frames of a sample, and whether frames are missing after them.
pub fn native<'e>(entry: &'e Entry<'_>) -> Option<CandidateStack<'e>> {
    stacks(entry).find(|stack| stack.origin.is_native)
}

fn stacks<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = CandidateStack<'e>> {
    let mut next = HEAD_WORDS.saturating_add(NameFlags::from_entry(entry).words());
    core::iter::from_fn(move || {
        let (answer, origin) = split(entry.word(next)?);
        let answer = answer_from_number(answer.cast_signed());
        let pc = usize::try_from(entry.word(next.checked_add(1)?)?).unwrap_or(0);
        let cut = decode_cut(entry.word(next.checked_add(2)?)?);
        let begin = next.checked_add(CANDIDATE_WORDS)?;
        let frames = answer.map_or(0, |frames| frames as usize);
        let end = begin.saturating_add(frames.saturating_mul(FRAME_WORDS));
        next = end;
        Some(CandidateStack { answer, origin: Origin::from_bits(origin), pc, cut, entry, words: begin..end })
    })
}

/// Encodes where frames of a stack are missing. A cut comes after at least one frame, so 0 encodes
/// `None`.
pub(crate) fn encode_cut(cut: Option<Cut>) -> u64 {
    cut.map_or(0, |cut| pair(cut.at, cut.missing))
}

pub(crate) fn decode_cut(word: u64) -> Option<Cut> {
    let (at, frames) = split(word);
    (at > 0).then_some(Cut { at, missing: frames })
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
        handler_ns: u32::MAX,
        context: u32::MAX - 1,
        mounted_vthread: u64::MAX - 2,
        trace: [1, u64::MAX - 3, 4],
        wants_witness: true,
    };

    fn words() -> Vec<Word> {
        (0..64).map(|_| Word::default()).collect()
    }

    /// Writes a sample with these candidate stacks into a lane.
    fn write(lane: &Lane<'_>, candidates: &[Result<&[RawFrame], Reason>]) {
        let mut sample = Sample::new(lane.claim(max_words(candidates.len(), 0, 4)).unwrap(), 3);
        for candidate in candidates {
            for (at, frame) in candidate.iter().flat_map(|frames| frames.iter()).enumerate() {
                // SAFETY: the claim has space for four frames in each candidate.
                unsafe { sample.buffer().frames.add(at).write(*frame) };
            }
            sample.add_candidate(
                candidate.map(|frames| u32::try_from(frames.len()).unwrap()),
                None,
                Origin::FIRST,
                7,
            );
        }
        sample.publish(&HEAD);
    }

    type Read = (Head, Vec<(Answer, Vec<Frame>)>);

    fn read(lane: &Lane<'_>) -> Vec<Read> {
        let mut seen = Vec::new();
        lane.drain(|entry| {
            let candidates =
                candidates(entry).map(|candidate| (candidate.answer, candidate.frames().collect()));
            seen.push((head(entry).unwrap(), candidates.collect()));
        });
        seen
    }

    #[test]
    fn a_sample_is_read_as_it_was_written() {
        let words = words();
        let lane = Lane::new(&words);
        let frames = [RawFrame { bci: NATIVE, method: usize::MAX }, RawFrame { bci: 17, method: 1 }];
        write(&lane, &[Ok(&frames)]);
        let native = Frame::JavaNative { method: MethodId(usize::MAX) };
        let java = Frame::Java { method: MethodId(1), bci: 17 };
        assert_eq!(read(&lane), [(HEAD, [(Ok(2), [native, java].to_vec())].to_vec())]);
    }

    #[test]
    fn a_name_precedes_the_candidates() {
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
                let mut sample = Sample::new(lane.claim(max_words(1, 0, 4)).unwrap(), 3);
                sample.set_name(&name);
                // SAFETY: the claim has space for four frames.
                unsafe { sample.buffer().frames.write(RawFrame { bci: 17, method: 1 }) };
                sample.add_candidate(Ok(1), None, Origin::FIRST, 7);
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
    fn a_sample_has_a_candidate_for_each_walker() {
        let words = words();
        let lane = Lane::new(&words);
        let frame = |method| RawFrame { bci: 0, method };
        write(&lane, &[Ok(&[frame(1), frame(2)]), Err(Reason::CRASHED), Ok(&[frame(3)])]);
        let java = |method| Frame::Java { method: MethodId(method), bci: 0 };
        let candidates = [
            (Ok(2), [java(1), java(2)].to_vec()),
            (Err(Reason::CRASHED), Vec::new()),
            (Ok(1), [java(3)].to_vec()),
        ];
        assert_eq!(read(&lane), [(HEAD, candidates.to_vec())]);
    }

    #[test]
    fn a_candidate_has_its_origin_its_start_and_its_cut() {
        let words = words();
        let lane = Lane::new(&words);
        let mut sample = Sample::new(lane.claim(max_words(1, 3, 4)).unwrap(), 3);
        sample.add_candidate(Err(Reason::UNKNOWN_JAVA), None, Origin::FIRST, 11);
        let recovered = Origin { strategy: Some(3), ..Origin::FIRST };
        let second = Origin { walker: 1, compared: true, ..Origin::FIRST };
        let resumed = Origin { resumed: Some(true), ..Origin::FIRST };
        let called = Origin { resumed: Some(false), strategy: Some(0), ..Origin::FIRST };
        for (origin, pc) in [(recovered, 12), (second, usize::MAX), (resumed, 13), (called, 14)] {
            // SAFETY: the claim has space for four frames in each candidate.
            unsafe { sample.buffer().frames.write(RawFrame { bci: 0, method: 7 }) };
            sample.add_candidate(Ok(1), Some(Cut { at: 1, missing: 9 }), origin, pc);
        }
        sample.publish(&HEAD);
        let mut seen = Vec::new();
        lane.drain(|entry| {
            let found = candidates(entry)
                .map(|it| (it.answer, it.origin, it.pc, it.cut.map_or(0, |cut| cut.missing)));
            seen = found.collect();
        });
        assert_eq!(
            seen,
            [
                (Err(Reason::UNKNOWN_JAVA), Origin::FIRST, 11, 0),
                (Ok(1), recovered, 12, 9),
                (Ok(1), second, usize::MAX, 9),
                (Ok(1), resumed, 13, 9),
                (Ok(1), called, 14, 9)
            ]
        );
    }

    #[test]
    fn native_frames_follow_the_candidates_and_are_none() {
        let words: Vec<Word> = (0..2 * (64 + NATIVE_WORDS)).map(|_| Word::default()).collect();
        let lane = Lane::new(&words);
        let short = Sample::new(lane.claim(max_words(1, 0, 4)).unwrap(), 3);
        assert!(short.native_buffer().is_none(), "a claim without space");
        drop(short);
        let native_frames = [Frame::Native { pc: 0x7f00 }, Frame::Kernel { pc: usize::MAX }];
        let mut sample = Sample::new(lane.claim(max_words(1, 0, 4) + NATIVE_WORDS).unwrap(), 3);
        sample.add_candidate(Err(Reason::NO_JAVA_THREAD), None, Origin::FIRST, 7);
        let room = sample.native_buffer().unwrap();
        for (at, frame) in native_frames.into_iter().enumerate() {
            let (bci, method) = frame.to_words();
            // SAFETY: the buffer has space for `MAX_NATIVE_FRAMES` frames.
            unsafe { room.frames.add(at).write(RawFrame { bci, method }) };
        }
        sample.add_native(2, Some(Cut { at: 2, missing: 0 }));
        sample.publish(&HEAD);
        lane.drain(|entry| {
            let found = native(entry).unwrap();
            assert_eq!(found.frames().collect::<Vec<_>>(), native_frames);
            assert_eq!((candidates(entry).count(), found.cut.map(|cut| cut.at)), (1, Some(2)));
        });
    }

    #[test]
    fn a_truncated_sample_is_read_as_far_as_it_goes() {
        let words = words();
        let lane = Lane::new(&words);
        let mut sample = Sample::new(lane.claim(max_words(1, 0, 4)).unwrap(), 3);
        // The candidate's length is a thousand frames, but the sample ends before the first one.
        sample.claim.set(HEAD_WORDS, 1_000);
        sample.claim.set(HEAD_WORDS + 1, 0);
        sample.claim.set(HEAD_WORDS + 2, 0);
        sample.next = HEAD_WORDS + CANDIDATE_WORDS;
        sample.publish(&HEAD);
        assert_eq!(read(&lane), [(HEAD, [(Ok(1_000), Vec::new())].to_vec())]);
        for length in 1..HEAD_WORDS {
            lane.claim(max_words(1, 0, 4)).unwrap().publish(length);
            lane.drain(|entry| assert_eq!((head(entry), candidates(entry).count()), (None, 0)));
        }
    }
}
