//! Tests of interpreted frames: their bcp, their calls, and methods that are being entered or left.

use vouch_sample::{ENTRY, NATIVE, Reason};

use super::super::walk::Interrupted;
use super::jvm::{
    BACK, CALL, ENTRIES, INTERPRETER, Jvm, LEAF, METADATA, SLOTS, Thread, WORD, interpreting, thread,
};
use crate::context::Registers;
use crate::walker::ResumePoint;

#[test]
fn the_bcp_register_is_used_if_it_points_into_the_method() {
    let Thread { jvm, interpreted, .. } = thread().interpreting();
    let at = |pc, bytecode, sp| jvm.frames(interpreting(pc, sp, bytecode, 3, 5));
    let sp = SLOTS - 0x80;
    assert_eq!(at(ENTRIES + 4, interpreted.bytecode(55), sp), [interpreted.frame(55)]);
    // The register has another value just after a return.
    assert_eq!(at(ENTRIES + 4, interpreted.bytecode(100), sp), [interpreted.frame(12)]);
    assert_eq!(at(ENTRIES + 4, sp, sp), [interpreted.frame(12)]);
    // The slot of the last stack pointer is written before a call and cleared after the return.
    jvm.put(SLOTS - 2 * WORD, sp);
    assert_eq!(at(ENTRIES + 4, sp, sp - WORD), [interpreted.frame(12)]);
    assert_eq!(at(BACK + 4, 1, sp), [interpreted.frame(12)]);
    jvm.put(SLOTS - 2 * WORD, 0);
    jvm.put(interpreted.at + 8, 0x100);
    assert_eq!(at(ENTRIES + 4, sp, sp), [interpreted.frame(NATIVE)]);
}

#[test]
fn the_caller_of_a_method_that_is_being_entered_is_found_without_a_frame() {
    let Thread { mut jvm, interpreted, outer_code, .. } = thread();
    let called = jvm.method(false);
    let sp = SLOTS - 0x80;
    let enter = |jvm: &Jvm, top, returns| {
        jvm.put(sp, top);
        jvm.walk(interpreting(INTERPRETER + 4, sp, sp + 8, called.at, returns))
    };
    let both = [called.frame(ENTRY), interpreted.frame(12)];
    for (top, returns) in [(BACK + 8, 1), (1, BACK + 8), (1, BACK + 0x88)] {
        let (_, frames, resume_point) = enter(&jvm, top, returns);
        assert_eq!(
            (frames, resume_point),
            (both.to_vec(), ResumePoint { pc: top.max(returns) - 1, has_partial_leaf: true })
        );
    }
    assert_eq!(enter(&jvm, 1, 1).0, Err(Reason::UNKNOWN_JAVA), "the return address is no code");
    assert_eq!(enter(&jvm, ENTRIES + 8, 1).0, Err(Reason::UNKNOWN_JAVA), "no call returns there");
    // The word on top is an argument, which must not be taken for a return address.
    let looks_like_code = METADATA + 0x8000;
    jvm.push(looks_like_code - WORD, &[0xe8 << 24, 0]);
    for argument in [0x7777_0000, looks_like_code, outer_code + CALL] {
        assert_eq!(enter(&jvm, argument, BACK + 8).1, both, "{argument:x}");
    }
    // The same holds if the method calls itself.
    jvm.put(SLOTS - 3 * WORD, called.at);
    jvm.put(SLOTS - 8 * WORD, called.bytecode(9));
    assert_eq!(enter(&jvm, BACK + 8, 1).1, [called.frame(ENTRY), called.frame(9)]);
    // The new frame has its frame pointer first, and then the sender's stack pointer.
    let begun = sp - 2 * WORD;
    jvm.push(begun, &[SLOTS, BACK + 8]);
    let at = |sp, bytecode| {
        let Interrupted { at, interpreting, is_caller } =
            interpreting(INTERPRETER + 4, sp, bytecode, called.at, BACK + 8);
        jvm.walk(Interrupted { at: Registers { fp: begun, ..at }, interpreting, is_caller }).1
    };
    let sender = sp;
    assert_eq!(at(begun, sender), [called.frame(ENTRY), called.frame(9)]);
    jvm.push(begun - 2 * WORD, &[0, sender]);
    assert_eq!(at(begun - 2 * WORD, called.bytecode(0)), [called.frame(ENTRY), called.frame(9)]);
    // Once the method slot is written, the frame is complete.
    jvm.put(begun - 3 * WORD, called.at);
    assert_eq!(at(begun - 3 * WORD, called.bytecode(0)), [called.frame(0), called.frame(9)]);
}

#[test]
fn entering_a_method_with_the_return_address_of_its_caller_skips_no_frame() {
    // In a recursion all frames return to the same return entry.
    let Thread { mut jvm, interpreted, .. } = thread();
    let (called, outer) = (jvm.method(false), jvm.method(false));
    let further = SLOTS + 0x100;
    jvm.push(SLOTS, &[further, BACK + 8]);
    jvm.push(further, &jvm.begin(further + 0x100));
    jvm.put(further - WORD, further + 0x20);
    jvm.put(further - 2 * WORD, SLOTS + 0x20);
    jvm.put(further - 3 * WORD, outer.at);
    jvm.put(further - 8 * WORD, outer.bytecode(30));
    let sp = SLOTS - 0x80;
    for top in [BACK + 8, 1] {
        jvm.put(sp, top);
        let (_, frames, _) = jvm.walk(interpreting(INTERPRETER + 4, sp, sp + 8, called.at, BACK + 8));
        assert_eq!(frames, [called.frame(ENTRY), interpreted.frame(12), outer.frame(30)], "{top:x}");
    }
}

#[test]
fn leaving_an_interpreted_method_skips_no_caller() {
    // The caller is compiled, and it keeps the frame pointer of the next interpreted frame.
    let thread = thread();
    let back = thread.leaf_code + 0x30;
    thread.jvm.put_bytes(back - 5, &[0xe8]);
    let pc = ENTRIES + 0x40;
    thread.jvm.put_bytes(pc - 1, &[0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5]);
    let expected = thread.with(thread.leaf.frame(70));
    let resume_point = ResumePoint { pc: back - 1, has_partial_leaf: false };
    let walk = |pc, sp, bytecode| thread.jvm.walk(interpreting(pc, sp, bytecode, LEAF, 5));
    // The return address is on top of the stack first, and then in the bcp register. That register
    // may still have a bcp of an interpreted caller.
    thread.jvm.put(LEAF - 2 * WORD, back);
    for bytecode in [1, thread.interpreted.bytecode(20)] {
        assert_eq!(walk(pc, LEAF - 2 * WORD, bytecode), (Ok(5), expected.clone(), resume_point));
    }
    for (at, sp) in [(2, LEAF - WORD), (5, LEAF)] {
        assert_eq!(walk(pc + at, sp, back), (Ok(5), expected.clone(), resume_point), "at {at}");
    }
    assert_eq!(walk(pc + 5, LEAF, 0x7777_0000).0, Err(Reason::UNKNOWN_JAVA), "the return address is no code");
}

#[test]
fn an_interpreted_caller_needs_a_return_entry_and_a_last_sp() {
    let thread = thread();
    let walk = |pc, last| {
        thread.jvm.put(SLOTS - 0x80 - WORD, pc);
        thread.jvm.put(SLOTS - 2 * WORD, last);
        thread.jvm.walk(thread.at(0x20, LEAF)).0
    };
    let sp = SLOTS - 0x80;
    assert_eq!(walk(BACK + 8, sp), Ok(5));
    // Arguments are between the two stack pointers, and newer versions store a distance in words.
    assert_eq!(walk(BACK + 0x88, sp + 5 * WORD), Ok(5));
    assert_eq!(walk(BACK + 8, (-16_isize).cast_unsigned()), Ok(5));
    for (pc, last) in [(BACK + 8, 0), (ENTRIES + 8, sp), (BACK + 8, SLOTS + 8), (BACK + 8, sp - 0x2000)] {
        assert_eq!(walk(pc, last), Err(Reason::NOT_WALKABLE_JAVA), "{pc:x} {last:x}");
    }
}
