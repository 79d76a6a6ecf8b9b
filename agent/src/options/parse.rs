//! Reads an option text.

use vouch_report::Detail;
use vouch_report::options::pattern::PatternValues;

use super::fields::Options;
use super::key;

/// The request that a text contains.
#[derive(Debug)]
pub enum Request {
    /// The options, and the mistakes in the text as sentences. With any mistake, the caller must
    /// only report them.
    Run(Box<Options>, Vec<String>),
    Help,
    Version,
}

/// Reads an option text. A mistake does not end the reading. The caller may find more mistakes, and
/// reports all at once.
pub fn parse(text: &str, place: &PatternValues<'_>) -> Request {
    let mut options = Options::default();
    let mut mistakes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut words = 0;
    let mut details: Vec<Detail> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part, None),
        };
        match (name, value) {
            ("help", None) => return Request::Help,
            ("version", None) => return Request::Version,
            _ => {}
        }
        if let Err(mistake) = key::apply(&mut options, name, value, place, &mut words) {
            mistakes.push(mistake.to_string());
        } else if value.is_some() {
            let key = vouch_report::options::find(name);
            if !key.is_some_and(|key| key.is_repeatable) && seen.contains(&name) {
                mistakes.push(format!("{name} is set twice: set it once"));
            }
            if key.is_some_and(|key| key.alters() && key.default != value) {
                options.altered.push(format!("{name}={}", value.unwrap_or_default()));
            }
            seen.push(name);
        } else {
            details.push(options.detail);
        }
    }
    if words > 1 {
        mistakes.push("more than one of start, stop, dump, status, groups and check: give one".to_owned());
    }
    if details.contains(&Detail::Quiet) && details.contains(&Detail::Verbose) {
        mistakes.push("quiet and verbose exclude each other: give one".to_owned());
    }
    mistakes.extend(key::misplaced(options.verb, &seen));
    options.altered.sort_unstable();
    Request::Run(Box::new(options), mistakes)
}
