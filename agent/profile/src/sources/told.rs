//! What came of it, for a person.
//!
//! Nothing that was left out must be left unsaid.

use crate::sources::wanted::Wanted;

/// So many are named of those that lack.
const NAMED: usize = 3;

/// What the profile has now, and what it lacks.
#[derive(Debug, Default)]
pub struct Embedded {
    /// Files whose texts were put in.
    pub put_in: usize,
    /// That had theirs already.
    pub had: usize,
    /// Of all that was put in.
    pub bytes: u64,
    /// What was not found anywhere; what most time went into comes first.
    pub not_found: Vec<String>,
    /// What was found and is not in it, and why, as it stands behind the name.
    pub left_out: Vec<(String, String)>,
    /// Places that could not be looked at.
    pub unreadable: Vec<String>,
    /// Of the samples with a line of some file on top: with text, and all.
    weight: (u64, u64),
}

impl Embedded {
    pub(crate) fn weigh(&mut self, wanted: &Wanted, has_text: bool) {
        self.weight.0 += if has_text { wanted.weight } else { 0 };
        self.weight.1 += wanted.weight;
    }

    fn files(&self) -> usize {
        self.put_in + self.had + self.not_found.len() + self.left_out.len()
    }

    /// A line of how much there is, and one for each thing that lacks.
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
        lines.extend(self.left_out.iter().take(NAMED).map(|(path, why)| format!("left out: {path}: {why}")));
        if let Some(more) = self.left_out.get(NAMED..).filter(|more| !more.is_empty()) {
            lines.push(format!("left out: {} more", more.len()));
        }
        if !self.not_found.is_empty() {
            let first = self.not_found.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = match self.not_found.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("not found: {first}{more}"));
        }
        lines.extend(self.unreadable.iter().take(NAMED).cloned());
        if let Some(more) = self.unreadable.get(NAMED..).filter(|more| !more.is_empty()) {
            lines.push(format!("{} more paths cannot be read", more.len()));
        }
        lines
    }
}
