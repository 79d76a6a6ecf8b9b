//! Reads a profile and writes it again with additions. The verbs that do so share this code.
//!
//! It must never replace a file unless `--out` names it, and never leave half a file.

use std::io;
use std::path::{Path, PathBuf};

use vouch_log::ENDING;
use vouch_profile::document::Part;

use crate::document;
use crate::error::Error;
use crate::outputs::{free, has_file, name_with_note};

/// The file that is read, and the file that is written.
pub struct Rewritten<'a> {
    profile: &'a Path,
    pub out: PathBuf,
    /// True if the output file existed before.
    replaces: bool,
}

impl<'a> Rewritten<'a> {
    /// Checks before any work that the file can be written. `word` is a part of the default name.
    pub fn new(profile: &'a Path, out: Option<PathBuf>, word: &str) -> Result<Self, Error> {
        let out = out.unwrap_or_else(|| default_output(profile, word));
        let name = out.to_string_lossy();
        if !name.ends_with(".json") && !name.ends_with(".json.gz") {
            return Err(Error::ProfileEnding(out));
        }
        vouch_log::output::check_writable(&out)?;
        let replaces = has_file(&out);
        Ok(Self { profile, out, replaces })
    }

    pub fn read(&self) -> Result<Part, Error> {
        document::profile(self.profile)
    }

    /// Writes the document, and returns the file's name, with a note if it replaced an earlier
    /// file.
    pub fn write(&self, document: &Part) -> Result<String, Error> {
        let name = self.out.to_string_lossy().into_owned();
        let written = vouch_log::output::write_whole(&self.out, name.ends_with(".gz"), |file| {
            serde_json::to_writer(file, document).map_err(io::Error::from)
        });
        written.map_err(|why| Error::Unwritable { path: self.out.clone(), why })?;
        Ok(name_with_note(&self.out, self.replaces))
    }
}

/// Returns the default name for an output file, which no file has: `a.json.gz` becomes
/// `a.merged.json.gz`, or `a.merged-2.json.gz` if that exists. `a.vouch` becomes
/// `a.recovered.json.gz`.
pub fn default_output(file: &Path, word: &str) -> PathBuf {
    let ending = if file.extension().is_some_and(|ending| ending == "json") { ".json" } else { PACKED };
    default_output_as(file, word, ending)
}

const PACKED: &str = ".json.gz";

/// Returns the default name for an output file with another ending, which no file has: `a.json.gz`
/// becomes `a.flame.svg`, or `a.flame-2.svg`.
pub fn default_output_as(file: &Path, word: &str, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let first = [PACKED, ".json", ".pb.gz", ENDING].into_iter().find_map(|known| name.strip_suffix(known));
    let default = format!("{}.{word}{ending}", first.unwrap_or(&name));
    file.with_file_name(free(&default, |name| has_file(&file.with_file_name(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_at_its_ending_alone() {
        for (file, made) in [
            ("d/a.json", "d/a.w.json"),
            ("a.json.gz", "a.w.json.gz"),
            ("a.jsonl.json.gz", "a.jsonl.w.json.gz"),
            ("svc.vouch.vouch", "svc.vouch.w.json.gz"),
            ("svc.vouch.2.vouch", "svc.vouch.2.w.json.gz"),
            ("a", "a.w.json.gz"),
        ] {
            assert_eq!(default_output(Path::new(file), "w"), Path::new(made));
        }
        assert_eq!(default_output_as(Path::new("d/a.json.gz"), "w", ".svg"), Path::new("d/a.w.svg"));
    }
}
