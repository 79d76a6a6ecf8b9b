//! A terminal, as the agent has it: a folder that a command of `vouch` made for it, since what the JVM writes on its stderr is read where
//! nobody waits for it.
//!
//! Who made the folder takes it away; from then on the agent speaks on stderr again.

/// The option that leads to it.
pub const KEY: &str = "terminal";

/// What would be said on stderr, in lines.
pub const SAID: &str = "said";
/// What is being recorded, in one line that is written over: there as long as a recording is that was begun from here.
pub const STATE: &str = "state";
/// How long the line of the state is, with the spaces that fill it and its end.
pub const STATE_LENGTH: usize = 200;
/// The files that would be left of recordings if their JVMs were killed, each in a line.
pub const RECORDINGS: &str = "recordings";
