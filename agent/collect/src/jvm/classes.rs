//! The traits through which the [`Resolver`](crate::resolve::Resolver) asks the JVM about classes
//! and their methods.
//!
//! The agent implements them by JNI and JVMTI. A class is passed on only while a reference keeps it
//! loaded. Nothing here may run code of the program.

use vouch_sample::MethodId;

use crate::method::{LineEntry, MethodName};

/// Finds classes, on one thread that is attached to the JVM.
pub trait Classes {
    /// A reference that keeps a class loaded until it is dropped.
    type Kept;

    /// Returns true if it is safe to pass the JVM an id that a walk returned.
    fn is_safe(&mut self, id: MethodId) -> bool;

    /// Calls `ask` with the class of a reference, and releases the reference. It makes no call if
    /// the JVM lacks memory.
    fn with_kept(&mut self, kept: Self::Kept, ask: impl FnOnce(&mut dyn LoadedClass<Self::Kept>));

    /// Calls `ask` with the class that declares a method. It makes no call if the JVM does not
    /// return the class. The id must be safe.
    fn with_declaring(&mut self, id: MethodId, ask: impl FnOnce(&mut dyn LoadedClass<Self::Kept>));
}

/// A class that a reference keeps loaded.
pub trait LoadedClass<Kept> {
    /// Creates the ids of all its methods. Returns false if the class is not prepared yet.
    fn make_ids(&mut self) -> bool;

    /// Returns its signature, as in `Lcom/foo/Bar;`.
    fn signature(&mut self) -> Option<String>;

    /// Returns its SourceFile attribute.
    fn source_file(&mut self) -> Option<String>;

    /// Returns the ids of all its methods, without those of its old versions.
    fn methods(&mut self) -> Option<Vec<MethodId>>;

    /// Returns the name of one of its methods, which may be of an old version.
    fn method_name(&mut self, id: MethodId) -> Option<MethodName>;

    /// Returns the line table of one of its methods, sorted by bytecode index.
    fn lines(&mut self, id: MethodId) -> Vec<LineEntry>;

    /// Returns true if its loader is never collected.
    fn is_permanent(&mut self) -> bool;

    /// Returns a reference that keeps it loaded.
    fn keep(&mut self) -> Option<Kept>;

    /// Makes a weak reference to it, and returns the number of the reference.
    fn add_weak(&mut self) -> Option<usize>;

    /// Returns the name of its module. It is called on JDK 9 and later.
    fn module(&mut self) -> Option<String>;

    /// Returns where its code comes from.
    fn code_source(&mut self) -> Option<CodeSource>;

    /// Returns true if it has no class loader.
    fn is_of_boot_loader(&mut self) -> bool;
}

/// The URL of a class's code source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSource {
    pub protocol: String,
    pub path: String,
}
