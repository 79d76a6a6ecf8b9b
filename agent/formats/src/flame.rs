//! Writes a flame graph as an SVG file, for documents and tickets.
//!
//! The memory that this takes must not grow with the depth of stacks. So the time of frames that
//! are too narrow or too deep to be seen counts as their callers' time.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use inferno::flamegraph::{Options, from_lines};
use vouch_recording::Recording;
use vouch_recording::measures::CPU;
use vouch_report::plain;

use crate::meta::Meta;
use crate::tree::{Names, Tree};

/// A frame is drawn if its time, multiplied by this number, is more than all time. A narrower frame
/// would take less than a quarter of a pixel.
const MIN_SHARE_DIVISOR: u64 = 5_000;
/// A drawn stack has at most this many frames.
const MAX_DEPTH: usize = 400;
/// The lines that are drawn have at most this many bytes. If they had more, stacks are drawn less
/// deep.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// The line that is drawn for a recording without samples.
const NO_SAMPLES: &str = "[no samples were taken] 1";

/// Writes the flame graph of a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::new(recording.strings());
    let Tree { rows, mut weights } = Tree::new(recording, &names, meta.measure);
    visible(&mut weights, |node| rows[node].parent, |node| names.by_rank[rows[node].rank].len());
    let line = |leaf: usize| {
        let path = std::iter::successors(Some(leaf), |node| rows[*node].parent);
        let mut frames: Vec<&str> = path.map(|node| &*names.by_rank[rows[node].rank]).collect();
        frames.reverse();
        format!("{} {}", frames.join(";"), weights[leaf])
    };
    let lines: Vec<String> = (0..rows.len()).filter(|node| weights[*node] > 0).map(line).collect();
    let title = format!("{} of {}", meta.counted(meta.measure), plain(&meta.product));
    let mut options = options(title, meta.unit(meta.measure));
    // Fates are those of the CPU samples.
    options.subtitle = (*meta.measure == CPU).then(|| meta.report.fates());
    let mut out = BufWriter::with_capacity(64 << 10, out);
    draw(&mut options, &lines, &mut out)?;
    out.flush()
}

/// Moves the weight of nodes that are too small to be seen to their callers. `own` has the own
/// weight of each node. `caller` returns the index of a node's caller, which is smaller than the
/// node's. `length` returns the length of a node's name in bytes.
pub fn visible(own: &mut [u64], caller: impl Fn(usize) -> Option<usize>, length: impl Fn(usize) -> usize) {
    let (mut depths, mut lengths) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()));
    for node in 0..own.len() {
        let (depth, before) = caller(node).map_or((0, 0), |caller| (depths[caller] + 1, lengths[caller]));
        depths.push(depth);
        lengths.push(before + 1 + length(node));
    }
    let mut deep = MAX_DEPTH;
    loop {
        let mut all = own.to_vec();
        let least = all.iter().sum::<u64>() / MIN_SHARE_DIVISOR;
        for at in (0..own.len()).rev() {
            let Some(caller) = caller(at) else { continue };
            all[caller] += all[at];
            if all[at] <= least || depths[at] >= deep {
                own[caller] += std::mem::take(&mut own[at]);
            }
        }
        let drawn = own.iter().zip(&lengths).filter(|(own, _)| **own > 0);
        if drawn.map(|(_, length)| length).sum::<usize>() <= MAX_TEXT_BYTES || deep == 1 {
            return;
        }
        deep /= 2;
    }
}

/// Returns the options for drawing. An amount of 1 is shown as `factor` units.
pub fn options(title: String, (unit, factor): (&str, f64)) -> Options<'static> {
    let mut options = Options::default();
    options.title = title;
    unit.clone_into(&mut options.count_name);
    options.factor = factor;
    // Drawing the same recording again must give the same picture.
    options.deterministic = true;
    options
}

/// Draws a flame graph from lines such as `root;caller;leaf 42`, which may be in any order.
pub fn draw(options: &mut Options<'_>, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        // inferno refuses an empty input. So a line is drawn that has a time, and this factor shows
        // the time as 0.
        options.factor = 1e-9;
        return from_lines(options, std::iter::once(NO_SAMPLES), out);
    }
    let lines: Vec<Cow<'_, str>> = lines.iter().map(|line| of_one_number(line)).collect();
    from_lines(options, lines.iter().map(Cow::as_ref), out)
}

/// Replaces the last space of a name that ends in a number. inferno would read that number as a
/// second weight, for comparing two profiles.
fn of_one_number(line: &str) -> Cow<'_, str> {
    let numbered = |(stack, weight): (&str, &str)| {
        let (before, last) = stack.rsplit_once(' ')?;
        let is_number = last.starts_with(|c: char| c.is_ascii_digit()) && last.parse::<f64>().is_ok();
        is_number.then(|| format!("{before}\u{a0}{last} {weight}"))
    };
    line.rsplit_once(' ').and_then(numbered).map_or(Cow::Borrowed(line), Cow::Owned)
}
