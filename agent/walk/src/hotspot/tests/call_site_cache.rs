//! Recursions: who calls itself is met again, and both ends are walked where there is no room.

use vouch_sample::Cut;

use super::jvm::{CALL, LEAF, OUTER, RETURNS, SIZE, STACK, Thread, WORD, thread};

/// A recursion in compiled code through so many more frames than there are: the outer one, again
/// and again.
fn recursion(rounds: usize) -> (Thread, usize) {
    let thread = thread();
    let begin = STACK + 0x400;
    let end = begin + rounds * SIZE * WORD;
    // The leaf's caller returns into itself, and the last round to where the outer one did.
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
fn who_calls_itself_is_met_again_and_what_its_frame_says_is_read_each_time() {
    let rounds = 5;
    let (thread, last) = recursion(rounds);
    let at = thread.at(0x20, LEAF);
    let round = thread.callers()[..3].to_vec();
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds + 1)].concat();
    assert_eq!(thread.jvm.frames(at), all);
    // Its code is given up, in one frame after the other: each says itself where it goes on.
    let original = thread.outer_code + 0x18;
    for given_up in (OUTER..=last).step_by(SIZE * WORD) {
        thread.jvm.put(given_up - WORD, thread.outer_code + 0x70);
        thread.jvm.put(given_up + WORD, if given_up == last { original } else { thread.outer_code + CALL });
    }
    let [.., outer] = thread.outer;
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds), [outer.frame(1)].to_vec()].concat();
    assert_eq!(thread.jvm.frames(at), all);
}

#[test]
fn of_a_recursion_for_which_there_is_no_room_both_ends_are_walked() {
    let (thread, _) = recursion(5);
    let at = thread.at(0x20, LEAF);
    let all = thread.jvm.frames(at);
    for depth in 1..all.len() {
        let (inner, outer) = (depth.div_ceil(2), depth / 2);
        let ends = [&all[..inner], &all[all.len() - outer..]].concat();
        let [kept, at_frame, frames] =
            [depth, inner, all.len() - depth].map(|count| u32::try_from(count).unwrap());
        let (answer, walked, info) = thread.jvm.walk_within(depth.try_into().unwrap(), at);
        assert_eq!((answer, walked, info.cut), (Ok(kept), ends, Some(Cut { at: at_frame, frames })));
    }
}
