//! Virtual threads' stacks: the frames that lie in chunks, and where a stack ends.

extern crate std;

use core::cell::Cell;
use core::sync::atomic::Ordering;
use std::vec::Vec;

use vouch_sample::{Answer, ENTRY, NATIVE, Reason};

use super::super::HotspotWalker;
use super::super::continuation::{ChunkEnd, ChunkLayout, ContinuationLayout};
use super::super::frames::Frames;
use super::super::heap::{HeapLayout, KlassEncoding, OopEncoding, Relocation};
use super::super::walk::{Interrupted, walk};
use super::jvm::{BACK, CALL, ENV, Jvm, LEAF, OUTER, SIZE, Thread, WORD, layout, thread};
use crate::context::Registers;
use crate::walker::{OwnFrames, RawFrame, ResumePoint, Room, Walker};

/// Where the oldest frame on the stack returns to; the entry behind it; the continuation, and its
/// class.
const BARRIER: usize = 0x70_0000;
const MARK: usize = OUTER + 0x40;
const CONTINUATION: usize = 0x80_0000;
const VIRTUAL: usize = 0x90_0000;
const CHUNK: usize = 0x90_1000;
/// The chunks, and where in one the words for frames begin, the youngest among them, and the end.
const CHUNKS: [usize; 3] = [0x81_0000, 0x82_0000, 0x83_0000];
const WORDS: usize = 0x40;
const YOUNGEST: usize = 10;
const BEGIN: usize = WORDS + YOUNGEST * WORD;
/// The number of the collector's pauses, and whether there is one.
const PAUSES: usize = 0xa0_0000;
const PAUSE: usize = 0xa0_0008;
const NOBODY: usize = 0x1;

fn continuations() -> ContinuationLayout {
    ContinuationLayout {
        mounted: None,
        heap: HeapLayout {
            oops: OopEncoding::Full,
            klasses: KlassEncoding::Full,
            relocation: Relocation::AtPauses { count: PAUSES, is_active: PAUSE },
        },
        barrier: BARRIER..BARRIER + 0x10,
        enter_id: NOBODY,
        enter_special_id: NOBODY,
        run_continuation_id: NOBODY,
        do_yield_id: NOBODY,
        entry_slots: 56..80,
        entry_continuation: 8..24,
        klass: VIRTUAL,
        tail: 24,
        chunk: ChunkLayout {
            klass: CHUNK,
            parent: 16,
            size: 24,
            sp: 28,
            end: ChunkEnd::Bottom(32),
            frames: WORDS,
        },
    }
}

/// A thread whose leaf alone is on the stack: its callers are in two chunks, between which there is
/// an empty one.
fn parked() -> Thread {
    let mut thread = thread();
    let first = thread.interpreted.id;
    let jvm = &mut thread.jvm;
    jvm.continuations = Some(ContinuationLayout { enter_id: first, ..continuations() });
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
    jvm.put_numbers(at, &[(24, YOUNGEST + words), (28, YOUNGEST), (32, YOUNGEST + words)]);
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
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(8, OUTER - WORD));
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(ENTRY))));
    assert_eq!(resume_point, ResumePoint { pc: thread.outer_code + CALL - 1, has_partial_leaf: true });
}

#[test]
fn a_walk_may_begin_at_the_barrier() {
    let thread = parked();
    let at = Interrupted { is_caller: true, ..Jvm::interrupted(BARRIER - 1, MARK - 0x20, 0x99) };
    assert_eq!(thread.jvm.frames(at), thread.callers());
    // Its code runs, or has called somebody.
    assert_eq!(thread.jvm.frames(Jvm::interrupted(BARRIER + 7, MARK - 0x30, 0x99)), thread.callers());
    assert_eq!(
        thread.jvm.frames(Interrupted { at: Registers { pc: BARRIER + 7, ..at.at }, ..at }),
        thread.callers()
    );
    // It is no longer there once frames have come back, or never was.
    let unknown = Err(Reason::UNKNOWN_JAVA);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(BARRIER + 0x10, MARK - 0x30, 0x99)).0, unknown);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(BARRIER + 7, MARK - 0x60, 0x99)).0, unknown);
    thread.jvm.put(ENV + 64, 0);
    assert_eq!(thread.jvm.walk(at).0, unknown);
}

#[test]
fn a_chunk_may_tell_how_many_words_there_are_behind_its_frames() {
    let mut thread = parked();
    for (at, words) in [(CHUNKS[0], SIZE), (CHUNKS[1], 0), (CHUNKS[2], 18)] {
        thread.jvm.put_numbers(at, &[(24, YOUNGEST + words + 3), (32, 3)]);
    }
    thread.jvm.continuations.as_mut().unwrap().chunk.end = ChunkEnd::ArgSize(32);
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
fn an_entry_is_found_among_other_words_that_lead_near_it() {
    let mut thread = parked();
    // No table tells where it is, and what stands before it leads to the same stack.
    thread.jvm.push(ENV + 56, &[MARK + 0x20, MARK]);
    thread.jvm.push(MARK + 0x28, &[0, 0]);
    thread.jvm.continuations.as_mut().unwrap().entry_slots = 56..72;
    assert_eq!(answer(&thread), Ok(5));
}

#[test]
fn a_stack_that_does_not_end_with_a_virtual_threads_first_method_is_none() {
    let mut thread = parked();
    thread.jvm.continuations.as_mut().unwrap().enter_id = NOBODY;
    assert_eq!(answer(&thread), UNKNOWN);
    // As where the last chunk is lacking.
    let thread = parked();
    thread.jvm.put(CHUNKS[1] + 16, 0);
    assert_eq!(answer(&thread), UNKNOWN);
}

/// The thread is just leaving its carrier: what it leaves by has been called by the leaf, whose
/// frame goes into the chunk. With where it is, and what its stack is.
fn leaving() -> (Thread, Interrupted, Vec<RawFrame>) {
    let mut thread = parked();
    let leaves = thread.jvm.method(true);
    let code = thread.jvm.compiled(leaves, &[]);
    thread.jvm.continuations.as_mut().unwrap().do_yield_id = leaves.id;
    // There is a call before each place that is returned to, and a word or two behind the chunk's
    // frames.
    thread.jvm.put_bytes(thread.leaf_code + 0x30 - 5, &[0xe8]);
    thread.jvm.put_bytes(thread.outer_code + CALL - 5, &[0xe8]);
    let end = YOUNGEST + SIZE + 2;
    thread.jvm.put_numbers(CHUNKS[0], &[(24, end), (32, end)]);
    let sp = LEAF - SIZE * WORD;
    thread.jvm.push(LEAF - 2 * WORD, &[0x77, thread.leaf_code + 0x30]);
    thread.jvm.push(ENV + 32, &[sp, code + 0x20, 0x99]);
    let stack = [std::vec![leaves.frame(NATIVE)], thread.with(thread.leaf.frame(70))].concat();
    let at = Jvm::interrupted(code + 0x20, sp, 0x99);
    (thread, at, stack)
}

/// The chunk has room for the leaf's frame, which returns to where it did, or has not been written.
fn count(thread: &Thread, returns: usize) {
    thread.jvm.put_numbers(CHUNKS[0], &[(28, YOUNGEST - SIZE)]);
    thread.jvm.push(CHUNKS[0] + BEGIN - (SIZE + 2) * WORD, &[0x77, returns]);
}

#[test]
fn a_thread_that_is_just_leaving_its_carrier_has_each_frame_once() {
    let (thread, at, stack) = leaving();
    assert_eq!(thread.jvm.frames(at), stack, "nothing has gone into the chunk");
    count(&thread, thread.leaf_code + 0x30);
    assert_eq!(thread.jvm.frames(at), stack, "its frame is there");
    count(&thread, 0);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN, "nobody's");
    // What was there before is as large, and leads on where it ends: as of a recursion, some of
    // which lies in the chunk.
    count(&thread, thread.outer_code + CALL);
    let [leaves, leaf, others @ ..] = &stack[..] else { panic!() };
    let deeper = [&[*leaves, *leaf], &others[..3], others].concat();
    thread.jvm.push(CHUNKS[0] + BEGIN - 2 * WORD, &[0x77, thread.outer_code + CALL]);
    assert_eq!(thread.jvm.frames(at), deeper);
    // Its leaf's code was given up: where that goes on the chunk may say otherwise.
    thread.jvm.push(LEAF - 2 * WORD, &[0x77, thread.leaf_code + 0x70]);
    thread.jvm.put(LEAF + WORD, thread.leaf_code + 0x30);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN);
    thread.jvm.push(LEAF - 2 * WORD, &[0x77, thread.leaf_code + 0x30]);
    // It is there, and of another size: what would be the next is none.
    count(&thread, thread.leaf_code + 0x30);
    thread.jvm.push(CHUNKS[0] + BEGIN - WORD, &[0x1234]);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN);
}

#[test]
fn a_chunk_that_has_nothing_but_what_is_leaving_leads_to_the_one_before() {
    let (thread, at, mut stack) = leaving();
    // All that was in the chunk is the leaf's frame.
    count(&thread, thread.leaf_code + 0x30);
    thread.jvm.put_numbers(CHUNKS[0], &[(24, YOUNGEST), (32, YOUNGEST)]);
    stack.drain(2..5);
    assert_eq!(thread.jvm.frames(at), stack);
}

#[test]
fn chunks_that_lead_around_come_to_an_end() {
    let thread = parked();
    thread.jvm.put(CHUNKS[0] + 16, CHUNKS[0]);
    let mut room = std::vec![RawFrame::EMPTY; 10_000];
    // SAFETY: as large as it says.
    let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth: 10_000 }) };
    let memory = |at: usize| thread.jvm.words.borrow().get(&at).copied();
    assert_eq!(
        walk(&memory, thread.jvm.layouts(), ENV, thread.at(0x20, LEAF), &mut frames),
        UNKNOWN.map(drop)
    );
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
    for numbers in [[(24, 2), (28, 10), (32, 2)], [(24, 15), (28, 10), (32, 16)]] {
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
    let mut any_time = parked();
    any_time.jvm.continuations.as_mut().unwrap().heap.relocation = Relocation::Concurrent;
    assert_eq!(any_time.jvm.walk(outside(&any_time)).0, UNKNOWN);
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
    let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth: 64 }) };
    assert_eq!(walk(&memory, thread.jvm.layouts(), ENV, at, &mut frames), UNKNOWN.map(drop));
    assert_eq!(looks.get(), 2, "before and after");
}

#[test]
fn a_virtual_thread_ends_where_its_carrier_entered_it() {
    let mut thread = thread();
    let [enters, _, carries] = thread.outer;
    let first = thread.leaf.id;
    let ids = |enters, carries| {
        Some(ContinuationLayout {
            enter_id: first,
            enter_special_id: enters,
            run_continuation_id: carries,
            ..continuations()
        })
    };
    thread.jvm.continuations = ids(enters.id, carries.id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)), [thread.leaf.frame(70)]);
    // Frames are lacking before.
    thread.jvm.continuations =
        Some(ContinuationLayout { enter_id: NOBODY, ..ids(enters.id, carries.id).unwrap() });
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, UNKNOWN);
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
    let known =
        ContinuationLayout { enter_id: 1, enter_special_id: 2, run_continuation_id: 3, ..continuations() };
    let part = |methods: &[usize]| {
        let frames: Vec<RawFrame> =
            methods.iter().map(|method| RawFrame { bci: 0, method: *method }).collect();
        known.own_frames(&frames)
    };
    assert_eq!(part(&[9, 8, 1, 2, 7, 3, 6]), OwnFrames::First(3));
    assert_eq!(part(&[9, 8, 2, 7, 3, 6]), OwnFrames::Torn, "its first frame is lacking");
    assert_eq!(part(&[2, 7, 3, 6]), OwnFrames::All, "it is just being entered");
    assert_eq!(part(&[9, 8, 1, 2, 7, 6]), OwnFrames::All, "no virtual thread's");
    assert_eq!(part(&[7, 3, 6]), OwnFrames::All, "the carrier's own");
    assert_eq!(part(&[]), OwnFrames::All);
}

#[test]
fn two_stacks_are_told_apart_also_by_one_that_does_not_walk() {
    let known =
        ContinuationLayout { enter_id: 1, enter_special_id: 2, run_continuation_id: 3, ..continuations() };
    let own = HotspotWalker::new(layout());
    let frames = |methods: &[usize]| -> Vec<RawFrame> {
        methods.iter().map(|method| RawFrame { bci: 0, method: *method }).collect()
    };
    let (whole, torn) = (frames(&[9, 8, 1, 2, 7, 3, 6]), frames(&[9, 8, 2, 7, 3, 6]));
    assert_eq!([own.own_frames(&whole), own.own_frames(&torn)], [OwnFrames::All; 2], "nothing is known yet");
    own.set_continuations(std::boxed::Box::leak(std::boxed::Box::new(known)));
    assert_eq!(own.barrier(), BARRIER..BARRIER + 0x10);
    for stops in [&own.unguarded, &own.wrong] {
        stops.store(true, Ordering::Relaxed);
        assert_eq!([own.own_frames(&whole), own.own_frames(&torn)], [OwnFrames::First(3), OwnFrames::Torn]);
        assert!(own.is_virtual(&whole[..3]) && !own.is_virtual(&whole));
        assert_eq!(own.barrier(), 0..0, "it cannot go on behind it");
        stops.store(false, Ordering::Relaxed);
    }
}
