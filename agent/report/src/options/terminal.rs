//! The names in the folder through which the agent answers a command of `vouch`.
//!
//! The user of `vouch attach` does not see the JVM's stderr, so the command makes a folder for the
//! agent's messages. Only the JVM's user may read it. The command holds a lock (flock) on it. When
//! the lock is released, the agent prints on stderr again.

use std::str::FromStr;

/// The option with the folder's path.
pub const KEY: &str = "terminal";

/// The file with the lines that would otherwise go to stderr.
pub const MESSAGES: &str = "said";
/// The file with one line about the recording. The agent overwrites the line, at last with an
/// [`End`].
pub const STATE: &str = "state";
/// The length of the state's line in bytes, with its padding and line feed.
pub const STATE_LENGTH: usize = 200;
/// The file with the names of recordings on disk, which remain if the JVM is killed. Each line is
/// [`BEGUN`] or [`ENDED`] and a path.
pub const RECORDINGS: &str = "recordings";
pub const BEGUN: &str = "begun ";
pub const ENDED: &str = "ended ";
/// If a file with this name exists, the folder must not be removed.
pub const KEPT: &str = "kept";

/// The way in which a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All files were written.
    Written,
    /// Some file was not written.
    Lost,
    /// The recording never began.
    Nothing,
}

const ENDS: [(End, &str); 3] = [
    (End::Written, "over: it was written"),
    (End::Lost, "over: not all of it was written"),
    (End::Nothing, "over: it never began"),
];

impl End {
    /// Returns the last line of the state file.
    pub fn line(self) -> &'static str {
        ENDS.iter().find(|(end, _)| *end == self).map_or("", |(_, line)| line)
    }
}

impl FromStr for End {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        ENDS.iter().find(|(_, known)| *known == line).map(|(end, _)| *end).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_differs_from_a_running_state() {
        for (end, _) in ENDS {
            assert_eq!(end.line().parse(), Ok(end));
        }
        assert_eq!("recording for 1.2 s".parse::<End>(), Err(()));
    }
}
