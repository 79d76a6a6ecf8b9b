//! Methods and classes as proof reads them: their names, their code and their constants.

use std::sync::{Arc, OnceLock};

use vouch_sample::{Bci, ResolvedFrame};

use crate::proof::code::{At, Code, Instruction};
use crate::proof::pool::Pool;

/// A class: its name, and the constant pool that its code refers to.
#[derive(Debug, Default)]
pub struct Class {
    /// The name of the class, such as `java/lang/String`. The name of a hidden class is without the
    /// number that the VM added.
    pub name: Box<str>,
    pool: OnceLock<Pool>,
}

impl Class {
    /// Makes a class without constants. [`Self::load_pool`] adds them.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), pool: OnceLock::new() }
    }

    /// Returns the class's constants. They are empty until [`Self::load_pool`] is called, and most
    /// classes never need them.
    pub fn pool(&self) -> &Pool {
        static NONE: Pool = Pool::none();
        self.pool.get().unwrap_or(&NONE)
    }

    /// Sets the class's constants to what `read` returns. It does nothing if they are set already.
    pub fn load_pool(&self, read: impl FnOnce() -> Pool) {
        self.pool.get_or_init(read);
    }
}

/// A method with its names and its code.
#[derive(Debug, Clone)]
pub struct Method {
    pub class: Arc<Class>,
    pub name: Arc<str>,
    pub descriptor: Arc<str>,
    pub is_static: bool,
    pub body: Body,
}

/// The code of a method, or why there is no bytecode to check a frame against.
#[derive(Debug, Clone)]
pub enum Body {
    /// The method has this bytecode.
    Code(Code),
    /// The method is native.
    Native,
    /// The method's code cannot be read.
    Gone(Gone),
}

/// Why the code of a method cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gone {
    /// The class was unloaded before its code was read.
    Unloaded,
    /// The JVM returned no code, or code that is damaged.
    Unread,
}

/// A frame of a walk with its method, if the method is known.
#[derive(Debug, Clone, Copy)]
pub struct KnownFrame<'m> {
    pub frame: ResolvedFrame,
    /// The method of the frame. It is `None` if the walk found no method id, or an unknown one.
    pub method: Option<&'m Method>,
}

/// The relation of the callee's class to the class that the bytecode names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The callee's class is a subclass of the named class.
    Below,
    /// The callee's class is a superclass of the named class. No class between them has a method
    /// of the callee's name and descriptor.
    Above,
    /// The callee's class is a superclass of the named class. A class between them, or the named
    /// class itself, has a method of the callee's name and descriptor.
    Shadowed,
    /// Neither class is a superclass of the other.
    Unrelated,
    /// The named class is unknown, or the callee's class is an interface.
    Unknown,
}

impl Method {
    /// Returns the method's instruction at a bci. It is `None` if no instruction begins there, or
    /// if the method has no code.
    pub fn instruction(&self, bci: Bci) -> Option<Instruction<'_>> {
        let Body::Code(code) = &self.body else { return None };
        match code.at(usize::try_from(bci).ok()?) {
            At::Instruction(instruction) => Some(instruction),
            At::Inside | At::PastEnd => None,
        }
    }

    /// True if the method has this name and its class has this name.
    pub(crate) fn is(&self, class: &str, name: &str) -> bool {
        &*self.class.name == class && &*self.name == name
    }

    /// True if the method's class is in a package, or in a package below it.
    pub fn in_package(&self, package: &str) -> bool {
        self.class.name.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl std::fmt::Display for Method {
    /// Writes the method as javap does: `java/util/List.size:()I`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}:{}", self.class.name, self.name, self.descriptor)
    }
}
