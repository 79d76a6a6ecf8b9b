//! How far an audit has come, for whoever waits for it.

/// How far an audit has come.
#[derive(Debug, Clone, Copy)]
pub enum Progress {
    /// So many bytes of a file, of so many.
    Reading(u64, u64),
    /// So many classes, of so many.
    Looking(usize, usize),
}
