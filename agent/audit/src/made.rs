//! Classes that no file has, since the JVM or a library made them: by which rule that is known, and
//! what it says of what they call.
//!
//! It must never say more than the rule does: what a class is called tells what it may be, and not
//! what it does.

use vouch_proof::{Body, Explanation, Method, Refutation, Relation, Verdict, through};

use crate::judge::{Judged, Unjudged};
use crate::versions::Versions;

/// How a class was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The code of a method handle.
    MethodHandleForm,
    /// Of a lambda, or a reference to a method: the class that it stands in says what it calls.
    Lambda,
    /// Another one without a name of its own.
    HiddenClass,
    /// `Method.invoke`, after some calls.
    ReflectionAccessor,
    /// What Flight Recorder makes for its own events.
    FlightRecorder,
    /// `java.lang.reflect.Proxy`'s: it calls its handler.
    Proxy,
    /// It has a library's mark in its name.
    MadeByALibrary,
}

const INVOKE: &str = "java/lang/invoke/";
const LAMBDA: &str = "$$Lambda";
/// What libraries put into the names of classes that they make: Spring's, Guice's, Hibernate's,
/// Mockito's, Byte Buddy's.
const MARKS: [&str; 8] = [
    "$$EnhancerBy",
    "$$FastClassBy",
    "$$SpringCGLIB$$",
    "$$FastClass",
    "$HibernateProxy$",
    "$MockitoMock$",
    "$ByteBuddy$",
    "$$KeyFactoryBy",
];
/// What a proxy calls, of whatever class its handler is.
const HANDLER: (&str, &str) =
    ("invoke", "(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;");

impl Rule {
    /// That of a class without a name of its own.
    pub fn of_hidden(class: &str) -> Self {
        match class {
            _ if class.starts_with(INVOKE) && !class.contains(LAMBDA) => Self::MethodHandleForm,
            _ if class.contains(LAMBDA) => Self::Lambda,
            _ => Self::HiddenClass,
        }
    }

    /// That of a class that was looked for, and not found.
    pub fn of_missing(class: &str) -> Option<Self> {
        let (package, last) = class.rsplit_once('/').unwrap_or(("", class));
        let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        match package {
            "java/lang/invoke" if last.contains("$Species_") => Some(Self::MethodHandleForm),
            "sun/reflect" | "jdk/internal/reflect" if last.starts_with("Generated") => {
                Some(Self::ReflectionAccessor)
            }
            "jdk/jfr/internal/handlers" => Some(Self::FlightRecorder),
            _ if last.strip_prefix("$Proxy").is_some_and(is_number) => Some(Self::Proxy),
            _ if MARKS.iter().any(|mark| class.contains(mark)) => Some(Self::MadeByALibrary),
            _ => None,
        }
    }

    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::MethodHandleForm => "method_handle_form",
            Self::Lambda => "lambda",
            Self::HiddenClass => "hidden_class",
            Self::ReflectionAccessor => "reflection_accessor",
            Self::FlightRecorder => "flight_recorder",
            Self::Proxy => "proxy",
            Self::MadeByALibrary => "made_by_a_library",
        }
    }
}

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
        Rule::Proxy if (&*callee.name, &*callee.descriptor) == HANDLER && !callee.is_static => {
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
    let lambdas = versions.ran(host)?.file.lambdas.clone();
    let mut asked = lambdas.iter().filter(|lambda| *lambda.caller == *caller.name).peekable();
    asked.peek()?;
    let mut best = if is_boxing(callee) {
        Verdict::Explained(Explanation::MethodHandle)
    } else {
        Verdict::Refuted(Refutation::OtherCallee)
    };
    for lambda in asked {
        let verdict = through(caller, lambda.how, lambda.member(), callee, |named| relation(versions, named));
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
