//! Checks an edge of a stack: whether a method can have called another one, at a bci.
//!
//! The check of an ordinary invoke is exact. Its constant names the callee, and the method that a
//! virtual call selects has the same name and descriptor. Any other call must have an explanation,
//! or it is refuted.

use vouch_sample::{Bci, ENTRY, NATIVE};

use crate::proof::code::{At, Instruction};
use crate::proof::explain;
use crate::proof::method::{Body, Gone, Method, Relation};
use crate::proof::names::without_hidden_part;
use crate::proof::opcode::{self, is_invoke};
use crate::proof::pool::{Constant, Member};
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// Judges whether `caller`, at `bci`, can have called `callee`. `relation` returns the relation of
/// the callee's class to the class that has this name in the caller's loader. It is called only if
/// the two names differ.
pub fn edge(
    caller: &Method,
    bci: Bci,
    callee: &Method,
    mut relation: impl FnMut(&str) -> Relation,
) -> Verdict {
    let instruction = match call_site_at(caller, bci) {
        CallSite::At(instruction) => instruction,
        CallSite::Native => return explain::native(caller, callee),
        CallSite::Entry => return explain::entry(callee),
        CallSite::Gone(why) => return Verdict::Explained(why.explanation()),
        CallSite::Nowhere(why) => return Verdict::Refuted(why),
    };
    let constant = instruction.constant().and_then(|number| caller.class.pool().get(number));
    if is_invoke(instruction.opcode) && constant.is_none() {
        return Verdict::Explained(Explanation::Unread);
    }
    verdict_on_instruction(caller, instruction, constant, callee, &mut relation)
}

/// How the generated code of a lambda or method reference calls its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    Virtual,
    Static,
    Special,
    Interface,
    /// The generated code creates an object, and calls its constructor.
    New,
}

/// Judges whether `caller`, which has no readable code, can have called `callee`. The caller is
/// known to call the member `named` by `reference`.
pub fn verdict_through_reference(
    caller: &Method,
    reference: Reference,
    named: Member<'_>,
    callee: &Method,
    mut relation: impl FnMut(&str) -> Relation,
) -> Verdict {
    let mut by = |opcode, constant| {
        let instruction = Instruction { bci: usize::MAX, opcode, bytes: &[] };
        verdict_on_instruction(caller, instruction, Some(constant), callee, &mut relation)
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

/// Judges whether `instruction` of `caller` can have called `callee`. The instruction refers to
/// `constant`.
fn verdict_on_instruction(
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

/// Judges whether a leaf's method can be at `bci`. Bytecode says no more about a leaf.
pub fn leaf(method: &Method, bci: Bci) -> Verdict {
    match call_site_at(method, bci) {
        CallSite::At(_) | CallSite::Native | CallSite::Entry => Verdict::Proven,
        CallSite::Gone(why) => Verdict::Explained(why.explanation()),
        CallSite::Nowhere(why) => Verdict::Refuted(why),
    }
}

/// Describes for users what a method calls at a bci: the instruction, and what its constant names.
pub fn describe_call(caller: &Method, bci: Bci) -> String {
    match call_site_at(caller, bci) {
        CallSite::At(instruction) => crate::proof::listing::instruction(caller, instruction),
        CallSite::Native => explain::native_calls(caller).to_owned(),
        CallSite::Entry => "nothing: the method had not begun".to_owned(),
        CallSite::Gone(_) => "code that is no longer there".to_owned(),
        CallSite::Nowhere(Refutation::BciPastEnd) => {
            "nothing: the method's code ends before this bci".to_owned()
        }
        CallSite::Nowhere(Refutation::Nativeness) => "nothing: such a method cannot have this bci".to_owned(),
        CallSite::Nowhere(_) => "nothing: no instruction begins at this bci".to_owned(),
    }
}

/// The location of a frame in its method, or why the frame has none.
enum CallSite<'m> {
    /// The frame is at this instruction of its method.
    At(Instruction<'m>),
    /// The frame is in a native method.
    Native,
    /// The method is compiled, and has not reached its first instruction.
    Entry,
    /// The method's code cannot be read.
    Gone(Gone),
    /// The method cannot be at the frame's bci.
    Nowhere(Refutation),
}

fn call_site_at(method: &Method, bci: Bci) -> CallSite<'_> {
    match &method.body {
        Body::Gone(why) => CallSite::Gone(*why),
        Body::Native if bci == NATIVE => CallSite::Native,
        Body::Native => CallSite::Nowhere(Refutation::Nativeness),
        Body::Code(_) if bci == ENTRY => CallSite::Entry,
        Body::Code(code) => match usize::try_from(bci).map(|bci| code.at(bci)) {
            Err(_) => CallSite::Nowhere(Refutation::Nativeness),
            Ok(At::Instruction(instruction)) => CallSite::At(instruction),
            Ok(At::Inside) => CallSite::Nowhere(Refutation::BciInsideInstruction),
            Ok(At::PastEnd) => CallSite::Nowhere(Refutation::BciPastEnd),
        },
    }
}

/// Judges an invoke with a constant that names the method `named`. The result is `None` if the
/// invoke cannot select the callee.
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
        // An invokespecial calls a method of a superclass. A class that was put between the two
        // after the caller was compiled is below the named class, and above the caller's class.
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
