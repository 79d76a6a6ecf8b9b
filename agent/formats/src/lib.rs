//! The files that a recording is written to. A format is a file of this crate and a row of
//! [`FORMATS`].
//!
//! What this crate never does: know a JVM, read a clock, open a file, or hold a written document in
//! memory. It gets a recording, and a `Write`.
#![forbid(unsafe_code)]

mod categories;
mod firefox;
pub mod flame;
mod folded;
mod html;
mod json;
mod meta;
mod tracks;
mod tree;

use std::io::{self, Write};

use vouch_recording::Recording;

pub use categories::TOP_METHOD_UNCERTAIN;
pub use meta::{Identity, Meta, VirtualThreads};
pub use tree::{INNER, OUTER};

/// A format, as a user meets it.
#[derive(Debug)]
pub struct Format {
    /// The ending of a file's name that asks for it.
    pub ending: &'static str,
    /// It is compressed on its way to the file.
    pub gzip: bool,
    /// The front-end opens it.
    pub opens: bool,
    write: fn(&Recording, &Meta, &mut dyn Write) -> io::Result<()>,
}

/// All formats, in the order in which they are offered.
pub static FORMATS: [Format; 5] = [
    Format { ending: ".json", gzip: false, opens: true, write: firefox::write },
    Format { ending: ".json.gz", gzip: true, opens: true, write: firefox::write },
    Format { ending: ".folded", gzip: false, opens: false, write: folded::write },
    Format { ending: ".html", gzip: false, opens: false, write: html::write },
    Format { ending: ".svg", gzip: false, opens: false, write: flame::write },
];

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.ending == other.ending
    }
}

impl Eq for Format {}

impl Format {
    /// The format that a file of this name has.
    pub fn of(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| name.ends_with(format.ending))
    }

    /// All endings, as a sentence has them: `.json, .json.gz or .folded`.
    pub fn endings() -> String {
        let endings = FORMATS.each_ref().map(|format| format.ending);
        match endings.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => endings.concat(),
        }
    }

    /// Writes the whole of it.
    pub fn write(&self, recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        (self.write)(recording, meta, out)
    }
}
