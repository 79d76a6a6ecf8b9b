//! Splits files into comments, strings and code, well enough to check their words.

use super::repository::Language;

/// A text of one or more lines: a block of comment, a string or a paragraph.
pub struct Piece {
    /// The number of the text's first line.
    pub line: usize,
    /// The lines of the text without comment markers, one for each line of the file.
    pub text: String,
    /// True for a doc comment.
    pub is_doc: bool,
}

impl Piece {
    fn new(line: usize, text: &str) -> Self {
        Self { line, text: text.to_owned(), is_doc: false }
    }
}

/// The comments, strings and code of a Rust file.
pub struct RustParts {
    pub comments: Vec<Piece>,
    strings: Vec<Piece>,
    /// The file's code with a space for each character of comments and strings.
    pub code: String,
}

impl RustParts {
    /// Returns the strings with several words, outside of `#[cfg(test)] mod`.
    pub fn texts(&self) -> Vec<&Piece> {
        let tests = test_module_line(&self.code);
        self.strings.iter().filter(|string| string.line < tests && string.text.trim().contains(' ')).collect()
    }
}

/// Returns the line where `#[cfg(test)] mod … {` begins, or `usize::MAX` if it does not exist.
fn test_module_line(code: &str) -> usize {
    code.match_indices("#[cfg(test)]\nmod ")
        .find(|(at, _)| {
            let declaration = code.get(*at..).unwrap_or_default().lines().nth(1).unwrap_or_default();
            declaration.contains('{')
        })
        .map_or(usize::MAX, |(at, _)| line_at(code, at))
}

/// Returns the number of the line that contains an offset.
pub fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count().saturating_add(1)
}

/// Returns the lines of Markdown outside of code and HTML comments, as a piece for each paragraph.
pub fn markdown(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut in_fence = false;
    // An indented line is code after an empty line and after code.
    let mut may_be_code = true;
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        in_fence ^= fence;
        let indented = may_be_code && line.starts_with("    ");
        may_be_code = indented || line.trim().is_empty();
        let is_prose = !(in_fence || fence || indented || line.starts_with("<!--"));
        push_line(&mut pieces, index, if is_prose { line } else { "" }, false);
    }
    pieces
}

/// Returns each line as a separate piece.
pub fn whole(text: &str) -> Vec<Piece> {
    text.lines().enumerate().map(|(index, line)| Piece::new(index.saturating_add(1), line)).collect()
}

/// Adds a line to the last piece if the line continues it. Otherwise the line begins a new piece.
fn push_line(pieces: &mut Vec<Piece>, index: usize, text: &str, is_doc: bool) {
    let line = index.saturating_add(1);
    if text.trim().is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(last)
            if last.is_doc == is_doc && last.line.saturating_add(last.text.lines().count()) == line =>
        {
            last.text.push('\n');
            last.text.push_str(text);
        }
        _ => pieces.push(Piece { line, text: text.to_owned(), is_doc }),
    }
}

/// Returns the lines that have only a comment, without code blocks in comments.
pub fn comment_lines(text: &str, language: Language) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut in_block = false;
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let content = if language == Language::Script {
            trimmed
                .strip_prefix('#')
                .filter(|rest| !rest.starts_with('!') && !rest.starts_with(" shellcheck"))
        } else if in_block || trimmed.starts_with("/*") {
            in_block = !trimmed.contains("*/");
            let inner = trimmed.trim_start_matches("/**").trim_start_matches("/*");
            Some(inner.trim_end_matches("*/").trim_start_matches('*'))
        } else {
            ["///", "//!", "//"].iter().find_map(|marker| trimmed.strip_prefix(marker))
        };
        let Some(content) = content else {
            in_code = false;
            continue;
        };
        let fence = content.trim_start().starts_with("```");
        in_code ^= fence;
        let is_code = in_code || fence || content.starts_with("     ");
        push_line(&mut pieces, index, if is_code { "" } else { content }, false);
    }
    pieces
}

/// Splits Rust into comments, strings and code.
pub fn rust(text: &str) -> RustParts {
    let mut parts =
        RustParts { comments: Vec::new(), strings: Vec::new(), code: String::with_capacity(text.len()) };
    let mut rest = text;
    let mut line = 1_usize;
    while let Some(first) = rest.chars().next() {
        let (length, is_code) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            push_comment(&mut parts, line, rest.get(..length).unwrap_or_default());
            (length, false)
        } else if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |end| end.saturating_add(2));
            parts.comments.push(Piece::new(line, rest.get(..length).unwrap_or_default()));
            (length, false)
        } else if let Some(length) = string_length(rest, parts.code.chars().next_back()) {
            parts
                .strings
                .push(Piece::new(line, &without_placeholders(rest.get(..length).unwrap_or_default())));
            (length, false)
        } else if first == '\'' {
            let length = char_length(rest);
            (length, length == 1)
        } else {
            (first.len_utf8(), true)
        };
        let (taken, after) = rest.split_at(length);
        for character in taken.chars() {
            parts.code.push(if is_code || character == '\n' { character } else { ' ' });
            line = line.saturating_add(usize::from(character == '\n'));
        }
        rest = after;
    }
    parts
}

/// Returns a format string with spaces instead of the names in its placeholders, such as `{place}`.
fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push('{');
        let name = after.len().saturating_sub(after.trim_start_matches(is_of_a_name).len());
        let ends = after.get(name..).is_some_and(|after| after.starts_with(['}', ':']));
        out.push_str(&if ends { " ".repeat(name) } else { String::new() });
        rest = after.get(if ends { name } else { 0 }..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn push_comment(parts: &mut RustParts, line: usize, comment: &str) {
    let doc = ["///", "//!"].iter().find_map(|marker| comment.strip_prefix(marker));
    let text = doc.unwrap_or_else(|| comment.trim_start_matches('/'));
    push_line(&mut parts.comments, line.saturating_sub(1), text, doc.is_some());
}

/// Returns the length of the string literal that begins here, with its prefix. Returns `None` if
/// none begins.
fn string_length(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|character| character.is_alphanumeric() || character == '_') {
        return None;
    }
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len().saturating_sub(unprefixed.len());
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len().saturating_sub(raw.trim_start_matches('#').len());
        let body = raw.get(hashes..)?.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end)?.saturating_add(end.len());
        return Some(prefix.saturating_add(2).saturating_add(hashes).saturating_add(length));
    }
    let body = unprefixed.strip_prefix('"')?;
    let mut escaped = false;
    for (at, character) in body.char_indices() {
        if character == '"' && !escaped {
            return Some(prefix.saturating_add(at).saturating_add(2));
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

/// Returns the length of a character literal, or of the quote of a lifetime.
fn char_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some(_)) => {
            text.get(3..).and_then(|rest| rest.find('\'')).map_or(1, |at| at.saturating_add(4))
        }
        (Some(_), Some((at, '\''))) => at.saturating_add(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, comment_lines, markdown, rust, without_placeholders};

    #[test]
    fn rust_is_split_into_comments_strings_and_code() {
        let parts = rust(
            "/// One\n/// two.\nfn a<'x>() { // three\n let b = '\"'; let c = r#\"four \"// five\"#; }\n",
        );
        let comments: Vec<_> = parts.comments.iter().map(|piece| (piece.line, piece.text.as_str())).collect();
        assert_eq!(comments, [(1, " One\n two."), (3, " three")]);
        assert!(parts.code.contains("fn a<") && !parts.code.contains("five"));
        let texts = parts.texts();
        assert_eq!(texts.len(), 1);
        assert_eq!(texts[0].line, 4);
    }

    #[test]
    fn names_in_placeholders_are_no_words() {
        for (text, expected) in
            [("{place}: {}", "{     }: {}"), ("{place:?} lies", "{     :?} lies"), ("{a b}{", "{a b}{")]
        {
            assert_eq!(without_placeholders(text), expected);
        }
    }

    #[test]
    fn strings_of_test_modules_are_no_texts() {
        assert!(rust("#[cfg(test)]\nmod tests { const A: &str = \"two words\"; }").texts().is_empty());
        assert_eq!(rust("#[cfg(test)]\nmod tests;\nconst A: &str = \"two words\";").texts().len(), 1);
    }

    #[test]
    fn code_blocks_are_no_prose() {
        assert_eq!(markdown("one\n```\ntwo\n```\nthree\n\n    four\n    five\n").len(), 2);
        let pieces = comment_lines("# one\n# shellcheck disable=SC1\n#!x\ncode # no\n", Language::Script);
        assert_eq!(pieces.len(), 1);
    }
}
