//! The categories that colour a stack, named as a person thinks of where the time went.
//!
//! Their order is the order in the file. The first must stay grey and "Other": the front-end takes the first
//! grey category as its default, and the first subcategory as the category itself.

use serde::Serialize;

use crate::fate::Fate;

/// Whose code a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    Other,
    Application,
    Library,
    Jdk,
    Native,
    Vm(VmPart),
    /// Something contradicts the stack.
    Refuted,
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

/// A stack's category is its leaf's, and how far it can be trusted is that category's part.
const STANDINGS: [&str; 4] = ["Other", "proven", "plausible", "refuted"];

pub(crate) const CATEGORIES: [CategoryEntry; 8] = [
    CategoryEntry { name: "Other", color: "grey", subcategories: &["Other"] },
    CategoryEntry { name: "Application", color: "yellow", subcategories: &STANDINGS },
    CategoryEntry { name: "Library", color: "green", subcategories: &STANDINGS },
    CategoryEntry { name: "JDK", color: "blue", subcategories: &STANDINGS },
    CategoryEntry { name: "Native", color: "lightblue", subcategories: &STANDINGS },
    CategoryEntry { name: "VM", color: "orange", subcategories: &["Other", "GC", "JIT compiler"] },
    CategoryEntry { name: "No stack", color: "darkgrey", subcategories: &["Other"] },
    CategoryEntry { name: "Refuted", color: "red", subcategories: &["Other"] },
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
            Self::Refuted => 7,
        }
    }

    /// The fate is that of the sample whose leaf it is.
    pub(crate) fn subcategory(self, fate: Option<Fate>) -> u8 {
        match (self, fate) {
            (Self::Vm(VmPart::Gc), _) => 1,
            (Self::Vm(VmPart::Jit), _) => 2,
            (Self::Application | Self::Library | Self::Jdk | Self::Native, Some(fate)) => match fate {
                Fate::Proven => 1,
                Fate::Plausible => 2,
                Fate::Refuted => 3,
                Fate::Unwalked | Fate::Outside | Fate::Dropped => 0,
            },
            _ => 0,
        }
    }
}
