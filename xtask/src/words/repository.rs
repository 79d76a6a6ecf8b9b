//! Reads from git the files to check, the titles of the last commits, and the lines that changed.

use std::collections::HashSet;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

/// The paths and numbers of the lines that changed.
pub type ChangedLines = HashSet<(String, usize)>;

/// The language of a file, which decides how it is split.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Markdown,
    Rust,
    Java,
    /// C, JavaScript and Protocol Buffers.
    CLike,
    /// Shell, TOML and Python: comments begin with `#`.
    Script,
    /// A text that is shown to users line by line.
    UserText,
}

pub struct SourceFile {
    pub path: String,
    pub text: String,
    pub language: Language,
}

impl SourceFile {
    /// True if users never see the file's strings.
    pub fn is_test(&self) -> bool {
        ["/tests/", "/benches/", "tests.rs", "/fuzz/"].iter().any(|part| self.path.contains(part))
    }

    /// True for the library that programs use: its javadoc is published.
    pub fn is_public_javadoc(&self) -> bool {
        self.path.starts_with("api/") && !self.path.contains("/test/")
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().context("git cannot run")?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(anyhow!("git {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Returns all files of the working tree that git tracks and that have words to check.
pub fn source_files() -> Result<Vec<SourceFile>> {
    let listed = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        let Some(language) = language(path) else { continue };
        // A deleted file is still in the index.
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        files.push(SourceFile { path: path.to_owned(), text, language });
    }
    Ok(files)
}

fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, "md")) => Some(Language::Markdown),
        Some((_, "rs")) => Some(Language::Rust),
        Some((_, "java")) => Some(Language::Java),
        Some((_, "c" | "h" | "js" | "mjs" | "proto" | "groovy")) => Some(Language::CLike),
        Some((_, "toml" | "sh" | "py")) => Some(Language::Script),
        None if path.starts_with("scripts/") || path.starts_with(".ci/") => Some(Language::Script),
        _ if path == "agent/jfr/src/catalogue/words.txt" => Some(Language::UserText),
        _ => None,
    }
}

/// Returns the titles of the last commits, the newest first.
pub fn titles(count: usize) -> Result<Vec<String>> {
    let log = git(&["log", "--no-merges", "--format=%s", &format!("-{count}")])?;
    Ok(log.lines().map(str::to_owned).collect())
}

/// Returns the lines that were added since the last commit that changed a file. Returns `None` if
/// no commit changed it.
pub fn lines_changed_since(path: &str) -> Result<Option<ChangedLines>> {
    let commit = git(&["log", "-1", "--format=%H", "--", path])?;
    if commit.is_empty() {
        return Ok(None);
    }
    let diff = git(&["diff", "--unified=0", "--no-color", "--no-ext-diff", commit.trim()])?;
    let mut lines = ChangedLines::new();
    let mut path = String::new();
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            name.clone_into(&mut path);
        } else if let Some(added) = line.strip_prefix("@@ ").and_then(|hunk| hunk.split(" +").nth(1)) {
            let (first, count) = added_range(added).unwrap_or_default();
            lines.extend((first..first.saturating_add(count)).map(|number| (path.clone(), number)));
        }
    }
    for path in git(&["ls-files", "-z", "--others", "--exclude-standard"])?.split_terminator('\0') {
        let count = std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
        lines.extend((1..=count).map(|number| (path.to_owned(), number)));
    }
    Ok(Some(lines))
}

/// Parses the range of added lines in a diff: `FIRST,COUNT @@` or `FIRST @@`.
fn added_range(text: &str) -> Option<(usize, usize)> {
    let range = text.split(' ').next()?;
    match range.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((range.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::added_range;

    #[test]
    fn hunk_headers_name_the_added_lines() {
        assert_eq!(added_range("12,3 @@ fn main() {"), Some((12, 3)));
        assert_eq!(added_range("12 @@"), Some((12, 1)));
        assert_eq!(added_range("@@"), None);
    }
}
