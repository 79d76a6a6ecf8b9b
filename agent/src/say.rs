//! Prints messages to a person: lines that begin with `[vouch]`, on stderr or in the terminal of
//! the waiting command.
//!
//! It must never fail, nor wait. A program may have closed its stderr, and a full pipe may have no
//! reader.

mod stream;

pub use stream::{dropped, look};

use crate::terminal;

/// Prints one message of one or more lines. Each line without the `[vouch]` prefix gets it.
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
    // One write keeps the program's own lines from falling between.
    if !terminal::say(&marked) {
        stream::write_stderr(&marked);
    }
}

/// Prints a text unchanged on stdout, for `help` and `version`.
pub fn print(text: &str) {
    stream::write_stdout(text);
}
