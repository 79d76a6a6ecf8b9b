//! Tests of ordinary invokes, and of the bcis that a frame can have.

use crate::proof::method::{Body, Gone, Relation};
use crate::proof::opcode::{INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, NEW};
use crate::proof::testing::{PoolBuilder, caller, calls, method, native, one, static_method};
use crate::proof::{Explanation, Method, Refutation, Verdict, describe_call, edge, leaf, listing};

fn unknown(_: &str) -> Relation {
    Relation::Unknown
}

fn verdict(caller: &Method, callee: &Method) -> Verdict {
    edge(caller, 0, callee, unknown)
}

const OTHER: Verdict = Verdict::Refuted(Refutation::OtherCallee);

#[test]
fn a_virtual_call_is_proven_by_name_and_descriptor() {
    let caller = calls(INVOKEVIRTUAL, "java/util/List", "get", "(I)Ljava/lang/Object;");
    assert_eq!(
        verdict(&caller, &method("java/util/ArrayList", "get", "(I)Ljava/lang/Object;")),
        Verdict::Proven
    );
    assert_eq!(verdict(&caller, &method("java/util/ArrayList", "set", "(I)Ljava/lang/Object;")), OTHER);
    assert_eq!(verdict(&caller, &method("java/util/ArrayList", "get", "(J)Ljava/lang/Object;")), OTHER);
    assert_eq!(verdict(&caller, &static_method("java/util/List", "get", "(I)Ljava/lang/Object;")), OTHER);
}

#[test]
fn the_callees_class_must_be_one_that_the_call_can_select() {
    let caller = calls(INVOKEVIRTUAL, "shop/Cart", "total", "()I");
    let callee = method("shop/Other", "total", "()I");
    let asked = |relation| {
        edge(&caller, 0, &callee, |named| {
            assert_eq!(named, "shop/Cart");
            relation
        })
    };
    for may in [Relation::Below, Relation::Above, Relation::Unknown] {
        assert_eq!(asked(may), Verdict::Proven, "{may:?}");
    }
    for cannot in [Relation::Shadowed, Relation::Unrelated] {
        assert_eq!(asked(cannot), OTHER, "{cannot:?}");
    }
    // Any class may implement an interface, so the relation does not matter.
    let caller = calls(INVOKEINTERFACE, "shop/Cart", "total", "()I");
    assert_eq!(edge(&caller, 0, &callee, |_| Relation::Unrelated), Verdict::Proven);
}

#[test]
fn constructors_and_static_methods_are_of_the_named_class() {
    let caller = calls(INVOKESPECIAL, "shop/Cart", "<init>", "()V");
    assert_eq!(verdict(&caller, &method("shop/Cart", "<init>", "()V")), Verdict::Proven);
    assert_eq!(verdict(&caller, &method("shop/Basket", "<init>", "()V")), OTHER);
    let caller = calls(INVOKESTATIC, "shop/Cart", "of", "()V");
    let inherited = static_method("shop/Basket", "of", "()V");
    let asked = |relation| edge(&caller, 0, &inherited, |_| relation);
    assert_eq!(verdict(&caller, &static_method("shop/Cart", "of", "()V")), Verdict::Proven);
    assert_eq!(asked(Relation::Above), Verdict::Proven);
    assert_eq!(asked(Relation::Unknown), Verdict::Explained(Explanation::Inherited));
    assert_eq!((asked(Relation::Below), asked(Relation::Unrelated)), (OTHER, OTHER));
    assert_eq!(verdict(&caller, &method("shop/Cart", "of", "()V")), OTHER);
}

#[test]
fn a_super_call_goes_up() {
    let caller = calls(INVOKESPECIAL, "shop/Base", "total", "()I");
    let callee = method("shop/Other", "total", "()I");
    let asked = |to_named: Relation, to_own: Relation| {
        edge(&caller, 0, &callee, |class| if class == "shop/Base" { to_named } else { to_own })
    };
    assert_eq!(asked(Relation::Above, Relation::Unknown), Verdict::Proven);
    // The callee's class was put between the two after the caller was compiled.
    assert_eq!(asked(Relation::Below, Relation::Shadowed), Verdict::Proven);
    assert_eq!(asked(Relation::Unknown, Relation::Unknown), Verdict::Proven);
    assert_eq!(asked(Relation::Below, Relation::Below), OTHER, "not down to a subclass of the caller's");
    assert_eq!(asked(Relation::Shadowed, Relation::Shadowed), OTHER);
    let own = method("Caller", "total", "()I");
    assert_eq!(edge(&caller, 0, &own, |_| Relation::Below), OTHER, "nor to the caller's own");
}

#[test]
fn what_the_vm_does_before_a_call_may_have_the_calls_own_name() {
    let caller = calls(INVOKESPECIAL, "shop/Cart", "<init>", "(Ljava/lang/String;)V");
    let missing = method("java/lang/NoSuchMethodError", "<init>", "(Ljava/lang/String;)V");
    assert_eq!(verdict(&caller, &missing), Verdict::Explained(Explanation::ImplicitException));
    let load = "(Ljava/lang/String;)Ljava/lang/Class;";
    let caller = calls(INVOKEVIRTUAL, "shop/Loader", "loadClass", load);
    let other = method("other/Loader", "loadClass", load);
    assert_eq!(edge(&caller, 0, &other, |_| Relation::Unrelated), Verdict::Explained(Explanation::ClassLoad));
}

#[test]
fn a_hidden_class_is_known_by_the_name_that_its_own_constants_have() {
    let caller = calls(INVOKESTATIC, "shop/Cart$$Lambda+0x0000700001000000", "run", "()V");
    assert_eq!(verdict(&caller, &static_method("shop/Cart$$Lambda", "run", "()V")), Verdict::Proven);
}

#[test]
fn a_bci_at_which_no_instruction_begins_calls_nothing() {
    let mut builder = PoolBuilder::default();
    let number = builder.method("A", "b", "()V").to_be_bytes();
    // iconst_1; invokevirtual A.b; return
    let caller = caller(builder.build(), &[4, INVOKEVIRTUAL, number[0], number[1], 177]);
    let callee = method("A", "b", "()V");
    let at = |bci| edge(&caller, bci, &callee, unknown);
    assert_eq!(at(1), Verdict::Proven);
    assert_eq!(at(0), Verdict::Refuted(Refutation::NotAnInvoke));
    assert_eq!(at(2), Verdict::Refuted(Refutation::BciInsideInstruction));
    assert_eq!(at(5), Verdict::Refuted(Refutation::BciPastEnd));
    assert_eq!(at(-1), Verdict::Refuted(Refutation::NotAnInvoke), "it had not begun");
    assert_eq!(at(-3), Verdict::Refuted(Refutation::Nativeness));
    let leaf_at = |bci| leaf(&caller, bci);
    assert_eq!((leaf_at(0), leaf_at(4), leaf_at(-1)), (Verdict::Proven, Verdict::Proven, Verdict::Proven));
    assert_eq!(leaf_at(3), Verdict::Refuted(Refutation::BciInsideInstruction));
    assert_eq!(leaf_at(i32::MAX), Verdict::Refuted(Refutation::BciPastEnd));
    assert_eq!(leaf_at(i32::MIN), Verdict::Refuted(Refutation::Nativeness));
    assert_eq!(leaf(&native("A", "n", "()V"), 0), Verdict::Refuted(Refutation::Nativeness));
    assert_eq!(leaf(&native("A", "n", "()V"), -3), Verdict::Proven);
}

#[test]
fn code_that_cannot_be_read_is_not_refuted() {
    let callee = method("A", "b", "()V");
    let nameless = one(PoolBuilder::default().build(), INVOKEVIRTUAL, 9);
    assert_eq!(verdict(&nameless, &callee), Verdict::Explained(Explanation::Unread));
    for (gone, how) in [(Gone::Unloaded, Explanation::Unloaded), (Gone::Unread, Explanation::Unread)] {
        let caller = Method { body: Body::Gone(gone), ..method("A", "a", "()V") };
        assert_eq!(verdict(&caller, &callee), Verdict::Explained(how));
        assert_eq!(leaf(&caller, 70_000), Verdict::Explained(how));
    }
    // Without constants an invoke may still call what the VM calls before it.
    let other = one(PoolBuilder::default().build(), NEW, 9);
    assert_eq!(verdict(&other, &callee), Verdict::Refuted(Refutation::NotAnInvoke));
    let before = static_method("A", "<clinit>", "()V");
    assert_eq!(verdict(&other, &before), Verdict::Explained(Explanation::Unread));
}

#[test]
fn a_call_is_described_as_javap_does() {
    let mut builder = PoolBuilder::default();
    let number = builder.method("java/util/List", "size", "()I").to_be_bytes();
    let caller = caller(builder.build(), &[4, INVOKEVIRTUAL, number[0], number[1], 177]);
    assert_eq!(describe_call(&caller, 1), "invokevirtual java/util/List.size:()I");
    assert_eq!(describe_call(&caller, 9), "nothing: the method's code ends before this bci");
    let lines = listing(&caller, 1, 5);
    assert_eq!(
        lines,
        ["      0: iconst_1", "→     1: invokevirtual java/util/List.size:()I", "      4: return"]
    );
    assert_eq!(listing(&caller, 1, 0).len(), 1);
    let inside = listing(&caller, 2, 5);
    assert!(inside.iter().any(|line| line.starts_with("→     2: (no instruction begins here")), "{inside:?}");
    assert!(listing(&native("A", "n", "()V"), -3, 5).is_empty());
}
