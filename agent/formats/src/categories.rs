//! The categories of stacks in the Firefox Profiler's format, with their colours.
//!
//! A profile lists them in the order of this table. The first must stay grey and "Other": the
//! front-end uses the first grey category as its default, and the first subcategory as the category
//! itself.

use serde::Serialize;
use vouch_recording::{Category, Certainty, Leaf, Trust, VmPart, all_no_stack_reasons, why_no_stack};

#[derive(Serialize)]
pub struct CategoryEntry {
    name: &'static str,
    color: &'static str,
    subcategories: Vec<&'static str>,
}

/// The subcategory of plausible stacks for which the methods on top are only the best guess.
pub const TOP_METHOD_UNCERTAIN: &str = "plausible, top method uncertain";

/// The subcategory of leaves of refuted stacks.
const REFUTED_STACK: &str = "refuted";

/// The category of the frames of refuted stacks that are shown apart.
const REFUTED_FRAMES: &str = "Refuted";

/// True if the method of a leaf frame with this category and subcategory is only a guess. A
/// recording says the same by `Recording::is_guess`.
pub fn is_guess(category: &str, subcategory: Option<&str>) -> bool {
    category == REFUTED_FRAMES || matches!(subcategory, Some(REFUTED_STACK | TOP_METHOD_UNCERTAIN))
}

/// The subcategories for the leaf of a stack. They say how far the stack can be trusted.
const TRUST_LEVELS: [&str; 7] = [
    "Other",
    "proven",
    "plausible",
    REFUTED_STACK,
    "proven, line uncertain",
    "plausible, line uncertain",
    TOP_METHOD_UNCERTAIN,
];

/// The categories, each with its colour and its subcategories. [`categories`] adds the reasons for
/// missing stacks to the subcategories of "No stack".
const CATEGORIES: [(&str, &str, &[&str]); 12] = [
    ("Other", "grey", &["Other"]),
    ("Application", "yellow", &TRUST_LEVELS),
    ("Library", "green", &TRUST_LEVELS),
    ("JDK", "blue", &TRUST_LEVELS),
    ("Native", "lightblue", &TRUST_LEVELS),
    ("VM", "orange", &["Other", "GC", "JIT compiler"]),
    ("No stack", "darkgrey", &["Other"]),
    (REFUTED_FRAMES, "red", &["Other"]),
    ("Allocated class", "purple", &TRUST_LEVELS),
    ("JVM", "brown", &TRUST_LEVELS),
    ("Kernel", "magenta", &TRUST_LEVELS),
    ("Waiting", "transparent", &TRUST_LEVELS),
];

/// Returns all categories. They are the same in each profile, so that profiles of several processes
/// can be joined.
pub fn categories() -> impl Iterator<Item = CategoryEntry> {
    CATEGORIES.iter().enumerate().map(|(at, (name, color, parts))| {
        let reasons =
            if at == usize::from(index(Category::NoStack)) { all_no_stack_reasons() } else { Vec::new() };
        CategoryEntry { name, color, subcategories: [parts.to_vec(), reasons].concat() }
    })
}

/// Returns the name and the colour of each category, in the order of [`index`].
pub fn names_and_colors() -> impl Iterator<Item = (&'static str, &'static str)> {
    CATEGORIES.iter().map(|(name, color, _)| (*name, *color))
}

/// Returns the name of a category in the file.
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
        Category::Jvm => 9,
        Category::Kernel => 10,
        Category::Waiting => 11,
    }
}

/// Finds the subcategory of a frame. The vector contains the reasons of "No stack", sorted.
pub struct Parts(Vec<&'static str>);

impl Parts {
    pub fn new() -> Self {
        Self(all_no_stack_reasons())
    }

    /// Returns the index of a frame's subcategory. It depends on the function's name, and on the
    /// trust and certainty of the samples with this leaf.
    pub fn index(&self, category: Category, leaf: Option<Leaf>, name: &str) -> usize {
        match (category, leaf) {
            (Category::Vm(VmPart::Gc), _) => 1,
            (Category::Vm(VmPart::Jit), _) => 2,
            (
                Category::Application
                | Category::Library
                | Category::Jdk
                | Category::Native
                | Category::Jvm
                | Category::Kernel
                | Category::Class
                | Category::Waiting,
                Some(leaf),
            ) => match (leaf.trust, leaf.top_frame) {
                (Trust::Proven, Some(Certainty::MethodCertain)) => 4,
                (Trust::Plausible, Some(Certainty::MethodCertain)) => 5,
                (Trust::Plausible, Some(Certainty::Approximate)) => 6,
                (Trust::Proven, _) => 1,
                (Trust::Plausible, _) => 2,
                (Trust::Refuted, _) => 3,
                (Trust::Unwalked | Trust::Unchecked, _) => 0,
            },
            (Category::NoStack, _) => {
                let why = why_no_stack(name).and_then(|why| self.0.binary_search(&why).ok());
                why.map_or(0, |at| at + 1)
            }
            _ => 0,
        }
    }
}
