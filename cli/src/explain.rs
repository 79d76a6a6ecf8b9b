//! `vouch explain`: the refutations of a profile, or one of them with the place that refutes it.

use std::fmt::Write as _;
use std::path::Path;

use vouch_proof::Refutation;
use vouch_report::{LISTED, RefutationReport, readable};
use vouch_sample::NATIVE;

use crate::document;
use crate::readable::plain;

/// How many of them the list shows.
const SHOWN: usize = 20;

/// What there is to print.
pub fn explain(file: &Path, number: Option<usize>) -> Result<String, String> {
    let name = file.display();
    let refutations: Vec<RefutationReport> =
        serde_json::from_value(document::refutations(file)?).map_err(|error| {
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
        let RefutationReport { number, count, kind, .. } = refutation;
        let _ = writeln!(text, "{number:>6} {count:>8}  {kind}: {}", claim(refutation));
    }
    if refutations.len() > SHOWN {
        let _ = writeln!(text, "and {} more, less frequent", refutations.len() - SHOWN);
    }
    text
}

/// One refutation: what is wrong, in which stack, and what the bytecode says.
fn one(refutation: &RefutationReport) -> String {
    let RefutationReport { number, count, kind, found, stack, at, code, .. } = refutation;
    let samples = if *count == 1 { "1 sample".to_owned() } else { format!("{count} samples") };
    let mut text = format!("refutation {number}, {kind} ({samples})\n\n{}\n", sentence(refutation));
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

/// What the walk claimed, in a line: `Cart.add @ 17 → Item.price`.
fn claim(what: &RefutationReport) -> String {
    let (found, bci) = (plain(&readable(&what.found)), what.bci);
    match caller(what) {
        Some(caller) => {
            let caller = readable(&caller);
            format!("{caller} @ {bci} → {}", if is_edge(what) { found } else { "interrupted there".into() })
        }
        None if what.found.is_empty() => plain(&what.expected),
        None => format!("{} → {found}", plain(&what.expected)),
    }
}

fn sentence(what: &RefutationReport) -> String {
    let (expected, found, bci) = (plain(&what.expected), plain(&what.found), what.bci);
    match caller(what) {
        None if what.kind == Refutation::WrongRoot && !found.is_empty() => {
            let found = readable(&found);
            format!("The walk ends in {found}, which is not {expected}: it lost its way before.")
        }
        None => format!("Too many places were refuted to tell each of them: this stands for {expected}."),
        Some(caller) => {
            let caller = readable(&caller);
            let claimed = if is_edge(what) {
                format!("The walk claims that\n  {caller}, at bci {bci}, called\n  {}\n", readable(&found))
            } else {
                format!("The walk claims that {caller}\nwas interrupted at bci {bci}.\n")
            };
            format!("{claimed}{}", says(what))
        }
    }
}

/// What the bytecode says to it.
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
        Refutation::UnknownMethod => "The JVM knows no such method.".to_owned(),
        Refutation::NotAnInvoke => format!("Its bytecode calls nothing there:\n  {expected}"),
        Refutation::OtherCallee | Refutation::WrongRoot if what.bci == NATIVE => {
            format!("It is {expected}.")
        }
        Refutation::OtherCallee | Refutation::WrongRoot => {
            format!("Its bytecode calls there\n  {}", readable(&expected))
        }
    }
}

/// True where a call is refuted; of a leaf it is the place alone.
fn is_edge(what: &RefutationReport) -> bool {
    !what.caller.is_empty() && !what.found.is_empty()
}

/// The method whose bytecode says otherwise, if there is one.
fn caller(what: &RefutationReport) -> Option<String> {
    (!what.caller.is_empty()).then(|| plain(&what.caller))
}
