//! Tests of skeleton frames, which replace a deoptimised frame: the leaf's, with an inlined method.

extern crate std;

use vouch_sample::Reason;

use super::super::walk::Interrupted;
use super::jvm::{BACK, CALL, ENV, Jvm, LEAF, Made, OUTER, Thread, WORD, thread};

/// The address of the vframeArray.
const ARRAY: usize = 0xb0_0000;
/// The frame pointer of the blob that unpacks the vframeArray.
const UNPACKER: usize = LEAF - 0x80;
/// The frame pointer of the inner skeleton frame.
const INNER: usize = LEAF - 0x40;
/// The frame pointer of the outer skeleton frame.
const OUTER_SKELETON: usize = OUTER - 2 * WORD;
/// The interrupted pc, in a function that the unpacker has called.
const ELSEWHERE: usize = 0x1234;

/// Returns a thread with skeleton frames, the inlined method, and the code of the blob that unpacks
/// the vframeArray.
fn deoptimised() -> (Thread, Made, usize) {
    let mut thread = thread();
    let inner = thread.jvm.method(false);
    let code = thread.jvm.blob(*b"Uncommon", 2, 0);
    let jvm = &thread.jvm;
    jvm.push(UNPACKER, &[INNER, BACK + 0x88]);
    jvm.push(INNER - WORD, &[OUTER_SKELETON - 0x10, OUTER_SKELETON, BACK + 0x88]);
    jvm.push(OUTER_SKELETON - WORD, &[OUTER, 0x77, thread.outer_code + CALL]);
    jvm.push(ARRAY, &[0, 2, OUTER]);
    jvm.push(ARRAY + 0x40, &[inner.at, 30, 0, thread.leaf.at, 70, 0]);
    jvm.put(ENV + 88, ARRAY);
    // The anchor's stack pointer was cleared, and its other fields were not.
    jvm.push(ENV + 32, &[0, code + 0x20, UNPACKER]);
    (thread, inner, code)
}

fn interrupted() -> Interrupted {
    Jvm::interrupted(ELSEWHERE, UNPACKER - 0x40, 0x99)
}

#[test]
fn skeleton_frames_have_the_methods_of_the_vframe_array() {
    let (thread, inner, _) = deoptimised();
    let stack = [std::vec![inner.frame(30)], thread.with(thread.leaf.frame(70))].concat();
    assert_eq!(thread.jvm.frames(interrupted()), stack);
    // Older JVMs keep the anchor. A filled frame may continue anywhere in the interpreter.
    thread.jvm.put(ENV + 32, UNPACKER);
    thread.jvm.put(INNER + WORD, BACK + 8);
    assert_eq!(thread.jvm.frames(interrupted()), stack);
}

#[test]
fn frames_that_do_not_match_the_vframe_array_are_refused() {
    let ends = |at, word| {
        let (thread, ..) = deoptimised();
        thread.jvm.put(at, word);
        thread.jvm.walk(interrupted()).0
    };
    let not_walkable = Err(Reason::NOT_WALKABLE_JAVA);
    // The number of frames is wrong, zero or too large. The caller's stack pointer is wrong. The
    // method does not exist.
    for (at, word) in [
        (ARRAY + 8, 3),
        (ARRAY + 8, 1),
        (ARRAY + 8, 0),
        (ARRAY + 8, 1 << 20),
        (ARRAY + 16, OUTER + 8),
        (ARRAY + 0x40, 8),
    ] {
        assert_eq!(ends(at, word), not_walkable, "{word:#x} at {at:#x}");
    }
    // The links lead back, or out of the interpreter.
    for (at, word) in [(INNER - WORD, INNER), (INNER + WORD, ELSEWHERE)] {
        assert_eq!(ends(at, word), not_walkable, "{word:#x} at {at:#x}");
    }
}

#[test]
fn without_a_vframe_array_a_cleared_anchor_is_ignored() {
    let unknown = Err(Reason::UNKNOWN_JAVA);
    let ends = |at, word| {
        let (thread, ..) = deoptimised();
        thread.jvm.put(at, word);
        thread.jvm.walk(interrupted()).0
    };
    assert_eq!(ends(ENV + 88, 0), unknown, "the anchor is outdated");
    assert_eq!(ends(ENV + 40, 0), unknown);
    assert_eq!(ends(ENV + 40, ELSEWHERE), unknown);
    assert_eq!(ends(ENV + 48, UNPACKER - 0x200), unknown, "the frame is below the stack pointer");
    assert_eq!(ends(UNPACKER + WORD, ELSEWHERE), unknown, "the return address is not in the interpreter");
}
