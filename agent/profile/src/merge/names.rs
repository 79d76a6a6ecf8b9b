//! Formats values of a recording as text: threads, classes, methods and modules. The text of any
//! other value is its field `name`, or its first text field.

use vouch_jfr::{Chunk, Type, Value};

const THREAD: &str = "java.lang.Thread";
const CLASS: &str = "java.lang.Class";
const METHOD: &str = "jdk.types.Method";
const NAMED: [&str; 5] = [
    "jdk.types.ClassLoader",
    "jdk.types.Module",
    "jdk.types.Package",
    "jdk.types.ThreadGroup",
    "java.lang.String",
];
/// At most this many items of a list are shown.
const LISTED: usize = 20;
/// A text is made from at most this many values. Values may refer to each other in a circle.
const MAX_VALUES: u32 = 2_000;
/// A text is made from values that are nested at most this deep.
const MAX_DEPTH: u32 = 16;
/// This many values inside of a constant count as one further value of [`MAX_VALUES`].
const VALUES_PER_COUNT: usize = 1 << 10;

/// Formats values of a chunk as text, within a limit for the values that are read.
#[derive(Debug)]
pub struct Words<'c> {
    pub chunk: &'c Chunk,
    /// The number of further values that may be read.
    left: u32,
    depth: u32,
}

impl<'c> Words<'c> {
    pub fn new(chunk: &'c Chunk) -> Self {
        Self { chunk, left: MAX_VALUES, depth: 0 }
    }

    /// Formats a value. Returns `None` if the value has no text.
    pub fn text(&mut self, value: &Value) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let is_read = matches!(value, Value::Constant(..));
        let value = self.chunk.resolve(value);
        if is_read {
            // Large values count more than once.
            let count = u32::try_from(value.size() / VALUES_PER_COUNT).unwrap_or(u32::MAX);
            self.left = self.left.saturating_sub(count);
        }
        let text = self.text_of(value);
        self.depth -= 1;
        text
    }

    fn text_of(&mut self, value: Value) -> Option<String> {
        match value {
            Value::Null | Value::Constant(..) => None,
            Value::Text(text) => Some(text),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Boolean(truth) => Some(truth.to_string()),
            Value::Object(type_id, values) => text(self, self.chunk.type_of(type_id)?, &values),
            Value::List(values) => {
                let more = values.len().saturating_sub(LISTED);
                let mut texts: Vec<_> =
                    values.iter().take(LISTED).filter_map(|value| self.text(value)).collect();
                if more > 0 {
                    texts.push(format!("and {more} more"));
                }
                Some(texts.join(", "))
            }
        }
    }
}

/// True if values of the type are shown as one text, and not field by field.
pub fn has_text(name: &str) -> bool {
    [THREAD, CLASS, METHOD].contains(&name) || NAMED.contains(&name)
}

/// Returns the name of a value. A value without a name has the text of its first text field.
pub fn text(words: &mut Words<'_>, of: &Type, values: &[Value]) -> Option<String> {
    match of.name.as_str() {
        THREAD => Some(thread(words, of, values).name),
        CLASS => Some(class(&field(words, of, values, "name")?)),
        METHOD => method(words, of, values),
        _ => match field(words, of, values, "name") {
            Some(name) => Some(name),
            None => values.iter().find_map(|value| plain(words, value)),
        },
    }
}

/// A thread in a Flight Recorder file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The kernel's thread id. It is 0 for a virtual thread.
    pub tid: u64,
    pub name: String,
    pub is_virtual: bool,
}

impl Thread {
    /// Reads a thread from an event's field. `None` if the file does not contain the thread.
    pub fn new(chunk: &Chunk, value: &Value) -> Option<Self> {
        let Value::Object(type_id, values) = chunk.resolve(value) else { return None };
        Some(thread(&mut Words::new(chunk), chunk.type_of(type_id)?, &values))
    }
}

fn thread(words: &mut Words<'_>, of: &Type, values: &[Value]) -> Thread {
    let whole =
        |name| of.integer_field(values, name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    let is_virtual = of.field("virtual").is_some_and(|row| values.get(row) == Some(&Value::Boolean(true)));
    let name = field(words, of, values, "javaName").filter(|name| !name.is_empty());
    let name = name.or_else(|| field(words, of, values, "osName"));
    let tid = if is_virtual { 0 } else { whole("osThreadId") };
    let number = whole("javaThreadId");
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        if is_virtual { format!("virtual thread {number}") } else { format!("thread {tid}") }
    });
    Thread { tid, name, is_virtual }
}

/// Formats a method as `package.Class.method`, as Vouch does.
fn method(words: &mut Words<'_>, of: &Type, values: &[Value]) -> Option<String> {
    let holder = field(words, of, values, "type")?;
    Some(format!("{holder}.{}", field(words, of, values, "name")?))
}

fn plain(words: &Words<'_>, value: &Value) -> Option<String> {
    if let Value::Text(text) = words.chunk.resolve(value) { Some(text) } else { None }
}

/// Returns the text of the field with this name.
pub fn field(words: &mut Words<'_>, of: &Type, values: &[Value], name: &str) -> Option<String> {
    words.text(values.get(of.field(name)?)?)
}

/// Returns the value and index of a field that refers to a constant.
pub fn constant(kind: &Type, values: &[Value], name: &str) -> Option<(Value, i64)> {
    match values.get(kind.field(name)?)? {
        value @ Value::Constant(_, index) => Some((value.clone(), *index)),
        _ => None,
    }
}

/// Rewrites a class name such as `[[Ljava/lang/String;` as in Java source.
fn class(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let element = match element {
        _ if dimensions == 0 => element,
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => element.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')).unwrap_or(element),
    };
    element.replace('/', ".") + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes_are_called_as_in_a_source() {
        for (name, wanted) in [
            ("shop/Cart", "shop.Cart"),
            ("[B", "byte[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("B", "B"),
        ] {
            assert_eq!(class(name), wanted);
        }
    }
}
