//! Writes a recording in several file formats. Each format is a file of this crate and a row of
//! [`FORMATS`].
//!
//! This crate must never depend on a JVM, read a clock, open a file, or hold a whole document in
//! memory. It writes a recording to a `Write`.
#![forbid(unsafe_code)]

mod categories;
mod cut;
mod firefox;
pub mod flame;
mod folded;
mod html;
mod json;
mod labels;
mod meta;
mod otlp;
pub mod pprof;
mod resource;
mod tracks;
mod tree;

use std::io::{self, Write};

use vouch_recording::Recording;

pub use categories::{TOP_METHOD_UNCERTAIN, is_guess, name as category_name};
pub use cut::{MAX_INNER_FRAMES, MAX_OUTER_FRAMES};
pub use meta::{Identity, Meta, VirtualThreads};
pub use resource::{key_values, resource_attributes};

/// A file format in which a recording can be written.
#[derive(Debug)]
pub struct Format {
    /// The ending of the names of files with this format.
    pub ending: &'static str,
    /// True if the file is compressed with gzip.
    pub gzip: bool,
    /// True if the Firefox Profiler opens the file.
    pub opens: bool,
    pub write: fn(&Recording, &Meta, &mut dyn Write) -> io::Result<()>,
}

/// The file formats, in the order in which texts list them.
pub static FORMATS: [Format; 7] = [
    Format { ending: ".json", gzip: false, opens: true, write: firefox::write },
    Format { ending: ".json.gz", gzip: true, opens: true, write: firefox::write },
    Format { ending: ".folded", gzip: false, opens: false, write: folded::write },
    Format { ending: ".html", gzip: false, opens: false, write: html::write },
    Format { ending: ".svg", gzip: false, opens: false, write: flame::write },
    Format { ending: ".pb.gz", gzip: true, opens: false, write: pprof::write },
    Format { ending: ".otlp.gz", gzip: true, opens: false, write: otlp::write },
];

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.ending == other.ending
    }
}

impl Eq for Format {}

impl Format {
    /// Returns the format for a file, by the ending of its name.
    pub fn from_file_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| name.ends_with(format.ending))
    }

    /// Returns all endings as a part of a sentence: `.json, .json.gz or .folded`.
    pub fn endings() -> String {
        let endings = FORMATS.each_ref().map(|format| format.ending);
        match endings.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => endings.concat(),
        }
    }

    /// Writes a recording in this format.
    pub fn write(&self, recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        (self.write)(recording, meta, out)
    }
}
