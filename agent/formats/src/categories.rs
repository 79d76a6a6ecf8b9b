//! The categories that colour a stack.
//!
//! Their order is the order in the file. The first must stay grey and "Other": the front-end takes
//! the first grey category as its default, and the first subcategory as the category itself.

use serde::Serialize;
use vouch_recording::{Category, Certainty, Fate, Leaf, VmPart, all_no_stack_reasons, why_no_stack};

#[derive(Serialize)]
pub struct CategoryEntry {
    name: &'static str,
    color: &'static str,
    subcategories: Vec<&'static str>,
}

/// The part of stacks whose top methods are the best guess.
pub const TOP_METHOD_UNCERTAIN: &str = "plausible, top method uncertain";

/// A stack's category is its leaf's, and how far it can be trusted is that category's part.
const STANDINGS: [&str; 7] = [
    "Other",
    "proven",
    "plausible",
    "refuted",
    "proven, line uncertain",
    "plausible, line uncertain",
    TOP_METHOD_UNCERTAIN,
];

/// Each with its colour and its parts; those of "No stack" are the reasons.
const CATEGORIES: [(&str, &str, &[&str]); 9] = [
    ("Other", "grey", &["Other"]),
    ("Application", "yellow", &STANDINGS),
    ("Library", "green", &STANDINGS),
    ("JDK", "blue", &STANDINGS),
    ("Native", "lightblue", &STANDINGS),
    ("VM", "orange", &["Other", "GC", "JIT compiler"]),
    ("No stack", "darkgrey", &["Other"]),
    ("Refuted", "red", &["Other"]),
    ("Allocated class", "purple", &["Other"]),
];

/// All of them: the same in each profile, so that those of several processes can be put together.
pub fn categories() -> impl Iterator<Item = CategoryEntry> {
    CATEGORIES.iter().enumerate().map(|(at, (name, color, parts))| {
        let reasons =
            if at == usize::from(index(Category::NoStack)) { all_no_stack_reasons() } else { Vec::new() };
        CategoryEntry { name, color, subcategories: [parts.to_vec(), reasons].concat() }
    })
}

/// What a reader meets it as.
pub fn name(category: Category) -> &'static str {
    CATEGORIES[usize::from(index(category))].0
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
        Category::Class => 8,
    }
}

/// Tells the part of its category that a frame is of.
pub struct Parts(Vec<&'static str>);

impl Parts {
    pub fn new() -> Self {
        Self(all_no_stack_reasons())
    }

    /// The part of a frame, by what is known of samples with this leaf and by the function's name.
    pub fn index(&self, category: Category, leaf: Option<Leaf>, name: &str) -> usize {
        match (category, leaf) {
            (Category::Vm(VmPart::Gc), _) => 1,
            (Category::Vm(VmPart::Jit), _) => 2,
            (Category::Application | Category::Library | Category::Jdk | Category::Native, Some(leaf)) => {
                match (leaf.fate, leaf.top_frame) {
                    (Fate::Proven, Some(Certainty::MethodCertain)) => 4,
                    (Fate::Plausible, Some(Certainty::MethodCertain)) => 5,
                    (Fate::Plausible, Some(Certainty::Approximate)) => 6,
                    (Fate::Proven, _) => 1,
                    (Fate::Plausible, _) => 2,
                    (Fate::Refuted, _) => 3,
                    (Fate::Unwalked | Fate::Outside | Fate::Dropped, _) => 0,
                }
            }
            (Category::NoStack, _) => {
                let why = why_no_stack(name).and_then(|why| self.0.binary_search(&why).ok());
                why.map_or(0, |at| at + 1)
            }
            _ => 0,
        }
    }
}
