//! The closed list of explanations: why a frame may stand on one whose bytecode does not name it.
//!
//! Each names the instructions and the callees that it allows, as narrowly as the stacks of real
//! programs let it be. `docs/proof.md` has the table with the reasons. What is not on the list is
//! refuted.

use crate::proof::code::Instruction;
use crate::proof::handles;
use crate::proof::method::{Body, Method, Relation};
use crate::proof::names::without_hidden_part;
use crate::proof::opcode::{self, self as op, is_invoke};
use crate::proof::pool::Constant;
use crate::proof::upcalls::{is_class_loading, is_implicit_exception, is_linkage, is_native_lookup};
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// Why `callee` may stand on `instruction` of `caller`, whose constant does not name it.
pub(crate) fn explained(
    caller: &Method,
    instruction: Instruction<'_>,
    constant: Option<Constant<'_>>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> Option<Explanation> {
    let opcode = instruction.opcode;
    let (loading, linkage) = (is_class_loading(callee), is_linkage(callee));
    // Whatever an unread constant names, these may come before it.
    let unread = instruction.constant().is_some() && constant.is_none();
    if unread && (loading || linkage || is_class_initialiser(callee)) {
        return Some(Explanation::Unread);
    }
    if is_class_initialiser(callee) {
        return initialises(opcode, constant, callee, relation).then_some(Explanation::ClassInit);
    }
    if linkage && links(opcode, constant) {
        return Some(Explanation::Linkage);
    }
    if let Some(how) = handles::explained(opcode, constant, callee) {
        return Some(how);
    }
    let rules = [
        // Where something is thrown, the classes of the handlers around it are loaded to find the
        // one that catches.
        (loading && (resolves(opcode, constant) || may_throw(opcode)), Explanation::ClassLoad),
        // A method is compiled where it begins, or where it loops: the classes of its signature are
        // loaded before.
        (loading && (instruction.bci == 0 || jumps(opcode)), Explanation::Compilation),
        (is_native_lookup(callee) && is_invoke(opcode), Explanation::ClassLoad),
        (may_throw(opcode) && is_implicit_exception(callee), Explanation::ImplicitException),
        (registers_finaliser(caller, opcode) && is_register(callee), Explanation::Finaliser),
    ];
    rules.into_iter().find_map(|(holds, how)| holds.then_some(how))
}

/// What a compiled method may have called that has not come to its first instruction.
pub(crate) fn entry(callee: &Method) -> Verdict {
    if is_class_loading(callee) {
        Verdict::Explained(Explanation::Compilation)
    } else {
        Verdict::Refuted(Refutation::NotAnInvoke)
    }
}

/// What native code may have called.
pub(crate) fn native(caller: &Method, callee: &Method) -> Verdict {
    if enters_continuation(caller) {
        return if callee.is("jdk/internal/vm/Continuation", "enter") {
            Verdict::Proven
        } else {
            Verdict::Refuted(Refutation::OtherCallee)
        };
    }
    // A clone of an object with a finaliser is registered like the object itself.
    if is_silent(caller)
        && !is_implicit_exception(callee)
        && !is_register(callee)
        && !is_no_clone(caller, callee)
    {
        return Verdict::Refuted(Refutation::OtherCallee);
    }
    Verdict::Explained(Explanation::NativeCaller)
}

/// The same for a person.
pub(crate) fn native_calls(caller: &Method) -> &'static str {
    match caller {
        caller if enters_continuation(caller) => "the VM's code, which calls Continuation.enter alone",
        caller if is_silent(caller) => "native code, which calls no Java",
        _ => "native code",
    }
}

/// No native code at all, but the way into a continuation.
fn enters_continuation(caller: &Method) -> bool {
    caller.is("jdk/internal/vm/Continuation", "enterSpecial")
}

/// That an object is not to be cloned is said by the VM's own code, and nowhere else.
fn is_no_clone(caller: &Method, callee: &Method) -> bool {
    caller.is("java/lang/Object", "clone") && callee.is("java/lang/CloneNotSupportedException", "<init>")
}

fn is_silent(caller: &Method) -> bool {
    SILENT.iter().any(|&(class, name)| caller.is(class, name))
}

/// Native methods that the VM implements itself, and that call no Java.
const SILENT: [(&str, &str); 14] = [
    ("java/lang/System", "arraycopy"),
    ("java/lang/System", "nanoTime"),
    ("java/lang/System", "currentTimeMillis"),
    ("java/lang/System", "identityHashCode"),
    ("java/lang/Object", "hashCode"),
    ("java/lang/Object", "getClass"),
    ("java/lang/Object", "clone"),
    ("java/lang/Object", "notify"),
    ("java/lang/Object", "notifyAll"),
    ("java/lang/Thread", "currentThread"),
    ("java/lang/String", "intern"),
    ("java/lang/Class", "isInstance"),
    ("java/lang/Class", "isAssignableFrom"),
    ("java/lang/Throwable", "fillInStackTrace"),
];

/// True if the instruction may have this class initialised before it does its work: the one that it
/// names, or one of those above.
fn initialises(
    opcode: u8,
    constant: Option<Constant<'_>>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> bool {
    let named = match (opcode, constant) {
        (op::GETSTATIC | op::PUTSTATIC | op::INVOKESTATIC, Some(Constant::Member(member))) => member.class,
        (op::NEW, Some(Constant::Class(class))) => class,
        // What a call site is linked to is initialised with it.
        (op::INVOKEDYNAMIC, _) => return true,
        _ => return false,
    };
    without_hidden_part(named) == &*callee.class.name
        || !matches!(relation(named), Relation::Below | Relation::Unrelated)
}

/// The instructions that a loop can go back by.
fn jumps(opcode: u8) -> bool {
    opcode::operands(opcode).is_some_and(|operands| {
        use opcode::Operands::{FarJump, Jump, LookupSwitch, TableSwitch};
        matches!(operands, Jump | FarJump | TableSwitch | LookupSwitch)
    })
}

fn is_class_initialiser(callee: &Method) -> bool {
    &*callee.name == "<clinit>" && &*callee.descriptor == "()V" && callee.is_static
}

/// The instructions that resolve a class when they are first met.
fn resolves(opcode: u8, constant: Option<Constant<'_>>) -> bool {
    match opcode {
        op::GETSTATIC..=op::NEW | op::ANEWARRAY | op::CHECKCAST | op::INSTANCEOF | op::MULTIANEWARRAY => true,
        op::LDC | op::LDC_W | op::LDC2_W => {
            matches!(
                constant,
                Some(
                    Constant::Class(_) | Constant::MethodHandle | Constant::MethodType | Constant::Dynamic(_)
                )
            )
        }
        _ => false,
    }
}

/// The instructions that have the class library link something when they are first met.
fn links(opcode: u8, constant: Option<Constant<'_>>) -> bool {
    match (opcode, constant) {
        (op::INVOKEVIRTUAL, Some(Constant::Member(member))) => {
            handles::is_polymorphic(member.class, member.name)
        }
        (op::INVOKEDYNAMIC, _)
        | (
            op::LDC | op::LDC_W | op::LDC2_W,
            Some(Constant::MethodHandle | Constant::MethodType | Constant::Dynamic(_)),
        ) => true,
        _ => false,
    }
}

/// All but the instructions that only move values about, and jumps.
fn may_throw(opcode: u8) -> bool {
    matches!(
        opcode,
        op::LDC..=op::LDC2_W
            | op::IALOAD..=op::SALOAD
            | op::IASTORE..=op::SASTORE
            | op::IDIV
            | op::LDIV
            | op::IREM
            | op::LREM
            | op::IRETURN..=op::MONITOREXIT
            | op::MULTIANEWARRAY
    )
}

/// The VM registers an object with a finaliser when `Object`'s constructor returns, or when it is
/// made.
fn registers_finaliser(caller: &Method, opcode: u8) -> bool {
    opcode == op::NEW || opcode == op::RETURN && caller.is("java/lang/Object", "<init>")
}

fn is_register(callee: &Method) -> bool {
    callee.is("java/lang/ref/Finalizer", "register") && matches!(callee.body, Body::Code(_) | Body::Gone(_))
}
