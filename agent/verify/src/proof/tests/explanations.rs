//! Tests of the closed list of explanations: each allows the calls that it names, and no others.

use crate::proof::method::Relation;
use crate::proof::opcode::{
    GETSTATIC, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESTATIC, INVOKEVIRTUAL, LDC_W, NEW, RETURN,
};
use crate::proof::testing::{PoolBuilder, caller, calls, method, native, one, static_method};
use crate::proof::{
    Explanation, Member, Method, Reference, Refutation, Verdict, edge, verdict_through_reference,
};

const HANDLE: &str = "java/lang/invoke/MethodHandle";

fn verdict(caller: &Method, callee: &Method) -> Verdict {
    edge(caller, 0, callee, |_| Relation::Unknown)
}

fn explained(caller: &Method, callee: &Method, how: Explanation) {
    assert_eq!(verdict(caller, callee), Verdict::Explained(how), "{caller} → {callee}");
}

fn refuted(caller: &Method, callee: &Method) {
    assert!(verdict(caller, callee).is_refuted(), "{caller} → {callee}");
}

fn new_of(class: &str) -> Method {
    let mut builder = PoolBuilder::default();
    let number = builder.class(class);
    one(builder.build(), NEW, number)
}

fn dynamic() -> Method {
    let mut builder = PoolBuilder::default();
    let number = builder.invoke_dynamic("run", "()Ljava/lang/Runnable;");
    one(builder.build(), INVOKEDYNAMIC, number)
}

/// Makes a method with a `nop` and then this instruction.
fn later(opcode: u8) -> Method {
    caller(PoolBuilder::default().build(), &[0, opcode])
}

#[test]
fn class_initialisation() {
    let how = Explanation::ClassInit;
    let clinit = static_method("shop/Cart", "<clinit>", "()V");
    explained(&new_of("shop/Cart"), &clinit, how);
    explained(&calls(GETSTATIC, "shop/Cart", "size", "I"), &clinit, how);
    explained(&calls(INVOKESTATIC, "shop/Cart", "of", "()V"), &clinit, how);
    explained(&dynamic(), &clinit, how);
    refuted(&calls(INVOKEVIRTUAL, "shop/Cart", "total", "()I"), &clinit);
    refuted(&later(96), &clinit);
    // The instruction may initialise a superclass, but not a subclass.
    let asked = |relation| edge(&new_of("shop/Basket"), 0, &clinit, |_| relation);
    assert_eq!(
        (asked(Relation::Above), asked(Relation::Shadowed)),
        (Verdict::Explained(how), Verdict::Explained(how))
    );
    assert!(asked(Relation::Below).is_refuted() && asked(Relation::Unrelated).is_refuted());
    refuted(&new_of("shop/Cart"), &method("shop/Cart", "<clinit>", "()V"));
}

#[test]
fn method_handles_and_call_sites() {
    let how = Explanation::MethodHandle;
    let adapter = static_method("java/lang/invoke/LambdaForm$MH", "invokeExact_MT", "()V");
    explained(&dynamic(), &adapter, how);
    explained(&calls(INVOKEVIRTUAL, HANDLE, "invokeExact", "()V"), &adapter, how);
    explained(&calls(INVOKEVIRTUAL, "java/lang/invoke/VarHandle", "getAndAdd", "(I)I"), &adapter, how);
    refuted(&calls(INVOKEVIRTUAL, HANDLE, "asType", "()V"), &adapter);
    refuted(&calls(INVOKEVIRTUAL, "shop/Cart", "invokeExact", "()V"), &adapter);
    refuted(&dynamic(), &static_method("shop/Cart", "invokeExact_MT", "()V"));
    refuted(&dynamic(), &method("java/lang/invoke/LambdaForm$MH", "invokeExact_MT", "()V"));
}

#[test]
fn the_target_of_a_method_handle() {
    let how = Explanation::HandleTarget;
    let link = |name: &str, descriptor: &str| calls(INVOKESTATIC, HANDLE, name, descriptor);
    let member = "Ljava/lang/invoke/MemberName;";
    let to_static = link("linkToStatic", &format!("(ILjava/lang/Object;{member})I"));
    explained(&to_static, &static_method("shop/Cart", "of", "(ZLshop/Item;)C"), how);
    refuted(&to_static, &static_method("shop/Cart", "of", "(ZLshop/Item;)J"));
    refuted(&to_static, &static_method("shop/Cart", "of", "(Z)C"));
    refuted(&to_static, &method("shop/Cart", "of", "(ZLshop/Item;)C"));
    let to_virtual = link("linkToVirtual", &format!("(Ljava/lang/Object;J{member})V"));
    explained(&to_virtual, &method("shop/Cart", "add", "(J)V"), how);
    explained(&to_virtual, &method("shop/Cart", "getAndAdd", "(J)I"), how);
    refuted(&to_virtual, &method("shop/Cart", "add", "(D)V"));
    refuted(&to_virtual, &static_method("shop/Cart", "add", "(J)V"));
    let to_native = link("linkToNative", &format!("({member})V"));
    explained(&to_native, &native("shop/Cart", "sort", "()V"), how);
    refuted(&to_native, &method("shop/Cart", "sort", "()V"));
    // An upcall from native code, and an interpreted lambda form.
    let form = static_method("java/lang/invoke/LambdaForm$MH", "invoke", "(JJ)V");
    explained(&to_native, &form, how);
    explained(&link("linkToSpecial", &format!("(Ljava/lang/Object;{member})V")), &form, how);
    refuted(&to_virtual, &form);
    refuted(&link("linkToNothing", &format!("({member})V")), &static_method("shop/Cart", "of", "()V"));
}

#[test]
fn linkage() {
    let how = Explanation::Linkage;
    let link = |name| static_method("java/lang/invoke/MethodHandleNatives", name, "()V");
    explained(&dynamic(), &link("linkCallSite"), how);
    let mut builder = PoolBuilder::default();
    let number = builder.method_type("()V");
    let constant = one(builder.build(), LDC_W, number);
    explained(&constant, &link("findMethodHandleType"), how);
    refuted(&constant, &link("init"));
    refuted(&calls(INVOKEVIRTUAL, "shop/Cart", "total", "()I"), &link("linkMethod"));
}

#[test]
fn class_loading_and_compilation() {
    let how = Explanation::ClassLoad;
    let load = method("shop/Loader", "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
    explained(&new_of("shop/Cart"), &load, how);
    explained(&calls(INVOKEINTERFACE, "shop/Cart", "total", "()I"), &load, how);
    refuted(
        &new_of("shop/Cart"),
        &method("shop/Loader", "loadClass", "(Ljava/lang/String;Z)Ljava/lang/Class;"),
    );
    // A method may be compiled at its beginning.
    let first = caller(PoolBuilder::default().build(), &[0, 0]);
    explained(&first, &load, Explanation::Compilation);
    assert_eq!(edge(&first, 1, &load, |_| Relation::Unknown), Verdict::Refuted(Refutation::NotAnInvoke));
    let lookup = static_method("java/lang/ClassLoader", "findNative", "()J");
    explained(&calls(INVOKESTATIC, "shop/Cart", "sort", "()V"), &lookup, how);
    refuted(&new_of("shop/Cart"), &lookup);
}

#[test]
fn exceptions_that_the_vm_makes() {
    let how = Explanation::ImplicitException;
    let null = method("java/lang/NullPointerException", "<init>", "()V");
    explained(&calls(INVOKEVIRTUAL, "shop/Cart", "total", "()I"), &null, how);
    let at = |opcode, callee: &Method| edge(&later(opcode), 1, callee, |_| Relation::Unknown);
    // The opcodes are iaload, idiv and monitorexit.
    for throws in [46, 108, 195] {
        assert_eq!(at(throws, &null), Verdict::Explained(how), "{throws}");
    }
    // The opcodes are iadd, goto and dup.
    for silent in [96, 167, 89] {
        assert!(at(silent, &null).is_refuted(), "{silent}");
    }
    assert!(at(46, &method("java/lang/NullPointerException", "fillIn", "()V")).is_refuted());
    assert!(at(46, &method("shop/NullPointerException", "<init>", "()V")).is_refuted());
    assert!(at(46, &method("java/lang/IllegalStateException", "<init>", "()V")).is_refuted());
    // The VM sets the cause of an exception, and keeps the stack trace of a class initialiser's.
    for around in ["initCause", "getStackTrace"] {
        assert_eq!(at(195, &method("java/lang/Throwable", around, "()V")), Verdict::Explained(how));
    }
    let missing = method("java/lang/ClassNotFoundException", "<init>", "(Ljava/lang/String;)V");
    explained(&calls(GETSTATIC, "shop/Gone", "size", "I"), &missing, how);
}

#[test]
fn finalisers() {
    let register = static_method("java/lang/ref/Finalizer", "register", "(Ljava/lang/Object;)V");
    explained(&new_of("shop/Cart"), &register, Explanation::Finaliser);
    let object = Method {
        class: method("java/lang/Object", "<init>", "()V").class,
        name: "<init>".into(),
        ..caller(PoolBuilder::default().build(), &[RETURN])
    };
    explained(&object, &register, Explanation::Finaliser);
    refuted(&caller(PoolBuilder::default().build(), &[RETURN]), &register);
}

#[test]
fn native_callers() {
    let from = |caller: Method, callee: &Method| edge(&caller, -3, callee, |_| Relation::Unknown);
    let any = method("shop/Cart", "total", "()I");
    assert_eq!(from(native("shop/Jni", "call", "()V"), &any), Verdict::Explained(Explanation::NativeCaller));
    let copy = || native("java/lang/System", "arraycopy", "()V");
    assert_eq!(from(copy(), &any), Verdict::Refuted(Refutation::OtherCallee));
    let store = method("java/lang/ArrayStoreException", "<init>", "(Ljava/lang/String;)V");
    assert_eq!(from(copy(), &store), Verdict::Explained(Explanation::NativeCaller));
    let clone = || native("java/lang/Object", "clone", "()Ljava/lang/Object;");
    let register = static_method("java/lang/ref/Finalizer", "register", "(Ljava/lang/Object;)V");
    assert_eq!(from(clone(), &register), Verdict::Explained(Explanation::NativeCaller));
    let refused = method("java/lang/CloneNotSupportedException", "<init>", "(Ljava/lang/String;)V");
    assert_eq!(from(clone(), &refused), Verdict::Explained(Explanation::NativeCaller));
    assert_eq!(from(copy(), &refused), Verdict::Refuted(Refutation::OtherCallee));
    let special = || native("jdk/internal/vm/Continuation", "enterSpecial", "()V");
    let enter = static_method("jdk/internal/vm/Continuation", "enter", "()V");
    assert_eq!(from(special(), &enter), Verdict::Proven);
    assert_eq!(from(special(), &any), Verdict::Refuted(Refutation::OtherCallee));
    assert_eq!(
        edge(&native("shop/Jni", "call", "()V"), 0, &any, |_| Relation::Unknown),
        Verdict::Refuted(Refutation::Nativeness)
    );
}

#[test]
fn a_method_handles_own_methods_are_called_whatever_the_call_says() {
    let call = |opcode, name| calls(opcode, HANDLE, name, "(Ljava/lang/Object;I)I");
    let basic = native(HANDLE, "invokeBasic", "([Ljava/lang/Object;)Ljava/lang/Object;");
    explained(&call(INVOKEVIRTUAL, "invokeBasic"), &basic, Explanation::MethodHandle);
    refuted(&call(INVOKEVIRTUAL, "invokeExact"), &basic);
    refuted(&call(INVOKEINTERFACE, "invokeBasic"), &basic);
    refuted(
        &call(INVOKEVIRTUAL, "invokeBasic"),
        &method(HANDLE, "invokeBasic", "([Ljava/lang/Object;)Ljava/lang/Object;"),
    );
}

#[test]
fn the_callee_of_a_reference_is_known_without_code() {
    let from = method("Shop$$Lambda", "run", "()V");
    let verdict = |how, name: &str, callee: &Method| {
        let named = Member { class: "shop/Cart", name, descriptor: "()V" };
        verdict_through_reference(&from, how, named, callee, |_| Relation::Unknown)
    };
    let open = static_method("shop/Cart", "open", "()V");
    assert_eq!(verdict(Reference::Static, "open", &open), Verdict::Proven);
    assert_eq!(verdict(Reference::Static, "close", &open), Verdict::Refuted(Refutation::OtherCallee));
    assert!(verdict(Reference::Virtual, "open", &open).is_refuted(), "a static method is called otherwise");
    let close = method("shop/Cart", "close", "()V");
    assert_eq!(verdict(Reference::Virtual, "close", &close), Verdict::Proven);
    assert_eq!(verdict(Reference::Interface, "close", &method("Other", "close", "()V")), Verdict::Proven);
    assert_eq!(verdict(Reference::New, "<init>", &method("shop/Cart", "<init>", "()V")), Verdict::Proven);
    let clinit = static_method("shop/Cart", "<clinit>", "()V");
    for how in [Reference::New, Reference::Static] {
        assert_eq!(verdict(how, "<init>", &clinit), Verdict::Explained(Explanation::ClassInit), "{how:?}");
    }
    assert!(verdict(Reference::Special, "<init>", &clinit).is_refuted());
}
