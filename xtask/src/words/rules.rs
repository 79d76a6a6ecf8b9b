//! The rules for words, names, widths and titles.

use anyhow::{Context, Result};
use regex_lite::Regex;

use super::lexer::{Piece, line_at};

/// A banned pattern, and the better words.
struct Rule {
    banned: Regex,
    unless: Option<Regex>,
    better: String,
}

impl Rule {
    /// True if the word has its legitimate sense at this position.
    fn is_excepted(&self, text: &str, start: usize, end: usize) -> bool {
        self.unless
            .iter()
            .flat_map(|unless| unless.find_iter(text))
            .any(|found| found.start() < end && start < found.end())
    }
}

pub struct Rules {
    words: Vec<Rule>,
    names: Vec<Rule>,
}

impl Rules {
    /// Parses `rules.txt`, which describes its own syntax.
    pub fn parse(text: &str) -> Result<Self> {
        let mut rules = Self { words: Vec::new(), names: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let wrong = || format!("rules.txt: cannot read \"{line}\"");
            let (patterns, better) = line.rsplit_once(" => ").with_context(wrong)?;
            let better = better.to_owned();
            let compile =
                |pattern: &str| Regex::new(pattern).with_context(|| format!("rules.txt: {pattern}"));
            if let Some(pattern) = patterns.strip_prefix("name ") {
                rules.names.push(Rule { banned: compile(pattern)?, unless: None, better });
            } else {
                let patterns = patterns.strip_prefix("word ").with_context(wrong)?;
                let (banned, unless) =
                    patterns.split_once(" unless ").map_or((patterns, None), |(a, b)| (a, Some(b)));
                let prose = |pattern: &str| pattern.replace(' ', "\\s+");
                rules.words.push(Rule {
                    banned: compile(&format!("(?i)\\b(?:{})\\b", prose(banned)))?,
                    unless: unless
                        .map(|pattern| compile(&format!("(?i)(?:{})", prose(pattern))))
                        .transpose()?,
                    better,
                });
            }
        }
        Ok(rules)
    }

    /// Returns the banned words in a text: the line of each, and a message.
    pub fn banned_words(&self, piece: &Piece) -> Vec<(usize, String)> {
        let text = without_code(&piece.text);
        let mut found: Vec<(usize, String)> = Vec::new();
        for rule in &self.words {
            for word in rule.banned.find_iter(&text) {
                if !rule.is_excepted(&text, word.start(), word.end()) {
                    let line = line_at(&text, word.start()).saturating_add(piece.line).saturating_sub(1);
                    let banned = word.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
                    found.push((line, format!("\"{banned}\": write {}", rule.better)));
                }
            }
        }
        found
    }

    /// Returns the declarations with banned names: the line of each, and a message.
    pub fn banned_names(&self, code: &str) -> Vec<(usize, String)> {
        declarations(code)
            .into_iter()
            .filter_map(|(line, declaration)| Some((line, self.banned_name(&declaration)?)))
            .collect()
    }

    fn banned_name(&self, declaration: &str) -> Option<String> {
        let rule = self.names.iter().find(|rule| rule.banned.is_match(declaration))?;
        Some(format!("`{declaration}`: name it {}", rule.better))
    }
}

/// Returns the text with spaces instead of code in backticks and targets of Markdown links.
fn without_code(text: &str) -> String {
    let mut ends_with = None;
    let mut before = ' ';
    let blank = |character: char| if character == '\n' { '\n' } else { ' ' };
    text.chars()
        .map(|character| {
            let shown = match (ends_with, character) {
                (Some(end), _) if character == end => {
                    ends_with = None;
                    character
                }
                (Some(_), _) => blank(character),
                (None, '`') => {
                    ends_with = Some('`');
                    character
                }
                (None, '(') if before == ']' => {
                    ends_with = Some(')');
                    character
                }
                (None, _) => character,
            };
            before = character;
            shown
        })
        .collect()
}

/// Returns the declarations in Rust code without comments: the line of each, and "keyword name".
pub fn declarations(code: &str) -> Vec<(usize, String)> {
    const PATTERN: &str = r"(?:^|[^'*\w])(fn|struct|enum|trait|type|const|static|mod|union)\s+([A-Za-z_]\w*)";
    const PUBLIC_FIELD: &str = r"(?m)^\s*pub(?:\([a-z]+\))?\s+([a-z_]\w*):";
    const MODIFIERS: [&str; 5] = ["const fn", "const unsafe", "const extern", "const async", "static mut"];
    let code = MODIFIERS.iter().fold(code.to_owned(), |code, modifier| {
        let (first, last) = modifier.split_once(' ').unwrap_or_default();
        code.replace(modifier, &format!("{} {last}", " ".repeat(first.len())))
    });
    // A raw pointer to a variable is no declaration.
    let code = code.replace("raw const", "raw      ");
    let (Ok(item), Ok(field)) = (Regex::new(PATTERN), Regex::new(PUBLIC_FIELD)) else { return Vec::new() };
    let mut found: Vec<(usize, String)> = Vec::new();
    for capture in item.captures_iter(&code) {
        let (Some(keyword), Some(name)) = (capture.get(1), capture.get(2)) else { continue };
        found.push((line_at(&code, name.start()), format!("{} {}", keyword.as_str(), name.as_str())));
    }
    for capture in field.captures_iter(&code) {
        let Some(name) = capture.get(1) else { continue };
        found.push((line_at(&code, name.start()), format!("field {}", name.as_str())));
    }
    found.sort();
    found
}

/// Returns the lines that are wider than the limit, with a message. Tables and links may be wider.
pub fn wide_lines(pieces: &[Piece], text: &str, limit: usize) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut wide = Vec::new();
    for piece in pieces {
        for (index, content) in piece.text.lines().enumerate() {
            let number = piece.line.saturating_add(index);
            let line = lines.get(number.saturating_sub(1)).copied().unwrap_or_default();
            let columns = line.chars().count();
            if columns > limit && !content.trim_start().starts_with('|') && !line.contains("://") {
                wide.push((number, format!("{columns} columns: wrap at {limit}")));
            }
        }
    }
    wide
}

/// Returns the error in a commit's title, if there is one.
pub fn wrong_in_title(title: &str, limit: usize) -> Option<String> {
    let letters = title.chars().count();
    if letters > limit {
        return Some(format!("has {letters} letters: cut it to {limit}"));
    }
    let is_area = |area: &str| {
        !area.is_empty()
            && area.chars().all(|letter| letter.is_ascii_alphanumeric() || ", ._/-".contains(letter))
    };
    match title.split_once(": ") {
        Some((area, _)) if is_area(area) => None,
        _ => Some("begin with the area, as in \"walk: …\"".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Rules, declarations, wide_lines, wrong_in_title};

    fn found(text: &str) -> Vec<(usize, String)> {
        let rules = Rules::parse(include_str!("rules.txt")).expect("the rules");
        rules.banned_words(&Piece { line: 10, text: text.to_owned(), is_doc: false })
    }

    #[test]
    fn banned_words_are_found_with_their_line_and_the_better_word() {
        assert_eq!(found("It is\nDear."), [(11, "\"Dear\": write slow or expensive".to_owned())]);
        assert_eq!(found("one so\nmany").first().map(|found| found.0), Some(10));
    }

    #[test]
    fn legitimate_senses_and_code_pass() {
        for text in [
            "x stands for y",
            "a user account",
            "the mark word",
            "it takes place now",
            "there is no room",
            "`whose` and [a](whose.md)",
            "methods and placement",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
        assert_eq!(found("it stands here, and x stands for y").len(), 1);
    }

    #[test]
    fn declarations_have_a_keyword_a_name_and_a_line() {
        let names = declarations(
            "pub const fn of() { &raw const owner }\nstatic mut MOST: &'static str = \"\";\n  pub(crate) told: u8,\n",
        );
        assert_eq!(names, [(1, "fn of".to_owned()), (3, "field told".to_owned())]);
        let rules = Rules::parse(include_str!("rules.txt")).expect("the rules");
        for banned in ["fn of", "const MOST", "struct Told", "field told_ns", "mod dues", "fn is_met"] {
            assert!(rules.banned_name(banned).is_some(), "{banned}");
        }
        for fine in ["fn offset", "fn method", "const MOST_STACKS", "struct EventKind", "field metadata"] {
            assert!(rules.banned_name(fine).is_none(), "{fine}");
        }
    }

    #[test]
    fn tables_and_links_may_be_wide() {
        let text = format!("{0}\n| {0} |\nhttps://{0}\n", "x".repeat(20));
        let pieces = [Piece { line: 1, text: text.clone(), is_doc: false }];
        assert_eq!(wide_lines(&pieces, &text, 10), [(1, "20 columns: wrap at 10".to_owned())]);
    }

    #[test]
    fn titles_begin_with_an_area_and_are_short() {
        assert_eq!(wrong_in_title("diff, top: mend a review", 72), None);
        assert!(wrong_in_title("Mend a review", 72).is_some());
        assert!(wrong_in_title("the area is this sentence. And more, of (x): y", 72).is_some());
        assert!(wrong_in_title("walk: find the caller of a stub", 20).is_some());
    }
}
