//! Reads the names of classes, methods and threads from JFR constants.
//!
//! It must never follow references in a circle, or take a native function for a method.

use vouch_jfr::{Chunk, Value};
use vouch_verify::proof::hidden_part;

/// The name of the thread of an event without a thread.
pub const NO_THREAD: &str = "[no thread]";

/// The common name of all virtual threads, since there may be as many as events. Some of their
/// events have stacks of carriers, so their roots are unknown.
pub const VIRTUAL_THREADS: &str = "[virtual threads]";

/// Returns a text value, or the text in the first field of a symbol.
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

/// The JVM's built-in class loaders, by name and by class.
const BUILT_IN_LOADERS: [&str; 7] = [
    "bootstrap",
    "platform",
    "app",
    "sun/misc/Launcher$AppClassLoader",
    "sun/misc/Launcher$ExtClassLoader",
    "jdk/internal/loader/ClassLoaders$AppClassLoader",
    "jdk/internal/loader/ClassLoaders$PlatformClassLoader",
];

/// Returns the names of a class and of its loader. The loader's name is empty for a built-in
/// loader.
pub fn class(chunk: &Chunk, value: &Value) -> Option<(String, String)> {
    let Value::Object(type_id, values) = chunk.resolve(value) else { return None };
    let object_type = chunk.type_of(type_id)?;
    let value = object_type.field("classLoader").and_then(|row| values.get(row));
    let loader = value
        .and_then(|value| loader(chunk, value))
        .filter(|loader| !BUILT_IN_LOADERS.contains(&loader.as_str()));
    // Loaders of one class are distinguished by the number of their constant.
    let loader = loader.map(|loader| match value {
        Some(Value::Constant(_, number)) => format!("{loader} #{number}"),
        _ => loader,
    });
    Some((text(chunk, values.get(object_type.field("name")?)?)?, loader.unwrap_or_default()))
}

/// Returns the loader's name, or the name of its class.
fn loader(chunk: &Chunk, value: &Value) -> Option<String> {
    let Value::Object(type_id, values) = chunk.resolve(value) else { return None };
    let object_type = chunk.type_of(type_id)?;
    let named = object_type
        .field("name")
        .and_then(|row| text(chunk, values.get(row)?))
        .filter(|name| !name.is_empty());
    let class = || match chunk.resolve(values.get(object_type.field("type")?)?) {
        Value::Object(type_id, values) => text(chunk, values.get(chunk.type_of(type_id)?.field("name")?)?),
        _ => None,
    };
    named.or_else(class)
}

/// Returns a thread's name, the kernel's thread id, and Java's thread id.
pub fn thread(chunk: &Chunk, value: &Value) -> Option<(String, u64, u64)> {
    let Value::Object(type_id, values) = value else { return None };
    let object_type = chunk.type_of(*type_id)?;
    let whole = |name| {
        object_type.integer_field(values, name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    };
    let field = |name| text(chunk, values.get(object_type.field(name)?)?).filter(|text| !text.is_empty());
    if object_type.field("virtual").is_some_and(|row| values.get(row) == Some(&Value::Boolean(true))) {
        return Some((VIRTUAL_THREADS.to_owned(), 0, 0));
    }
    let name = field("javaName").or_else(|| field("osName")).unwrap_or_else(|| "[unnamed]".to_owned());
    Some((name, whole("osThreadId"), whole("javaThreadId")))
}

/// True if the text is a method descriptor. (async-profiler writes `()L;` for native functions.)
pub fn is_descriptor(text: &str) -> bool {
    text.starts_with('(') && text.contains(')') && !text.ends_with(")L;")
}

/// Returns the class name without suffixes of the VM, and true if it had any. JFR writes hidden
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
    fn suffixes_that_the_vm_added_are_removed() {
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
