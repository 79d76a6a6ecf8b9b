//! What the agents say, shown to whoever called this command: lines on stderr that begin with
//! `[vouch]`.
//!
//! It must never fail: nobody may read there.

use std::io::{self, Write};

/// What each line of an agent's begins with.
const MARK: &str = "[vouch] ";

/// Shows lines as they are.
pub fn show(lines: Vec<String>) {
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// A line without the mark, to stand in a sentence or under a head.
pub fn unmarked(line: &str) -> &str {
    line.strip_prefix(MARK).unwrap_or(line)
}
