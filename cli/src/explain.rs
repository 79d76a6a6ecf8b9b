//! `vouch explain`: the refutations of a profile, or one of them with the place that refutes it.

use std::fmt::Write as _;
use std::path::Path;

use vouch_profile::{LISTED, Refutation, RefutationReport};

use crate::document;
use crate::readable::plain;

/// How many of them the list shows.
const SHOWN: usize = 20;

/// What there is to print.
pub fn explain(file: &Path, number: Option<usize>) -> Result<String, String> {
    let name = file.display();
    let mut report = document::report(file)?;
    let refutations: Vec<RefutationReport> =
        serde_json::from_value(report["refutations"].take()).map_err(|error| {
            format!("{name} has refutations of a shape that this vouch does not know: {error}")
        })?;
    let Some(number) = number else { return Ok(list(&refutations)) };
    let found = refutations.iter().find(|refutation| refutation.number == number);
    found.map(one).ok_or_else(|| none(&name.to_string(), number, &refutations))
}

fn none(file: &str, number: usize, refutations: &[RefutationReport]) -> String {
    let numbers = refutations.iter().map(|refutation| refutation.number);
    match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) => {
            let kept = if refutations.len() >= LISTED {
                format!("; it keeps the {LISTED} most frequent")
            } else {
                String::new()
            };
            format!(
                "{file} has no refutation {number}: its numbers lie between {least} and {most}{kept} (vouch explain {file} lists them)"
            )
        }
        _ => format!("{file} has no refutation {number}: no stack in it was refuted"),
    }
}

/// A line each, the most frequent first.
fn list(refutations: &[RefutationReport]) -> String {
    if refutations.is_empty() {
        return "no stack was refuted\n".to_owned();
    }
    let mut text = format!("{:>6} {:>8}  what the walk claimed, and of which place\n", "number", "samples");
    for refutation in refutations.iter().take(SHOWN) {
        let RefutationReport { number, count, what, .. } = refutation;
        let Refutation { kind, bci, found, .. } = what;
        let place = caller(what).map_or_else(String::new, |caller| format!(" of {caller} at bci {bci}"));
        let _ = writeln!(text, "{number:>6} {count:>8}  {}: {}{place}", plain(kind), plain(found));
    }
    if refutations.len() > SHOWN {
        let _ = writeln!(text, "and {} more, less frequent", refutations.len() - SHOWN);
    }
    text
}

/// One refutation: what is wrong, in which stack, and what the bytecode says.
fn one(refutation: &RefutationReport) -> String {
    let RefutationReport { number, count, what, stack, at, code } = refutation;
    let samples = if *count == 1 { "1 sample".to_owned() } else { format!("{count} samples") };
    let mut text = format!("refutation {number}, {} ({samples})\n\n{}\n", plain(&what.kind), sentence(what));
    if !stack.is_empty() {
        text.push_str("\nThe stack, innermost frame first:\n\n");
    }
    for (place, frame) in stack.iter().enumerate() {
        let here = *at == Some(place);
        if here && caller(what).is_some() && place > 0 {
            text.push_str("    ✗ this call is not in the bytecode\n");
        }
        let _ = writeln!(text, "  {} {}", if here { '→' } else { ' ' }, plain(frame));
    }
    if !code.is_empty() {
        let of = caller(what).unwrap_or_else(|| plain(&what.found));
        let _ = writeln!(text, "\nThe bytecode of {of}:\n");
        for line in code {
            let _ = writeln!(text, "  {}", plain(line));
        }
    }
    text
}

fn sentence(what: &Refutation) -> String {
    let Refutation { kind, bci, expected, found, .. } = what;
    let (expected, found) = (plain(expected), plain(found));
    match (kind.as_str(), caller(what)) {
        ("wrong_root", _) => {
            format!("The walk ends in {found}, which is not {expected}: its outermost frames are lacking.")
        }
        (_, Some(caller)) if found.is_empty() => {
            format!("{caller} is said to stand at bci {bci}, where there is {expected}.")
        }
        (_, Some(caller)) => format!(
            "The walk claims that {caller}, at bci {bci}, called\n  {found}\nIts bytecode has there\n  {expected}"
        ),
        (_, None) => format!("{expected}."),
    }
}

/// The method whose bytecode says otherwise, if there is one.
fn caller(what: &Refutation) -> Option<String> {
    (!what.caller.is_empty()).then(|| plain(&what.caller))
}
