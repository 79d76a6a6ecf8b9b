//! Adds JFR's stacks to the profile's tables.
//!
//! They must not look like checked stacks. So the outermost frame of each says that it is JFR's.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value as Json, json};
use vouch_jfr::{Chunk, Value};

use crate::error::Error;
use crate::merge::names::{self, Words};
use crate::merge::profile::Profile;
use vouch_report::is_of_jdk;

const UNCHECKED: &str = "[JFR's stack, not checked]";
/// The greatest depth of JFR's stacks.
const DEEPEST: usize = 2_048;
const CUT: &str = "[JFR's stack, not checked: its outer frames are cut off]";

/// The functions, frames and stacks of all events.
#[derive(Debug, Default)]
pub struct Stacks {
    /// The name of each function, and true if it is a Java method.
    functions: Rows<(Rc<str>, bool)>,
    /// The function and the line of each frame.
    frames: Rows<(usize, Option<i64>)>,
    /// The frame of each stack, and the row of its caller's stack.
    calls: Rows<(usize, Option<usize>)>,
}

#[derive(Debug)]
struct Rows<K> {
    rows: HashMap<K, usize>,
    order: Vec<K>,
}

impl<K> Default for Rows<K> {
    fn default() -> Self {
        Self { rows: HashMap::new(), order: Vec::new() }
    }
}

impl<K: Clone + Eq + std::hash::Hash> Rows<K> {
    fn add(&mut self, key: K) -> usize {
        *self.rows.entry(key).or_insert_with_key(|key| {
            self.order.push(key.clone());
            self.order.len() - 1
        })
    }
}

impl Stacks {
    /// Adds an event's stack, and returns the stack's row.
    pub fn add(&mut self, chunk: &Chunk, stack: &Value) -> Option<usize> {
        let Value::Object(type_id, values) = chunk.resolve(stack) else { return None };
        let of = chunk.type_of(type_id)?;
        let frames = values.get(of.field("frames")?)?;
        let Value::List(frames) = chunk.resolve(frames) else { return None };
        let cut = of.field("truncated").is_some_and(|row| values.get(row) == Some(&Value::Boolean(true)));
        let function = self.functions.add((if cut { CUT } else { UNCHECKED }.into(), false));
        let frame = self.frames.add((function, None));
        let mut stack = self.calls.add((frame, None));
        // JFR's first frame is the innermost one.
        for frame in frames.iter().take(DEEPEST).rev() {
            let Value::Object(type_id, values) = chunk.resolve(frame) else { continue };
            let of = chunk.type_of(type_id)?;
            let name = names::field(&mut Words::new(chunk), of, &values, "method");
            let line = of.integer_field(&values, "lineNumber").filter(|line| *line > 0);
            let function = self.functions.add((name.as_deref().unwrap_or("[unknown]").into(), true));
            let frame = self.frames.add((function, line));
            stack = self.calls.add((frame, Some(stack)));
        }
        Some(stack)
    }

    /// Returns tables with only the wanted stacks, and the new row of each of these stacks.
    fn only(&self, wanted: impl Iterator<Item = usize>) -> (Self, HashMap<usize, usize>) {
        let mut needed = vec![false; self.calls.order.len()];
        for stack in wanted {
            let mut next = Some(stack);
            while let Some(row) = next.filter(|row| !std::mem::replace(&mut needed[*row], true)) {
                next = self.calls.order[row].1;
            }
        }
        let (mut only, mut rows) = (Self::default(), HashMap::new());
        // A caller's row is always before its callee's row.
        for (row, (frame, outer)) in self.calls.order.iter().enumerate().filter(|(row, _)| needed[*row]) {
            let (function, line) = self.frames.order[*frame];
            let function = only.functions.add(self.functions.order[function].clone());
            let frame = only.frames.add((function, line));
            rows.insert(row, only.calls.add((frame, outer.map(|outer| rows[&outer]))));
        }
        (only, rows)
    }

    /// Adds the wanted stacks to the profile, and returns the row that each has there.
    pub fn write(
        &self,
        wanted: impl Iterator<Item = usize>,
        profile: &mut Profile,
        categories: &Categories,
    ) -> Result<HashMap<usize, usize>, Error> {
        let (only, mut numbers) = self.only(wanted);
        let stacks = profile.rows("stackTable")?;
        for number in numbers.values_mut() {
            *number += stacks;
        }
        only.write_all(profile, categories)?;
        Ok(numbers)
    }

    fn write_all(self, profile: &mut Profile, categories: &Categories) -> Result<(), Error> {
        let [functions, frames] = [profile.rows("funcTable")?, profile.rows("frameTable")?];
        let rows = self.functions.order;
        let names: Vec<_> = rows.iter().map(|(name, _)| profile.string(name)).collect();
        let column = |cell: Json, length| vec![cell; length];
        profile.add_rows(
            "funcTable",
            &[
                ("name", names.into_iter().map(Json::from).collect()),
                ("isJS", column(false.into(), rows.len())),
                ("relevantForJS", rows.iter().map(|(_, java)| (*java).into()).collect()),
                ("resource", column((-1).into(), rows.len())),
            ],
        )?;
        let frame_rows = self.frames.order;
        let length = frame_rows.len();
        let category = |function: usize| {
            let (name, java) = &rows[function];
            if *java { categories.of_method(name) } else { categories.other }
        };
        let category: Vec<Json> = frame_rows.iter().map(|(function, _)| category(*function).into()).collect();
        profile.add_rows(
            "frameTable",
            &[
                ("func", frame_rows.iter().map(|(function, _)| (functions + function).into()).collect()),
                ("address", column((-1).into(), length)),
                ("inlineDepth", column(0.into(), length)),
                ("category", category),
                ("subcategory", column(0.into(), length)),
                ("line", frame_rows.iter().map(|(_, line)| json!(line)).collect()),
            ],
        )?;
        let offset =
            |(row, (_, outer)): (usize, &(usize, Option<usize>))| outer.map_or(0, |outer| row - outer).into();
        profile.add_rows(
            "stackTable",
            &[
                ("frame", self.calls.order.iter().map(|(frame, _)| (frames + frame).into()).collect()),
                ("prefixOffset", self.calls.order.iter().enumerate().map(offset).collect()),
            ],
        )
    }
}

/// The profile's categories for events and their frames.
#[derive(Debug)]
pub struct Categories {
    other: usize,
    application: usize,
    jdk: usize,
    vm: usize,
}

impl Categories {
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        #[derive(serde::Deserialize)]
        struct Category {
            name: String,
        }
        let all: Vec<Category> = profile.meta.get("categories")?;
        let row = |name: &str| all.iter().position(|category| category.name == name).unwrap_or(0);
        Ok(Self { other: row("Other"), application: row("Application"), jdk: row("JDK"), vm: row("VM") })
    }

    fn of_method(&self, name: &str) -> usize {
        if is_of_jdk(name) { self.jdk } else { self.application }
    }

    /// Returns the category for a kind of events, by its name and its category in the recording.
    pub fn of_event(&self, name: &str, category: &[String]) -> usize {
        match category.first().map(String::as_str) {
            Some("Java Virtual Machine") => self.vm,
            _ if name.starts_with("jdk.") => self.jdk,
            _ => self.application,
        }
    }
}
