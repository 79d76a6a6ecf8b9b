//! Tests of the instructions that each explanation allows: all of them, and some that it must not.

use crate::proof::method::Relation;
use crate::proof::opcode as op;
use crate::proof::testing::{caller, calls, method, naming, plain, static_method};
use crate::proof::{Explanation, Method, Pool, Verdict, edge};
use Explanation::{ClassInit, ClassLoad, ImplicitException, Linkage};

const NOP: u8 = 0;
const ILOAD: u8 = 21;
const POP: u8 = 87;
const IADD: u8 = 96;
const GOTO: u8 = 167;
const ARRAYLENGTH: u8 = 190;
const ATHROW: u8 = 191;
const LINK: (&str, &str) = ("java/lang/invoke/MethodHandleNatives", "linkMethodHandleConstant");

fn judge(caller: &Method, callee: &Method) -> Verdict {
    edge(caller, 0, callee, |_| Relation::Unknown)
}

/// Judges a call by the instruction after a `nop`. Explanations for a method's first instruction do
/// not apply there.
fn judge_plain(opcode: u8, callee: &Method) -> Verdict {
    edge(&plain(opcode), 1, callee, |_| Relation::Unknown)
}

fn loads(class: &str) -> Method {
    method(class, "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;")
}

/// Returns all instructions that name a member or a class `Named`, each with a method that has it.
fn naming_named() -> Vec<(u8, Method)> {
    let mut all = Vec::new();
    for opcode in op::GETSTATIC..=op::INVOKEINTERFACE {
        all.push((opcode, calls(opcode, "Named", "m", "()V")));
    }
    for opcode in [op::NEW, op::ANEWARRAY, op::CHECKCAST, op::INSTANCEOF, op::MULTIANEWARRAY, op::LDC_W] {
        all.push((opcode, naming(opcode, |pool| pool.class("Named"))));
    }
    all
}

#[test]
fn a_class_is_initialised_by_what_makes_or_uses_its_statics() {
    let own = static_method("Named", "<clinit>", "()V");
    for (opcode, caller) in naming_named() {
        let does = matches!(opcode, op::NEW | op::GETSTATIC | op::PUTSTATIC | op::INVOKESTATIC);
        // The callee's class is the named class, so the relation does not matter.
        let verdict = edge(&caller, 0, &own, |_| Relation::Unrelated);
        assert_eq!(verdict == Verdict::Explained(ClassInit), does, "{opcode}: {verdict:?}");
        assert_eq!(verdict.is_refuted(), !does, "{opcode}: {verdict:?}");
    }
    assert!(judge_plain(IADD, &own).is_refuted());
    let site = naming(op::INVOKEDYNAMIC, |pool| pool.invoke_dynamic("run", "()V"));
    assert_eq!(judge(&site, &own), Verdict::Explained(ClassInit));
}

#[test]
fn a_loader_is_asked_where_a_class_is_first_named() {
    for (opcode, caller) in naming_named() {
        let caller = edge(&caller, 0, &loads("my/Loader"), |_| Relation::Unknown);
        assert_eq!(caller, Verdict::Explained(ClassLoad), "{opcode}");
    }
    let dynamic = naming(op::LDC_W, |pool| pool.dynamic("x", "I"));
    assert_eq!(judge(&dynamic, &loads("my/Loader")), Verdict::Explained(ClassLoad));
    let check = method("java/lang/ClassLoader", "checkPackageAccess", "()V");
    assert_eq!(judge(&calls(op::INVOKEVIRTUAL, "A", "m", "()V"), &check), Verdict::Explained(ClassLoad));
}

#[test]
fn a_handlers_class_is_loaded_where_something_is_thrown() {
    for opcode in [op::IALOAD, op::IDIV, ATHROW] {
        assert_eq!(judge_plain(opcode, &loads("my/Loader")), Verdict::Explained(ClassLoad), "{opcode}");
    }
}

#[test]
fn a_signatures_classes_are_loaded_where_a_loop_is_compiled() {
    // nop; a complete jump
    for opcode in [GOTO, 153] {
        let looping = caller(Pool::none(), &[NOP, opcode, 0, 0]);
        let verdict = edge(&looping, 1, &loads("my/Loader"), |_| Relation::Unknown);
        assert_eq!(verdict, Verdict::Explained(crate::proof::Explanation::Compilation), "{opcode}");
    }
}

#[test]
fn no_loader_is_asked_where_none_is_named_or_by_another_method() {
    for opcode in [NOP, ILOAD, POP, IADD] {
        assert!(judge_plain(opcode, &loads("my/Loader")).is_refuted(), "{opcode}");
    }
    let new = naming(op::NEW, |pool| pool.class("Named"));
    let name = "loadClass";
    assert!(judge(&new, &method("my/Loader", name, "(I)V")).is_refuted());
    assert!(judge(&new, &Method { is_static: true, ..loads("my/Loader") }).is_refuted());
    assert!(judge(&new, &method("my/Loader", "checkPackageAccess", "()V")).is_refuted());
}

#[test]
fn a_constant_is_linked_where_it_is_one_that_must_be() {
    let link = static_method(LINK.0, LINK.1, "()Ljava/lang/invoke/MethodHandle;");
    for caller in [
        naming(op::LDC_W, |pool| pool.method_handle("A", "m", "()V")),
        naming(op::LDC_W, |pool| pool.method_type("()V")),
        naming(op::LDC_W, |pool| pool.dynamic("x", "I")),
        naming(op::LDC2_W, |pool| pool.dynamic("x", "J")),
    ] {
        assert_eq!(judge(&caller, &link), Verdict::Explained(Linkage));
        assert!(judge(&caller, &method(LINK.0, LINK.1, "()V")).is_refuted(), "it is static");
        assert!(judge(&caller, &static_method(LINK.0, "init", "()V")).is_refuted());
    }
    for caller in [
        naming(op::LDC_W, |pool| pool.string("text")),
        naming(op::LDC_W, |pool| pool.class("A")),
        calls(op::INVOKEVIRTUAL, "A", "invokeExact", "()V"),
        calls(op::INVOKESTATIC, "A", "m", "()V"),
    ] {
        assert!(judge(&caller, &link).is_refuted());
    }
}

#[test]
fn the_vm_throws_where_an_instruction_can_throw() {
    let thrown = method("java/lang/NullPointerException", "<init>", "()V");
    for opcode in
        [46, 53, 79, 86, op::IDIV, op::LDIV, op::IREM, op::LREM, op::RETURN, ARRAYLENGTH, ATHROW, 195]
    {
        assert_eq!(judge_plain(opcode, &thrown), Verdict::Explained(ImplicitException), "{opcode}");
    }
    for opcode in [NOP, ILOAD, 45, 54, 78, POP, IADD, 110, 114, 132, GOTO, 171] {
        assert!(judge_plain(opcode, &thrown).is_refuted(), "{opcode}");
    }
    let ldc = caller(Pool::none(), &[NOP, op::LDC, 7]);
    assert_eq!(edge(&ldc, 1, &thrown, |_| Relation::Unknown), Verdict::Explained(ImplicitException));
    for (opcode, caller) in naming_named() {
        assert_eq!(judge(&caller, &thrown), Verdict::Explained(ImplicitException), "{opcode}");
    }
}
