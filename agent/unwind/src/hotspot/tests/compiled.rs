//! Tests of compiled frames: inlined methods, incomplete frames, and deoptimised code.

use vouch_sample::{ENTRY, Reason};

use super::jvm::{BLOCK, CALL, CODE, LEAF, LOW, OUTER, SIZE, WORD, thread};
use crate::walker::ResumePoint;

#[test]
fn inlined_methods_get_separate_frames() {
    let thread = thread();
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(0x20, LEAF));
    // A PcDesc at the end of an instruction describes that instruction instead of the next one.
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(70))));
    assert_eq!(resume_point, ResumePoint::default());
    assert_eq!(thread.jvm.frames(thread.at(0x1f, LEAF))[0], thread.leaf.frame(3));
}

#[test]
fn incomplete_frames_are_recognised_by_their_code() {
    let thread = thread();
    let entry = thread.leaf.frame(ENTRY);
    let back = OUTER - WORD;
    let put = |at: usize, code: &[u8]| thread.jvm.put_bytes(thread.leaf_code + at, code);
    // After the check of the receiver: push rbp; sub rsp, 32. At the end: add rsp, 32; pop rbp; a
    // poll; ret.
    put(8, &[0x55, 0x48, 0x83, 0xec, 0x20]);
    put(0x40, &[0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 1, 2, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3]);
    let pushed = back - WORD;
    for (at, sp) in [(8, back), (9, pushed), (0x44, pushed), (0x45, back), (0x4c, back), (0x52, back)] {
        let (answer, frames, resume_point) = thread.jvm.walk(thread.at(at, sp));
        assert_eq!((answer, frames), (Ok(5), thread.with(entry)), "at {at:x}");
        assert_eq!(resume_point, ResumePoint { pc: thread.outer_code + CALL - 1, has_partial_leaf: true });
    }
    // The frame is complete until the stack pointer is raised.
    for at in [0xd, 0x10, 0x40] {
        assert_eq!(thread.jvm.walk(thread.at(at, LEAF)).2, ResumePoint::default(), "at {at:x}");
    }
    // An unknown instruction may have any effect.
    put(0xd, &[0xf4]);
    assert_eq!(thread.jvm.walk(thread.at(0xe, LEAF)).0, Err(Reason::UNKNOWN_JAVA));
    assert_eq!(
        thread.jvm.walk(thread.at(0xb, LEAF)).0,
        Err(Reason::UNKNOWN_JAVA),
        "in the middle of an instruction"
    );
    // Before the verified entry point the method may be the wrong one.
    assert_eq!(thread.jvm.walk(thread.at(7, back)).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn a_prologue_with_an_entry_barrier_is_recognised() {
    let thread = thread();
    let entry = thread.with(thread.leaf.frame(ENTRY));
    // sub rsp, 40; mov [rsp + 32], rbp; cmp dword [r15 + 8], 1; jne; add rsp, 40; leave; cmp qword
    // [r15 + 8], 0; jne; ret.
    let code =
        [0x48, 0x81, 0xec, 40, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 32, 0x41, 0x81, 0x7f, 8, 1, 0, 0, 0, 0x75, 9];
    thread.jvm.put_bytes(thread.leaf_code + 8, &code);
    thread.jvm.put_numbers(thread.leaf_code - CODE, &[(20, 8 + code.len())]);
    // The caller's frame pointer is in the register first, and later in the frame. Only it leads to
    // the interpreted method.
    thread.jvm.put(LEAF + 4 * WORD, 0x99);
    for (at, sp) in [(0, OUTER - WORD), (7, LEAF), (12, LEAF), (20, LEAF), (22, LEAF)] {
        let (answer, frames, _) = thread.jvm.walk(thread.at(8 + at, sp));
        assert!(answer.is_ok(), "at {at}");
        assert_eq!(frames[1..], entry[1..], "at {at}");
    }
    thread
        .jvm
        .put_bytes(thread.leaf_code + 0x40, &[0xc9, 0x49, 0x83, 0x7f, 8, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3]);
    for at in [0x41, 0x46, 0x4c] {
        assert_eq!(thread.jvm.frames(thread.at(at, OUTER - WORD)), entry, "at {at:x}");
    }
    // add rsp, 40; pop rbp; a jump.
    thread.jvm.put_bytes(thread.leaf_code + 0x40, &[0x48, 0x83, 0xc4, 40, 0x5d, 0xe9]);
    assert_eq!(thread.jvm.frames(thread.at(0x45, OUTER - WORD)), entry);
}

#[test]
fn a_pc_after_all_pcdescs_gives_the_compiled_method_itself() {
    let thread = thread();
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(0x78, LEAF));
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(ENTRY))));
    assert_eq!(resume_point, ResumePoint::default(), "the frame is complete");
    // The return address of a call must have a PcDesc.
    thread.jvm.put(OUTER - WORD, thread.outer_code + 0x78);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA));
}

#[test]
fn operands_that_look_like_an_epilogue_are_not_taken_for_one() {
    let thread = thread();
    let within = |code: &[u8], at: usize| {
        thread.jvm.put_bytes(thread.leaf_code + 0x20 - at, code);
        thread.jvm.frames(thread.at(0x20, LEAF))
    };
    let whole = within(&[0x90; 8], 3);
    // mov rcx, r9, followed by a jump, or by the poll of a loop.
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0xe9], 3), whole);
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0x4d, 0x8b, 0x57, 8], 3), whole);
    // mov eax, [rbp + 0x5d], followed by the poll of older code.
    assert_eq!(within(&[0x8b, 0x45, 0x5d, 0x85, 0x05], 3), whole);
}

#[test]
fn a_deoptimised_frame_continues_at_its_original_pc() {
    let thread = thread();
    thread.jvm.put(OUTER - WORD, thread.outer_code + 0x70);
    let deoptimised = |original| {
        thread.jvm.put(OUTER + WORD, original);
        thread.jvm.walk(thread.at(0x20, LEAF))
    };
    assert_eq!(deoptimised(thread.outer_code + CALL).1, thread.with(thread.leaf.frame(70)));
    assert_eq!(deoptimised(thread.outer_code + CALL + 1).0, Err(Reason::NOT_WALKABLE_JAVA));
}

#[test]
fn a_caller_needs_a_pcdesc_at_its_return_address() {
    let mut thread = thread();
    let native = thread.jvm.method(true);
    let wrapper = thread.jvm.blob(*b"native n", SIZE, 16);
    thread.jvm.put(wrapper - CODE + 32, native.at);
    for wrong in [thread.outer_code + CALL - 1, wrapper + 0x20, 0, 0x1234_5678, LOW + 15 * BLOCK, usize::MAX]
    {
        thread.jvm.put(OUTER - WORD, wrong);
        assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA), "{wrong:x}");
    }
    // A dead nmethod cannot be a caller.
    thread.jvm.put(OUTER - WORD, thread.outer_code + CALL);
    thread.jvm.put_bytes(thread.outer_code - CODE + 12, &[3]);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA));
}
