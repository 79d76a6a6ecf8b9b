//! Implements `vouch explain`, which lists the refutations of a profile, or shows one of them with
//! the bytecode that refutes it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize as _;
use serde_json::Value;
use similar::{Algorithm, DiffTag, capture_diff_slices};
use vouch_report::{
    MAX_LISTED, PlausibleReport, REMEDIES, RefutationReport, percent, plain, readable, reason,
};
use vouch_sample::NATIVE;
use vouch_verify::proof::Refutation;

use crate::document::{self, Against};
use crate::error::Error;

/// The list shows at most this many refutations.
const SHOWN: usize = 20;

/// The refutation that the user wants to see.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    Number(usize),
    /// A stack that the JVM itself contradicts, by its number from the most frequent one.
    Witnessed(usize),
}

impl FromStr for Which {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (kind, digits): (fn(usize) -> Self, _) = match text.strip_prefix('w') {
            Some(place) => (Self::Witnessed, place),
            None => (Self::Number, text),
        };
        digits.parse().map(kind).map_err(|_| Error::RefutationNumber)
    }
}

/// Returns the text about a file's refutations, or about one of them.
pub fn explain(file: &Path, which: Option<Which>) -> Result<String, Error> {
    let read = |list| {
        serde_json::from_value::<Vec<RefutationReport>>(list)
            .map_err(|why| Error::RefutationsShape { path: file.to_owned(), why })
    };
    let Against { refutations, contradictions, plausible_because, weight_ms } =
        document::refutations_in(file)?;
    let (refutations, contradictions) = (read(refutations)?, read(contradictions)?);
    let Some(which) = which else {
        let all_ms = weight_ms.get("signals").and_then(Value::as_f64);
        let reasons = plausible(&plausible_because, all_ms).unwrap_or_default();
        return Ok(list(&refutations, &contradictions) + &reasons);
    };
    let found = match which {
        Which::Witnessed(place) => place.checked_sub(1).and_then(|place| contradictions.get(place)),
        Which::Number(number) => {
            refutations.iter().chain(&contradictions).find(|refutation| refutation.number == number)
        }
    };
    found.map(explain_one).ok_or_else(|| none(file, which, &refutations, &contradictions))
}

fn none(
    file: &Path,
    which: Which,
    refutations: &[RefutationReport],
    contradictions: &[RefutationReport],
) -> Error {
    let path = file.to_owned();
    let limit = |is_full: bool| is_full.then_some(MAX_LISTED);
    let full = |all: &[RefutationReport]| all.len() >= MAX_LISTED;
    let numbers = refutations.iter().chain(contradictions).map(|refutation| refutation.number);
    match which {
        Which::Witnessed(place) if contradictions.is_empty() => Error::NothingContradicted { path, place },
        Which::Witnessed(place) => Error::NoSuchContradiction {
            path,
            place,
            last: contradictions.len(),
            limit: limit(full(contradictions)),
        },
        Which::Number(number) => match (numbers.clone().min(), numbers.max()) {
            (Some(least), Some(most)) => Error::NoSuchRefutation {
                path,
                number,
                least,
                most,
                limit: limit(full(refutations) || full(contradictions)),
            },
            _ => Error::NothingRefuted { path, number },
        },
    }
}

/// Returns a line for each refutation, the most frequent first. Those by the bytecode come before
/// those by the JVM.
fn list(refutations: &[RefutationReport], contradictions: &[RefutationReport]) -> String {
    if refutations.is_empty() && contradictions.is_empty() {
        return "no stack was refuted\n".to_owned();
    }
    let mut text = String::new();
    if !refutations.is_empty() {
        text.push_str("number  samples  what the walk has, and where\n");
        rows(&mut text, refutations, |_, refutation| refutation.number.to_string());
    }
    if !contradictions.is_empty() {
        text.push_str("number  samples  what the JVM itself had, asked at the same moment, and what the walk had there\n");
        rows(&mut text, contradictions, |place, _| format!("w{}", place + 1));
    }
    text
}

/// Explains why stacks are plausible and not proven, the most frequent reason first. Returns `None`
/// if no stack is plausible.
fn plausible(reasons: &Value, all_ms: Option<f64>) -> Option<String> {
    let reasons = BTreeMap::<String, PlausibleReport>::deserialize(reasons).ok()?;
    // Several reasons in the report may have the same text.
    let mut by_words = BTreeMap::<String, (u64, f64, Vec<&str>)>::new();
    for (name, PlausibleReport { samples, weight_ms, .. }) in &reasons {
        let (all_samples, all_weight_ms, names) = by_words.entry(reason(name)).or_default();
        *all_samples += samples;
        *all_weight_ms += weight_ms;
        names.push(name);
    }
    let mut rows: Vec<_> = by_words.into_iter().collect();
    rows.sort_by_key(|(_, (samples, ..))| Reverse(*samples));
    let mut text = "\nwhy stacks are plausible, not proven (a stack may have several reasons):\n".to_owned();
    for (words, (samples, weight_ms, names)) in &rows {
        // A stack with two of these reasons is in both numbers, so the sum is an upper limit.
        let at_most = if names.len() > 1 { "≤ " } else { "" };
        let share =
            all_ms.map_or_else(String::new, |all| format!("{at_most}{}", percent(100.0 * weight_ms / all)));
        let samples = format!("{at_most}{samples}");
        let _ = writeln!(text, "{samples:>15}  {share:>7}  {} ({})", plain(words), plain(&names.join(", ")));
    }
    for remedy in REMEDIES.iter().filter(|remedy| reasons.contains_key(remedy.reason)) {
        text.push_str(remedy.advice);
    }
    (!rows.is_empty()).then_some(text)
}

fn rows(
    text: &mut String,
    refutations: &[RefutationReport],
    number: impl Fn(usize, &RefutationReport) -> String,
) {
    for (place, refutation) in refutations.iter().take(SHOWN).enumerate() {
        let RefutationReport { count, kind, .. } = refutation;
        let _ = writeln!(
            text,
            "{:>6} {count:>8}  {kind}: {}",
            number(place, refutation),
            claimed_call(refutation)
        );
    }
    if refutations.len() > SHOWN {
        let _ = writeln!(text, "and {} more, less frequent", refutations.len() - SHOWN);
    }
}

/// Explains one refutation: the error, the stack, and the bytecode that contradicts the stack.
fn explain_one(refutation: &RefutationReport) -> String {
    let RefutationReport { number, count, kind, found, stack, at, code, .. } = refutation;
    let samples = if *count == 1 { "1 sample".to_owned() } else { format!("{count} samples") };
    let mut text = format!("refutation {number}, {kind} ({samples})\n\n{}\n", sentence(refutation));
    if let Some(witness) = &refutation.witness {
        text.push_str(
            "\nBoth stacks, innermost frame first; `-` is only in the walk, `+` only in the JVM's stack:\n\n",
        );
        append_both_stacks(&mut text, stack, &witness.stack);
        return text;
    }
    if !stack.is_empty() {
        text.push_str("\nThe stack, innermost frame first:\n\n");
    }
    for (place, frame) in stack.iter().enumerate() {
        let here = *at == Some(place);
        if here && is_edge(refutation) && place > 0 {
            text.push_str("    ✗ this call is not in the bytecode\n");
        }
        let _ = writeln!(text, "  {} {}", if here { '→' } else { ' ' }, plain(frame));
    }
    if !code.is_empty() {
        let of = caller(refutation).unwrap_or_else(|| plain(found));
        let _ = writeln!(text, "\nThe bytecode of {of}:\n");
        for line in code {
            let _ = writeln!(text, "  {}", plain(line));
        }
    }
    text
}

/// Appends both stacks of the same moment, with a line for each frame.
fn append_both_stacks(text: &mut String, walk: &[String], witness: &[String]) {
    for op in capture_diff_slices(Algorithm::Myers, walk, witness) {
        let (tag, walk_range, witness_range) = op.as_tag_tuple();
        let lines = |sign: char, lines: &[String], text: &mut String| {
            for line in lines {
                let _ = writeln!(text, "  {sign} {}", plain(line));
            }
        };
        if tag == DiffTag::Equal {
            lines(' ', &walk[walk_range], text);
        } else {
            lines('-', &walk[walk_range], text);
            lines('+', &witness[witness_range], text);
        }
    }
}

/// Describes the call that the walk claimed, such as `Cart.add @ 17 → Item.price`.
fn claimed_call(what: &RefutationReport) -> String {
    let found = plain(&readable(&what.found));
    let place = match what.line {
        None => format!(" @ {}", what.bci),
        Some(0) => String::new(),
        Some(line) => format!(":{line}"),
    };
    match caller(what) {
        Some(caller) => {
            let caller = readable(&caller);
            format!("{caller}{place} → {}", if is_edge(what) { found } else { "interrupted there".into() })
        }
        None if what.found.is_empty() => plain(&what.expected),
        None if what.kind == Refutation::Witness => {
            format!("{}, and {}", plain(&what.expected), plain(&what.found))
        }
        None => format!("{} → {found}", plain(&what.expected)),
    }
}

fn sentence(what: &RefutationReport) -> String {
    let (expected, found, place) = (plain(&what.expected), plain(&what.found), what.position());
    let at = if place.is_empty() { String::new() } else { format!(",{place},") };
    match caller(what) {
        None if what.kind == Refutation::WrongRoot && !found.is_empty() => {
            let found = readable(&found);
            format!("The walk ends in {found}, which is not {expected}: it lost its way before.")
        }
        None if what.kind == Refutation::Witness && !found.is_empty() => format!(
            "The JVM itself, asked about the thread {}, has another stack.\nSeen from its root, where the walk has\n  {}\nthe JVM has\n  {}",
            match what.witness.as_ref().map(|witness| witness.grade.as_str()) {
                Some("exact") => "before it ran on",
                _ => "before it came past its next safepoint poll",
            },
            found,
            expected,
        ),
        None => format!("There are too many refuted edges to list each: this row is for {expected}."),
        Some(caller) => {
            let caller = readable(&caller);
            let claimed = if is_edge(what) {
                format!("In the walk\n  {caller}{at} called\n  {}\n", readable(&found))
            } else {
                format!("In the walk {caller}\nwas interrupted{place}.\n")
            };
            format!("{claimed}{}", says(what))
        }
    }
}

/// Describes what the bytecode contains instead.
fn says(what: &RefutationReport) -> String {
    let expected = plain(&what.expected);
    match what.kind {
        Refutation::BciPastEnd => "Its bytecode ends before.".to_owned(),
        Refutation::BciInsideInstruction => "None of its instructions begins there.".to_owned(),
        Refutation::Nativeness if what.bci < 0 => {
            "That bci is a native method's, and this one has bytecode.".to_owned()
        }
        Refutation::Nativeness => "The method is native, and has no bytecode.".to_owned(),
        Refutation::NullMethod => "There is no such method: a frame of the walk has none.".to_owned(),
        Refutation::UnknownMethod => "The JVM has no such method.".to_owned(),
        Refutation::Witness => format!("The JVM itself has {expected} there."),
        Refutation::OtherCallee | Refutation::NotAnInvoke if what.line.is_some() => {
            let within = if what.line == Some(0) { "it" } else { "that line" };
            format!(
                "Nothing in {within} calls this, nor in another method of that name. Its bytecode has there\n  {}",
                readable(&expected)
            )
        }
        Refutation::NotAnInvoke => format!("Its bytecode calls nothing there:\n  {expected}"),
        Refutation::OtherCallee | Refutation::WrongRoot if what.bci == NATIVE => {
            format!("It is {expected}.")
        }
        Refutation::OtherCallee | Refutation::WrongRoot => {
            format!("Its bytecode calls there\n  {}", readable(&expected))
        }
    }
}

/// True if a call is refuted. For a leaf only its bytecode index can be refuted.
fn is_edge(what: &RefutationReport) -> bool {
    !what.caller.is_empty() && !what.found.is_empty()
}

/// Returns the method with the bytecode that contradicts the stack, if there is one.
fn caller(what: &RefutationReport) -> Option<String> {
    (!what.caller.is_empty()).then(|| plain(&what.caller))
}
