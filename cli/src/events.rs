//! `vouch events`: the catalogue of what the JVM does meanwhile, as far as Vouch can record it.
//!
//! It must never say what is not in the catalogue.

use std::fmt::Write as _;

use vouch_recording::kinds::{EVENTS, EventKind};

/// All kinds in a line each, or one of them in full.
pub fn events(word: Option<&str>) -> Result<String, String> {
    let Some(word) = word else { return Ok(list()) };
    let found = EVENTS.iter().find(|kind| kind.word == word);
    found.map(|kind| one(kind)).ok_or_else(|| {
        let words = EVENTS.map(|kind| kind.word);
        format!("there is no {word} among the events: {}", words.join(", "))
    })
}

fn list() -> String {
    let mut text = String::from("word       JDK  default  what\n");
    for EventKind { word, since, by_default, mark, .. } in EVENTS {
        let default = if *by_default { "yes" } else { "" };
        let _ = writeln!(text, "{word:<10} {since:>3}  {default:<7}  {}", mark.description);
    }
    text.push_str("\nevents=WORD+WORD records these, events=default the default ones, events=all all, events=off none.\n");
    text.push_str("`vouch events WORD` says more of one.\n");
    text
}

fn one(kind: &EventKind) -> String {
    let EventKind { word, mark, .. } = kind;
    let mut text = format!("{word}: {}\n{}\n\n", mark.label, mark.description);
    for (title, what) in kind.about() {
        let _ = writeln!(text, "{:<12}{what}", format!("{title}:"));
    }
    text
}
