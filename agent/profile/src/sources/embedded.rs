//! Describes the result of adding source text.
//!
//! Each file without a text must be counted in the result.

use crate::sources::requested::RequestedFile;

/// The lines for the user name at most this many missing files.
const MAX_NAMED: usize = 3;

/// The source files of a profile that have a text now, and those that have none.
#[derive(Debug, Default)]
pub struct Embedded {
    /// The number of files that got a text.
    pub put_in: usize,
    /// The number of files that had a text before.
    pub had: usize,
    /// The bytes of all added texts.
    pub bytes: u64,
    /// The files that were not found, by descending time.
    pub not_found: Vec<String>,
    /// The files that were found and rejected, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// The paths that could not be searched, each with the reason.
    pub unreadable: Vec<String>,
    /// The weight of the samples in files with a text, and of the samples in all files.
    weight: (u64, u64),
}

impl Embedded {
    pub(crate) fn weigh(&mut self, requested: &RequestedFile, has_text: bool) {
        self.weight.0 += if has_text { requested.weight } else { 0 };
        self.weight.1 += requested.weight;
    }

    fn files(&self) -> usize {
        self.put_in + self.had + self.not_found.len() + self.left_out.len()
    }

    /// Returns a line with the totals, and lines about missing files.
    pub fn lines(&self) -> Vec<String> {
        let (with, all) = self.weight;
        #[allow(clippy::cast_precision_loss)] // a share
        let share = 100.0 * with as f64 / all.max(1) as f64;
        let texts = self.put_in + self.had;
        #[allow(clippy::cast_precision_loss)] // of some megabytes
        let kilobytes = self.bytes as f64 / 1e3;
        let mut lines = vec![format!(
            "sources: {texts} of {} files have their text ({kilobytes:.0} kB put in); they have {share:.1} % of the time in lines of files",
            self.files(),
        )];
        lines.extend(
            self.left_out.iter().take(MAX_NAMED).map(|(path, why)| format!("left out: {path}: {why}")),
        );
        if let Some(more) = self.left_out.get(MAX_NAMED..).filter(|more| !more.is_empty()) {
            lines.push(format!("left out: {} more", more.len()));
        }
        if !self.not_found.is_empty() {
            let first =
                self.not_found.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = match self.not_found.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("not found: {first}{more}"));
        }
        lines.extend(self.unreadable.iter().take(MAX_NAMED).cloned());
        if let Some(more) = self.unreadable.get(MAX_NAMED..).filter(|more| !more.is_empty()) {
            lines.push(format!("{} more paths cannot be read", more.len()));
        }
        lines
    }
}
