//! Makes the tables that samples refer to: functions, frames, stacks, and contexts.

use std::collections::HashMap;

use indexmap::IndexSet;
use vouch_formats::TOP_METHOD_UNCERTAIN;
use vouch_formats::pprof::{Profile as File, Sample as Row, THREAD_ID, THREAD_LABELS};
use vouch_profile::join::ContextKind;
use vouch_recording::{Certainty, Fate, TRACE, VIRTUAL_THREAD};

use crate::profile::{Category, Contexts, Frames, Funcs, Shared, Stacks};

const FATE: &str = "fate";
const TOP_FRAME: &str = "top_frame";
const CATEGORY: &str = "category";
/// A stack has at most this many frames. The rows of a damaged file may repeat a long one.
const MAX_DEPTH: usize = 1 << 16;
/// The name of a function that the file does not name.
const UNKNOWN: &str = "[unknown]";
/// The kind of contexts with the labels of another program.
const FOREIGN: &str = "label";

/// A function with its line.
type Code = (usize, Option<u32>);
/// A frame: its code, and for a leaf its category, and whether the method is only a guess.
type Frame = (Code, Option<usize>, bool);
/// A context: the one around it, its kind, and its values.
type Context<'f> = (Option<usize>, usize, Vec<&'f str>);

pub struct Tables<'f> {
    file: &'f File,
    /// The functions of a location, by its id. Inlined functions come first.
    locations: HashMap<u64, Vec<Code>>,
    /// The names of the functions, and after them all other texts.
    texts: IndexSet<&'f str>,
    categories: IndexSet<&'f str>,
    frames: IndexSet<Frame>,
    /// The row of the caller, and the frame.
    stacks: IndexSet<(Option<usize>, usize)>,
    kinds: IndexSet<(&'f str, Vec<&'f str>)>,
    contexts: IndexSet<Context<'f>>,
}

impl<'f> Tables<'f> {
    pub fn new(file: &'f File) -> Self {
        let mut texts = IndexSet::from([UNKNOWN]);
        let functions = file.function.iter().map(|it| {
            let name = Some(file.text(it.name)).filter(|name| !name.is_empty()).unwrap_or(UNKNOWN);
            (it.id, texts.insert_full(name).0)
        });
        let functions: HashMap<u64, usize> = functions.collect();
        let locations = file.location.iter().map(|location| {
            let code = location.line.iter().map(|it| {
                let line = u32::try_from(it.line).ok().filter(|line| *line > 0);
                (functions.get(&it.function_id).copied().unwrap_or(0), line)
            });
            (location.id, code.collect())
        });
        let locations = locations.collect();
        let (categories, frames, stacks) = (IndexSet::new(), IndexSet::new(), IndexSet::new());
        let (kinds, contexts) = (IndexSet::new(), IndexSet::new());
        Self { file, locations, texts, categories, frames, stacks, kinds, contexts }
    }

    /// Returns the stack of a row. Frames that the file does not describe are unknown ones.
    pub fn stack(&mut self, row: &Row) -> usize {
        let unknown: &[Code] = &[(0, None)];
        let known = |id| self.locations.get(id).map(Vec::as_slice).filter(|code| !code.is_empty());
        let code = row.location_id.iter().flat_map(|id| known(id).unwrap_or(unknown)).copied();
        let mut code: Vec<Code> = code.take(MAX_DEPTH).collect();
        if code.is_empty() {
            code.extend(unknown);
        }
        let label = |key| self.file.label(row, key);
        let fate = label(FATE);
        let is_guess = fate == Some(Fate::Refuted.name())
            || fate == Some(Fate::Plausible.name())
                && label(TOP_FRAME) == Some(Certainty::Approximate.name());
        let category = label(CATEGORY).map(|name| self.categories.insert_full(name).0);
        let mut stack = None;
        for (depth, code) in code.into_iter().enumerate().rev() {
            let frame = if depth == 0 { (code, category, is_guess) } else { (code, None, false) };
            let frame = self.frames.insert_full(frame).0;
            stack = Some(self.stacks.insert_full((stack, frame)).0);
        }
        stack.unwrap_or(0)
    }

    /// Returns the innermost context of a row. Its labels come before those of the contexts around
    /// it.
    pub fn context(&mut self, row: &Row) -> Option<usize> {
        let mut contexts: Vec<(&'f str, Vec<&'f str>, Vec<&'f str>)> = Vec::new();
        for label in &row.label {
            let key = self.file.text(label.key);
            let is_own =
                [THREAD_ID, FATE, TOP_FRAME, CATEGORY].contains(&key) || THREAD_LABELS.contains(&key);
            if is_own || label.num != 0 {
                continue;
            }
            let (kind, field) = match key {
                "trace_id" | "span_id" => ("Trace", key),
                _ => key.rsplit_once('.').unwrap_or((FOREIGN, key)),
            };
            // A number 0 is encoded like a missing one: another program's label without a text.
            if kind == FOREIGN && label.str == 0 {
                continue;
            }
            let value = self.file.text(label.str);
            match contexts.last_mut().filter(|(last, ..)| *last == kind) {
                Some((_, fields, values)) => {
                    fields.push(field);
                    values.push(value);
                }
                None => contexts.push((kind, vec![field], vec![value])),
            }
        }
        let mut outer = None;
        for (kind, fields, values) in contexts.into_iter().rev() {
            let kind = self.kinds.insert_full((kind, fields)).0;
            outer = Some(self.contexts.insert_full((outer, kind, values)).0);
        }
        outer
    }

    pub fn into_document(self) -> (Shared, Contexts, Vec<Category>) {
        let Self { mut texts, categories, frames, stacks, kinds, contexts, .. } = self;
        let functions = (0..texts.len()).collect();
        let mut string = |text| texts.insert_full(text).0;
        let kinds = kinds.into_iter().map(|(label, fields)| {
            let class = match label {
                "Trace" => TRACE,
                "VirtualThread" => VIRTUAL_THREAD,
                label => label,
            };
            let fields: Vec<usize> = fields.into_iter().map(&mut string).collect();
            ContextKind { class: string(class), label: string(label), field_labels: fields.clone(), fields }
        });
        let kinds = kinds.collect();
        let mut rows = Contexts { kinds, ..Contexts::default() };
        for (outer, kind, values) in contexts {
            rows.outer.push(outer);
            rows.kind.push(kind);
            rows.values.push(values.into_iter().map(&mut string).collect());
        }
        let offset = |(row, (caller, _)): (usize, &(Option<usize>, usize))| caller.map_or(0, |it| row - it);
        let shared = Shared {
            string_array: texts.into_iter().map(str::to_owned).collect(),
            func_table: Funcs { name: functions },
            frame_table: Frames {
                func: frames.iter().map(|((function, _), ..)| *function).collect(),
                line: frames.iter().map(|((_, line), ..)| *line).collect(),
                category: frames.iter().map(|(_, category, _)| *category).collect(),
                subcategory: frames.iter().map(|(.., is_guess)| Some(usize::from(*is_guess))).collect(),
            },
            stack_table: Stacks {
                frame: stacks.iter().map(|(_, frame)| *frame).collect(),
                prefix_offset: stacks.iter().enumerate().map(offset).collect(),
            },
        };
        let parts = ["Other", TOP_METHOD_UNCERTAIN];
        let category =
            |name: &str| Category { name: name.to_owned(), subcategories: parts.map(str::to_owned).to_vec() };
        (shared, rows, categories.into_iter().map(category).collect())
    }
}
