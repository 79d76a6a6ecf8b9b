//! The names of classes, methods and threads, as recorders write them.
//!
//! It must never follow a reference for ever, or take a native function for a method.

use vouch_jfr::{Chunk, Value};
use vouch_verify::proof::hidden_part;

/// Of an event that says of none.
pub const NO_THREAD: &str = "[no thread]";

/// All virtual threads: there may be as many as events. Some events of theirs have the stacks of
/// their carriers, so nobody knows where they begin.
pub const VIRTUAL: &str = "[virtual threads]";

/// A text, or that of the first field of a symbol.
pub fn text(chunk: &Chunk, value: &Value) -> Option<String> {
    match chunk.resolve(value) {
        Value::Text(text) => Some(text),
        Value::Object(_, values) => values.iter().find_map(|value| match chunk.resolve(value) {
            Value::Text(text) => Some(text),
            _ => None,
        }),
        _ => None,
    }
}

/// The loaders that every JVM has, by what they are called and by their classes.
const LOADERS: [&str; 7] = [
    "bootstrap",
    "platform",
    "app",
    "sun/misc/Launcher$AppClassLoader",
    "sun/misc/Launcher$ExtClassLoader",
    "jdk/internal/loader/ClassLoaders$AppClassLoader",
    "jdk/internal/loader/ClassLoaders$PlatformClassLoader",
];

/// The name of a class, and of its loader if that is not one of the JVM's own.
pub fn class(chunk: &Chunk, value: &Value) -> Option<(String, String)> {
    let Value::Object(type_id, values) = chunk.resolve(value) else { return None };
    let of = chunk.type_of(type_id)?;
    let value = of.field("classLoader").and_then(|row| values.get(row));
    let loader =
        value.and_then(|value| loader(chunk, value)).filter(|loader| !LOADERS.contains(&loader.as_str()));
    // Two of one kind are two: each has a number of its own.
    let loader = loader.map(|loader| match value {
        Some(Value::Constant(_, number)) => format!("{loader} #{number}"),
        _ => loader,
    });
    Some((text(chunk, values.get(of.field("name")?)?)?, loader.unwrap_or_default()))
}

/// What a loader is called, or the name of its class.
fn loader(chunk: &Chunk, value: &Value) -> Option<String> {
    let Value::Object(type_id, values) = chunk.resolve(value) else { return None };
    let of = chunk.type_of(type_id)?;
    let named =
        of.field("name").and_then(|row| text(chunk, values.get(row)?)).filter(|name| !name.is_empty());
    let class = || match chunk.resolve(values.get(of.field("type")?)?) {
        Value::Object(type_id, values) => text(chunk, values.get(chunk.type_of(type_id)?.field("name")?)?),
        _ => None,
    };
    named.or_else(class)
}

/// Name, the kernel's number and Java's number of a thread.
pub fn thread(chunk: &Chunk, value: &Value) -> Option<(String, u64, u64)> {
    let Value::Object(type_id, values) = value else { return None };
    let of = chunk.type_of(*type_id)?;
    let whole = |name| of.whole(values, name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    let field = |name| text(chunk, values.get(of.field(name)?)?).filter(|text| !text.is_empty());
    if of.field("virtual").is_some_and(|row| values.get(row) == Some(&Value::Truth(true))) {
        return Some((VIRTUAL.to_owned(), 0, 0));
    }
    let name = field("javaName").or_else(|| field("osName")).unwrap_or_else(|| "[unnamed]".to_owned());
    Some((name, whole("osThreadId"), whole("javaThreadId")))
}

/// A method's, as a class file has it. (What async-profiler writes for a native function is none.)
pub fn is_descriptor(text: &str) -> bool {
    text.starts_with('(') && text.contains(')') && !text.ends_with(")L;")
}

/// A class's name as its own file has it, and whether the VM had added anything. JFR writes hidden
/// classes with `.` between packages.
pub fn without_hidden_parts(name: &str) -> (String, bool) {
    let mut rest = name;
    while let Some(at) = hidden_part(rest) {
        rest = &rest[..at];
    }
    let hidden = rest.len() < name.len();
    let dotted = hidden && !rest.contains('/');
    (if dotted { rest.replace('.', "/") } else { rest.to_owned() }, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_vm_added_is_taken_off_whoever_wrote_it() {
        for (name, class, hidden) in [
            (
                "java.util.function.Function$$Lambda$141+0x00007f15a001c7f8/5",
                "java/util/function/Function$$Lambda$141",
                true,
            ),
            ("java/lang/invoke/LambdaForm$MH.0x00007f15a0082400", "java/lang/invoke/LambdaForm$MH", true),
            ("Mix$$Lambda$90/1616974404", "Mix$$Lambda$90", true),
            ("java/lang/String", "java/lang/String", false),
            ("Mix", "Mix", false),
        ] {
            assert_eq!(without_hidden_parts(name), (class.to_owned(), hidden));
        }
    }

    #[test]
    fn native_functions_have_no_descriptor() {
        assert!(is_descriptor("(I)Ljava/lang/String;") && is_descriptor("()V"));
        assert!(!is_descriptor("()L;") && !is_descriptor(""));
    }
}
