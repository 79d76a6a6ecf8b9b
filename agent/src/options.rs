//! The agent's options: the text after `=` on the command line, or after the library in
//! `jcmd … agent_load`.
//!
//! Strict: an unknown key or a bad value is never passed over, and all mistakes of one text are
//! told at once. Pure: what the environment says comes in through [`PatternValues`], files are not
//! touched here.
//!
//! [`PatternValues`]: vouch_report::options::pattern::PatternValues

pub mod choices;
pub mod fields;
pub mod help;
mod key;
pub mod parse;
pub mod signal;

#[cfg(test)]
mod tests;
