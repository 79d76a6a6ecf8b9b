//! The progress of an audit, which the command shows.

/// What an audit is doing, and how much of it is done.
#[derive(Debug, Clone, Copy)]
pub enum Progress {
    /// Bytes of the file that are read, and all of them.
    Reading(u64, u64),
    /// Classes that are looked up, and all of them.
    Looking(usize, usize),
}
