//! A flame graph as SVG: a picture that a document or a ticket can hold, and any browser opens.
//!
//! It must never take memory by the depth of stacks: what is too narrow to be seen is its caller's,
//! and what is too deep, too.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use inferno::flamegraph::{Options, from_lines};
use vouch_recording::Recording;
use vouch_recording::measures::CPU;
use vouch_report::plain;

use crate::meta::Meta;
use crate::tree::{Names, Tree};

/// What has a smaller part of the time than one of so many is narrower than a quarter of a pixel.
const NARROW: u64 = 5_000;
/// More frames than that are no picture.
const DEEP: usize = 400;
/// And more text than so many bytes is no picture that should be held: then there are fewer frames.
const LONG: usize = 16 << 20;
/// What there is to see of nothing.
const NOTHING: &str = "[no samples were taken] 1";

/// Writes the picture of a whole recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::of(recording.strings());
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

/// Gives to the caller what cannot be seen of it, as far up as that is so. A node's caller stands
/// before it; `long` says how long its name is.
pub fn visible(own: &mut [u64], caller: impl Fn(usize) -> Option<usize>, long: impl Fn(usize) -> usize) {
    let (mut depths, mut lengths) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()));
    for node in 0..own.len() {
        let (depth, length) = caller(node).map_or((0, 0), |caller| (depths[caller] + 1, lengths[caller]));
        depths.push(depth);
        lengths.push(length + 1 + long(node));
    }
    let mut deep = DEEP;
    loop {
        let mut all = own.to_vec();
        let least = all.iter().sum::<u64>() / NARROW;
        for at in (0..own.len()).rev() {
            let Some(caller) = caller(at) else { continue };
            all[caller] += all[at];
            if all[at] <= least || depths[at] >= deep {
                own[caller] += std::mem::take(&mut own[at]);
            }
        }
        let drawn = own.iter().zip(&lengths).filter(|(own, _)| **own > 0);
        if drawn.map(|(_, length)| length).sum::<usize>() <= LONG || deep == 1 {
            return;
        }
        deep /= 2;
    }
}

/// How a picture is drawn in which an amount of one is `factor` units.
pub fn options(title: String, (unit, factor): (&str, f64)) -> Options<'static> {
    let mut options = Options::default();
    options.title = title;
    unit.clone_into(&mut options.count_name);
    options.factor = factor;
    // The same run has the same picture.
    options.deterministic = true;
    options
}

/// Draws lines of `root;caller;leaf 42`, in any order.
pub fn draw(options: &mut Options<'_>, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        // Nothing at all is refused: what is drawn instead has a time that is shown as none.
        options.factor = 1e-9;
        return from_lines(options, std::iter::once(NOTHING), out);
    }
    let lines: Vec<Cow<'_, str>> = lines.iter().map(|line| of_one_number(line)).collect();
    from_lines(options, lines.iter().map(Cow::as_ref), out)
}

/// A name that ends in a number would be taken for the other side of a difference.
fn of_one_number(line: &str) -> Cow<'_, str> {
    let numbered = |(stack, weight): (&str, &str)| {
        let (before, last) = stack.rsplit_once(' ')?;
        let is_number = last.starts_with(|c: char| c.is_ascii_digit()) && last.parse::<f64>().is_ok();
        is_number.then(|| format!("{before}\u{a0}{last} {weight}"))
    };
    line.rsplit_once(' ').and_then(numbered).map_or(Cow::Borrowed(line), Cow::Owned)
}
