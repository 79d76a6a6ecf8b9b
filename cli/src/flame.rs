//! `vouch flame`, and the picture of `vouch diff`: a flame graph as SVG, which a document or a ticket can hold.
//!
//! It must never take memory by the depth of stacks: what is too narrow to be seen is its caller's, what is too deep its caller's, too.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use inferno::differential;
use inferno::flamegraph::{Options, from_lines};
use regex_lite::Regex;
use vouch_report::plain;

use crate::profile::Profile;

/// What has a smaller part of the time than one of so many is narrower than a quarter of a pixel.
const NARROW: u64 = 5_000;
/// More frames than that are no picture.
const DEEP: usize = 400;

#[derive(Args)]
pub struct How {
    /// The picture to be written [default: the profile's name with .svg]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only threads of which a part of the name matches
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,
    /// From the leaves
    #[arg(long)]
    inverted: bool,
}

/// Writes the picture.
pub fn flame(profile: &Path, how: How) -> Result<String, String> {
    let name = profile.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = name.split(".json").next().unwrap_or_default();
    let out = how.out.unwrap_or_else(|| profile.with_file_name(format!("{first}.svg")));
    check(&out)?;
    let read = Profile::read(profile)?;
    let lines = folded(&read, how.thread.as_ref(), 1);
    if lines.is_empty() {
        return Err(format!("{}: there is no such sample in it, so nothing to draw", profile.display()));
    }
    let mut options = options(name, read.meta.interval);
    options.subtitle = read.report().map(|report| report.fates());
    options.reverse_stack_order = how.inverted;
    draw(&out, &mut options, &lines)
}

/// Writes what gained in red and what lost in blue, as wide as it is after.
pub fn differential(
    out: &Path,
    before: &[String],
    after: &[String],
    title: String,
) -> Result<String, String> {
    let mut lines = Vec::new();
    let how = differential::Options { normalize: true, ..differential::Options::default() };
    let [before, after] = [before, after].map(|lines| lines.join("\n"));
    differential::from_readers(how, before.as_bytes(), after.as_bytes(), &mut lines)
        .map_err(|error| format!("the two cannot be drawn as one: {error}"))?;
    let lines: Vec<String> = String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect();
    // A factor would be taken for a part of each difference.
    let mut options = options(title, 1.0);
    "µs".clone_into(&mut options.count_name);
    draw(out, &mut options, &lines)
}

/// Finds out now whether a picture of that name can be written.
pub fn check(out: &Path) -> Result<(), String> {
    if out.extension().is_none_or(|ending| ending != "svg") {
        return Err(format!("{}: what is written is a picture: name it .svg", out.display()));
    }
    vouch_output::check(out)
}

fn options(title: String, interval_ms: f64) -> Options<'static> {
    let mut options = Options::default();
    options.title = title;
    "ms".clone_into(&mut options.count_name);
    options.factor = interval_ms;
    // The same run has the same picture.
    options.deterministic = true;
    options
}

fn draw(out: &Path, options: &mut Options<'_>, lines: &[String]) -> Result<String, String> {
    let written = vouch_output::write_whole(out, false, |mut file: &mut dyn Write| {
        from_lines(options, lines.iter().map(String::as_str), &mut file)
    });
    let name = plain(&out.to_string_lossy());
    written.map_err(|error| format!("{name} cannot be written: {error}"))?;
    Ok(format!("wrote {name}; a browser opens it\n"))
}

/// A line for each stack of methods, `root;caller;leaf 42`: last how often it stands for `unit`.
pub fn folded(profile: &Profile, thread: Option<&Regex>, unit: u64) -> Vec<String> {
    let mut own = vec![0; profile.stacks()];
    for sample in profile.samples_of(thread) {
        own[sample.stack] += u64::from(sample.weight) * unit;
    }
    let tree = Tree::of(profile, &own);
    tree.lines(profile)
}

/// Stacks of methods, callers before their callees.
#[derive(Default)]
struct Tree {
    parent: Vec<Option<usize>>,
    function: Vec<usize>,
    depth: Vec<usize>,
    own: Vec<u64>,
}

impl Tree {
    fn of(profile: &Profile, own: &[u64]) -> Self {
        let mut tree = Self::default();
        let mut known = HashMap::new();
        let mut node_of: Vec<usize> = Vec::with_capacity(own.len());
        for (stack, own) in own.iter().enumerate() {
            let parent = profile.caller(stack).map(|caller| node_of[caller]);
            let depth = parent.map_or(0, |parent| tree.depth[parent] + 1);
            let node = match parent {
                Some(parent) if depth >= DEEP => parent,
                _ => *known.entry((parent, profile.function(stack))).or_insert_with_key(
                    |(parent, function)| {
                        tree.parent.push(*parent);
                        tree.function.push(*function);
                        tree.depth.push(depth);
                        tree.own.push(0);
                        tree.own.len() - 1
                    },
                ),
            };
            tree.own[node] += own;
            node_of.push(node);
        }
        tree
    }

    fn lines(mut self, profile: &Profile) -> Vec<String> {
        let least = self.own.iter().sum::<u64>() / NARROW;
        let mut all = self.own.clone();
        let mut lines = Vec::new();
        for node in (0..all.len()).rev() {
            let parent = self.parent[node];
            if let Some(parent) = parent {
                all[parent] += all[node];
                if all[node] <= least {
                    self.own[parent] += std::mem::take(&mut self.own[node]);
                }
            }
            if self.own[node] > 0 {
                let path = std::iter::successors(Some(node), |node| self.parent[*node]);
                let mut names: Vec<String> = path.map(|node| name(profile, self.function[node])).collect();
                names.reverse();
                lines.push(format!("{} {}", names.join(";"), self.own[node]));
            }
        }
        lines.sort_unstable();
        lines
    }
}

/// As it can stand between others in a line.
fn name(profile: &Profile, function: usize) -> String {
    plain(profile.function_name(function)).replace(';', ":")
}
