//! The tables of the page: names, functions and stacks, without what the page does not show.
//!
//! The page shows neither lines nor files. So stacks that differ only by these share a row, which
//! keeps the page small. A row that no sample uses is left out.

use std::iter::successors;

use indexmap::IndexSet;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use vouch_recording::{Category, Fate, Id, Recording, StackId, StringId, VmPart};

use crate::categories;
use crate::json::Column;

/// The kinds of functions that the page has besides the categories, each with its colour.
const VM_PARTS: [(&str, &str); 2] = [("GC", "gc"), ("JIT compiler", "jit")];
/// The parent of a root.
const NO_PARENT: usize = usize::MAX;

#[derive(PartialEq, Eq, Hash)]
struct PageStack {
    parent: usize,
    function: usize,
    /// The state of samples with this leaf: twice the fate, plus 1 if the top method is a guess.
    state: u8,
}

/// The tables that the page's samples refer to.
pub struct Tables<'a> {
    recording: &'a Recording,
    names: IndexSet<StringId>,
    /// The names and kinds of functions.
    functions: IndexSet<(usize, usize)>,
    stacks: IndexSet<PageStack>,
    /// The page's row for each stack of the recording that is used.
    rows: Vec<usize>,
}

impl<'a> Tables<'a> {
    /// Makes the tables for samples with these leaves.
    pub fn new(recording: &'a Recording, leaves: impl Iterator<Item = StackId>) -> Self {
        let all = recording.stacks().rows();
        let mut used = vec![false; all.len()];
        for leaf in leaves {
            for stack in successors(Some(leaf), |stack| all[stack.row()].parent) {
                if std::mem::replace(&mut used[stack.row()], true) {
                    break;
                }
            }
        }
        let mut tables = Self {
            recording,
            names: IndexSet::new(),
            functions: IndexSet::new(),
            stacks: IndexSet::new(),
            rows: vec![NO_PARENT; all.len()],
        };
        for (row, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            tables.add(row);
        }
        tables
    }

    fn add(&mut self, row: usize) {
        let stack = &self.recording.stacks().rows()[row];
        let frame = self.recording.frames().get(stack.frame);
        let func = self.recording.funcs().get(frame.func);
        let name = self.names.insert_full(func.name).0;
        let function = self.functions.insert_full((name, kind(func.category))).0;
        let parent = stack.parent.map_or(NO_PARENT, |parent| self.rows[parent.row()]);
        let guess = u8::from(self.recording.is_guess(frame));
        let state = fate_index(self.recording.fate_of(frame)) * 2 + guess;
        self.rows[row] = self.stacks.insert_full(PageStack { parent, function, state }).0;
    }

    /// Returns the page's row for a stack with samples.
    pub fn row(&self, stack: StackId) -> usize {
        self.rows[stack.row()]
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| self.recording.strings().get(*name))
    }

    pub fn functions(&self) -> impl Serialize + '_ {
        Functions(&self.functions)
    }

    pub fn stacks(&self) -> impl Serialize + '_ {
        Stacks(&self.stacks)
    }
}

/// Returns the names and colours of all kinds of functions.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    categories::names_and_colors().chain(VM_PARTS)
}

/// Returns the index of a category in [`kinds`].
fn kind(category: Category) -> usize {
    let categories = categories::names_and_colors().count();
    match category {
        Category::Vm(VmPart::Gc) => categories,
        Category::Vm(VmPart::Jit) => categories + 1,
        _ => usize::from(categories::index(category)),
    }
}

/// Returns the index of a fate in the page's list of fates.
fn fate_index(fate: Fate) -> u8 {
    match fate {
        Fate::Proven => 0,
        Fate::Plausible => 1,
        Fate::Refuted => 2,
        Fate::Unwalked => 3,
        Fate::Outside => 4,
        Fate::Dropped => 5,
    }
}

struct Functions<'a>(&'a IndexSet<(usize, usize)>);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("functions", 2)?;
        table.serialize_field("name", &Column(|| self.0.iter().map(|(name, _)| name)))?;
        table.serialize_field("kind", &Column(|| self.0.iter().map(|(_, kind)| kind)))?;
        table.end()
    }
}

struct Stacks<'a>(&'a IndexSet<PageStack>);

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The distance to the parent's row is mostly one digit. A root has the distance 0.
        let above = |(row, stack): (usize, &PageStack)| row - stack.parent.min(row);
        let letter = |stack: &PageStack| char::from(b'a' + stack.state);
        let mut table = serializer.serialize_struct("stacks", 3)?;
        table.serialize_field("above", &Column(|| self.0.iter().enumerate().map(above)))?;
        table.serialize_field("function", &Column(|| self.0.iter().map(|stack| stack.function)))?;
        // One letter a row is shorter than a column of numbers.
        table.serialize_field("state", &self.0.iter().map(letter).collect::<String>())?;
        table.end()
    }
}
