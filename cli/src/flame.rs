//! Implements `vouch flame`, and the picture of `vouch diff`. They write a flame graph as SVG, or
//! the folded stacks from which other tools draw one. Values of the program's contexts can be added
//! below the stacks.
//!
//! A picture must never be drawn by other rules than the agent's own (`out=FILE.svg`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indexmap::IndexSet;
use inferno::differential;
use inferno::flamegraph::from_lines;
use vouch_formats::{MAX_INNER_FRAMES, MAX_OUTER_FRAMES, flame};
use vouch_recording::FRAMES_LEFT_OUT;
use vouch_report::plain;

use crate::error::Error;
use crate::outputs::{has_file, name_with_note};
use crate::profile::{Profile, Sample};
use crate::rewrite::default_output_as;
use crate::sample_filter::{By, GroupKey, SampleFilter, VM};

#[derive(Args)]
pub struct FlameOptions {
    /// Write the picture (.svg), or folded stacks (.folded), to this file, and replace it if it
    /// exists [default: the profile's name with .flame.svg, or a free name like it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Put `thread`, or this field of the innermost context (user, Request.user), below all stacks;
    /// may be repeated, from the bottom up
    #[arg(long, value_name = "FIELD")]
    by: Vec<String>,
    #[command(flatten)]
    wanted: SampleFilter,
    /// Draw from the leaves down to the roots
    #[arg(long)]
    inverted: bool,
}

/// Writes the picture of a profile.
pub fn flame(profile: &Path, how: FlameOptions) -> Result<String, Error> {
    let name = profile.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let out = how.out.unwrap_or_else(|| default_output_as(profile, "flame", ".svg"));
    let has_ending = |name: &str| out.extension().is_some_and(|ending| ending == name);
    if has_ending("html") {
        return Err(Error::PageOfProfile(out));
    }
    let text = has_ending("folded");
    if text { Ok(vouch_log::output::check_writable(&out)?) } else { check(&out, ".svg or .folded") }?;
    let read = how.wanted.read(profile)?;
    let about = |mistake: Error| mistake.about(profile);
    let by: Result<Vec<By>, Error> = how.by.iter().map(|by| By::parse(&read, by)).collect();
    let by = by.map_err(about)?;
    let samples = how.wanted.samples(&read).map_err(about)?;
    let stacks = Stacks::from_samples(&read, &by, &samples, 1);
    let biases = by.iter().filter_map(|by| by.bias(&read, &samples));
    if text {
        return write(&out, |file| stacks.lines(how.inverted).try_for_each(|line| writeln!(file, "{line}")));
    }
    let (part, report) = (how.wanted.is_part(), read.report_of_samples());
    let counted = read.counted(report.as_ref());
    let mut options = flame::options(
        if part { format!("{name}: {}", how.wanted.words()) } else { name },
        counted.unit.in_pictures(),
    );
    let whole = if part { "of the whole: " } else { "" };
    let fates = report.map(|report| format!("{whole}{}", report.fates()));
    let subtitle: Vec<String> = fates.into_iter().chain(biases).collect();
    options.subtitle = (!subtitle.is_empty()).then(|| subtitle.join("; "));
    picture(&out, |file| flame::draw(&mut options, &stacks.drawn(how.inverted), file))
}

/// Writes the difference of two runs as a flame graph. Frames that gained are red, those that lost
/// are blue. Widths are those of the second run, in `unit`.
pub fn differential(
    out: &Path,
    [before, after]: [&[String]; 2],
    title: String,
    unit: &str,
) -> Result<String, Error> {
    let mut lines = Vec::new();
    let how = differential::Options { normalize: true, ..differential::Options::default() };
    let [before, after] = [before, after].map(|lines| lines.join("\n"));
    differential::from_readers(how, before.as_bytes(), after.as_bytes(), &mut lines)
        .map_err(Error::Drawing)?;
    let lines = String::from_utf8_lossy(&lines).into_owned();
    // A factor would be taken for a part of each difference, so it is 1.
    let mut options = flame::options(title, (unit, 1.0));
    // Each line has two numbers, one for each run.
    picture(out, |file| from_lines(&mut options, lines.lines(), file))
}

/// Checks before any work whether a picture with that name can be written. `endings` lists the
/// endings of other formats.
pub fn check(out: &Path, endings: &'static str) -> Result<(), Error> {
    if out.extension().is_none_or(|ending| ending != "svg") {
        return Err(Error::PictureEnding { path: out.to_owned(), endings });
    }
    Ok(vouch_log::output::check_writable(out)?)
}

fn picture(out: &Path, draw: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<String, Error> {
    let wrote = write(out, draw)?;
    Ok(format!("{}; a browser opens it\n", wrote.trim_end()))
}

fn write(out: &Path, make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<String, Error> {
    let replaces = has_file(out);
    vouch_log::output::write_whole(out, false, make)
        .map_err(|why| Error::Unwritable { path: out.to_owned(), why })?;
    Ok(format!("wrote {}\n", name_with_note(out, replaces)))
}

/// Returns a line `root;caller;leaf 42` for each stack of methods. The number is the weight times
/// `unit`. `called` changes the names of methods.
pub fn folded(profile: &Profile, samples: &[Sample], unit: u64, called: fn(&str) -> String) -> Vec<String> {
    Stacks { called: Some(called), ..Stacks::from_samples(profile, &[], samples, unit) }.drawn(false)
}

/// The content of a frame in the picture.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    /// A value of the samples' contexts, by its index.
    Says(usize),
    Function(usize),
}

/// A tree of stacks with callers before their callees. Each stack is below the values of its
/// samples' contexts.
struct Stacks<'p> {
    profile: &'p Profile,
    by: &'p [By],
    says: IndexSet<String>,
    /// The child of a node that shows a row.
    child: HashMap<(Option<usize>, Row), usize>,
    /// The node for a stack below a node for a context's value.
    known: HashMap<(Option<usize>, usize), usize>,
    nodes: Vec<Node>,
    /// A function that changes the names of methods, if they are to be changed.
    called: Option<fn(&str) -> String>,
}

struct Node {
    parent: Option<usize>,
    row: Row,
    own: u64,
}

impl<'p> Stacks<'p> {
    /// Makes the tree for these samples. A weight of 1 counts as `unit`.
    fn from_samples(profile: &'p Profile, by: &'p [By], samples: &[Sample], unit: u64) -> Self {
        let (child, known) = (HashMap::new(), HashMap::new());
        let mut stacks =
            Self { profile, by, says: IndexSet::new(), child, known, nodes: Vec::new(), called: None };
        for sample in samples {
            stacks.add(sample, unit);
        }
        stacks
    }

    fn add(&mut self, sample: &Sample, unit: u64) {
        let mut top = None;
        for by in self.by {
            let says = by.says(self.profile, sample);
            let text = match says {
                GroupKey::Value(value) => format!("{}={value}", by.name()),
                GroupKey::Nothing => format!("[no {}]", by.name()),
                GroupKey::Vm => VM.to_owned(),
            };
            let row = Row::Says(self.says.insert_full(text).0);
            top = Some(self.child(top, row));
            if says == GroupKey::Vm {
                break;
            }
        }
        let node = self.node(top, sample.stack);
        self.nodes[node].own += sample.weight * unit;
    }

    fn node(&mut self, top: Option<usize>, stack: usize) -> usize {
        let mut missing = Vec::new();
        let mut callers = std::iter::successors(Some(stack), |stack| self.profile.caller(*stack));
        let known = callers.find_map(|stack| {
            let known = self.known.get(&(top, stack)).copied();
            if known.is_none() {
                missing.push(stack);
            }
            known
        });
        let mut node = known.or(top);
        for stack in missing.into_iter().rev() {
            let row = Row::Function(self.profile.function(stack));
            let next = self.child(node, row);
            self.known.insert((top, stack), next);
            node = Some(next);
        }
        node.expect("a stack has a frame")
    }

    fn child(&mut self, parent: Option<usize>, row: Row) -> usize {
        *self.child.entry((parent, row)).or_insert_with(|| {
            self.nodes.push(Node { parent, row, own: 0 });
            self.nodes.len() - 1
        })
    }

    /// Returns the lines from which the picture is drawn.
    fn drawn(mut self, inverted: bool) -> Vec<String> {
        let mut own: Vec<u64> = self.nodes.iter().map(|node| node.own).collect();
        let (caller, row) = (|node: usize| self.nodes[node].parent, |node: usize| self.nodes[node].row);
        flame::visible(&mut own, caller, |node| self.name(row(node)).len());
        for (node, own) in self.nodes.iter_mut().zip(own) {
            node.own = own;
        }
        self.lines(inverted).collect()
    }

    fn lines(&self, inverted: bool) -> impl Iterator<Item = String> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.own > 0).map(move |(leaf, Node { own, .. })| {
            let path = std::iter::successors(Some(leaf), |node| self.nodes[*node].parent);
            let mut rows: Vec<Row> = path.map(|node| self.nodes[node].row).collect();
            rows.reverse();
            let says = rows.iter().take_while(|row| matches!(row, Row::Says(_))).count();
            let mut names: Vec<String> = Vec::new();
            let (outer, inner) = (says + MAX_OUTER_FRAMES, rows.len().saturating_sub(MAX_INNER_FRAMES));
            for (at, row) in rows.iter().enumerate() {
                match () {
                    () if at < outer || at >= inner => names.push(self.name(*row)),
                    () if at == outer => names.push(FRAMES_LEFT_OUT.to_owned()),
                    () => {}
                }
            }
            if inverted {
                names[says..].reverse();
            }
            format!("{} {own}", names.join(";"))
        })
    }

    /// Returns the name of a row, without the characters that separate frames in a line.
    fn name(&self, row: Row) -> String {
        let name = match row {
            Row::Says(says) => Cow::from(&self.says[says]),
            Row::Function(function) => {
                let name = self.profile.function_name(function);
                self.called.map_or_else(|| name.into(), |called| called(name).into())
            }
        };
        plain(&name).replace(';', ":")
    }
}
