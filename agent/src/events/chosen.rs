//! Which kinds of events a recording has, as `events=` names them.

use vouch_recording::kinds::{EVENTS, EventKind};

/// Which kinds are recorded, by their places in the catalogue.
pub type Chosen = [bool; EVENTS.len()];

/// Those that are recorded when nobody says anything.
pub fn by_default() -> Chosen {
    EVENTS.map(|kind| kind.by_default)
}

/// The kinds that a text names, joined by `+`.
pub fn chosen(text: &str) -> Result<Chosen, String> {
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
        let Some(at) = EVENTS.iter().position(|kind| kind.word == word) else {
            return Err(format!(
                "{word} is not an event: use off, all, or names from default, {} joined by +",
                words()
            ));
        };
        chosen[at] = true;
    }
    Ok(chosen)
}

/// All words, for a person.
pub fn words() -> String {
    EVENTS.map(|kind| kind.word).join(", ")
}

/// Whether this kind is one of those that are recorded.
pub fn are_chosen(chosen: Chosen, kind: &EventKind) -> bool {
    EVENTS.iter().zip(chosen).any(|(known, chosen)| chosen && known.word == kind.word)
}
