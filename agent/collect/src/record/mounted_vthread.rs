//! Adds a context to the recording for each sampled virtual thread, with its name and id.
//!
//! A program may create millions of virtual threads, so the number of their contexts is limited.
//! The context of a sample must never be guessed.

use std::collections::HashMap;
use std::fmt::Write;

use vouch_recording::{ContextId, OTHERS, Recording, UNKNOWN, UNNAMED, VIRTUAL_THREAD};
use vouch_sample::Head;
use vouch_signal::unread_names::UNREAD_NAMES;

use super::own_kind::OwnKind;

/// The maximum number of contexts of virtual threads. A renamed virtual thread has one for each
/// name.
const MAX_CONTEXTS: usize = 1 << 16;

/// The contexts of the virtual threads that samples were taken on.
#[derive(Debug)]
pub struct MountedVthreads {
    kind: OwnKind,
    /// The contexts by the id of their virtual thread, each under its latest name.
    known: HashMap<u64, ContextId>,
    /// The contexts by the id and the name of their virtual thread, as one string.
    rows: HashMap<Box<str>, ContextId>,
    unknown: Option<ContextId>,
    others: Option<ContextId>,
    /// The buffer for a virtual thread's name, kept to avoid allocation.
    name: String,
    /// The buffer for a virtual thread's id and name in one string, the key of `rows`.
    key: String,
}

impl Default for MountedVthreads {
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

impl MountedVthreads {
    /// Sets the name of the virtual thread with this id. `None` means that the handler could not
    /// read the name.
    pub fn set_name(&mut self, id: u64, name: Option<impl Iterator<Item = u16>>, recording: &mut Recording) {
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
        // Writing to a string never fails.
        let _ = write!(self.key, "{id} {}", self.name);
        let row = match self.rows.get(self.key.as_str()) {
            Some(row) => *row,
            None if self.rows.len() >= MAX_CONTEXTS => return,
            None => {
                let name = std::mem::take(&mut self.name);
                let row = self.kind.add(None, [&name, &id.to_string()], recording);
                self.name = name;
                self.rows.insert(self.key.as_str().into(), row);
                row
            }
        };
        // The recording adds the name to the unnamed context of the same id. Earlier and later
        // samples share that context.
        if known.is_none_or(|known| recording.strings().get(known) != UNKNOWN) {
            self.known.insert(id, row);
        }
    }

    /// Returns true if the virtual thread with this id was sampled and its name is still unknown.
    pub fn lacks_name(&self, id: u64, recording: &Recording) -> bool {
        let name = self.known.get(&id).map(|known| recording.contexts().get(*known).values[0]);
        name.is_some_and(|name| recording.strings().get(name) == UNKNOWN)
    }

    /// Returns the context of a sample by the id of the virtual thread that was mounted. Zero means
    /// that none was mounted.
    pub fn context(&mut self, id: u64, recording: &mut Recording) -> Option<ContextId> {
        match id {
            0 => None,
            Head::UNKNOWN_VTHREAD => {
                let unknown = self.unknown.unwrap_or_else(|| self.kind.add(None, [UNKNOWN; 2], recording));
                self.unknown = Some(unknown);
                self.unknown
            }
            id => Some(self.known.get(&id).copied().unwrap_or_else(|| self.shared_beyond_limit(recording))),
        }
    }

    /// Returns the context that all virtual threads beyond the limit share.
    pub fn shared_beyond_limit(&mut self, recording: &mut Recording) -> ContextId {
        let others = self.others.unwrap_or_else(|| self.kind.add(None, [OTHERS; 2], recording));
        self.others = Some(others);
        others
    }
}
