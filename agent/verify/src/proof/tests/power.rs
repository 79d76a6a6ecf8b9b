//! Tests of the power of proof: it is 100 % where every corruption is visible, 0 where none is, and
//! equal in repeated measurements.

use vouch_sample::{ResolvedFrame, ResolvedMethod};

use crate::proof::method::KnownFrame;
use crate::proof::opcode::{INVOKESTATIC, RETURN};
use crate::proof::testing::{PoolBuilder, caller, refutes};
use crate::proof::{Class, Corruption, Method, PowerCounts, power};
use std::sync::Arc;

/// Makes a static method that calls the method `next` at bci 1. The instructions before and after
/// it call nothing.
fn link(name: &str, next: &str) -> Method {
    let mut builder = PoolBuilder::default();
    let number = builder.method("Chain", next, "()V").to_be_bytes();
    let of = caller(builder.build(), &[0, INVOKESTATIC, number[0], number[1], RETURN]);
    let class = Class::new("Chain");
    class.load_pool(|| of.class.pool().clone());
    Method { class: Arc::new(class), name: name.into(), is_static: true, ..of }
}

fn stack(methods: &[Method]) -> Vec<KnownFrame<'_>> {
    methods
        .iter()
        .enumerate()
        .map(|(id, method)| KnownFrame {
            frame: ResolvedFrame::new(ResolvedMethod(id), 1),
            method: Some(method),
        })
        .collect()
}

/// Makes the methods of a stack, leaf first: `main` calls `a`, `a` calls `b`, and so on.
fn chain() -> Vec<Method> {
    let names = ["main", "a", "b", "c", "d", "e", "f"];
    let mut methods: Vec<Method> = names.windows(2).map(|pair| link(pair[0], pair[1])).collect();
    let main = &mut methods[0];
    main.descriptor = "([Ljava/lang/String;)V".into();
    methods.reverse();
    methods
}

fn measured(methods: &[Method], corruption: Corruption) -> (u64, u64) {
    let noticed = power(corruption, 300, 1, |_| stack(methods), refutes, |_, _| false);
    (noticed.tried, noticed.by_proof)
}

/// The corruptions that can be made in a stack without recursion.
const OF_ANY: [Corruption; 5] = [
    Corruption::DroppedFrame,
    Corruption::ForeignFrames,
    Corruption::MovedBci,
    Corruption::SwappedFrames,
    Corruption::ForeignHalf,
];

#[test]
fn the_one_round_of_a_stack_is_found() {
    let methods = chain();
    // All frames of a short stack are tried. In a longer one the round is missed in 5 of 6 trials.
    for (length, least, most) in [(20, 300, 300), (200, 20, 100)] {
        let stack = || -> Vec<KnownFrame<'_>> {
            let frame = |at: usize| ResolvedFrame::new(ResolvedMethod(if at == 11 { 10 } else { at }), 1);
            (0..length).map(|at| KnownFrame { frame: frame(at), method: methods.first() }).collect()
        };
        for corruption in [Corruption::DroppedRound, Corruption::AddedRound] {
            let noticed = power(corruption, 300, 1, |_| stack(), refutes, |_, _| false);
            assert!((least..=most).contains(&noticed.tried), "{length}: {}", noticed.tried);
        }
    }
}

#[test]
fn a_chain_of_different_methods_hides_nothing() {
    let methods = chain();
    for corruption in [Corruption::DroppedRound, Corruption::AddedRound] {
        assert_eq!(measured(&methods, corruption), (0, 0), "no recursion");
    }
    // There is only one stack, so the half that replaces another is the same.
    assert_eq!(measured(&methods, Corruption::ForeignHalf), (0, 0));
    for corruption in OF_ANY.into_iter().filter(|it| *it != Corruption::ForeignHalf) {
        let (tried, noticed) = measured(&methods, corruption);
        // Two frames may be drawn to replace themselves, which is no corruption.
        assert!(tried >= 150, "{corruption:?}: {tried}");
        assert_eq!(tried, noticed, "{corruption:?}");
        assert_eq!(measured(&methods, corruption), (tried, noticed), "the seed is fixed");
    }
}

#[test]
fn a_recursion_hides_a_dropped_frame_but_for_its_root() {
    let mut methods = vec![link("again", "again"); 9];
    methods.push(Method { descriptor: "([Ljava/lang/String;)V".into(), ..link("main", "again") });
    let (tried, noticed) = measured(&methods, Corruption::DroppedFrame);
    assert!(noticed > 0 && noticed < tried / 3, "{noticed} of {tried}");
    let (tried, noticed) = measured(&methods, Corruption::MovedBci);
    assert_eq!(tried, noticed);
    // The bytecode allows one round more or less, but the witness has another number of frames.
    let as_one_method = |known: KnownFrame<'_>| {
        ResolvedFrame::new(ResolvedMethod(known.frame.method().0.min(8)), known.frame.bci())
    };
    for (corruption, length) in [(Corruption::DroppedRound, 9), (Corruption::AddedRound, 11)] {
        let noticed = power(
            corruption,
            300,
            1,
            |_| stack(&methods).into_iter().map(|it| KnownFrame { frame: as_one_method(it), ..it }).collect(),
            refutes,
            |_, walk| walk.len() == length,
        );
        assert_eq!((noticed.by_proof, noticed.by_witness), (0, noticed.tried), "{corruption:?}");
        assert!(noticed.tried > 250 && noticed.by_either == noticed.tried, "{corruption:?}: {noticed:?}");
    }
}

fn other(frame: ResolvedFrame) -> ResolvedFrame {
    ResolvedFrame::new(ResolvedMethod(frame.method().0 + 10), frame.bci())
}

#[test]
fn another_stacks_outer_half_is_noticed_where_the_two_meet() {
    let (ours, mut theirs) = (chain(), chain());
    theirs.reverse();
    let noticed = power(
        Corruption::ForeignHalf,
        300,
        2,
        |place| match place {
            0 => stack(&ours),
            _ => stack(&theirs).into_iter().map(|it| KnownFrame { frame: other(it.frame), ..it }).collect(),
        },
        refutes,
        |_, _| false,
    );
    assert!(noticed.tried > 50 && noticed.by_proof == noticed.tried, "{noticed:?}");
}

#[test]
fn stacks_that_cannot_be_corrupted_are_not_tried() {
    for corruption in Corruption::ALL {
        assert_eq!(power(corruption, 50, 0, |_| Vec::new(), refutes, |_, _| true), PowerCounts::default());
        assert_eq!(power(corruption, 50, 1, |_| Vec::new(), refutes, |_, _| true), PowerCounts::default());
        let nameless =
            |_| vec![KnownFrame { frame: ResolvedFrame::new(ResolvedMethod::NONE, 0), method: None }; 1];
        assert_eq!(power(corruption, 50, 1, nameless, refutes, |_, _| true), PowerCounts::default());
    }
}
