//! The virtual threads that samples were taken on, each a context of the recording's: what it is
//! called, and its id.
//!
//! There may be millions of them, one after another: so there is a limit to how many are told
//! apart. It must never be guessed who was carried.

use std::collections::HashMap;
use std::fmt::Write;

use vouch_recording::{ContextId, OTHERS, Recording, UNKNOWN, UNNAMED, VIRTUAL_THREAD};
use vouch_sample::Head;
use vouch_signal::unread_names::UNREAD_NAMES;

use super::own_kind::OwnKind;

/// So many of them are told apart, each under as many names as it has had.
const MOST: usize = 1 << 16;

/// Those that samples have met.
#[derive(Debug)]
pub struct Carried {
    kind: OwnKind,
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

impl Default for Carried {
    fn default() -> Self {
        Self {
            kind: OwnKind::new(VIRTUAL_THREAD, "VirtualThread", ["name", "id"]),
            known: HashMap::new(),
            rows: HashMap::new(),
            unknown: None,
            others: None,
            name: String::new(),
            key: String::new(),
        }
    }
}

impl Carried {
    /// A sample says that the one with this id is called so: from now on it is. `None`: nobody can
    /// tell.
    pub fn named(&mut self, id: u64, name: Option<impl Iterator<Item = u16>>, recording: &mut Recording) {
        let known = self.known.get(&id).copied();
        if id == 0 || id == Head::UNKNOWN_VTHREAD || name.is_none() && known.is_some() {
            return;
        }
        self.name.clear();
        match name {
            Some(name) => {
                UNREAD_NAMES.set_named(id);
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
                let row = self.kind.tell(None, [&name, &id.to_string()], recording);
                self.name = name;
                self.rows.insert(self.key.as_str().into(), row);
                row
            }
        };
        // The recording names earlier samples of the same id, too: theirs is the same context from
        // here on.
        if known.is_none_or(|known| recording.strings().get(known) != UNKNOWN) {
            self.known.insert(id, row);
        }
    }

    /// True if the one with this id was sampled, and no name of it has been read.
    pub fn lacks_name(&self, id: u64, recording: &Recording) -> bool {
        let name = self.known.get(&id).map(|known| recording.contexts().get(*known).values[0]);
        name.is_some_and(|name| recording.strings().get(name) == UNKNOWN)
    }

    /// The context of a sample whose thread carried the one with this id, as a head has it.
    pub fn of(&mut self, id: u64, recording: &mut Recording) -> Option<ContextId> {
        match id {
            0 => None,
            Head::UNKNOWN_VTHREAD => {
                let unknown = self.unknown.unwrap_or_else(|| self.kind.tell(None, [UNKNOWN; 2], recording));
                self.unknown = Some(unknown);
                self.unknown
            }
            id => Some(self.known.get(&id).copied().unwrap_or_else(|| self.others(recording))),
        }
    }

    /// What all beyond the limit are in.
    pub fn others(&mut self, recording: &mut Recording) -> ContextId {
        let others = self.others.unwrap_or_else(|| self.kind.tell(None, [OTHERS; 2], recording));
        self.others = Some(others);
        others
    }
}
