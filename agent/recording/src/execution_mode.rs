//! What a thread was executing at a sample. It says nothing of how sure the stack is.

use crate::category::{Category, VmPart};

/// The kind of code that a thread was executing, or that it executed none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionMode {
    /// Java code. Also a thread of the program with a stack that no walk found.
    Java,
    /// Native code: of a library, or of a native method.
    Native,
    Kernel,
    /// The JVM's own code.
    Vm(VmPart),
    /// No code: the thread used no CPU time.
    Waiting,
}

impl ExecutionMode {
    /// Returns the mode of threads with a function of this category on top of their stack.
    pub fn from_category(category: Category) -> Self {
        match category {
            Category::Native => Self::Native,
            Category::Kernel => Self::Kernel,
            Category::Jvm => Self::Vm(VmPart::Other),
            Category::Vm(part) => Self::Vm(part),
            Category::Waiting => Self::Waiting,
            Category::Application
            | Category::Library
            | Category::Jdk
            | Category::Class
            | Category::Refuted
            | Category::NoStack
            | Category::Other => Self::Java,
        }
    }
}
