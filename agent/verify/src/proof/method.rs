//! What proof has to know of a method: who it is, and its code if it is to be held to it as a
//! caller.

use std::sync::{Arc, OnceLock};

use vouch_sample::{Bci, ResolvedFrame};

use crate::proof::code::{At, Code, Instruction};
use crate::proof::pool::Pool;

/// A class: its name, and the constants that its code names.
#[derive(Debug, Default)]
pub struct Class {
    /// As in `java/lang/String`. A hidden class is without the part that tells it from others of
    /// its name.
    pub name: Box<str>,
    pool: OnceLock<Pool>,
}

impl Class {
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), pool: OnceLock::new() }
    }

    /// The constants; none until they are brought. Most classes are never held to their code.
    pub fn pool(&self) -> &Pool {
        static NONE: Pool = Pool::none();
        self.pool.get().unwrap_or(&NONE)
    }

    /// Brings the constants, if they are lacking.
    pub fn bring_pool(&self, bring: impl FnOnce() -> Pool) {
        self.pool.get_or_init(bring);
    }
}

/// A method.
#[derive(Debug, Clone)]
pub struct Method {
    pub class: Arc<Class>,
    pub name: Arc<str>,
    pub descriptor: Arc<str>,
    pub is_static: bool,
    pub body: Body,
}

/// What a method consists of.
#[derive(Debug, Clone)]
pub enum Body {
    Code(Code),
    Native,
    /// Nobody can say any more.
    Gone(Gone),
}

/// Why there is no code to hold a frame to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gone {
    /// The class was unloaded before its code was read.
    Unloaded,
    /// The JVM did not give it, or gave what is none.
    Unread,
}

/// A frame of a walk, and what is known of its method.
#[derive(Debug, Clone, Copy)]
pub struct Known<'m> {
    pub frame: ResolvedFrame,
    /// `None`: the walk had no method for it, or nobody knows the one that it had.
    pub method: Option<&'m Method>,
}

/// How the callee's class stands to the class that the bytecode names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It is a subclass.
    Below,
    /// It is a superclass, and no class between them has a method of the callee's name and
    /// descriptor.
    Above,
    /// It is a superclass, and a class between them, or the named one itself, has such a method.
    Shadowed,
    /// Neither is a superclass of the other.
    Unrelated,
    /// Nobody knows the named class, or the callee is an interface's.
    Unknown,
}

impl Method {
    /// What stands at a bci; None where no instruction begins, or nobody has the code.
    pub fn instruction(&self, bci: Bci) -> Option<Instruction<'_>> {
        let Body::Code(code) = &self.body else { return None };
        match code.at(usize::try_from(bci).ok()?) {
            At::Instruction(instruction) => Some(instruction),
            At::Inside | At::PastEnd => None,
        }
    }

    /// True if the names are these.
    pub(crate) fn is(&self, class: &str, name: &str) -> bool {
        &*self.class.name == class && &*self.name == name
    }

    /// True if its class is in a package, or in one below it.
    pub fn in_package(&self, package: &str) -> bool {
        self.class.name.strip_prefix(package).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl std::fmt::Display for Method {
    /// As javap writes it: `java/util/List.size:()I`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}:{}", self.class.name, self.name, self.descriptor)
    }
}
