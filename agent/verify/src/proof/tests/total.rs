//! Tests that proof has an answer for any bytes: it never panics, and reads nothing outside of
//! them.

use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

use vouch_sample::{ResolvedFrame, ResolvedMethod};

use crate::proof::method::{KnownFrame, Relation};
use crate::proof::testing::{PoolBuilder, refutes};
use crate::proof::{
    Body, Class, Code, Corruption, Gone, Method, Pool, PowerCounts, Thread, describe_call, edge, leaf,
    listing, power, root,
};

/// Generates valid and damaged names and descriptors.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("java/lang/invoke/MethodHandle".to_owned()),
        Just("linkToStatic".to_owned()),
        Just("<init>".to_owned()),
        Just("([[Ljava/lang/Object;I)V".to_owned()),
        "\\PC{0,12}",
        "[(\\[L;)VIJ/]{0,12}",
    ]
}

/// Generates pools of random bytes, and valid pools with one byte changed.
fn pool() -> impl Strategy<Value = Pool> {
    let damaged = (text(), text(), text(), any::<usize>(), any::<u8>()).prop_map(
        |(class, name, descriptor, at, byte)| {
            let mut builder = PoolBuilder::default();
            builder.method(&class, &name, &descriptor);
            builder.invoke_dynamic(&name, &descriptor);
            let (mut bytes, count) = builder.parts();
            let at = at % bytes.len();
            bytes[at] = byte;
            Pool::new(bytes, count)
        },
    );
    let any_bytes =
        (vec(any::<u8>(), 0..200), any::<u16>()).prop_map(|(bytes, count)| Pool::new(bytes, count));
    prop_oneof![damaged, any_bytes]
}

fn method() -> impl Strategy<Value = Method> {
    let body = prop_oneof![
        vec(any::<u8>(), 0..120).prop_map(|bytes| Body::Code(Code::new(bytes))),
        // Mostly invokes of the first few constants.
        vec((182_u8..=187, 0_u16..12), 0..20).prop_map(|calls| {
            Body::Code(Code::new(
                calls.iter().flat_map(|(opcode, number)| [*opcode, 0, number.to_be_bytes()[1]]).collect(),
            ))
        }),
        Just(Body::Native),
        Just(Body::Gone(Gone::Unread)),
    ];
    (text(), pool(), text(), text(), any::<bool>(), body).prop_map(
        |(class, pool, name, descriptor, is_static, body)| {
            let class = Class::new(&class);
            class.load_pool(|| pool);
            Method {
                class: Arc::new(class),
                name: name.into(),
                descriptor: descriptor.into(),
                is_static,
                body,
            }
        },
    )
}

fn bci() -> impl Strategy<Value = i32> {
    prop_oneof![-4..130_i32, any::<i32>(), Just(i32::MIN), Just(i32::MAX)]
}

fn relation() -> impl Strategy<Value = Relation> {
    prop_oneof![
        Just(Relation::Below),
        Just(Relation::Above),
        Just(Relation::Shadowed),
        Just(Relation::Unrelated),
        Just(Relation::Unknown)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_has_an_answer(caller in method(), callee in method(), bci in bci(), relation in relation()) {
        let first = edge(&caller, bci, &callee, |_| relation);
        prop_assert_eq!(first, edge(&caller, bci, &callee, |_| relation));
        leaf(&caller, bci);
        describe_call(&caller, bci);
        prop_assert!(listing(&caller, bci, 3).len() <= 8);
        for thread in [Thread::Started, Thread::Main, Thread::Attached] {
            root(&callee, thread, || true);
        }
    }

    #[test]
    fn every_constant_is_there_or_not(pool in pool(), number in any::<u16>()) {
        pool.get(number);
        pool.string(number);
    }

    #[test]
    fn instructions_lie_side_by_side(bytes in vec(any::<u8>(), 0..300)) {
        let code = Code::new(bytes.clone());
        let mut end = 0;
        for instruction in code.instructions() {
            prop_assert_eq!(instruction.bci, end);
            prop_assert!(!instruction.bytes.is_empty());
            end += instruction.bytes.len();
        }
        prop_assert!(end <= bytes.len());
    }

    #[test]
    fn any_stack_can_be_corrupted(methods in vec(method(), 0..6), bci in bci()) {
        let stack = |_| methods.iter().enumerate().map(|(id, method)| KnownFrame { frame: ResolvedFrame::new(ResolvedMethod(id), bci), method: Some(method) }).collect();
        for corruption in Corruption::ALL {
            let PowerCounts { tried, by_proof, by_witness, by_either } =
                power(corruption, 5, 1, stack, refutes, |_, walk| walk.len() % 2 == 0);
            prop_assert!(by_proof.max(by_witness) <= by_either && by_either <= tried && tried <= 5);
        }
    }
}
