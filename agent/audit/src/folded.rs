//! Reads folded stacks, which flame-graph tools use. Each line is a stack with its count:
//! `root;caller;leaf 42`.
//!
//! It must never keep a line in memory, or read an endless one.

use std::io::{BufRead, Read as _};

use crate::names_reader::{NamedFrame, NamesReader};

/// A line with more bytes than this is malformed.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// The byte order mark with which some editors begin a file.
const BOM: char = '\u{feff}';

impl NamesReader<'_> {
    /// Reads all lines, and returns how many were malformed. `read` receives the number of bytes so
    /// far. An error means that the disk could not be read.
    pub fn folded(&mut self, mut lines: impl BufRead, mut read: impl FnMut(u64)) -> std::io::Result<u64> {
        let (mut line, mut malformed, mut done) = (Vec::new(), 0, 0);
        let mut frames = Vec::new();
        loop {
            line.clear();
            let length = lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(malformed);
            }
            let is_first = done == 0;
            done += length as u64;
            if length as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
                // The rest of a malformed line is not a line.
                done += skip_line(&mut lines)?;
                malformed += 1;
                continue;
            }
            read(done);
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']);
            let text = if is_first { text.trim_start_matches(BOM) } else { text };
            if !text.trim().is_empty() && self.add_line(text, &mut frames).is_none() {
                malformed += 1;
            }
        }
    }

    fn add_line(&mut self, text: &str, frames: &mut Vec<NamedFrame>) -> Option<()> {
        let (stack, count) = text.rsplit_once(' ')?;
        let count = count.parse().ok()?;
        let (first, rest) = stack.split_once(';').unwrap_or((stack, ""));
        let (thread, frame_list) = match thread_of(first) {
            Some((name, tid)) => (self.thread(name, tid), rest),
            None => (self.thread("", 0), stack),
        };
        frames.clear();
        frames.extend(
            frame_list.split(';').filter(|frame| !frame.is_empty()).map(|frame| self.frame(frame, 0)),
        );
        self.stack(thread, frames, count);
        Some(())
    }
}

/// Skips to the end of a line, and returns the number of skipped bytes.
fn skip_line(lines: &mut impl BufRead) -> std::io::Result<u64> {
    let mut passed = 0;
    loop {
        let there = lines.fill_buf()?;
        let end = there.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(there.len(), |end| end + 1);
        lines.consume(length);
        passed += length as u64;
        if end.is_some() || length == 0 {
            return Ok(passed);
        }
    }
}

/// Returns the thread in async-profiler's optional first frame, such as `[main tid=123]`.
fn thread_of(frame: &str) -> Option<(&str, u64)> {
    let (name, tid) = frame.strip_prefix('[')?.strip_suffix(']')?.rsplit_once(" tid=")?;
    Some((name, tid.parse().ok()?))
}
