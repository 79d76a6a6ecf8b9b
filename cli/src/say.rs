//! Shows the agents' lines to the user of this command, on stderr. Each begins with `[vouch]`.
//!
//! It must never fail: stderr may be closed.

use std::io::{self, Write};
use std::path::{Path, absolute};

/// The text with which each line of an agent begins.
const MARK: &str = "[vouch] ";

/// Shows lines as they are.
pub fn show(lines: Vec<String>) {
    for line in lines {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Returns a line without its prefix, for a sentence or a list.
pub fn unmarked(line: &str) -> &str {
    line.strip_prefix(MARK).unwrap_or(line)
}

/// Returns the path of a file as the user of this shell would type it.
pub fn seen(path: &Path) -> String {
    let here = std::env::current_dir().and_then(absolute);
    let short = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    vouch_report::plain(&short.as_deref().unwrap_or(path).to_string_lossy())
}
