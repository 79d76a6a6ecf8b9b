//! The names in the folder through which the agent answers a command of `vouch`.
//!
//! The user of `vouch attach` does not see the JVM's stderr, so the command makes a folder for the
//! agent's messages. Only the JVM's user may read it. The command holds a lock (flock) on it. When
//! the lock is released, the agent prints on stderr again.

use std::str::FromStr;

/// The name of the option that passes the folder's path to the agent.
pub const KEY: &str = "terminal";

/// The name of the file for the agent's messages, which would otherwise go to stderr.
pub const MESSAGES: &str = "said";
/// The name of the file with one line about the recording's state. The agent overwrites the line
/// while it records, and finally writes an [`End`].
pub const STATE: &str = "state";
/// The length of the line in the state file in bytes, with its padding and line feed.
pub const STATE_LENGTH: usize = 200;
/// The name of the file that lists recordings on disk, which remain if the JVM is killed. Each line
/// is [`BEGUN`] or [`ENDED`] and a path.
pub const RECORDINGS: &str = "recordings";
pub const BEGUN: &str = "begun ";
pub const ENDED: &str = "ended ";
/// The name of a marker file. While it exists, the command must not remove the folder.
pub const KEPT: &str = "kept";

/// The way in which a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All files of the recording were written.
    Written,
    /// At least one file could not be written.
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
