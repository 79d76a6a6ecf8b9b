//! Compiled frames: several that are one, such as are being made or taken down, code that was given
//! up.

use vouch_sample::{ENTRY, Reason};

use super::jvm::{BLOCK, CALL, CODE, LEAF, LOW, OUTER, SIZE, WORD, thread};
use crate::walker::ResumePoint;

#[test]
fn frames_that_are_one_in_compiled_code_are_told_apart() {
    let thread = thread();
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(0x20, LEAF));
    // What is described where an instruction ends is of that instruction, not of the next one.
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(70))));
    assert_eq!(resume_point, ResumePoint::default());
    assert_eq!(thread.jvm.frames(thread.at(0x1f, LEAF))[0], thread.leaf.frame(3));
}

#[test]
fn a_frame_that_is_being_made_or_taken_down_is_known_by_its_code() {
    let thread = thread();
    let entry = thread.leaf.frame(ENTRY);
    let back = OUTER - WORD;
    let put = |at: usize, code: &[u8]| thread.jvm.put_bytes(thread.leaf_code + at, code);
    // Behind the check of the receiver: push rbp; sub rsp, 32; and at the end add rsp, 32; pop rbp;
    // a poll; ret.
    put(8, &[0x55, 0x48, 0x83, 0xec, 0x20]);
    put(0x40, &[0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 1, 2, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3]);
    let pushed = back - WORD;
    for (at, sp) in [(8, back), (9, pushed), (0x44, pushed), (0x45, back), (0x4c, back), (0x52, back)] {
        let (answer, frames, resume_point) = thread.jvm.walk(thread.at(at, sp));
        assert_eq!((answer, frames), (Ok(5), thread.with(entry)), "at {at:x}");
        assert_eq!(resume_point, ResumePoint { pc: thread.outer_code + CALL - 1, has_partial_leaf: true });
    }
    // The frame is all there while the stack pointer is not moved back.
    for at in [0xd, 0x10, 0x40] {
        assert_eq!(thread.jvm.walk(thread.at(at, LEAF)).2, ResumePoint::default(), "at {at:x}");
    }
    // What is unknown may be anything.
    put(0xd, &[0xf4]);
    assert_eq!(thread.jvm.walk(thread.at(0xe, LEAF)).0, Err(Reason::UNKNOWN_JAVA));
    assert_eq!(thread.jvm.walk(thread.at(0xb, LEAF)).0, Err(Reason::UNKNOWN_JAVA), "amidst an instruction");
    // Nobody knows whether it is the right method.
    assert_eq!(thread.jvm.walk(thread.at(7, back)).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn a_frame_that_is_made_at_once_and_then_may_not_be_entered_is_known_by_its_code() {
    let thread = thread();
    let entry = thread.with(thread.leaf.frame(ENTRY));
    // sub rsp, 40; mov [rsp + 32], rbp; cmp dword [r15 + 8], 1; jne; add rsp, 40; leave; cmp qword
    // [r15 + 8], 0; jne; ret.
    let code =
        [0x48, 0x81, 0xec, 40, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 32, 0x41, 0x81, 0x7f, 8, 1, 0, 0, 0, 0x75, 9];
    thread.jvm.put_bytes(thread.leaf_code + 8, &code);
    thread.jvm.put_numbers(thread.leaf_code - CODE, &[(20, 8 + code.len())]);
    // The caller's frame pointer is where it was, and then in the frame: the interpreted method can
    // be told by it alone.
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
fn behind_all_that_is_described_it_is_the_compiled_method_itself() {
    let thread = thread();
    let (answer, frames, resume_point) = thread.jvm.walk(thread.at(0x78, LEAF));
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(ENTRY))));
    assert_eq!(resume_point, ResumePoint::default(), "its frame is whole");
    // A call needs a description of its own.
    thread.jvm.put(OUTER - WORD, thread.outer_code + 0x78);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA));
}

#[test]
fn what_ends_like_a_frame_that_is_taken_down_is_none() {
    let thread = thread();
    let within = |code: &[u8], at: usize| {
        thread.jvm.put_bytes(thread.leaf_code + 0x20 - at, code);
        thread.jvm.frames(thread.at(0x20, LEAF))
    };
    let whole = within(&[0x90; 8], 3);
    // mov rcx, r9, and a jump; or what a loop looks at the poll by.
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0xe9], 3), whole);
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0x4d, 0x8b, 0x57, 8], 3), whole);
    // mov eax, [rbp + 0x5d], likewise.
    assert_eq!(within(&[0x8b, 0x45, 0x5d, 0x85, 0x05], 3), whole);
}

#[test]
fn code_that_was_given_up_goes_on_where_its_frame_says() {
    let thread = thread();
    thread.jvm.put(OUTER - WORD, thread.outer_code + 0x70);
    let given_up = |original| {
        thread.jvm.put(OUTER + WORD, original);
        thread.jvm.walk(thread.at(0x20, LEAF))
    };
    assert_eq!(given_up(thread.outer_code + CALL).1, thread.with(thread.leaf.frame(70)));
    assert_eq!(given_up(thread.outer_code + CALL + 1).0, Err(Reason::NOT_WALKABLE_JAVA));
}

#[test]
fn a_caller_is_one_only_where_a_call_is_described() {
    let mut thread = thread();
    let native = thread.jvm.method(true);
    let wrapper = thread.jvm.blob(*b"native n", SIZE, 16);
    thread.jvm.put(wrapper - CODE + 32, native.at);
    for wrong in [thread.outer_code + CALL - 1, wrapper + 0x20, 0, 0x1234_5678, LOW + 15 * BLOCK, usize::MAX]
    {
        thread.jvm.put(OUTER - WORD, wrong);
        assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA), "{wrong:x}");
    }
    // One that was given up for good can be nobody's.
    thread.jvm.put(OUTER - WORD, thread.outer_code + CALL);
    thread.jvm.put_bytes(thread.outer_code - CODE + 12, &[3]);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA));
}
