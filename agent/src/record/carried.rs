//! The virtual threads that samples were taken on, each a context of the recording's: what it is called, and its id.
//!
//! There may be millions of them, one after another: so there is a limit to how many are told apart. It must never be guessed who was carried.

use std::collections::HashMap;
use std::fmt::Write;

use vouch_recording::{
    ContextField, ContextId, ContextKind, ContextKindId, ContextRow, OTHERS, Recording, UNKNOWN, UNNAMED,
    VIRTUAL_THREAD,
};
use vouch_sample::Head;

/// So many of them are told apart, each under as many names as it has had.
const MOST: usize = 1 << 16;

/// Those that samples have met.
#[derive(Debug, Default)]
pub struct Carried {
    kind: Option<ContextKindId>,
    /// By their ids, under the names that they had last.
    known: HashMap<u64, ContextId>,
    /// By their ids and names.
    rows: HashMap<Box<str>, ContextId>,
    unknown: Option<ContextId>,
    others: Option<ContextId>,
    /// The name at hand, and the same with the id: kept to be filled again.
    name: String,
    key: String,
}

impl Carried {
    /// A sample says that the one with this id is called so: from now on it is. `None`: nobody can tell.
    pub fn named(&mut self, id: u64, name: Option<impl Iterator<Item = u16>>, recording: &mut Recording) {
        let known = self.known.get(&id).copied();
        if id == 0 || id == Head::UNKNOWN || name.is_none() && known.is_some() {
            return;
        }
        self.name.clear();
        match name {
            Some(name) => {
                let letters = char::decode_utf16(name);
                self.name.extend(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
                if self.name.is_empty() {
                    self.name.push_str(UNNAMED);
                }
            }
            None => self.name.push_str(UNKNOWN),
        }
        let known = known.map(|known| recording.contexts().get(known).values[0]);
        if known.is_some_and(|known| recording.strings().get(known) == self.name) {
            return;
        }
        self.key.clear();
        // Writing to a string does not fail.
        let _ = write!(self.key, "{id} {}", self.name);
        let row = match self.rows.get(self.key.as_str()) {
            Some(row) => *row,
            None if self.rows.len() >= MOST => return,
            None => {
                let name = std::mem::take(&mut self.name);
                let row = self.tell(&name, &id.to_string(), recording);
                self.name = name;
                self.rows.insert(self.key.as_str().into(), row);
                row
            }
        };
        self.known.insert(id, row);
    }

    /// The context of a sample whose thread carried the one with this id, as a head has it.
    pub fn of(&mut self, id: u64, recording: &mut Recording) -> Option<ContextId> {
        match id {
            0 => None,
            Head::UNKNOWN => {
                let unknown = self.unknown.unwrap_or_else(|| self.tell(UNKNOWN, UNKNOWN, recording));
                self.unknown = Some(unknown);
                self.unknown
            }
            id => Some(self.known.get(&id).copied().unwrap_or_else(|| self.others(recording))),
        }
    }

    /// What all beyond the limit are in.
    pub fn others(&mut self, recording: &mut Recording) -> ContextId {
        let others = self.others.unwrap_or_else(|| self.tell(OTHERS, OTHERS, recording));
        self.others = Some(others);
        others
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
