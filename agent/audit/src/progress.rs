//! The progress of an audit, which the command shows.

/// The current step of an audit, and how much of the step is done.
#[derive(Debug, Clone, Copy)]
pub enum Progress {
    /// The audit reads a file: the bytes read so far, and the bytes of the file.
    Reading(u64, u64),
    /// The audit looks up classes: the number done so far, and the number of all classes.
    Looking(usize, usize),
}
