//! The contexts of virtual threads: their table, for where it can be told whom a carrier carries.
//!
//! Where it cannot no virtual thread has a context: its samples carry none, and it is counted. It must never be guessed.

use once_cell::sync::OnceCell;
use vouch_signal::virtuals::{Entry, VIRTUALS};

use crate::guard;
use crate::hotspot::continuations;

/// So many virtual threads can be in a context at once, if they lie evenly: 2 MiB, of which only what is used is touched.
const ENTRIES: usize = 1 << 17;

static TABLE: OnceCell<&'static [Entry]> = OnceCell::new();

/// The table, for the Java library; made when the first virtual thread comes.
pub fn table() -> &'static [Entry] {
    TABLE.get_or_init(|| {
        let table: &[Entry] = Vec::leak((0..ENTRIES).map(|_| Entry::default()).collect());
        VIRTUALS.begin(table);
        table
    })
}

/// Gives the virtual thread with this id an entry of the table: how far in it that lies. `None`: it has none.
pub fn claim(id: u64) -> Option<usize> {
    table();
    let seen = continuations::known() && guard::unguarded().is_none();
    if seen { VIRTUALS.claim(id) } else { None }
}
