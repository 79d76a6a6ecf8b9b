use vouch_sample::Certainty;

use crate::machine::testing::{CALL, INC, JL, Method, NOP, RET};
use crate::machine::{Nmethod, certainty, owner};

const BEFORE: &[(usize, i32)] = &[(1, 16), (9, 0)];
const CHECKED: &[(usize, i32)] = &[(2, 19), (9, 0)];
const AFTER: &[(usize, i32)] = &[(3, 12), (2, 19), (9, 0)];
const TRAP: usize = 0x20_0000;
const JNE: &[u8] = &[0x0f, 0x85];
/// The check of a cast, as C2 writes it: mov r8d, [r10 + 8]; movabs r11, class; mov r9d, base; add
/// r9, r8; mov r8, [r9 + 0x38]; cmp r8, r11.
const CAST: [&[u8]; 6] = [
    &[0x45, 0x8b, 0x42, 0x08],
    &[0x49, 0xbb, 0xf0, 0x51, 0x04, 0x1e, 0, 0, 0, 0],
    &[0x41, 0xb9, 0, 0, 0, 0x1d],
    &[0x4d, 0x03, 0xc8],
    &[0x4d, 0x8b, 0x41, 0x38],
    &[0x4d, 0x3b, 0xc3],
];
/// Instructions that are no part of a check: mov rbp, r10; mov [rbp + 16], r8; mov r8d, [r10 + 12].
const MOVE: &[u8] = &[0x49, 0x8b, 0xea];
const STORE: &[u8] = &[0x4c, 0x89, 0x45, 0x10];
const FIELD: &[u8] = &[0x45, 0x8b, 0x42, 0x0c];

/// Makes a method with these instructions and a branch after them. Returns for each instruction
/// whether it is found to belong to the uncommon trap at the branch's target, and how certain that
/// is.
fn checked(instructions: &[&[u8]], is_trap: bool) -> Vec<(bool, Certainty)> {
    let mut method = Method::default();
    method.add(&[INC]);
    method.describe(BEFORE);
    let mut ends: Vec<usize> = instructions.iter().map(|it| method.add(&[it])).collect();
    let branch = method.jump(JNE, 0);
    ends.push(branch);
    method.add(&[MOVE]);
    method.describe(AFTER);
    method.add(&[RET]);
    let slow = method.here();
    method.patch(branch, slow);
    method.add(&[MOVE, NOP]);
    method.jump(CALL, TRAP);
    let trap = method.safepoint(CHECKED);
    method.add(&[NOP]);
    method.finish();
    method.traps = if is_trap { vec![TRAP] } else { Vec::new() };
    let found = |end: &usize| {
        let index = owner(&method, *end, None).unwrap();
        (index == trap, certainty(&method, *end, index, None))
    };
    ends.iter().map(found).collect()
}

#[test]
fn a_check_is_of_the_bytecode_at_which_the_trap_goes_on() {
    let checks: Vec<bool> = checked(&CAST, true).iter().map(|(is_trap, _)| *is_trap).collect();
    // The constants do not depend on the class, and may belong to other code.
    assert_eq!(checks, [true, false, false, true, true, true, true]);
    assert!(checked(&CAST, true).iter().all(|(_, certainty)| *certainty == Certainty::Exact));
}

#[test]
fn a_branch_to_a_slower_way_is_not_a_check() {
    assert!(checked(&CAST, false).iter().all(|(is_trap, _)| !is_trap));
}

#[test]
fn a_class_that_is_stored_or_a_field_may_be_another_s() {
    let stored = [&CAST[..1], &[STORE], &CAST[1..]].concat();
    assert!(!checked(&stored, true)[0].0);
    assert!(!checked(&[FIELD, CAST[5]], true)[0].0, "the value of a field");
    assert!(checked(&[FIELD, CAST[5]], true)[1].0, "the comparison");
    let overwritten = [CAST[0], FIELD, CAST[5]];
    assert!(!checked(&overwritten, true)[0].0, "the class is read by nothing");
}

#[test]
fn flags_that_change_before_the_branch_are_not_the_comparison_s() {
    assert!(!checked(&[CAST[0], CAST[5], INC], true)[1].0);
}

#[test]
fn an_instruction_with_a_state_keeps_it() {
    let mut method = Method::default();
    let end = method.add(&[CAST[5]]);
    let own = method.describe(BEFORE);
    let branch = method.jump(JL, 0);
    method.add(&[RET]);
    let slow = method.here();
    method.patch(branch, slow);
    method.jump(CALL, TRAP);
    method.safepoint(CHECKED);
    method.finish();
    method.traps.push(TRAP);
    assert_eq!(owner(&method, end, None), Some(own));
    assert!(method.end(own) == Some(end));
}
