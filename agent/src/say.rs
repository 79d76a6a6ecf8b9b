//! What the agent says to a person: lines that begin with `[vouch]`, on stderr, or in the terminal
//! of whoever asked.
//!
//! It must never fail, nor wait: a program may have closed its stderr, and nobody may read it.

mod stream;

pub use stream::{dropped, look};

use crate::terminal;

/// Says one thing, a line or more; each gets the mark that it lacks.
pub fn say(text: &str) {
    let mut marked = String::new();
    for line in text.lines() {
        if !line.starts_with("[vouch]") {
            marked.push_str("[vouch] ");
        }
        marked.push_str(line);
        marked.push('\n');
    }
    if marked.is_empty() {
        return;
    }
    // In one write, so that the program's own lines do not fall between.
    if !terminal::say(&marked) {
        stream::write_stderr(&marked);
    }
}

/// Says a text as it is, on stdout: what `help` and `version` were asked for.
pub fn print(text: &str) {
    stream::write_stdout(text);
}
