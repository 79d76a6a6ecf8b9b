//! The virtual threads that samples were taken on, each a context of the recording's: what it is called, and its id.
//!
//! There may be millions of them, one after another: so there is a limit to how many are told apart. It must never be guessed who was carried.

use std::collections::HashMap;

use vouch_recording::{
    ContextField, ContextId, ContextKind, ContextKindId, ContextRow, Recording, UNNAMED, VIRTUAL_THREAD,
};
use vouch_sample::Head;

/// So many of them are told apart.
const MOST: usize = 1 << 16;

/// What stands in the place of an id that there is not.
const UNKNOWN: &str = "[unknown]";
const OTHERS: &str = "[others]";

/// Those that samples have met.
#[derive(Debug, Default)]
pub struct Carried {
    kind: Option<ContextKindId>,
    /// By their ids, under the names that they had last.
    known: HashMap<u64, ContextId>,
    /// All beyond the limit.
    others: Option<ContextId>,
    /// The name at hand: kept to be filled again.
    name: String,
}

impl Carried {
    /// A sample says that the one with this id is called so: from now on it is.
    pub fn named(&mut self, id: u64, name: impl Iterator<Item = u16>, recording: &mut Recording) {
        self.name.clear();
        let letters = char::decode_utf16(name).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        self.name.extend(letters);
        if self.name.is_empty() || id == 0 || id == Head::UNKNOWN {
            return;
        }
        let known = self.known.get(&id).map(|known| recording.contexts().get(*known).values[0]);
        let is_news = known.is_none_or(|known| recording.strings().get(known) != self.name);
        if is_news && (known.is_some() || self.known.len() < MOST) {
            let name = std::mem::take(&mut self.name);
            let row = self.tell(&name, &id.to_string(), recording);
            self.known.insert(id, row);
            self.name = name;
        }
    }

    /// The context of a sample whose thread carried the one with this id, as a head has it.
    pub fn of(&mut self, id: u64, recording: &mut Recording) -> Option<ContextId> {
        if id == 0 {
            return None;
        }
        if let Some(known) = self.known.get(&id) {
            return Some(*known);
        }
        if self.known.len() >= MOST {
            let others = self.others.unwrap_or_else(|| self.tell(OTHERS, OTHERS, recording));
            self.others = Some(others);
            return self.others;
        }
        let row = match id {
            Head::UNKNOWN => self.tell(UNKNOWN, UNKNOWN, recording),
            id => self.tell(UNNAMED, &id.to_string(), recording),
        };
        self.known.insert(id, row);
        Some(row)
    }

    fn tell(&mut self, name: &str, id: &str, recording: &mut Recording) -> ContextId {
        let kind = *self.kind.get_or_insert_with(|| {
            let mut field = |key: &str| {
                let key = recording.string(key);
                ContextField { key, label: key }
            };
            let fields = vec![field("name"), field("id")];
            let (class, label) = (recording.string(VIRTUAL_THREAD), recording.string("VirtualThread"));
            recording.context_kind(ContextKind { class, label, fields })
        });
        let values = [name, id].map(|value| recording.string(value)).to_vec();
        recording.context(ContextRow { outer: None, kind, values })
    }
}
