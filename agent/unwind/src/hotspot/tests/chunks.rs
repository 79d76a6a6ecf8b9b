//! Tests of the stacks of virtual threads: frames in chunks, and where a stack ends.

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

/// The address of the test JVM's return barrier.
const BARRIER: usize = 0x70_0000;
/// The address of the continuation entry, above the oldest frame on the stack.
const CONT_ENTRY: usize = OUTER + 0x40;
/// The address of the continuation object.
const CONTINUATION: usize = 0x80_0000;
/// The address of the klass of continuations.
const VIRTUAL: usize = 0x90_0000;
/// The address of the klass of chunks.
const CHUNK: usize = 0x90_1000;
/// The addresses of the chunks, the youngest first.
const CHUNKS: [usize; 3] = [0x81_0000, 0x82_0000, 0x83_0000];
/// The offset in a chunk of the first word for frames.
const WORDS: usize = 0x40;
/// The value of a chunk's `sp`: the index of its first used word.
const YOUNGEST: usize = 10;
/// The offset in a chunk of its youngest frame.
const BEGIN: usize = WORDS + YOUNGEST * WORD;
/// The address of the word that counts the collector's pauses.
const PAUSES: usize = 0xa0_0000;
/// The address of the flag that the collector pauses the threads now.
const PAUSE: usize = 0xa0_0008;
/// A jmethodID that no method has.
const NO_METHOD: usize = 0x1;

fn continuations() -> ContinuationLayout {
    ContinuationLayout {
        mounted: None,
        heap: HeapLayout {
            oops: OopEncoding::Full,
            klasses: KlassEncoding::Full,
            relocation: Relocation::AtPauses { count: PAUSES, is_active: PAUSE },
        },
        barrier: BARRIER..BARRIER + 0x10,
        enter_id: NO_METHOD,
        enter_special_id: NO_METHOD,
        run_continuation_id: NO_METHOD,
        do_yield_id: NO_METHOD,
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

/// Returns a virtual thread with only its leaf on the stack. Its callers are in two chunks, with an
/// empty chunk between them.
fn parked() -> Thread {
    let mut thread = thread();
    let first = thread.interpreted.id;
    let jvm = &mut thread.jvm;
    jvm.continuations = Some(ContinuationLayout { enter_id: first, ..continuations() });
    jvm.push(OUTER - 2 * WORD, &[0x77, BARRIER]);
    jvm.push(ENV + 56, &[0, CONT_ENTRY, 0]);
    jvm.push(CONT_ENTRY, &[0, 0, CONTINUATION, 0]);
    jvm.push(CONTINUATION, &[1, VIRTUAL, 0, CHUNKS[0]]);
    jvm.push(PAUSES, &[7, 0]);
    // The first chunk has only the frame of the outer method.
    chunk(jvm, CHUNKS[0], CHUNKS[1], SIZE);
    jvm.push(CHUNKS[0] + BEGIN - 2 * WORD, &[0x77, thread.outer_code + CALL]);
    jvm.push(CHUNKS[0] + BEGIN + (SIZE - 2) * WORD, &[0x77, 0]);
    chunk(jvm, CHUNKS[1], CHUNKS[2], 0);
    // The last chunk has the interpreted frame, with relative distances in words.
    chunk(jvm, CHUNKS[2], 0, 18);
    let (begin, fp) = (CHUNKS[2] + BEGIN, CHUNKS[2] + BEGIN + 16 * WORD);
    jvm.push(begin - 2 * WORD, &[18, BACK + 8]);
    jvm.push(fp - 8 * WORD, &[thread.interpreted.bytecode(12), 0, 0, 0, 0]);
    jvm.push(fp - 3 * WORD, &[thread.interpreted.at, 16_usize.wrapping_neg(), 2, 5, 0]);
    thread
}

/// Writes a chunk with `words` words of frames into the test JVM.
fn chunk(jvm: &Jvm, at: usize, parent: usize, words: usize) {
    jvm.push(at, &[1, CHUNK, parent]);
    jvm.put_numbers(at, &[(24, YOUNGEST + words), (28, YOUNGEST), (32, YOUNGEST + words)]);
    jvm.push(at + WORDS, &[0; 40]);
}

fn answer(thread: &Thread) -> Answer {
    thread.jvm.walk(thread.at(0x20, LEAF)).0
}

const UNKNOWN: Answer = Err(Reason::NOT_WALKABLE_JAVA);

#[test]
fn frozen_frames_are_found_in_chunks() {
    let thread = parked();
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)), thread.with(thread.leaf.frame(70)));
}

#[test]
fn the_caller_of_a_frame_that_is_being_removed_is_found_in_a_chunk() {
    let thread = parked();
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(8, OUTER - WORD));
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(ENTRY))));
    assert_eq!(resume_point, ResumePoint { pc: thread.outer_code + CALL - 1, has_partial_leaf: true });
}

#[test]
fn a_walk_may_begin_in_the_return_barrier() {
    let thread = parked();
    let at = Interrupted { is_caller: true, ..Jvm::interrupted(BARRIER - 1, CONT_ENTRY - 0x20, 0x99) };
    assert_eq!(thread.jvm.frames(at), thread.callers());
    // The barrier's code runs, or has called another function.
    assert_eq!(thread.jvm.frames(Jvm::interrupted(BARRIER + 7, CONT_ENTRY - 0x30, 0x99)), thread.callers());
    assert_eq!(
        thread.jvm.frames(Interrupted { at: Registers { pc: BARRIER + 7, ..at.at }, ..at }),
        thread.callers()
    );
    // The pc is after the barrier, the entry is too far away, or there is no entry.
    let unknown = Err(Reason::UNKNOWN_JAVA);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(BARRIER + 0x10, CONT_ENTRY - 0x30, 0x99)).0, unknown);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(BARRIER + 7, CONT_ENTRY - 0x60, 0x99)).0, unknown);
    thread.jvm.put(ENV + 64, 0);
    assert_eq!(thread.jvm.walk(at).0, unknown);
}

#[test]
fn a_chunk_may_have_argsize_instead_of_bottom() {
    let mut thread = parked();
    for (at, words) in [(CHUNKS[0], SIZE), (CHUNKS[1], 0), (CHUNKS[2], 18)] {
        thread.jvm.put_numbers(at, &[(24, YOUNGEST + words + 3), (32, 3)]);
    }
    thread.jvm.continuations.as_mut().unwrap().chunk.end = ChunkEnd::ArgSize(32);
    assert_eq!(answer(&thread), Ok(5));
}

#[test]
fn objects_of_the_wrong_klass_are_refused() {
    for class in [CONTINUATION + WORD, CHUNKS[0] + WORD, CHUNKS[2] + WORD] {
        let thread = parked();
        thread.jvm.put(class, 0x77_0000);
        assert_eq!(answer(&thread), UNKNOWN);
    }
}

#[test]
fn the_entry_is_found_among_other_words_that_point_near_it() {
    let mut thread = parked();
    // The JVM does not publish the offset of the entry, and the word before it points into the same
    // stack.
    thread.jvm.push(ENV + 56, &[CONT_ENTRY + 0x20, CONT_ENTRY]);
    thread.jvm.push(CONT_ENTRY + 0x28, &[0, 0]);
    thread.jvm.continuations.as_mut().unwrap().entry_slots = 56..72;
    assert_eq!(answer(&thread), Ok(5));
}

#[test]
fn a_stack_that_does_not_end_with_continuation_enter_is_refused() {
    let mut thread = parked();
    thread.jvm.continuations.as_mut().unwrap().enter_id = NO_METHOD;
    assert_eq!(answer(&thread), UNKNOWN);
    // The last chunk is missing.
    let thread = parked();
    thread.jvm.put(CHUNKS[1] + 16, 0);
    assert_eq!(answer(&thread), UNKNOWN);
}

/// Returns a virtual thread that is yielding, its registers, and its stack. The leaf has called
/// `doYield`, and the leaf's frame is being frozen into the chunk.
fn yielding() -> (Thread, Interrupted, Vec<RawFrame>) {
    let mut thread = parked();
    let leaves = thread.jvm.method(true);
    let code = thread.jvm.compiled(leaves, &[]);
    thread.jvm.continuations.as_mut().unwrap().do_yield_id = leaves.id;
    // A call instruction is before each return address, and two words are after the chunk's frames.
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

/// Lowers the chunk's `sp` by the size of the leaf's frame, and writes the return address into that
/// frame.
fn include_leaf(thread: &Thread, returns: usize) {
    thread.jvm.put_numbers(CHUNKS[0], &[(28, YOUNGEST - SIZE)]);
    thread.jvm.push(CHUNKS[0] + BEGIN - (SIZE + 2) * WORD, &[0x77, returns]);
}

#[test]
fn a_thread_that_is_yielding_has_each_frame_once() {
    let (thread, at, stack) = yielding();
    assert_eq!(thread.jvm.frames(at), stack, "the chunk does not include the leaf");
    include_leaf(&thread, thread.leaf_code + 0x30);
    assert_eq!(thread.jvm.frames(at), stack, "the chunk includes the leaf");
    include_leaf(&thread, 0);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN, "no code returns there");
    // An older frame in the chunk has the same size and a valid return address, as in a recursion
    // with frozen frames.
    include_leaf(&thread, thread.outer_code + CALL);
    let [leaves, leaf, others @ ..] = &stack[..] else { panic!() };
    let deeper = [&[*leaves, *leaf], &others[..3], others].concat();
    thread.jvm.push(CHUNKS[0] + BEGIN - 2 * WORD, &[0x77, thread.outer_code + CALL]);
    assert_eq!(thread.jvm.frames(at), deeper);
    // The leaf is deoptimised, so the chunk may have another return address for it.
    thread.jvm.push(LEAF - 2 * WORD, &[0x77, thread.leaf_code + 0x70]);
    thread.jvm.put(LEAF + WORD, thread.leaf_code + 0x30);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN);
    thread.jvm.push(LEAF - 2 * WORD, &[0x77, thread.leaf_code + 0x30]);
    // The chunk includes the leaf with another size, so the next frame would be wrong.
    include_leaf(&thread, thread.leaf_code + 0x30);
    thread.jvm.push(CHUNKS[0] + BEGIN - WORD, &[0x1234]);
    assert_eq!(thread.jvm.walk(at).0, UNKNOWN);
}

#[test]
fn a_chunk_with_only_yielding_frames_leads_to_its_parent() {
    let (thread, at, mut stack) = yielding();
    // The chunk has only the leaf's frame.
    include_leaf(&thread, thread.leaf_code + 0x30);
    thread.jvm.put_numbers(CHUNKS[0], &[(24, YOUNGEST), (32, YOUNGEST)]);
    stack.drain(2..5);
    assert_eq!(thread.jvm.frames(at), stack);
}

#[test]
fn a_cycle_of_chunks_ends_the_walk() {
    let thread = parked();
    thread.jvm.put(CHUNKS[0] + 16, CHUNKS[0]);
    let mut room = std::vec![RawFrame::EMPTY; 10_000];
    // SAFETY: the buffer is as large as `depth` says.
    let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth: 10_000 }) };
    let memory = |at: usize| thread.jvm.words.borrow().get(&at).copied();
    assert_eq!(
        walk(&memory, thread.jvm.layouts(), ENV, thread.at(0x20, LEAF), &mut frames),
        UNKNOWN.map(drop)
    );
}

#[test]
fn an_entry_outside_of_the_expected_range_is_refused() {
    for entry in [OUTER - WORD, OUTER + 0x1000] {
        let thread = parked();
        thread.jvm.put(ENV + 64, entry);
        assert_eq!(answer(&thread), UNKNOWN);
    }
}

#[test]
fn a_chunk_with_impossible_fields_is_refused() {
    for numbers in [[(24, 2), (28, 10), (32, 2)], [(24, 15), (28, 10), (32, 16)]] {
        let thread = parked();
        thread.jvm.put_numbers(CHUNKS[0], &numbers);
        assert_eq!(answer(&thread), UNKNOWN);
    }
    // An empty chunk refers to itself.
    let thread = parked();
    thread.jvm.put(CHUNKS[1] + 16, CHUNKS[1]);
    assert_eq!(answer(&thread), UNKNOWN);
}

/// Sets the anchor of a thread to its leaf, as if the thread had left Java from there.
fn outside(thread: &Thread) -> Interrupted {
    thread.jvm.put(ENV + 24, 4);
    thread.jvm.push(ENV + 32, &[LEAF, thread.leaf_code + 0x30, 0x99]);
    thread.at(0x20, LEAF)
}

#[test]
fn outside_of_java_a_chunk_is_read_only_while_no_object_moves() {
    let thread = parked();
    assert_eq!(thread.jvm.walk(outside(&thread)).0, Ok(5));
    thread.jvm.put(PAUSE, 1);
    assert_eq!(thread.jvm.walk(outside(&thread)).0, UNKNOWN);
    let mut any_time = parked();
    any_time.jvm.continuations.as_mut().unwrap().heap.relocation = Relocation::Concurrent;
    assert_eq!(any_time.jvm.walk(outside(&any_time)).0, UNKNOWN);
    // In Java no object moves before the thread reaches a safepoint poll.
    let inside = parked();
    inside.jvm.put(PAUSE, 1);
    assert_eq!(answer(&inside), Ok(5));
}

#[test]
fn a_pause_during_the_walk_invalidates_the_stack() {
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
    // SAFETY: the buffer is as large as `depth` says.
    let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth: 64 }) };
    assert_eq!(walk(&memory, thread.jvm.layouts(), ENV, at, &mut frames), UNKNOWN.map(drop));
    assert_eq!(looks.get(), 2, "before and after");
}

#[test]
fn a_virtual_threads_stack_ends_at_the_entry() {
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
    // The frame before the entry is not `Continuation.enter`, so frames are missing.
    thread.jvm.continuations =
        Some(ContinuationLayout { enter_id: NO_METHOD, ..ids(enters.id, carries.id).unwrap() });
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, UNKNOWN);
    // The entry is on top of the stack, so the frames are the carrier's.
    thread.jvm.continuations = ids(thread.leaf.id, thread.outer[1].id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
    // Without both methods of an entry this is no virtual thread.
    thread.jvm.continuations = ids(enters.id, NO_METHOD);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
    thread.jvm.continuations = ids(NO_METHOD, carries.id);
    assert_eq!(thread.jvm.frames(thread.at(0x20, LEAF)).len(), 5);
}

#[test]
fn frames_of_another_walker_are_split_at_the_entry() {
    let known =
        ContinuationLayout { enter_id: 1, enter_special_id: 2, run_continuation_id: 3, ..continuations() };
    let part = |methods: &[usize]| {
        let frames: Vec<RawFrame> =
            methods.iter().map(|method| RawFrame { bci: 0, method: *method }).collect();
        known.own_frames(&frames)
    };
    assert_eq!(part(&[9, 8, 1, 2, 7, 3, 6]), OwnFrames::First(3));
    assert_eq!(part(&[9, 8, 2, 7, 3, 6]), OwnFrames::Torn, "Continuation.enter is missing");
    assert_eq!(part(&[2, 7, 3, 6]), OwnFrames::All, "the continuation is just being entered");
    assert_eq!(part(&[9, 8, 1, 2, 7, 6]), OwnFrames::All, "not a virtual thread");
    assert_eq!(part(&[7, 3, 6]), OwnFrames::All, "frames of the carrier");
    assert_eq!(part(&[]), OwnFrames::All);
}

#[test]
fn a_stopped_walker_still_splits_frames_at_the_entry() {
    let known =
        ContinuationLayout { enter_id: 1, enter_special_id: 2, run_continuation_id: 3, ..continuations() };
    let own = HotspotWalker::new(layout());
    let frames = |methods: &[usize]| -> Vec<RawFrame> {
        methods.iter().map(|method| RawFrame { bci: 0, method: *method }).collect()
    };
    let (whole, torn) = (frames(&[9, 8, 1, 2, 7, 3, 6]), frames(&[9, 8, 2, 7, 3, 6]));
    assert_eq!([own.own_frames(&whole), own.own_frames(&torn)], [OwnFrames::All; 2], "no layout is set yet");
    own.set_continuations(std::boxed::Box::leak(std::boxed::Box::new(known)));
    assert_eq!(own.barrier(), BARRIER..BARRIER + 0x10);
    for stops in [&own.unguarded, &own.wrong] {
        stops.store(true, Ordering::Relaxed);
        assert_eq!([own.own_frames(&whole), own.own_frames(&torn)], [OwnFrames::First(3), OwnFrames::Torn]);
        assert!(own.is_virtual(&whole[..3]) && !own.is_virtual(&whole));
        assert_eq!(own.barrier(), 0..0, "a stopped walker cannot continue there");
        stops.store(false, Ordering::Relaxed);
    }
}
