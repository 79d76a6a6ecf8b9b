//! A class and its methods as a profile shows them, and the jar or module of the class.

use std::sync::Arc;

use vouch_recording::Category;
use vouch_sample::MethodId;
use vouch_verify::proof::without_hidden_part;

use crate::readable;

/// A class of the program or of the JDK.
#[derive(Debug)]
pub struct Class {
    /// The name of the class as in source code: `com.foo.Bar$Inner`.
    pub name: String,
    /// The name of the class as in the class file, `com/foo/Bar$Inner`, without the suffix of a
    /// hidden class.
    pub binary: Box<str>,
    /// True for a hidden class, or an anonymous class of the VM before JDK 15.
    pub hidden: bool,
    /// The path of the source file with its package: `com/foo/Bar.java`.
    pub source: Option<String>,
    pub origin: Origin,
    /// The reference by which the class is found again.
    pub handle: Handle,
}

/// A reference by which a class is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handle {
    /// The class is never unloaded, and is found by any of its methods.
    Permanent,
    /// The class may be unloaded. The resolver keeps a weak reference to it, which has this number.
    Weak(usize),
    /// The class cannot be found again by any reference.
    None,
}

/// The jar or module of a class, and its category in a profile.
#[derive(Debug, Clone)]
pub struct Origin {
    pub category: Category,
    /// The name of the jar, folder or module of the class.
    pub resource: Option<String>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { category: Category::Application, resource: None }
    }
}

/// A method with its names and lines. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Method {
    /// The JVM's id of the method. It may be passed to the JVM only while a reference keeps the
    /// class loaded.
    pub id: MethodId,
    pub class: Arc<Class>,
    pub name: Arc<str>,
    pub descriptor: Arc<str>,
    pub lines: Arc<[LineEntry]>,
}

impl Class {
    /// Makes a class from its signature, as in `Lcom/foo/Bar;`.
    pub fn new(signature: &str, source: Option<String>, origin: Origin, handle: Handle) -> Self {
        let binary = without_hidden_part(readable::binary_name(signature)).into();
        let hidden = readable::is_hidden(signature);
        Self { name: readable::class_name(signature), binary, hidden, source, origin, handle }
    }

    /// True if this is the class with a signature, as in `Lcom/foo/Bar;`.
    pub fn has_signature(&self, signature: &str) -> bool {
        *self.binary == *without_hidden_part(readable::binary_name(signature))
    }
}

impl Method {
    /// Returns the name of the method with its class and package: `com.foo.Bar.baz`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.class.name, self.name)
    }

    /// Returns the name of the method with its class: `Bar.baz`.
    pub fn short_name(&self) -> String {
        let class = self.class.name.rsplit('.').next().unwrap_or_default();
        format!("{class}.{}", self.name)
    }

    /// Returns the source line of the code at `bci`, or `None` for a native method.
    pub fn line(&self, bci: i32) -> Option<u32> {
        // -1 is the method's entry. HotSpot also uses the line of the first instruction for it.
        let bci = u16::try_from(if bci == -1 { 0 } else { bci }).ok()?;
        let after = self.lines.partition_point(|entry| entry.start <= bci);
        self.lines.get(after.checked_sub(1)?).map(|entry| entry.line.into())
    }

    /// Returns the lowest line of the method's code.
    pub fn first_line(&self) -> Option<u32> {
        self.lines.iter().map(|entry| entry.line.into()).min()
    }
}

/// A method's name and descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodName {
    pub name: String,
    pub descriptor: String,
}

impl MethodName {
    /// Returns a placeholder name, for a method that the JVM does not name.
    pub fn unknown() -> Self {
        Self { name: "?".to_owned(), descriptor: "?".to_owned() }
    }
}

/// An entry of a line number table: the code from the bytecode index `start` on belongs to `line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEntry {
    pub start: u16,
    pub line: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_last_one_that_begins_before_the_bci() {
        let lines = [(0, 10), (4, 12), (9, 11)];
        let lines: Arc<[LineEntry]> =
            lines.into_iter().map(|(start, line)| LineEntry { start, line }).collect();
        let class = Arc::new(Class::new("LA;", None, Origin::default(), Handle::Permanent));
        let method = Method { id: MethodId(1), class, name: "m".into(), descriptor: "()V".into(), lines };
        assert_eq!(method.line(0), Some(10));
        assert_eq!(method.line(8), Some(12));
        assert_eq!(method.line(60_000), Some(11));
        assert_eq!(method.line(-1), Some(10), "the entry is on the first line");
        assert_eq!(method.line(-3), None, "a native method has no line");
        assert_eq!(method.first_line(), Some(10));
    }
}
