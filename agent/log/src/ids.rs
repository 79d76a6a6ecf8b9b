//! Maps a row number in the file to the row in the rebuilt recording. A damaged file lacks some
//! rows.
//!
//! A map must never take more memory than the file has rows, whatever row numbers the file
//! contains.

use vouch_recording::Id;

/// Maps the row numbers in the file to the ids of one table. Consecutive rows form a run; a missing
/// block ends a run.
#[derive(Debug)]
pub struct Ids<I> {
    runs: Vec<Run<I>>,
}

#[derive(Debug)]
struct Run<I> {
    first: u32,
    ids: Vec<Option<I>>,
}

impl<I> Default for Ids<I> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<I: Id> Ids<I> {
    /// Starts to insert rows into the map at row number `first`. Rows that were inserted before are
    /// skipped until the first new row.
    pub fn start_at(&mut self, first: u32) -> RowCursor {
        let next = self.runs.last().map_or(0, Run::next);
        if u64::from(first) > next || self.runs.is_empty() {
            self.runs.push(Run { first, ids: Vec::new() });
        }
        RowCursor { known: next.saturating_sub(first.into()) }
    }

    /// Inserts the next row of the file into the map, and calls `make` if the row is new. A row is
    /// stored as `None` if `make` cannot find another row that it refers to.
    pub fn push(&mut self, cursor: &mut RowCursor, make: impl FnOnce() -> Option<I>) {
        self.push_with(cursor, |_| make());
    }

    /// Inserts the next row of the file as `push` does. `make` can look up earlier rows of the same
    /// table.
    pub fn push_with(&mut self, cursor: &mut RowCursor, make: impl FnOnce(&Self) -> Option<I>) {
        if cursor.known > 0 {
            cursor.known -= 1;
            return;
        }
        let id = make(self);
        if let Some(run) = self.runs.last_mut()
            && run.next() <= u32::MAX.into()
        {
            run.ids.push(id);
        }
    }

    pub fn get(&self, row: u32) -> Option<I> {
        let run = match self.runs.last() {
            Some(last) if last.first <= row => last,
            _ => &self.runs[self.runs.partition_point(|run| run.first <= row).checked_sub(1)?],
        };
        *run.ids.get((row - run.first) as usize)?
    }

    /// Looks up a row by its number plus one. Returns `Ok(None)` for 0, and `Missing` if the row is
    /// missing.
    pub fn get_optional(&self, row: u32) -> Result<Option<I>, Missing> {
        row.checked_sub(1).map(|row| self.get(row).ok_or(Missing)).transpose()
    }
}

impl<I> Run<I> {
    fn next(&self) -> u64 {
        u64::from(self.first) + self.ids.len() as u64
    }
}

/// The position in the map of the next row to insert.
#[derive(Debug)]
pub struct RowCursor {
    /// Number of rows from here on that exist already.
    known: u64,
}

/// The error that data of the file refers to a row which is missing.
#[derive(Debug)]
pub struct Missing;
