//! A terminal, as the agent has it: a folder that a command of `vouch` made for it, since what the
//! JVM writes on its stderr is read where nobody waits for it.
//!
//! It belongs to the JVM's user, who alone may look into it. The command has it locked (flock) for
//! as long as it waits; from then on the agent speaks on stderr again.

use std::str::FromStr;

/// The option that leads to it.
pub const KEY: &str = "terminal";

/// What would be said on stderr, in lines.
pub const SAID: &str = "said";
/// What is being recorded, in one line that is written over, and at the end how it ended.
pub const STATE: &str = "state";
/// How long the line of the state is, with the spaces that fill it and its end.
pub const STATE_LENGTH: usize = 200;
/// The files that would be left of recordings if their JVMs were killed: a line behind each of
/// these two words.
pub const RECORDINGS: &str = "recordings";
pub const BEGUN: &str = "begun ";
pub const ENDED: &str = "ended ";
/// A file of this name says that the folder is to stay.
pub const KEPT: &str = "kept";

/// How a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All of it was written.
    Written,
    /// Not all of it.
    Lost,
    /// It never began.
    Nothing,
}

const ENDS: [(End, &str); 3] = [
    (End::Written, "over: it was written"),
    (End::Lost, "over: not all of it was written"),
    (End::Nothing, "over: it never began"),
];

impl End {
    /// The line of the state.
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
    fn an_end_is_told_from_a_state() {
        for (end, _) in ENDS {
            assert_eq!(end.line().parse(), Ok(end));
        }
        assert_eq!("recording for 1.2 s".parse::<End>(), Err(()));
    }
}
