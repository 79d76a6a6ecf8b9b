//! The event kinds that the option `events=` chooses.

use vouch_recording::kinds::{EVENTS, EventKind, MONITOR, PARK};

use crate::error::ValueError;

/// Contains one flag for each kind of the catalogue: true if it is recorded.
pub type Chosen = [bool; EVENTS.len()];

/// Returns the kinds that are recorded without the option.
pub fn by_default() -> Chosen {
    EVENTS.map(|kind| kind.by_default)
}

/// The word for all kinds that count time blocked on locks.
const LOCK: &str = "lock";

/// Parses names of kinds, joined by `+`.
pub fn chosen(text: &str) -> Result<Chosen, ValueError> {
    let mut chosen = [false; EVENTS.len()];
    match text {
        "off" => return Ok(chosen),
        "all" => return Ok([true; EVENTS.len()]),
        _ => {}
    }
    for word in text.split('+') {
        if word == "default" {
            EVENTS.iter().zip(&mut chosen).for_each(|(kind, chosen)| *chosen |= kind.by_default);
            continue;
        }
        if word == LOCK {
            let is_lock = |kind: &EventKind| [MONITOR.word, PARK.word].contains(&kind.word);
            EVENTS.iter().zip(&mut chosen).for_each(|(kind, chosen)| *chosen |= is_lock(kind));
            continue;
        }
        let Some(at) = EVENTS.iter().position(|kind| kind.word == word) else {
            return Err(ValueError::Event { word: word.to_owned(), known: words() });
        };
        chosen[at] = true;
    }
    Ok(chosen)
}

/// Returns all words, for messages.
pub fn words() -> String {
    EVENTS.map(|kind| kind.word).join(", ")
}

/// Returns true if a kind is chosen.
pub fn are_chosen(chosen: Chosen, kind: &EventKind) -> bool {
    EVENTS.iter().zip(chosen).any(|(known, chosen)| chosen && known.word == kind.word)
}
