//! Tests that a walk terminates over damaged memory.

extern crate std;

use std::vec::Vec;

use super::super::walk::Interrupted;
use super::jvm::{INTERPRETER, LEAF, SLOTS, thread};
use crate::context::{InterpreterRegisters, Registers};

#[test]
fn a_walk_over_damaged_memory_ends_and_stays_within_its_buffer() {
    let mut random: u64 = from_environment("VOUCH_UNWIND_SEED").unwrap_or(7);
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 20).unwrap()
    };
    let (mut ended, mut walked) = (0, 0);
    // The environment sets the number of rounds for long runs.
    for _ in 0..from_environment("VOUCH_UNWIND_ROUNDS").unwrap_or(4_000) {
        let thread = thread();
        let places: Vec<usize> = thread.jvm.words.borrow().keys().copied().collect();
        for _ in 0..next() % 12 {
            let (at, other) = (places[next() % places.len()], places[next() % places.len()]);
            let word = thread.jvm.words.borrow()[&other];
            let value = match next() % 6 {
                0 => next() << (next() % 40),
                1 => other,
                2 => word,
                3 => word.wrapping_add(next() % 64).wrapping_sub(32),
                4 => word ^ 1 << (next() % 64),
                _ => thread.outer_code + next() % 0x80,
            };
            thread.jvm.put(at, value);
        }
        let near = |value: usize, by: usize| value.wrapping_add(by % 128).wrapping_sub(64);
        let code = thread.leaf_code;
        let pc = [code + 0x10 + next() % 0x20, code + next() % 0x80, INTERPRETER + next() % 0x300, next()]
            [next() % 4];
        let (sp, fp) =
            if next() % 2 == 0 { (LEAF, SLOTS) } else { (near(LEAF, next()), near(SLOTS, next())) };
        let at = Registers { pc, sp, fp };
        let interpreting =
            InterpreterRegisters { bcp: near(SLOTS, next()), method: thread.leaf.at, return_address: next() };
        let is_caller = next() % 4 == 0;
        match thread.jvm.walk(Interrupted { at, interpreting, is_caller }) {
            (Ok(count), ..) => {
                walked += 1;
                assert!(count > 0 && count <= 64);
            }
            (Err(_), ..) => ended += 1,
        }
    }
    assert!(walked > 100 && ended > 100, "only {walked} stacks and {ended} refused walks");
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
