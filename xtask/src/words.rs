//! `cargo xtask words`: checks the words, widths and lengths of docs, messages, comments and names.
//!
//! The rules are in `words/rules.txt`. `xtask/words.counts` has how many findings each check still
//! has. A number may only fall: the check fails when one rises, and asks to lower it when one has
//! fallen.
//!
//!     cargo xtask words                    the check
//!     cargo xtask words --list [PART]…     every finding, or those with PART in the path or check
//!     cargo xtask words --lower            write the numbers that have fallen

pub mod lexer;
pub mod repository;
pub mod rules;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use lexer::Piece;
use repository::{Language, SourceFile};
use rules::Rules;

const COUNTS: &str = "xtask/words.counts";
const COUNTS_HEAD: &str = "\
# How many findings `cargo xtask words` still has, per check. A number may fall, never rise.
# `cargo xtask words --lower` writes the numbers that have fallen.
";

/// A line of Markdown has at most this many columns, outside of tables and code.
const MAX_MARKDOWN_COLUMNS: usize = 120;
/// A line with only a comment has at most this many columns, outside of tables and code.
const MAX_COMMENT_COLUMNS: usize = 100;
/// The title of a commit has at most this many characters. The last `CHECKED_TITLES` are checked.
const MAX_TITLE_LETTERS: usize = 72;
const CHECKED_TITLES: usize = 30;
/// The greatest number of words of each page, as `wc -w` counts them.
const MAX_PAGE_WORDS: [(&str, usize); 2] = [("README.md", 900), ("ARCHITECTURE.md", 2_500)];
/// A failed check prints at most this many findings.
const MAX_PRINTED: usize = 40;

/// The check to which a finding belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Check {
    DocWords,
    DocColumns,
    TextWords,
    CommentWords,
    CommentColumns,
    Names,
    Titles,
}

impl Check {
    const ALL: [Self; 7] = [
        Self::DocWords,
        Self::DocColumns,
        Self::TextWords,
        Self::CommentWords,
        Self::CommentColumns,
        Self::Names,
        Self::Titles,
    ];

    /// Returns the check's name in `xtask/words.counts`.
    const fn name(self) -> &'static str {
        match self {
            Self::DocWords => "docs-words",
            Self::DocColumns => "docs-columns",
            Self::TextWords => "texts-words",
            Self::CommentWords => "comments-words",
            Self::CommentColumns => "comments-columns",
            Self::Names => "names",
            Self::Titles => "titles",
        }
    }
}

/// A breach of a rule: where it is, and what is wrong.
struct Finding {
    check: Check,
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn print_to(&self, out: &mut String) {
        let Self { check, path, line, message } = self;
        let _ = writeln!(out, "{path}:{line}: {message} [{}]", check.name());
    }
}

/// Runs the check, or lists the findings, or lowers the numbers.
pub fn run(arguments: &[PathBuf]) -> Result<String> {
    let (option, paths) = match arguments {
        [] => ("", arguments),
        [first, rest @ ..] => (first.to_str().unwrap_or_default(), rest),
    };
    if !["", "--list", "--lower"].contains(&option) {
        bail!("words: unknown option {option}; use --list [PART]… or --lower");
    }
    let (findings, too_long) = findings()?;
    if option == "--list" {
        let is_listed = |finding: &&Finding| {
            let mut parts = paths.iter().map(|part| part.to_string_lossy());
            paths.is_empty()
                || parts.any(|part| finding.path.contains(&*part) || finding.check.name().contains(&*part))
        };
        let mut out = String::new();
        findings.iter().filter(is_listed).for_each(|finding| finding.print_to(&mut out));
        return Ok(out);
    }
    let allowed = read_counts(Path::new(COUNTS))?;
    let found: BTreeMap<Check, usize> = Check::ALL
        .map(|check| (check, findings.iter().filter(|finding| finding.check == check).count()))
        .into();
    let has_risen = found.iter().any(|(check, count)| *count > allowed[check]);
    let changed = if has_risen { repository::lines_changed_since(COUNTS)? } else { None };
    let mut failures = too_long;
    let mut out = String::new();
    for (check, &count) in &found {
        let limit = allowed[check];
        if count > limit {
            failures.push_str(&risen(*check, count, limit, &findings, changed.as_ref()));
        } else if count < limit && option != "--lower" {
            let _ = writeln!(
                out,
                "lower {} from {limit} to {count} in {COUNTS} (cargo xtask words --lower)",
                check.name()
            );
        }
    }
    if option == "--lower" {
        let mut text = COUNTS_HEAD.to_owned();
        for (check, count) in found {
            let _ = writeln!(text, "{} {}", check.name(), count.min(allowed[&check]));
        }
        std::fs::write(COUNTS, text).context(COUNTS)?;
    }
    if failures.is_empty() { Ok(out) } else { Err(anyhow!("words:\n{failures}")) }
}

/// Returns the message on a check with too many findings. The message has the findings in changed
/// lines, or all findings if none is in a changed line.
fn risen(
    check: Check,
    count: usize,
    limit: usize,
    findings: &[Finding],
    changed: Option<&repository::ChangedLines>,
) -> String {
    let mut text = format!("{} rose from {limit} to {count}.", check.name());
    let all: Vec<&Finding> = findings.iter().filter(|finding| finding.check == check).collect();
    let new: Vec<&Finding> = all
        .iter()
        .copied()
        .filter(|finding| changed.is_some_and(|lines| lines.contains(&(finding.path.clone(), finding.line))))
        .collect();
    let shown = if new.is_empty() {
        text.push_str(" All findings:\n");
        all
    } else {
        let _ = writeln!(text, " In lines changed since {COUNTS}:");
        new
    };
    shown.iter().take(MAX_PRINTED).for_each(|finding| finding.print_to(&mut text));
    if shown.len() > MAX_PRINTED {
        let _ =
            writeln!(text, "… {} more: cargo xtask words --list", shown.len().saturating_sub(MAX_PRINTED));
    }
    text
}

/// Returns all findings in the repository, and the errors about the lengths of pages.
fn findings() -> Result<(Vec<Finding>, String)> {
    let rules = Rules::parse(include_str!("words/rules.txt"))?;
    let mut findings = Vec::new();
    let mut too_long = String::new();
    for file in repository::source_files()? {
        if let Some((page, limit)) = MAX_PAGE_WORDS.into_iter().find(|(page, _)| file.path == *page) {
            let words = file.text.split_whitespace().count();
            if words > limit {
                let _ = writeln!(too_long, "{page}: has {words} words: cut it to {limit}");
            }
        }
        check_file(&file, &rules, &mut findings);
    }
    for (index, title) in repository::titles(CHECKED_TITLES)?.into_iter().enumerate() {
        if let Some(wrong) = rules::wrong_in_title(&title, MAX_TITLE_LETTERS) {
            let message = format!("\"{title}\": {wrong}");
            findings.push(Finding {
                check: Check::Titles,
                path: "git log".to_owned(),
                line: index.saturating_add(1),
                message,
            });
        }
    }
    Ok((findings, too_long))
}

fn check_file(file: &SourceFile, rules: &Rules, findings: &mut Vec<Finding>) {
    let lines: Vec<Piece> = match file.language {
        Language::Markdown => lexer::markdown(&file.text),
        Language::UserText => lexer::whole(&file.text),
        language => lexer::comment_lines(&file.text, language),
    };
    let pieces: Vec<&Piece> = lines.iter().collect();
    let mut add = |check: Check, found: Vec<(usize, String)>| {
        findings.extend(found.into_iter().map(|(line, message)| Finding {
            check,
            path: file.path.clone(),
            line,
            message,
        }));
    };
    let mut words = |check: Check, pieces: &[&Piece]| {
        add(check, pieces.iter().flat_map(|piece| rules.banned_words(piece)).collect());
    };
    match file.language {
        Language::Markdown => words(Check::DocWords, &pieces),
        Language::UserText => words(Check::TextWords, &pieces),
        Language::Java if file.is_public_javadoc() => words(Check::TextWords, &pieces),
        Language::Java | Language::CLike | Language::Script => words(Check::CommentWords, &pieces),
        Language::Rust => {
            let parts = lexer::rust(&file.text);
            words(Check::CommentWords, &parts.comments.iter().collect::<Vec<_>>());
            if !file.is_test() {
                words(Check::TextWords, &parts.texts());
            }
            add(Check::Names, rules.banned_names(&parts.code));
        }
    }
    match file.language {
        Language::UserText => {}
        Language::Markdown => {
            add(Check::DocColumns, rules::wide_lines(&lines, &file.text, MAX_MARKDOWN_COLUMNS));
        }
        _ => add(Check::CommentColumns, rules::wide_lines(&lines, &file.text, MAX_COMMENT_COLUMNS)),
    }
}

/// Reads `xtask/words.counts`: a name and a number in each line.
fn read_counts(path: &Path) -> Result<BTreeMap<Check, usize>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let number = |check: Check| {
        text.lines()
            .find_map(|line| line.strip_prefix(check.name())?.strip_prefix(' ')?.trim().parse().ok())
            .map(|count| (check, count))
            .with_context(|| format!("{}: has no number for {}", path.display(), check.name()))
    };
    Check::ALL.into_iter().map(number).collect()
}
