//! Tests of walks through recursive calls: call sites are cached, and deep stacks keep both ends.

use vouch_sample::Cut;

use super::jvm::{CALL, LEAF, OUTER, RETURNS, SIZE, STACK, Thread, WORD, thread};

/// Returns a thread with `rounds` more frames of the outer method, and the address of the last
/// frame.
fn recursion(rounds: usize) -> (Thread, usize) {
    let thread = thread();
    let begin = STACK + 0x400;
    let end = begin + rounds * SIZE * WORD;
    // The leaf's caller returns into itself. The last round returns to the caller of the outer
    // method.
    thread.jvm.push(OUTER, &[0; SIZE]);
    thread.jvm.put(LEAF + 4 * WORD, 0);
    let mut at = OUTER;
    for _ in 0..rounds {
        let next = at + SIZE * WORD;
        thread.jvm.push(next - 2 * WORD, &[0x99, thread.outer_code + CALL]);
        at = next;
    }
    let fp = end + 0x800;
    thread.jvm.push(at + (SIZE - 2) * WORD, &[fp, RETURNS]);
    thread.jvm.push(fp, &thread.jvm.begin(fp));
    (thread, at)
}

#[test]
fn recursive_calls_are_cached_and_deoptimised_frames_are_read_each_time() {
    let rounds = 5;
    let (thread, last) = recursion(rounds);
    let at = thread.at(0x20, LEAF);
    let round = thread.callers()[..3].to_vec();
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds + 1)].concat();
    assert_eq!(thread.jvm.frames(at), all);
    // The frames are deoptimised one after the other. Each has its own original pc.
    let original = thread.outer_code + 0x18;
    for deoptimised in (OUTER..=last).step_by(SIZE * WORD) {
        thread.jvm.put(deoptimised - WORD, thread.outer_code + 0x70);
        thread
            .jvm
            .put(deoptimised + WORD, if deoptimised == last { original } else { thread.outer_code + CALL });
    }
    let [.., outer] = thread.outer;
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds), [outer.frame(1)].to_vec()].concat();
    assert_eq!(thread.jvm.frames(at), all);
}

#[test]
fn a_recursion_deeper_than_the_buffer_keeps_both_ends() {
    let (thread, _) = recursion(5);
    let at = thread.at(0x20, LEAF);
    let all = thread.jvm.frames(at);
    for depth in 1..all.len() {
        let (inner, outer) = (depth.div_ceil(2), depth / 2);
        let ends = [&all[..inner], &all[all.len() - outer..]].concat();
        let [kept, at_frame, frames] =
            [depth, inner, all.len() - depth].map(|count| u32::try_from(count).unwrap());
        let (answer, walked, info) = thread.jvm.walk_within(depth.try_into().unwrap(), at);
        assert_eq!((answer, walked, info.cut), (Ok(kept), ends, Some(Cut { at: at_frame, missing: frames })));
    }
}
