//! What a class that the JVM or a library made may call, by the rule by which it was made.
//!
//! It must never say more than the rule does: what a class is called tells what it may be, and not
//! what it does.

use vouch_verify::proof::{
    Body, Explanation, Method, Refutation, Relation, Verdict, verdict_through_reference,
};

use crate::generated_class::{INVOKE, LAMBDA, Rule};
use crate::unjudged::{Judged, Unjudged};
use crate::versions::Versions;

/// What a proxy calls, of whatever class its handler is.
const PROXY_HANDLER: (&str, &str) =
    ("invoke", "(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;");

/// Whether a method of such a class can have called another one.
pub fn edge(
    rule: Rule,
    caller: &Method,
    callee: &Method,
    versions: &mut Versions,
    relation: &mut impl FnMut(&mut Versions, &str) -> Relation,
) -> Judged {
    match rule {
        // What it ends in may be anything: that is known by its shape alone, which no recording
        // has.
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

/// None: the class that the lambda stands in does not say.
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

/// A number that is an object on one side of a lambda, and none on the other.
fn is_boxing(callee: &Method) -> bool {
    const BOXES: [&str; 8] = ["Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double"];
    let boxed = callee.class.name.strip_prefix("java/lang/");
    boxed.is_some_and(|class| BOXES.contains(&class))
        && (&*callee.name == "valueOf" || callee.name.ends_with("Value"))
        && !matches!(callee.body, Body::Native)
}
