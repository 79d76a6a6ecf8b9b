//! Can this method have called that one, from there?
//!
//! For an ordinary invoke the answer is exact: its constant names the callee, and whatever a
//! virtual call selects has the same name and descriptor. What is not so called must be one of the
//! explanations, or it is refuted.

use vouch_sample::{Bci, ENTRY, NATIVE};

use crate::proof::code::{At, Instruction};
use crate::proof::explain;
use crate::proof::method::{Body, Gone, Method, Relation};
use crate::proof::names::without_hidden_part;
use crate::proof::opcode::{self, is_invoke};
use crate::proof::pool::{Constant, Member};
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// Whether `caller`, at `bci`, can have called `callee`. `relation` says how the callee's class
/// stands to a class of this name, as the caller means it; it is asked where the two differ.
pub fn edge(
    caller: &Method,
    bci: Bci,
    callee: &Method,
    mut relation: impl FnMut(&str) -> Relation,
) -> Verdict {
    let instruction = match stand(caller, bci) {
        Stand::At(instruction) => instruction,
        Stand::Native => return explain::native(caller, callee),
        Stand::Entry => return explain::entry(callee),
        Stand::Gone(why) => return Verdict::Explained(why.explanation()),
        Stand::Nowhere(why) => return Verdict::Refuted(why),
    };
    let constant = instruction.constant().and_then(|number| caller.class.pool().get(number));
    if is_invoke(instruction.opcode) && constant.is_none() {
        return Verdict::Explained(Explanation::Unread);
    }
    does(caller, instruction, constant, callee, &mut relation)
}

/// How code that was made from a reference to a method calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    Virtual,
    Static,
    Special,
    Interface,
    /// It makes an object, and calls its constructor.
    New,
}

/// Whether code that nobody can read, of which it is known to call this member, can have called
/// `callee`.
pub fn through(
    caller: &Method,
    reference: Reference,
    named: Member<'_>,
    callee: &Method,
    mut relation: impl FnMut(&str) -> Relation,
) -> Verdict {
    let mut by = |opcode, constant| {
        let instruction = Instruction { bci: usize::MAX, opcode, bytes: &[] };
        does(caller, instruction, Some(constant), callee, &mut relation)
    };
    let member = Constant::Member(named);
    match reference {
        Reference::Virtual => by(opcode::INVOKEVIRTUAL, member),
        Reference::Static => by(opcode::INVOKESTATIC, member),
        Reference::Special => by(opcode::INVOKESPECIAL, member),
        Reference::Interface => by(opcode::INVOKEINTERFACE, member),
        Reference::New => match by(opcode::INVOKESPECIAL, member) {
            Verdict::Refuted(_) => by(opcode::NEW, Constant::Class(named.class)),
            verdict => verdict,
        },
    }
}

/// The verdict on an instruction, and what its constant is.
fn does(
    caller: &Method,
    instruction: Instruction<'_>,
    constant: Option<Constant<'_>>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> Verdict {
    let named = match constant {
        Some(Constant::Member(named)) if is_invoke(instruction.opcode) => {
            invoke(caller, instruction.opcode, named, callee, relation)
        }
        _ => None,
    };
    named
        .or_else(|| {
            explain::explained(caller, instruction, constant, callee, relation).map(Verdict::Explained)
        })
        .unwrap_or(Verdict::Refuted(if is_invoke(instruction.opcode) {
            Refutation::OtherCallee
        } else {
            Refutation::NotAnInvoke
        }))
}

/// Whether a method can be at `bci` at all. That is all that can be asked of a leaf.
pub fn leaf(method: &Method, bci: Bci) -> Verdict {
    match stand(method, bci) {
        Stand::At(_) | Stand::Native | Stand::Entry => Verdict::Proven,
        Stand::Gone(why) => Verdict::Explained(why.explanation()),
        Stand::Nowhere(why) => Verdict::Refuted(why),
    }
}

/// What a method called, for a person: the instruction, and what its constant names.
pub fn called(caller: &Method, bci: Bci) -> String {
    match stand(caller, bci) {
        Stand::At(instruction) => crate::proof::listing::instruction(caller, instruction),
        Stand::Native => explain::native_calls(caller).to_owned(),
        Stand::Entry => "nothing: the method had not begun".to_owned(),
        Stand::Gone(_) => "code that is no longer there".to_owned(),
        Stand::Nowhere(Refutation::BciPastEnd) => {
            "nothing: the method's code ends before this bci".to_owned()
        }
        Stand::Nowhere(Refutation::Nativeness) => "nothing: such a method cannot have this bci".to_owned(),
        Stand::Nowhere(_) => "nothing: no instruction begins at this bci".to_owned(),
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

fn stand(method: &Method, bci: Bci) -> Stand<'_> {
    match &method.body {
        Body::Gone(why) => Stand::Gone(*why),
        Body::Native if bci == NATIVE => Stand::Native,
        Body::Native => Stand::Nowhere(Refutation::Nativeness),
        Body::Code(_) if bci == ENTRY => Stand::Entry,
        Body::Code(code) => match usize::try_from(bci).map(|bci| code.at(bci)) {
            Err(_) => Stand::Nowhere(Refutation::Nativeness),
            Ok(At::Instruction(instruction)) => Stand::At(instruction),
            Ok(At::Inside) => Stand::Nowhere(Refutation::BciInsideInstruction),
            Ok(At::PastEnd) => Stand::Nowhere(Refutation::BciPastEnd),
        },
    }
}

/// The verdict on an invoke whose constant names this method; `None` if the callee is no method
/// that it can select.
fn invoke(
    caller: &Method,
    opcode: u8,
    named: Member<'_>,
    callee: &Method,
    relation: &mut impl FnMut(&str) -> Relation,
) -> Option<Verdict> {
    let same_name = named.name == &*callee.name && named.descriptor == &*callee.descriptor;
    if !same_name || (opcode == opcode::INVOKESTATIC) != callee.is_static {
        return None;
    }
    if without_hidden_part(named.class) == &*callee.class.name {
        return Some(Verdict::Proven);
    }
    let proven = |may: bool| may.then_some(Verdict::Proven);
    match (opcode, named.name) {
        // A constructor is not inherited.
        (_, "<init>") => None,
        // Any class may implement an interface, and inherit the implementation from any other.
        (opcode::INVOKEINTERFACE, _) => Some(Verdict::Proven),
        (opcode::INVOKESTATIC, _) => match relation(named.class) {
            Relation::Above => Some(Verdict::Proven),
            Relation::Unknown => Some(Verdict::Explained(Explanation::Inherited)),
            Relation::Below | Relation::Shadowed | Relation::Unrelated => None,
        },
        // Of a superclass; one that came between since the caller was compiled is below the named
        // one, and above the caller's.
        (opcode::INVOKESPECIAL, _) => match relation(named.class) {
            Relation::Above => Some(Verdict::Proven),
            Relation::Shadowed | Relation::Unrelated => None,
            Relation::Below | Relation::Unknown => {
                let to_own = relation(&caller.class.name);
                let own = caller.class.name == callee.class.name;
                proven(!own && !matches!(to_own, Relation::Below | Relation::Unrelated))
            }
        },
        _ => proven(!matches!(relation(named.class), Relation::Shadowed | Relation::Unrelated)),
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
