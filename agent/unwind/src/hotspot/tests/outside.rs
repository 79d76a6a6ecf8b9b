//! Tests of threads outside of Java, of calls from the VM to Java, and of code of the JVM.

use vouch_sample::{NATIVE, Reason};

use super::super::walk::Interrupted;
use super::jvm::{BASE, CODE, ENTRIES, ENV, IN_JAVA, Jvm, LEAF, RETURNS, SIZE, STACK, WORD, thread};
use crate::walker::ResumePoint;

#[test]
fn a_thread_outside_of_java_is_walked_from_its_anchor() {
    let mut thread = thread();
    let native = thread.jvm.method(true);
    let wrapper = thread.jvm.blob(*b"native n", SIZE, 16);
    thread.jvm.put(wrapper - CODE + 32, native.at);
    let frame = LEAF - SIZE * WORD;
    thread.jvm.push(LEAF - 2 * WORD, &[0, thread.leaf_code + 0x30]);
    let expected = [[native.frame(NATIVE)].to_vec(), thread.with(thread.leaf.frame(70))].concat();
    for (pc, pushed) in [(wrapper + 0x20, 1), (0, wrapper + 0x20)] {
        thread.jvm.put(frame - WORD, pushed);
        thread.jvm.push(ENV + 24, &[4, frame, pc, 0]);
        let away = Jvm::interrupted(0x7fff_0000, STACK + 8, 0);
        assert_eq!(thread.jvm.frames(away), expected);
    }
    // The anchor is clear and the thread is not in Java, or it is in Java in unknown code.
    thread.jvm.push(ENV + 24, &[4, 0, 0, 0]);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NO_JAVA_FRAME));
    thread.jvm.push(ENV + 24, &[IN_JAVA, 0, 0, 0]);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(0x7fff_0000, LEAF, 0)).0, Err(Reason::UNKNOWN_JAVA));
    // A stack pointer outside of the stack is refused.
    assert_eq!(thread.jvm.walk(thread.at(0x20, BASE)).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn a_walk_continues_through_the_call_stub_and_upcall_stubs() {
    let mut thread = thread();
    let stub = thread.jvm.blob(*b"upcall\0\0", 20, 0);
    thread.jvm.put_bytes(stub - CODE + 72, &[11]);
    thread.jvm.put_bytes(stub - CODE + 76, &0x40_i32.to_le_bytes());
    let expected = thread.with(thread.leaf.frame(70));
    // The leaf has called the VM, which has called an interpreted method.
    let (inner, first) = (STACK + 0x80, STACK + 0xd8);
    thread.jvm.put(inner - 3 * WORD, thread.interpreted.at);
    thread.jvm.put(inner - 8 * WORD, thread.interpreted.bytecode(5));
    thread.jvm.push(inner - 2 * WORD, &[0, inner + 16, first, RETURNS]);
    let holder = STACK + 0xe0;
    thread.jvm.put(first - 6 * WORD, holder);
    thread.jvm.push(holder + 8, &[LEAF, thread.leaf_code + 0x30, 0]);
    let at = Jvm::interrupted(ENTRIES + 4, STACK + 8, inner);
    let both = |jvm: &Jvm| {
        let inner = [thread.interpreted.frame(5)].to_vec();
        assert_eq!(jvm.frames(at), [inner, expected.clone()].concat());
    };
    both(&thread.jvm);
    // A foreign function has called Java: the anchor is in the frame of the upcall stub.
    thread.jvm.put(inner + WORD, stub + 0x20);
    thread.jvm.push(inner + 16 + 0x40, &[LEAF, thread.leaf_code + 0x30, 0]);
    both(&thread.jvm);
}

#[test]
fn frames_of_stubs_are_unwound_where_their_code_shows_the_shape() {
    let mut thread = thread();
    let (runtime, stub) = (thread.jvm.blob(*b"runtime\0", SIZE, 16), thread.jvm.blob(*b"stubs\0\0\0", 0, 0));
    let link = thread.jvm.blob(*b"native n", 0, 0x80);
    let intrinsic = thread.jvm.method(true);
    thread.jvm.put(link - CODE + 32, intrinsic.at);
    let expected = thread.with(thread.leaf.frame(70));
    let back = thread.leaf_code + 0x30;
    thread.jvm.put_bytes(back - 5, &[0xe8]);
    let resume_point = ResumePoint { pc: back - 1, has_partial_leaf: false };
    // The saved frame pointer leads to no frame.
    thread.jvm.push(LEAF - 2 * WORD, &[0x99, back]);
    let at = |pc, sp| thread.jvm.walk(Jvm::interrupted(pc, sp, 0x99));
    thread.jvm.put_bytes(runtime, &[0x55, 0x48, 0x8b, 0xec]);
    thread.jvm.put_bytes(runtime + 0x30, &[0xc3]);
    assert_eq!(at(runtime + 4, LEAF - 2 * WORD), (Ok(5), expected.clone(), resume_point));
    assert_eq!(at(runtime + 0x30, LEAF - WORD), (Ok(5), expected.clone(), resume_point));
    assert_eq!(
        at(runtime + 0x20, LEAF - SIZE * WORD).0,
        Err(Reason::UNKNOWN_JAVA),
        "the stub moves its stack pointer"
    );
    assert_eq!(at(runtime, LEAF - WORD), (Ok(5), expected.clone(), resume_point));
    thread.jvm.put_bytes(stub + 0x20, &[0x55, 0x48, 0x89, 0xe5]);
    assert_eq!(at(stub + 0x20, LEAF - WORD), (Ok(5), expected.clone(), resume_point));
    assert_eq!(at(stub + 0x21, LEAF - 2 * WORD), (Ok(5), expected.clone(), resume_point));
    assert_eq!(at(stub + 0x28, LEAF - WORD).0, Err(Reason::UNKNOWN_JAVA), "in the middle of a stub");
    // The linker of a method handle has no frame.
    assert_eq!(at(link + 0x20, LEAF - WORD), (Ok(5), expected.clone(), resume_point));
    // The call of a stub may have no PcDesc at its return address. The next PcDesc is used then.
    let without_desc = thread.leaf_code + 0x28;
    thread.jvm.put(LEAF - WORD, without_desc);
    assert_eq!(at(runtime, LEAF - WORD).0, Err(Reason::NOT_WALKABLE_JAVA), "it follows no call");
    thread.jvm.put_bytes(without_desc - 5, &[0xe8]);
    assert_eq!(at(runtime, LEAF - WORD).1, expected);
    // The same holds if the walk begins at the caller.
    let called = Jvm::interrupted(without_desc - 1, LEAF, 0x99);
    assert_eq!(thread.jvm.frames(Interrupted { is_caller: true, ..called }), expected);
}
