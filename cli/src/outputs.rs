//! Checks before the work that the output files can be written, and writes them after it.
//!
//! It must never write over an input. An error is the rest of a sentence that begins with the
//! input.

use std::io;
use std::path::{Path, PathBuf};

use vouch_formats::{Format, Meta};
use vouch_recording::Recording;
use vouch_report::{Files, plain};

use crate::agent;
use crate::error::Error;
use crate::parquet;

/// The files to write: profiles and a report.
pub struct Outputs<'a> {
    profiles: Vec<(&'a Path, &'static Format)>,
    report: Option<&'a Path>,
    /// True if one of the files existed before.
    replaces: bool,
}

impl<'a> Outputs<'a> {
    /// Checks that all files can be written, and that none of them is an input.
    pub fn check(outs: &'a [PathBuf], report: Option<&'a Path>, inputs: &[PathBuf]) -> Result<Self, Error> {
        let mut profiles = Vec::new();
        for out in outs {
            let name = out.to_string_lossy();
            let unknown = || Error::OutputEnding { name: name.clone().into_owned(), endings: endings() };
            let format = format(&name).ok_or_else(unknown)?;
            profiles.push((out.as_path(), format));
        }
        if let Some(report) = report.filter(|report| report.extension().is_none_or(|ending| ending != "json"))
        {
            return Err(Error::ReportEnding(report.to_owned()));
        }
        let all: Vec<&Path> = outs.iter().map(PathBuf::as_path).chain(report).collect();
        for (place, out) in all.iter().enumerate() {
            vouch_log::output::check_writable(out).map_err(Error::OutputUnwritable)?;
            if inputs.iter().any(|input| vouch_log::output::is_same(out, input)) {
                return Err(Error::OverRecording(out.to_path_buf()));
            }
            if all[..place].iter().any(|other| vouch_log::output::is_same(out, other)) {
                return Err(Error::OutputTwice(out.to_path_buf()));
            }
        }
        let replaces = all.iter().any(|out| has_file(out));
        Ok(Self { profiles, report, replaces })
    }

    /// True if anything but a report is to be written.
    pub fn has_profiles(&self) -> bool {
        !self.profiles.is_empty()
    }

    /// Writes the profiles.
    pub fn write(&self, recording: &Recording, meta: &Meta) -> Result<(), Error> {
        for (place, (out, format)) in self.profiles.iter().enumerate() {
            vouch_log::output::write_whole(out, format.gzip, |to| format.write(recording, meta, to))
                .map_err(|why| {
                    let written = self.profiles[..place].iter().map(|(out, _)| *out).chain(self.report);
                    let written = written.map(|path| path.display().to_string()).collect();
                    Error::OutputFailed { path: out.to_path_buf(), why, written }
                })?;
        }
        Ok(())
    }

    /// Writes the report, if one is wanted.
    pub fn write_report(
        &self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        let Some(report) = self.report else { return Ok(()) };
        vouch_log::output::write_whole(report, false, write).map_err(|why| Error::OutputFailed {
            path: report.to_owned(),
            why,
            written: Vec::new(),
        })
    }

    /// Calls a function with the files' names, as they are printed.
    pub fn with_names<T>(&self, tell: impl FnOnce(Files<'_>) -> T) -> T {
        let name = |path: &Path| plain(&path.to_string_lossy());
        let names: Vec<String> =
            self.profiles.iter().map(|(out, _)| *out).chain(self.report).map(name).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let opens = self.profiles.iter().position(|(_, format)| format.opens).map(|place| all[place]);
        tell(Files { all: &all, opens, has_replaced: self.replaces, command: &agent::command() })
    }
}

/// Returns the format for a file, by the ending of its name. The command has formats that the agent
/// does not have.
fn format(name: &str) -> Option<&'static Format> {
    let own = || Some(&parquet::FORMAT).filter(|format| name.ends_with(format.ending));
    Format::from_file_name(name).or_else(own)
}

/// Returns all endings of output files as a part of a sentence.
pub fn endings() -> String {
    format!("{}, or {} for a table", Format::endings(), parquet::FORMAT.ending)
}

/// True if a file or a link with this name exists.
pub fn has_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns the name of a written file for the user, with a note if an earlier file was replaced.
pub fn name_with_note(path: &Path, has_replaced: bool) -> String {
    let note = if has_replaced { " (replaced an earlier file)" } else { "" };
    format!("{}{note}", plain(&path.to_string_lossy()))
}

/// Returns the first of `a.2.json`, `a.2-2.json`, `a.2-3.json` and so on that does not exist.
pub fn free(name: &str, is_there: impl Fn(&str) -> bool) -> String {
    let ending = format(name).map_or("", |format| format.ending);
    let stem = name.strip_suffix(ending).unwrap_or(name);
    let numbered = (2_u32..).map(|number| format!("{stem}-{number}{ending}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_there(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::free;

    #[test]
    fn a_free_name_has_the_ending_that_was_asked_for() {
        let name = |name: &str, there: &[&str]| free(name, |name| there.contains(&name));
        assert_eq!(name("a.2.json", &["a.json", "a.2-2.json"]), "a.2.json");
        assert_eq!(name("a.2.json", &["a.2.json", "a.2-2.json"]), "a.2-3.json");
        assert_eq!(name("b.d/a.json.gz", &["b.d/a.json.gz"]), "b.d/a-2.json.gz");
        assert_eq!(name("b.d/a", &["b.d/a"]), "b.d/a-2");
    }
}
