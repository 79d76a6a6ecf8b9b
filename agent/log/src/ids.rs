//! From the row that something had when it was recorded to the one that it has now. In a damaged
//! file some are missing.
//!
//! It must never take more memory than there are rows, whatever numbers a file has.

use vouch_recording::Id;

/// One table's. Rows come in runs: a run ends where a block is missing.
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
    /// Rows from here on are put in. What comes again from further up is passed over, until it is
    /// new.
    pub fn begin(&mut self, first: u32) -> Place {
        let next = self.runs.last().map_or(0, Run::next);
        if u64::from(first) > next || self.runs.is_empty() {
            self.runs.push(Run { first, ids: Vec::new() });
        }
        Place { known: next.saturating_sub(first.into()) }
    }

    /// The next row, which is made if it is new; `None` where what it refers to is missing.
    pub fn push(&mut self, place: &mut Place, make: impl FnOnce() -> Option<I>) {
        self.push_with(place, |_| make());
    }

    /// The same, of a row that refers to others of its table.
    pub fn push_with(&mut self, place: &mut Place, make: impl FnOnce(&Self) -> Option<I>) {
        if place.known > 0 {
            place.known -= 1;
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

    /// Of a row plus one; 0 is none, which is none that is missing.
    pub fn maybe(&self, row: u32) -> Result<Option<I>, Missing> {
        row.checked_sub(1).map(|row| self.get(row).ok_or(Missing)).transpose()
    }
}

impl<I> Run<I> {
    fn next(&self) -> u64 {
        u64::from(self.first) + self.ids.len() as u64
    }
}

/// Where the next row goes.
#[derive(Debug)]
pub struct Place {
    /// So many of the next ones are there already.
    known: u64,
}

/// What is referred to is not there.
#[derive(Debug)]
pub struct Missing;
