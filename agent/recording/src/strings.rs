//! The table of strings. It has the names of functions, files and resources.
//!
//! The table must never store a text twice: the list of rows and the index share it.

use std::sync::Arc;

use foldhash::HashMap;

use crate::ids::{Id, StringId};

/// The texts of the table, in the order of their ids.
#[derive(Debug, Default)]
pub struct StringTable {
    rows: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, StringId>,
    text_bytes: usize,
}

impl StringTable {
    pub(crate) fn intern(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let text: Arc<str> = text.into();
        let id = StringId::from_row(self.rows.len());
        self.text_bytes += text.len();
        self.rows.push(Arc::clone(&text));
        self.ids.insert(text, id);
        id
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.from(0)
    }

    /// Returns the texts of the table from a row on.
    pub fn from(&self, row: usize) -> impl Iterator<Item = &str> {
        self.rows[row..].iter().map(AsRef::as_ref)
    }

    pub fn count(&self) -> usize {
        self.rows.len()
    }

    pub fn get(&self, id: StringId) -> &str {
        &self.rows[id.row()]
    }

    pub(crate) fn bytes(&self) -> u64 {
        // An `Arc` has two counters, and the allocator adds a word.
        let texts = self.text_bytes + self.rows.len() * 3 * size_of::<usize>();
        let rows = self.rows.capacity() * size_of::<Arc<str>>();
        let ids = self.ids.capacity() * 8 / 7 * (size_of::<(Arc<str>, StringId)>() + 1);
        (texts + rows + ids) as u64
    }
}
