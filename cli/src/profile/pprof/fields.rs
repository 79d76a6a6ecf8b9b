//! Reads single fields of a pprof file. A row may refer to texts and values that the file lacks.

use vouch_formats::pprof::{Profile as File, Sample as Row};

/// The labels that name a thread. Vouch writes the last of them.
pub const THREAD_LABELS: [&str; 3] = ["thread name", "thread_name", "thread"];
/// The label with the number of a thread.
pub const THREAD_ID: &str = "thread_id";

/// Returns a text of the file's table. It is empty if the table has no such row.
pub fn text(file: &File, row: i64) -> &str {
    usize::try_from(row).ok().and_then(|row| file.string_table.get(row)).map_or("", String::as_str)
}

/// Returns the value of a row, or 0 if the row is too short. Returns `None` for a negative value.
pub fn value(row: &Row, column: usize) -> Option<u64> {
    u64::try_from(row.value.get(column).copied().unwrap_or(0)).ok()
}

/// Returns the text of a row's label.
pub fn label<'f>(file: &'f File, row: &Row, key: &str) -> Option<&'f str> {
    row.label.iter().find(|label| text(file, label.key) == key).map(|label| text(file, label.str))
}
