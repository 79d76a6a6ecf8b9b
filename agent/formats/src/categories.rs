//! The categories that colour a stack.
//!
//! Their order is the order in the file. The first must stay grey and "Other": the front-end takes the first
//! grey category as its default, and the first subcategory as the category itself.

use serde::Serialize;
use vouch_recording::{Category, Fate, VmPart};

#[derive(Serialize)]
pub struct CategoryEntry {
    name: &'static str,
    color: &'static str,
    subcategories: &'static [&'static str],
}

/// A stack's category is its leaf's, and how far it can be trusted is that category's part.
const STANDINGS: [&str; 4] = ["Other", "proven", "plausible", "refuted"];

pub const CATEGORIES: [CategoryEntry; 8] = [
    CategoryEntry { name: "Other", color: "grey", subcategories: &["Other"] },
    CategoryEntry { name: "Application", color: "yellow", subcategories: &STANDINGS },
    CategoryEntry { name: "Library", color: "green", subcategories: &STANDINGS },
    CategoryEntry { name: "JDK", color: "blue", subcategories: &STANDINGS },
    CategoryEntry { name: "Native", color: "lightblue", subcategories: &STANDINGS },
    CategoryEntry { name: "VM", color: "orange", subcategories: &["Other", "GC", "JIT compiler"] },
    CategoryEntry { name: "No stack", color: "darkgrey", subcategories: &["Other"] },
    CategoryEntry { name: "Refuted", color: "red", subcategories: &["Other"] },
];

/// What a reader meets it as.
pub fn name(category: Category) -> &'static str {
    CATEGORIES[usize::from(index(category))].name
}

pub fn index(category: Category) -> u8 {
    match category {
        Category::Other => 0,
        Category::Application => 1,
        Category::Library => 2,
        Category::Jdk => 3,
        Category::Native => 4,
        Category::Vm(_) => 5,
        Category::NoStack => 6,
        Category::Refuted => 7,
    }
}

/// The fate is that of the sample whose leaf it is.
pub fn subcategory(category: Category, fate: Option<Fate>) -> u8 {
    match (category, fate) {
        (Category::Vm(VmPart::Gc), _) => 1,
        (Category::Vm(VmPart::Jit), _) => 2,
        (Category::Application | Category::Library | Category::Jdk | Category::Native, Some(fate)) => {
            match fate {
                Fate::Proven => 1,
                Fate::Plausible => 2,
                Fate::Refuted => 3,
                Fate::Unwalked | Fate::Outside | Fate::Dropped => 0,
            }
        }
        _ => 0,
    }
}
