use vouch_sample::Certainty;

use super::*;
use crate::machine::certainty;
use crate::machine::testing::{CMP, INC, JL, JMP, LOCK_ADD, Method, NOP, RET};

const WORK_FRAMES: &[(usize, i32)] = &[(1, 26), (9, 0)];
const OTHER_FRAMES: &[(usize, i32)] = &[(2, 3), (9, 5)];

#[test]
fn an_instruction_that_ends_a_run_is_of_that_run() {
    let mut method = Method::default();
    let end = method.add(&[LOCK_ADD]);
    let work = method.describe(WORK_FRAMES);
    method.add(&[INC]);
    method.describe(OTHER_FRAMES);
    // An interrupt that waits for a slow instruction finds the pc after that instruction.
    assert_eq!(local(&method, end), Some(work));
}

#[test]
fn what_has_no_state_before_a_branch_is_of_the_run_before() {
    let mut method = Method::default();
    let begin = method.add(&[LOCK_ADD]);
    let work = method.describe(WORK_FRAMES);
    let inc = method.add(&[INC]);
    let cmp = method.add(&[CMP]);
    let branch = method.jump(JL, begin);
    let load = method.add(&[INC]);
    let last = method.add(&[INC]);
    let other = method.describe(OTHER_FRAMES);
    method.add(&[RET]);
    assert_eq!([inc, cmp, branch].map(|end| local(&method, end)), [Some(work); 3]);
    assert_eq!([load, last].map(|end| local(&method, end)), [Some(other); 2]);
}

#[test]
fn what_has_no_state_and_no_branch_behind_it_is_of_the_run_after() {
    let mut method = Method::default();
    method.add(&[LOCK_ADD]);
    method.describe(WORK_FRAMES);
    let first = method.add(&[INC]);
    method.add(&[INC]);
    let other = method.describe(OTHER_FRAMES);
    assert_eq!(local(&method, first), Some(other));
}

#[test]
fn code_out_of_line_is_of_the_place_that_it_goes_back_to() {
    let mut method = Method::default();
    let to_barrier = method.jump(JL, 0);
    let back = method.here();
    let work = method.describe(WORK_FRAMES);
    method.add(&[RET]);
    method.describe(OTHER_FRAMES);
    let barrier = method.here();
    let slow = method.add(&[LOCK_ADD]);
    let cmp = method.add(&[CMP]);
    method.jump(JMP, back);
    method.patch(to_barrier, barrier);
    // Code out of line without a known jump back has no known owner.
    let lost = method.add(&[LOCK_ADD]);
    method.add(&[RET, NOP]);
    method.finish();
    assert_eq!([barrier, slow, cmp].map(|end| local(&method, end)), [Some(work); 3]);
    assert_eq!(local(&method, lost), None);
}

#[test]
fn code_out_of_line_goes_back_by_its_jump_and_not_by_a_branch_to_a_slower_way() {
    let mut method = Method::default();
    let to_lock = method.jump(JL, 0);
    let back = method.here();
    let work = method.describe(WORK_FRAMES);
    method.add(&[RET]);
    method.describe(OTHER_FRAMES);
    let lock = method.here();
    let compared = method.add(&[LOCK_ADD]);
    let to_slower = method.jump(JL, 0);
    let stored = method.add(&[INC]);
    method.jump(JMP, back);
    method.patch(to_lock, lock);
    method.add(&[INC, RET]);
    method.describe(OTHER_FRAMES);
    let slower = method.here();
    method.patch(to_slower, slower);
    method.add(&[NOP, RET]);
    method.describe(OTHER_FRAMES);
    assert_eq!([compared, stored].map(|end| local(&method, end)), [Some(work); 2]);
}

#[test]
fn what_only_a_jump_leads_to_is_not_of_the_instruction_before() {
    let mut method = Method::default();
    method.add(&[INC]);
    method.describe(WORK_FRAMES);
    let target = method.jump(JMP, 0);
    method.patch(target, target);
    method.add(&[INC, INC]);
    let other = method.describe(OTHER_FRAMES);
    assert_eq!(local(&method, target), Some(other));
}

#[test]
fn a_call_without_a_safepoint_is_described_after_its_nop() {
    // The bytes are call r10, and the nop that HotSpot writes after each call.
    let (call, nop) = (&[0x41, 0xff, 0xd2], &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]);
    for (is_reliable, is_padded, is_described) in
        [(true, false, true), (false, false, false), (true, true, false)]
    {
        let mut method = Method::with_invokes(is_reliable.then(Vec::new));
        method.add(&[INC]);
        method.describe(WORK_FRAMES);
        let end = method.add(&[call]);
        method.add(&[nop, if is_padded { NOP } else { &[] }]);
        let copy = method.describe(OTHER_FRAMES);
        method.finish();
        assert_eq!(owner(&method, end, None), Some(copy));
        let expected = if is_described { Certainty::Exact } else { Certainty::Approximate };
        assert_eq!(certainty(&method, end, copy, None), expected, "{is_reliable} {is_padded}");
    }
    // A safepoint ends with the call.
    let mut method = Method::with_invokes(Some(Vec::new()));
    let end = method.add(&[call]);
    let called = method.safepoint(WORK_FRAMES);
    method.add(&[nop]);
    method.describe(OTHER_FRAMES);
    assert_eq!(owner(&method, end, None), Some(called));
}

#[test]
fn what_cannot_be_read_is_left_as_it_is() {
    let mut method = Method::default();
    method.add(&[INC, INC]);
    let work = method.describe(WORK_FRAMES);
    assert_eq!(local(&method, method.here() - 1), Some(work), "within an instruction");
    assert_eq!(local(&method, method.here() + 9), None);
}
