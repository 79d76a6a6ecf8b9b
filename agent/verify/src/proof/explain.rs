//! The closed list of explanations: why a method may be called where the caller's bytecode does not
//! name it.
//!
//! Each explanation allows certain instructions and callees, as few as the stacks of real programs
//! need. `docs/proof.md` has the table with the reasons. A call that is not on the list is refuted.

use crate::proof::code::Instruction;
use crate::proof::handles;
use crate::proof::method::{Body, Method, Relation};
use crate::proof::names::without_hidden_part;
use crate::proof::opcode::{self, self as op, is_invoke};
use crate::proof::pool::Constant;
use crate::proof::upcalls::{is_class_loading, is_implicit_exception, is_linkage, is_native_lookup};
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// Explains why `instruction` of `caller` may have called `callee`, although the instruction's
/// constant does not name `callee`.
pub(crate) fn explained(
    caller: &Method,
    instruction: Instruction<'_>,
    constant: Option<Constant<'_>>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> Option<Explanation> {
    let opcode = instruction.opcode;
    let (loading, linkage) = (is_class_loading(callee), is_linkage(callee));
    // These callees may come before the call itself, even if the constant cannot be read.
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
        // When an exception is thrown, the VM loads the classes of the handlers around the
        // instruction, to find the one that catches it.
        (loading && (resolves(opcode, constant) || may_throw(opcode)), Explanation::ClassLoad),
        // A method may be compiled at its beginning, or at a backward branch. The VM loads the
        // classes of its signature before that.
        (loading && (instruction.bci == 0 || jumps(opcode)), Explanation::Compilation),
        (is_native_lookup(callee) && is_invoke(opcode), Explanation::ClassLoad),
        (may_throw(opcode) && is_implicit_exception(callee), Explanation::ImplicitException),
        (registers_finaliser(caller, opcode) && is_register(callee), Explanation::Finaliser),
    ];
    rules.into_iter().find_map(|(holds, how)| holds.then_some(how))
}

/// Judges a call by a compiled method that has not reached its first instruction.
pub(crate) fn entry(callee: &Method) -> Verdict {
    if is_class_loading(callee) {
        Verdict::Explained(Explanation::Compilation)
    } else {
        Verdict::Refuted(Refutation::NotAnInvoke)
    }
}

/// Judges a call by a native method.
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

/// Describes for users what a native method may call.
pub(crate) fn native_calls(caller: &Method) -> &'static str {
    match caller {
        caller if enters_continuation(caller) => "the VM's code, which calls Continuation.enter alone",
        caller if is_silent(caller) => "native code, which calls no Java",
        _ => "native code",
    }
}

/// True for `Continuation.enterSpecial`, which enters a continuation. It counts as native, but has
/// code of the VM.
fn enters_continuation(caller: &Method) -> bool {
    caller.is("jdk/internal/vm/Continuation", "enterSpecial")
}

/// True for the exception that `Object.clone` creates, which no other native method does.
fn is_no_clone(caller: &Method, callee: &Method) -> bool {
    caller.is("java/lang/Object", "clone") && callee.is("java/lang/CloneNotSupportedException", "<init>")
}

fn is_silent(caller: &Method) -> bool {
    SILENT.iter().any(|&(class, name)| caller.is(class, name))
}

/// The native methods that the VM implements itself, and that call no Java.
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

/// True if the instruction may initialise the callee's class: the class that the instruction names,
/// or a superclass of it.
fn initialises(
    opcode: u8,
    constant: Option<Constant<'_>>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> bool {
    let named = match (opcode, constant) {
        (op::GETSTATIC | op::PUTSTATIC | op::INVOKESTATIC, Some(Constant::Member(member))) => member.class,
        (op::NEW, Some(Constant::Class(class))) => class,
        // Linking a call site initialises the classes that it is linked to.
        (op::INVOKEDYNAMIC, _) => return true,
        _ => return false,
    };
    without_hidden_part(named) == &*callee.class.name
        || !matches!(relation(named), Relation::Below | Relation::Unrelated)
}

/// True for the instructions that can end a loop by a backward branch.
fn jumps(opcode: u8) -> bool {
    opcode::operands(opcode).is_some_and(|operands| {
        use opcode::Operands::{FarJump, Jump, LookupSwitch, TableSwitch};
        matches!(operands, Jump | FarJump | TableSwitch | LookupSwitch)
    })
}

fn is_class_initialiser(callee: &Method) -> bool {
    &*callee.name == "<clinit>" && &*callee.descriptor == "()V" && callee.is_static
}

/// True for the instructions that resolve a class when they are executed for the first time.
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

/// True for the instructions that the class library links when they are executed for the first
/// time.
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

/// True for the instructions that may throw: all except jumps, and those that only move values.
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

/// True where the VM registers an object that has a finaliser: when `Object`'s constructor returns,
/// or when the object is created.
fn registers_finaliser(caller: &Method, opcode: u8) -> bool {
    opcode == op::NEW || opcode == op::RETURN && caller.is("java/lang/Object", "<init>")
}

fn is_register(callee: &Method) -> bool {
    callee.is("java/lang/ref/Finalizer", "register") && matches!(callee.body, Body::Code(_) | Body::Gone(_))
}
