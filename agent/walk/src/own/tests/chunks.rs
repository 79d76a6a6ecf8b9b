//! Virtual threads' stacks: the frames that lie in chunks, and where a stack ends.

use core::cell::Cell;

use super::super::continuation::{ChunkLayout, ContinuationLayout, End};
use super::super::heap::{Classes, HeapLayout, Moves, Pointers};
use super::*;
use crate::walker::Part;

/// Where the oldest frame on the stack returns to; the entry behind it; the continuation, and its class.
const BARRIER: usize = 0x70_0000;
const MARK: usize = OUTER + 0x40;
const CONTINUATION: usize = 0x80_0000;
const VIRTUAL: usize = 0x90_0000;
const CHUNK: usize = 0x90_1000;
/// The chunks, and where in one the words for frames begin, the youngest among them, and the end.
const CHUNKS: [usize; 3] = [0x81_0000, 0x82_0000, 0x83_0000];
const WORDS: usize = 0x40;
const BEGIN: usize = WORDS + 4 * WORD;
/// The number of the collector's pauses, and whether there is one.
const PAUSES: usize = 0xa0_0000;
const PAUSE: usize = 0xa0_0008;
const NOBODY: usize = 0x1;

fn continuations() -> ContinuationLayout {
    ContinuationLayout {
        heap: HeapLayout {
            pointers: Pointers::Whole,
            classes: Classes::Whole,
            moves: Moves::AtStops { count: PAUSES, going_on: PAUSE },
        },
        barrier: BARRIER..BARRIER + 0x10,
        first: NOBODY,
        enters: NOBODY,
        carries: NOBODY,
        leaves: NOBODY,
        entry: 56..80,
        continuation: 8..24,
        class: VIRTUAL,
        last: 24,
        chunk: ChunkLayout {
            class: CHUNK,
            before: 16,
            size: 24,
            youngest: 28,
            end: End::At(32),
            frames: WORDS,
        },
    }
}

/// A thread whose leaf alone is on the stack: its callers are in two chunks, between which there is an empty one.
fn parked() -> Thread {
    let mut thread = thread();
    let jvm = &mut thread.jvm;
    jvm.continuations = Some(continuations());
    jvm.push(OUTER - 2 * WORD, &[0x77, BARRIER]);
    jvm.push(ENV + 56, &[0, MARK, 0]);
    jvm.push(MARK, &[0, 0, CONTINUATION, 0]);
    jvm.push(CONTINUATION, &[1, VIRTUAL, 0, CHUNKS[0]]);
    jvm.push(PAUSES, &[7, 0]);
    // The outer one's frame, which is all of the first.
    chunk(jvm, CHUNKS[0], CHUNKS[1], SIZE);
    jvm.push(CHUNKS[0] + BEGIN - 2 * WORD, &[0x77, thread.outer_code + CALL]);
    jvm.push(CHUNKS[0] + BEGIN + (SIZE - 2) * WORD, &[0x77, 0]);
    chunk(jvm, CHUNKS[1], CHUNKS[2], 0);
    // The interpreted one's, with distances in words.
    chunk(jvm, CHUNKS[2], 0, 18);
    let (begin, fp) = (CHUNKS[2] + BEGIN, CHUNKS[2] + BEGIN + 16 * WORD);
    jvm.push(begin - 2 * WORD, &[18, BACK + 8]);
    jvm.push(fp - 8 * WORD, &[thread.interpreted.bytecode(12), 0, 0, 0, 0]);
    jvm.push(fp - 3 * WORD, &[thread.interpreted.at, 16_usize.wrapping_neg(), 2, 5, 0]);
    thread
}

/// A chunk of so many words of frames.
fn chunk(jvm: &Jvm, at: usize, before: usize, words: usize) {
    jvm.push(at, &[1, CHUNK, before]);
    jvm.put_numbers(at, &[(24, 4 + words), (28, 4), (32, 4 + words)]);
    jvm.push(at + WORDS, &[0; 40]);
}

fn answer(thread: &Thread) -> Answer {
    thread.jvm.walk(thread.at(0x20, LEAF)).0
}

const UNKNOWN: Answer = Err(Reason::NOT_WALKABLE_JAVA);

#[test]
fn frames_that_have_not_come_back_are_found_in_their_chunks() {
    let thread = parked();
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)), thread.with(thread.leaf.frame(70)));
}

#[test]
fn where_the_interrupted_frame_is_being_taken_down_its_caller_is_in_a_chunk() {
    let thread = parked();
    let (answer, frames, outset) = thread.jvm.walk(thread.at(8, OUTER - WORD));
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(ENTRY))));
    assert_eq!(outset, Outset { pc: thread.outer_code + CALL - 1, before: true });
}

#[test]
fn a_walk_may_begin_at_the_barrier() {
    let thread = parked();
    let at = Interrupted { calls: true, ..Jvm::interrupted(BARRIER - 1, OUTER, 0x99) };
    assert_eq!(thread.jvm.frames(at), thread.callers());
    // Its code runs, or has called somebody.
    assert_eq!(thread.jvm.frames(Jvm::interrupted(BARRIER + 7, OUTER - 0x20, 0x99)), thread.callers());
    assert_eq!(
        thread.jvm.frames(Interrupted { at: Registers { pc: BARRIER + 7, ..at.at }, ..at }),
        thread.callers()
    );
    thread.jvm.put(ENV + 64, 0);
    assert_eq!(thread.jvm.walk(at).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn a_chunk_may_tell_how_many_words_there_are_behind_its_frames() {
    let mut thread = parked();
    for (at, words) in [(CHUNKS[0], SIZE), (CHUNKS[1], 0), (CHUNKS[2], 18)] {
        thread.jvm.put_numbers(at, &[(24, 4 + words + 3), (32, 3)]);
    }
    thread.jvm.continuations.as_mut().unwrap().chunk.end = End::Before(32);
    assert_eq!(answer(&thread), Ok(5));
}

#[test]
fn nothing_is_taken_for_what_its_class_says_it_is_not() {
    for class in [CONTINUATION + WORD, CHUNKS[0] + WORD, CHUNKS[2] + WORD] {
        let thread = parked();
        thread.jvm.put(class, 0x77_0000);
        assert_eq!(answer(&thread), UNKNOWN);
    }
}

#[test]
fn an_entry_that_is_elsewhere_is_another_stacks() {
    for entry in [OUTER - WORD, OUTER + 0x1000] {
        let thread = parked();
        thread.jvm.put(ENV + 64, entry);
        assert_eq!(answer(&thread), UNKNOWN);
    }
}

#[test]
fn a_chunk_that_says_what_cannot_be_is_not_walked() {
    for numbers in [[(24, 2), (28, 4), (32, 2)], [(24, 9), (28, 4), (32, 10)]] {
        let thread = parked();
        thread.jvm.put_numbers(CHUNKS[0], &numbers);
        assert_eq!(answer(&thread), UNKNOWN);
    }
    // And one that leads to itself for ever.
    let thread = parked();
    thread.jvm.put(CHUNKS[1] + 16, CHUNKS[1]);
    assert_eq!(answer(&thread), UNKNOWN);
}

/// The thread has left Java from its leaf.
fn outside(thread: &Thread) -> Interrupted {
    thread.jvm.put(ENV + 24, 4);
    thread.jvm.push(ENV + 32, &[LEAF, thread.leaf_code + 0x30, 0x99]);
    thread.at(0x20, LEAF)
}

#[test]
fn outside_of_java_a_chunk_is_read_only_while_nothing_is_moved() {
    let thread = parked();
    assert_eq!(thread.jvm.walk(outside(&thread)).0, Ok(5));
    thread.jvm.put(PAUSE, 1);
    assert_eq!(thread.jvm.walk(outside(&thread)).0, UNKNOWN);
    // In Java nothing can be moved before the thread comes to a poll, whatever is going on.
    let inside = parked();
    inside.jvm.put(PAUSE, 1);
    assert_eq!(answer(&inside), Ok(5));
}

#[test]
fn what_was_moved_meanwhile_is_nobodys_stack() {
    let thread = parked();
    let at = outside(&thread);
    let looks = Cell::new(0);
    let memory = |place: usize| {
        if place == PAUSES {
            looks.set(looks.get() + 1);
            return Some(6 + looks.get());
        }
        thread.jvm.words.borrow().get(&place).copied()
    };
    let mut room = [RawFrame::EMPTY; 64];
    // SAFETY: as large as it says.
    let mut frames = unsafe { Frames::of(Room { frames: room.as_mut_ptr(), depth: 64 }) };
    assert_eq!(walk(&memory, thread.jvm.known(), ENV, at, &mut frames), UNKNOWN);
    assert_eq!(looks.get(), 2, "before and after");
}

#[test]
fn a_virtual_thread_ends_where_its_carrier_entered_it() {
    let mut thread = thread();
    let [enters, _, carries] = thread.outer;
    let ids = |enters, carries| Some(ContinuationLayout { enters, carries, ..continuations() });
    thread.jvm.continuations = ids(enters.id, carries.id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)), [thread.leaf.frame(70)]);
    // On top it is what the carrier does.
    thread.jvm.continuations = ids(thread.leaf.id, thread.outer[1].id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
    // Who enters what no virtual thread is has another caller.
    thread.jvm.continuations = ids(enters.id, NOBODY);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
    thread.jvm.continuations = ids(NOBODY, carries.id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
}

#[test]
fn what_another_walker_takes_for_one_stack_is_two() {
    let known = ContinuationLayout { first: 1, enters: 2, carries: 3, ..continuations() };
    let part = |methods: &[usize]| {
        let frames: Vec<RawFrame> =
            methods.iter().map(|method| RawFrame { bci: 0, method: *method }).collect();
        known.part(&frames)
    };
    assert_eq!(part(&[9, 8, 1, 2, 7, 3, 6]), Part::First(3));
    assert_eq!(part(&[9, 8, 2, 7, 3, 6]), Part::Torn, "its first frame is lacking");
    assert_eq!(part(&[2, 7, 3, 6]), Part::All, "it is just being entered");
    assert_eq!(part(&[9, 8, 1, 2, 7, 6]), Part::All, "no virtual thread's");
    assert_eq!(part(&[7, 3, 6]), Part::All, "the carrier's own");
    assert_eq!(part(&[]), Part::All);
}
