//! The power of proof: certain where a corruption must show, none where none can, and the same each time.

use vouch_sample::{Meaning, Meant};

use crate::method::{Known, Relation};
use crate::opcode::{INVOKESTATIC, RETURN};
use crate::testing::{PoolBuilder, caller};
use crate::{Class, Corruption, Method, power};
use std::sync::Arc;

/// A static method of this name that calls the next one at bci 1, between two instructions that call nothing.
fn link(name: &str, next: &str) -> Method {
    let mut builder = PoolBuilder::default();
    let number = builder.method("Chain", next, "()V").to_be_bytes();
    let of = caller(builder.build(), &[0, INVOKESTATIC, number[0], number[1], RETURN]);
    let class = Class::new("Chain");
    class.bring_pool(|| of.class.pool().clone());
    Method { class: Arc::new(class), name: name.into(), is_static: true, ..of }
}

fn stack(methods: &[Method]) -> Vec<Known<'_>> {
    methods
        .iter()
        .enumerate()
        .map(|(id, method)| Known { frame: Meant::of(Meaning(id), 1), method: Some(method) })
        .collect()
}

/// Leaf first: `main` calls `a`, which calls `b`…
fn chain() -> Vec<Method> {
    let names = ["main", "a", "b", "c", "d", "e", "f"];
    let mut methods: Vec<Method> = names.windows(2).map(|pair| link(pair[0], pair[1])).collect();
    let main = &mut methods[0];
    main.descriptor = "([Ljava/lang/String;)V".into();
    methods.reverse();
    methods
}

fn measured(methods: &[Method], corruption: Corruption) -> (u64, u64) {
    power(corruption, 300, 1, |_| stack(methods), |_, _, _| Relation::Unknown)
}

#[test]
fn a_chain_of_different_methods_hides_nothing() {
    let methods = chain();
    for corruption in Corruption::ALL {
        let (tried, noticed) = measured(&methods, corruption);
        // The same two frames may be drawn in the place of themselves.
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
}

#[test]
fn where_nothing_can_be_corrupted_nothing_is_tried() {
    for corruption in Corruption::ALL {
        assert_eq!(power(corruption, 50, 0, |_| Vec::new(), |_, _, _| Relation::Unknown), (0, 0));
        assert_eq!(power(corruption, 50, 1, |_| Vec::new(), |_, _, _| Relation::Unknown), (0, 0));
        let nameless = |_| vec![Known { frame: Meant::of(Meaning::NONE, 0), method: None }; 1];
        assert_eq!(power(corruption, 50, 1, nameless, |_, _, _| Relation::Unknown), (0, 0));
    }
}
