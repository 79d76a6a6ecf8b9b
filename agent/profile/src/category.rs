//! The categories that colour a stack, named as a person thinks of where the time went.
//!
//! Their order is the order in the file. The first must stay grey and "Other": the front-end takes the first
//! grey category as its default, and the first subcategory as the category itself.

use serde::Serialize;

/// Whose code a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Other,
    Application,
    Library,
    Jdk,
    Native,
    Vm(VmPart),
    /// There are no frames; what stands in the stack's place says why.
    NoStack,
}

/// What the VM itself was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VmPart {
    Other,
    Gc,
    Jit,
}

#[derive(Serialize)]
pub(crate) struct CategoryEntry {
    name: &'static str,
    color: &'static str,
    subcategories: &'static [&'static str],
}

pub(crate) const CATEGORIES: [CategoryEntry; 7] = [
    CategoryEntry { name: "Other", color: "grey", subcategories: &["Other"] },
    CategoryEntry { name: "Application", color: "yellow", subcategories: &["Other"] },
    CategoryEntry { name: "Library", color: "green", subcategories: &["Other"] },
    CategoryEntry { name: "JDK", color: "blue", subcategories: &["Other"] },
    CategoryEntry { name: "Native", color: "lightblue", subcategories: &["Other"] },
    CategoryEntry { name: "VM", color: "orange", subcategories: &["Other", "GC", "JIT compiler"] },
    CategoryEntry { name: "No stack", color: "darkgrey", subcategories: &["Other"] },
];

impl Category {
    pub(crate) fn index(self) -> u8 {
        match self {
            Self::Other => 0,
            Self::Application => 1,
            Self::Library => 2,
            Self::Jdk => 3,
            Self::Native => 4,
            Self::Vm(_) => 5,
            Self::NoStack => 6,
        }
    }

    pub(crate) fn subcategory(self) -> u8 {
        match self {
            Self::Vm(VmPart::Gc) => 1,
            Self::Vm(VmPart::Jit) => 2,
            _ => 0,
        }
    }
}
