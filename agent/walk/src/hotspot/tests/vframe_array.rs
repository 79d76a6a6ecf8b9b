//! Frames that are being made of one whose code was given up: the leaf's, which had another method
//! in it.

extern crate std;

use vouch_sample::Reason;

use super::super::walk::Interrupted;
use super::jvm::{BACK, CALL, ENV, Jvm, LEAF, Made, OUTER, Thread, WORD, thread};

/// What the frames are filled in from, and where in that is what.
const FROM: usize = 0xb0_0000;
/// The frame pointers: of the frame of the code that makes them, of the inner one, of the outer
/// one.
const MAKES: usize = LEAF - 0x80;
const INNER: usize = LEAF - 0x40;
const MADE: usize = OUTER - 2 * WORD;
/// Who makes them has called somebody, who is interrupted.
const ELSEWHERE: usize = 0x1234;

/// The thread, with the method that was one with the leaf's, and the code that makes the frames.
fn vframe_array() -> (Thread, Made, usize) {
    let mut thread = thread();
    let inner = thread.jvm.method(false);
    let code = thread.jvm.blob(*b"Uncommon", 2, 0);
    let jvm = &thread.jvm;
    jvm.push(MAKES, &[INNER, BACK + 0x88]);
    jvm.push(INNER - WORD, &[MADE - 0x10, MADE, BACK + 0x88]);
    jvm.push(MADE - WORD, &[OUTER, 0x77, thread.outer_code + CALL]);
    jvm.push(FROM, &[0, 2, OUTER]);
    jvm.push(FROM + 0x40, &[inner.at, 30, 0, thread.leaf.at, 70, 0]);
    jvm.put(ENV + 88, FROM);
    // It has said where it left Java, and then taken back that it has.
    jvm.push(ENV + 32, &[0, code + 0x20, MAKES]);
    (thread, inner, code)
}

fn stopped() -> Interrupted {
    Jvm::interrupted(ELSEWHERE, MAKES - 0x40, 0x99)
}

#[test]
fn frames_that_are_being_made_are_known_by_what_they_are_made_of() {
    let (thread, inner, _) = vframe_array();
    let stack = [std::vec![inner.frame(30)], thread.with(thread.leaf.frame(70))].concat();
    assert_eq!(thread.jvm.frames(stopped()), stack);
    // An older JVM goes on saying where it has left Java; and one that is made already may go on
    // anywhere in the interpreter.
    thread.jvm.put(ENV + 32, MAKES);
    thread.jvm.put(INNER + WORD, BACK + 8);
    assert_eq!(thread.jvm.frames(stopped()), stack);
}

#[test]
fn frames_that_do_not_fit_what_they_are_made_of_are_none() {
    let ends = |at, word| {
        let (thread, ..) = vframe_array();
        thread.jvm.put(at, word);
        thread.jvm.walk(stopped()).0
    };
    let not_walkable = Err(Reason::NOT_WALKABLE_JAVA);
    // There are more or fewer of them, none, or far too many; their caller stands elsewhere; there
    // is no such method.
    for (at, word) in [
        (FROM + 8, 3),
        (FROM + 8, 1),
        (FROM + 8, 0),
        (FROM + 8, 1 << 20),
        (FROM + 16, OUTER + 8),
        (FROM + 0x40, 8),
    ] {
        assert_eq!(ends(at, word), not_walkable, "{word:#x} at {at:#x}");
    }
    // The frames lead back, or out of the interpreter.
    for (at, word) in [(INNER - WORD, INNER), (INNER + WORD, ELSEWHERE)] {
        assert_eq!(ends(at, word), not_walkable, "{word:#x} at {at:#x}");
    }
}

#[test]
fn a_thread_that_is_being_given_no_frames_has_left_java_only_if_it_says_so() {
    let unknown = Err(Reason::UNKNOWN_JAVA);
    let ends = |at, word| {
        let (thread, ..) = vframe_array();
        thread.jvm.put(at, word);
        thread.jvm.walk(stopped()).0
    };
    assert_eq!(ends(ENV + 88, 0), unknown, "what it said before is left over");
    assert_eq!(ends(ENV + 40, 0), unknown);
    assert_eq!(ends(ENV + 40, ELSEWHERE), unknown);
    assert_eq!(ends(ENV + 48, MAKES - 0x200), unknown, "it lies below where the thread stands");
    assert_eq!(ends(MAKES + WORD, ELSEWHERE), unknown, "nothing is interpreted there");
}
