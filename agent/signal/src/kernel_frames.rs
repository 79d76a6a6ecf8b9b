//! Reads the kernel's frames of the interrupted thread from the ring of its perf event.
//!
//! At each overflow the event writes a record: the kernel's frames, and where the thread will go on
//! in user mode. The overflow then signals the thread, and the handler reads the newest record. A
//! thread that was in user mode has a record without frames. A record belongs to the handler only
//! if the thread has gone on where the record says. It must never read a ring that the agent may
//! have unmapped: the caller is inside the gate.

use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use vouch_sample::{Frame, MethodId};
use vouch_unwind::walker::{RawFrame, Room};

/// Where the first page of a ring has the head, and where the records begin and how long they are.
const HEAD: usize = 1_024;
const DATA_OFFSET: usize = 1_040;
const DATA_BYTES: usize = 1_048;
/// The type of a record that is a sample.
const SAMPLE: u32 = 9;
/// Words from here on are no addresses, but say which kind of frames follows.
const FIRST_MARKER: u64 = u64::MAX - 4_094;
/// How long the instruction is that enters the kernel. The kernel sets a thread back by it, to
/// repeat a system call that the signal has interrupted.
const SYSTEM_CALL_BYTES: usize = if cfg!(target_arch = "x86_64") { 2 } else { 4 };

/// The ring of a thread's perf event.
#[derive(Debug, Default)]
pub struct KernelFrames {
    /// The address of the ring, or 0 without one.
    ring: AtomicUsize,
    /// The head at the last look. A record is read only once.
    seen: AtomicU64,
}

/// What a look for the kernel's frames has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The thread was not in the kernel, or its ring has no new record.
    Nothing,
    /// This many frames were written, leaf first.
    Frames(u32),
    /// The thread has gone on since the record, so its frames are not those of this sample.
    Apart,
}

/// A part of the ring, with the bytes of its records.
#[derive(Clone, Copy)]
struct Records {
    begin: usize,
    bytes: usize,
}

impl KernelFrames {
    /// Sets the address of the ring, or 0 for none.
    pub fn set_ring(&self, address: usize) {
        self.seen.store(0, Ordering::Relaxed);
        self.ring.store(address, Ordering::Release);
    }

    /// Reads the kernel's frames of a thread that was interrupted at `pc` in user mode, and writes
    /// up to half of the room.
    ///
    /// # Safety
    /// The caller must be inside the gate, in a handler of the ring's thread. The buffer must be as
    /// large as `room` says.
    pub unsafe fn read(&self, pc: usize, room: Room) -> Found {
        let ring = self.ring.load(Ordering::Acquire);
        if ring == 0 {
            return Found::Nothing;
        }
        // SAFETY: the ring is mapped while the caller is inside the gate, and its first page has
        // these three words.
        let [head, begin, bytes] = unsafe { [HEAD, DATA_OFFSET, DATA_BYTES].map(|at| word(ring, at)) };
        if self.seen.swap(head, Ordering::Relaxed) == head || !bytes.is_power_of_two() {
            return Found::Nothing;
        }
        // The kernel writes the records before the head, on this same processor.
        compiler_fence(Ordering::Acquire);
        let records = Records { begin: ring.wrapping_add(low(begin)), bytes: low(bytes) };
        // SAFETY: the kernel says that these records are in the ring.
        let word_at = |index: usize| unsafe { records.word(low(head), index) };
        let header = word_at(0);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the type")]
        let kind = header as u32;
        let words = low(header >> 48) / size_of::<u64>();
        let count = low(word_at(1));
        if kind != SAMPLE || count.saturating_add(4) > words || words > records.bytes / size_of::<u64>() {
            return Found::Nothing;
        }
        let mut written = 0_u32;
        for index in 2..count.wrapping_add(2) {
            let address = word_at(index);
            if address >= FIRST_MARKER || written >= room.depth.cast_unsigned() / 2 {
                continue;
            }
            // Only the first address is an instruction that runs. The others come after a call.
            let pc = low(address).wrapping_sub(usize::from(written > 0));
            let (bci, method) = Frame::<MethodId>::Kernel { pc }.to_words();
            // SAFETY: the caller promised a buffer of `depth` frames.
            unsafe { room.frames.add(written as usize).write(RawFrame { bci, method }) };
            written = written.wrapping_add(1);
        }
        let goes_on_at = low(word_at(count.wrapping_add(3)));
        match written {
            0 => Found::Nothing,
            _ if [pc, pc.wrapping_add(SYSTEM_CALL_BYTES)].contains(&goes_on_at) => Found::Frames(written),
            _ => Found::Apart,
        }
    }
}

impl Records {
    /// Reads a word of the record that begins at `head`. A record continues at the beginning of the
    /// ring.
    ///
    /// # Safety
    /// The records must be mapped.
    unsafe fn word(self, head: usize, index: usize) -> u64 {
        let at = head.wrapping_add(index.wrapping_mul(size_of::<u64>())) & self.bytes.wrapping_sub(1);
        // SAFETY: the mask keeps the address inside of the records.
        unsafe { word(self.begin, at) }
    }
}

/// Reads a word that the kernel may write at any time.
///
/// # Safety
/// The word must be mapped and aligned.
unsafe fn word(begin: usize, at: usize) -> u64 {
    // SAFETY: the caller promised it.
    unsafe { with_exposed_provenance::<u64>(begin.wrapping_add(at)).read_volatile() }
}

#[expect(clippy::cast_possible_truncation, reason = "a word is 64 bits here")]
const fn low(word: u64) -> usize {
    word as usize
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    const BYTES: usize = 256;
    const PC: usize = 0x7f00_1000;
    const KERNEL: u64 = u64::MAX << 40;

    /// A ring as the kernel writes it, with one record at its head.
    struct Ring(Vec<u64>);

    impl Ring {
        fn new(head: usize, frames: &[u64], goes_on_at: usize) -> Self {
            let first = HEAD / 8 + 8;
            let mut words = std::vec![0; first + BYTES / 8];
            words[HEAD / 8] = (usize::MAX - BYTES + 1 + head) as u64;
            words[DATA_OFFSET / 8] = (first * 8) as u64;
            words[DATA_BYTES / 8] = BYTES as u64;
            let size = 8 * (frames.len() as u64 + 4);
            let record =
                [&[u64::from(SAMPLE) | size << 48, frames.len() as u64], frames, &[2, goes_on_at as u64]];
            for (index, word) in record.concat().into_iter().enumerate() {
                words[first + (head / 8 + index) % (BYTES / 8)] = word;
            }
            Self(words)
        }

        fn frames(&self) -> KernelFrames {
            let frames = KernelFrames::default();
            frames.set_ring(self.0.as_ptr().expose_provenance());
            frames
        }
    }

    fn read(frames: &KernelFrames, pc: usize) -> (Found, Vec<usize>) {
        let mut buffer = [RawFrame::EMPTY; 9];
        let room = Room { frames: buffer.as_mut_ptr(), depth: 8 };
        // SAFETY: the buffer has that many frames, and the ring lives as long as the test.
        let found = unsafe { frames.read(pc, room) };
        let count = if let Found::Frames(count) = found { count as usize } else { 0 };
        (found, buffer[..count].iter().map(|frame| frame.method).collect())
    }

    #[test]
    fn frames_are_read_once_also_across_the_end_of_the_ring() {
        for head in [0, 64, BYTES - 8, BYTES - 24] {
            let ring = Ring::new(head, &[FIRST_MARKER + 3_967, KERNEL + 7, KERNEL + 9], PC);
            let frames = ring.frames();
            let expected = [7, 8].map(|offset| low(KERNEL) + offset).to_vec();
            assert_eq!(read(&frames, PC), (Found::Frames(2), expected), "at {head}");
            assert_eq!(read(&frames, PC).0, Found::Nothing, "nothing is new");
        }
    }

    #[test]
    fn frames_of_another_moment_are_not_taken() {
        let ring = Ring::new(0, &[KERNEL], PC);
        assert_eq!(read(&ring.frames(), PC + 1).0, Found::Apart);
        // The system call is repeated.
        assert_eq!(read(&ring.frames(), PC - SYSTEM_CALL_BYTES).0, Found::Frames(1));
    }

    #[test]
    fn user_mode_and_a_thread_without_a_ring_have_no_frames() {
        assert_eq!(read(&Ring::new(8, &[], PC).frames(), PC).0, Found::Nothing);
        assert_eq!(read(&KernelFrames::default(), PC).0, Found::Nothing);
    }

    #[test]
    fn native_frames_keep_half_of_the_room() {
        let frames = [KERNEL; 20];
        assert_eq!(read(&Ring::new(0, &frames, PC).frames(), PC).0, Found::Frames(4));
    }

    #[test]
    fn a_record_that_cannot_be_one_is_not_read() {
        let mut ring = Ring::new(0, &[KERNEL], PC);
        let first = HEAD / 8 + 8;
        ring.0[first + 1] = 1_000;
        assert_eq!(read(&ring.frames(), PC).0, Found::Nothing);
        ring.0[first] = 1;
        assert_eq!(read(&ring.frames(), PC).0, Found::Nothing);
    }
}
