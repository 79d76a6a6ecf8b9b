//! Can this method have called that one, from there?
//!
//! For an ordinary invoke the answer is exact: its constant names the callee, and whatever a virtual call selects has
//! the same name and descriptor. What is not so called must be one of the explanations, or it is refuted.

use crate::code::{At, Instruction};
use crate::explain::{self, is_invoke};
use crate::method::{Body, ENTRY_BCI, Gone, Method, NATIVE_BCI, Relation};
use crate::names::without_hidden_part;
use crate::opcode;
use crate::pool::{Constant, Member};
use crate::verdict::{Explanation, Refutation, Verdict};

/// Whether `caller`, at `bci`, can have called `callee`. `relation` says how the callee's class stands to a class that the
/// bytecode names; it is asked where the two differ.
pub fn edge(caller: &Method, bci: i32, callee: &Method, relation: impl FnOnce(&str) -> Relation) -> Verdict {
    let instruction = match stand(caller, bci) {
        Stand::At(instruction) => instruction,
        Stand::Native => return explain::native(caller, callee),
        Stand::Entry => return Verdict::Refuted(Refutation::NotAnInvoke),
        Stand::Gone(why) => return Verdict::Explained(why.explanation()),
        Stand::Nowhere(why) => return Verdict::Refuted(why),
    };
    let constant = instruction.constant().and_then(|number| caller.class.pool().get(number));
    if is_invoke(instruction.opcode) && constant.is_none() {
        return Verdict::Explained(Explanation::Unread);
    }
    let named = match constant {
        Some(Constant::Member(named))
            if is_invoke(instruction.opcode) && calls(instruction.opcode, named, callee) =>
        {
            invoke(instruction.opcode, named, callee, relation)
        }
        _ => explain::explained(caller, instruction, constant, callee, relation).map(Verdict::Explained),
    };
    named.unwrap_or(Verdict::Refuted(if is_invoke(instruction.opcode) {
        Refutation::OtherCallee
    } else {
        Refutation::NotAnInvoke
    }))
}

/// Whether a method can be at `bci` at all. That is all that can be asked of a leaf.
pub fn leaf(method: &Method, bci: i32) -> Verdict {
    match stand(method, bci) {
        Stand::At(_) | Stand::Native | Stand::Entry => Verdict::Proven,
        Stand::Gone(why) => Verdict::Explained(why.explanation()),
        Stand::Nowhere(why) => Verdict::Refuted(why),
    }
}

/// What a method called, for a person: the instruction, and what its constant names.
pub fn called(caller: &Method, bci: i32) -> String {
    match stand(caller, bci) {
        Stand::At(instruction) => crate::listing::instruction(caller, instruction),
        Stand::Native => explain::native_calls(caller).to_owned(),
        Stand::Entry => "nothing: it had not begun".to_owned(),
        Stand::Gone(_) => "code that is no longer there".to_owned(),
        Stand::Nowhere(Refutation::BciPastEnd) => "nothing: the code ends before".to_owned(),
        Stand::Nowhere(_) => "nothing: no instruction begins there".to_owned(),
    }
}

/// Where a frame stands.
enum Stand<'m> {
    At(Instruction<'m>),
    Native,
    Entry,
    Gone(Gone),
    Nowhere(Refutation),
}

fn stand(method: &Method, bci: i32) -> Stand<'_> {
    match &method.body {
        Body::Gone(why) => Stand::Gone(*why),
        Body::Native if bci == NATIVE_BCI => Stand::Native,
        Body::Native => Stand::Nowhere(Refutation::Nativeness),
        Body::Code(_) if bci == ENTRY_BCI => Stand::Entry,
        Body::Code(code) => match usize::try_from(bci).map(|bci| code.at(bci)) {
            Err(_) => Stand::Nowhere(Refutation::Nativeness),
            Ok(At::Instruction(instruction)) => Stand::At(instruction),
            Ok(At::Inside) => Stand::Nowhere(Refutation::BciInsideInstruction),
            Ok(At::PastEnd) => Stand::Nowhere(Refutation::BciPastEnd),
        },
    }
}

/// True if an invoke of this method may end in one of the callee's name and kind.
fn calls(opcode: u8, named: Member<'_>, callee: &Method) -> bool {
    let same_name = named.name == &*callee.name && named.descriptor == &*callee.descriptor;
    same_name && (opcode == opcode::INVOKESTATIC) == callee.is_static
}

/// The verdict on an invoke of a method of the callee's name; `None` if the callee's class cannot be.
fn invoke(
    opcode: u8,
    named: Member<'_>,
    callee: &Method,
    relation: impl FnOnce(&str) -> Relation,
) -> Option<Verdict> {
    if without_hidden_part(named.class) == &*callee.class.name {
        return Some(Verdict::Proven);
    }
    match (opcode, named.name) {
        // A constructor is not inherited.
        (opcode::INVOKESPECIAL, "<init>") => None,
        // Any class may implement an interface, and inherit the implementation from any other.
        (opcode::INVOKEINTERFACE, _) => Some(Verdict::Proven),
        (opcode::INVOKESTATIC, _) => match relation(named.class) {
            Relation::Above => Some(Verdict::Proven),
            Relation::Unknown => Some(Verdict::Explained(Explanation::Inherited)),
            Relation::Below | Relation::Shadowed | Relation::Unrelated => None,
        },
        _ => match relation(named.class) {
            Relation::Below | Relation::Above | Relation::Unknown => Some(Verdict::Proven),
            Relation::Shadowed | Relation::Unrelated => None,
        },
    }
}

impl Gone {
    fn explanation(self) -> Explanation {
        match self {
            Self::Unloaded => Explanation::Unloaded,
            Self::Unread => Explanation::Unread,
        }
    }
}
