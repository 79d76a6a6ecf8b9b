//! A flame graph as SVG: a picture that a document or a ticket can hold, and any browser opens.
//!
//! It must never take memory by the depth of stacks: what is too narrow to be seen is its caller's, and what is too deep, too.

use std::io::{self, BufWriter, Write};

use inferno::flamegraph::{Options, from_lines};
use vouch_recording::Recording;
use vouch_report::{float, plain};

use crate::meta::Meta;
use crate::tree::{Names, Tree};

/// What has a smaller part of the time than one of so many is narrower than a quarter of a pixel.
const NARROW: u64 = 5_000;
/// More frames than that are no picture.
const DEEP: usize = 400;
/// What there is to see of nothing.
const NOTHING: &str = "[no samples were taken] 1";

/// Writes the picture of a whole recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::of(recording.strings());
    let Tree { rows, mut weights, .. } = Tree::of(recording, &names);
    visible(|node| rows[node].parent, &mut weights);
    let line = |leaf: usize| {
        let path = std::iter::successors(Some(leaf), |node| rows[*node].parent);
        let mut frames: Vec<&str> = path.map(|node| &*names.by_rank[rows[node].rank]).collect();
        frames.reverse();
        format!("{} {}", frames.join(";"), weights[leaf])
    };
    let mut lines: Vec<String> = (0..rows.len()).filter(|node| weights[*node] > 0).map(line).collect();
    lines.sort_unstable();
    let interval_ms = float(meta.report.run.interval_ns) / 1e6;
    let mut options = options(format!("CPU time of {}", plain(&meta.product)), interval_ms);
    options.subtitle = Some(meta.report.fates());
    let mut out = BufWriter::with_capacity(64 << 10, out);
    draw(&mut options, &lines, &mut out)?;
    out.flush()
}

/// Gives to the caller what cannot be seen of it, as far up as that is so; callers stand before their callees.
pub fn visible(parent: impl Fn(usize) -> Option<usize>, own: &mut [u64]) {
    let mut all = own.to_vec();
    let least = all.iter().sum::<u64>() / NARROW;
    let mut depth: Vec<usize> = Vec::with_capacity(own.len());
    for node in 0..own.len() {
        depth.push(parent(node).map_or(0, |parent| depth[parent] + 1));
    }
    for node in (0..own.len()).rev() {
        let Some(parent) = parent(node) else { continue };
        all[parent] += all[node];
        if all[node] <= least || depth[node] >= DEEP {
            own[parent] += std::mem::take(&mut own[node]);
        }
    }
}

/// How it is drawn; a sample stands for so many milliseconds.
pub fn options(title: String, interval_ms: f64) -> Options<'static> {
    let mut options = Options::default();
    options.title = title;
    "ms".clone_into(&mut options.count_name);
    options.factor = interval_ms;
    // The same run has the same picture.
    options.deterministic = true;
    options
}

/// Draws lines of `root;caller;leaf 42`, sorted.
pub fn draw(options: &mut Options<'_>, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        // Its share is one, and none of nought.
        options.factor = 1e-9;
        return from_lines(options, std::iter::once(NOTHING), out);
    }
    from_lines(options, lines.iter().map(String::as_str), out)
}
