//! Judges calls by generated classes, using the rule by which the class was generated.
//!
//! It must never conclude more than the rule allows. A name shows what a class may be, not what it
//! does.

use vouch_verify::proof::{
    Body, Explanation, Method, Refutation, Relation, Verdict, verdict_through_reference,
};

use crate::generated_class::{INVOKE, LAMBDA, Rule};
use crate::unjudged::{Judged, Unjudged};
use crate::versions::Versions;

/// The method that a proxy calls on its handler, whatever the handler's class.
const PROXY_HANDLER: (&str, &str) =
    ("invoke", "(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;");

/// Judges whether a method of a generated class can have called another method.
pub fn edge(
    rule: Rule,
    caller: &Method,
    callee: &Method,
    versions: &mut Versions,
    relation: &mut impl FnMut(&mut Versions, &str) -> Relation,
) -> Judged {
    match rule {
        // A method handle may end in any method. Only its shape would show which, and no recording
        // has that.
        Rule::MethodHandleForm if callee.class.name.starts_with(INVOKE) => {
            Ok(Verdict::Explained(Explanation::MethodHandle))
        }
        Rule::Proxy if (&*callee.name, &*callee.descriptor) == PROXY_HANDLER && !callee.is_static => {
            Ok(Verdict::Proven)
        }
        Rule::Lambda => lambda(caller, callee, versions, relation).unwrap_or(Err(Unjudged::Generated(rule))),
        _ => Err(Unjudged::Generated(rule)),
    }
}

/// Judges a call by a lambda. Returns `None` if the class around the lambda does not name the
/// target.
fn lambda(
    caller: &Method,
    callee: &Method,
    versions: &mut Versions,
    relation: &mut impl FnMut(&mut Versions, &str) -> Relation,
) -> Option<Judged> {
    let (host, _) = caller.class.name.split_once(LAMBDA)?;
    let lambdas = versions.loaded(host)?.file.lambdas.clone();
    let mut candidates = lambdas.iter().filter(|lambda| *lambda.caller == *caller.name).peekable();
    candidates.peek()?;
    let mut best = if is_boxing(callee) {
        Verdict::Explained(Explanation::MethodHandle)
    } else {
        Verdict::Refuted(Refutation::OtherCallee)
    };
    for lambda in candidates {
        let verdict = verdict_through_reference(caller, lambda.kind, lambda.member(), callee, |named| {
            relation(versions, named)
        });
        match verdict {
            Verdict::Proven => return Some(Ok(verdict)),
            Verdict::Explained(_) => best = verdict,
            Verdict::Refuted(_) => {}
        }
    }
    Some(Ok(best))
}

/// True for conversions between a number and its object, which a lambda adds.
fn is_boxing(callee: &Method) -> bool {
    const BOXES: [&str; 8] = ["Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double"];
    let boxed = callee.class.name.strip_prefix("java/lang/");
    boxed.is_some_and(|class| BOXES.contains(&class))
        && (&*callee.name == "valueOf" || callee.name.ends_with("Value"))
        && !matches!(callee.body, Body::Native)
}
