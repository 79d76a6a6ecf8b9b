//! Parses the agent's options: the text after `=` on the command line, or after the library in
//! `jcmd … agent_load`.
//!
//! The parser is strict. An unknown key or a bad value is an error, and all mistakes of one text
//! are reported at once. The parser is pure. The environment comes in through [`PatternValues`],
//! and no file is touched here.
//!
//! [`PatternValues`]: vouch_report::options::pattern::PatternValues

pub mod choices;
pub mod fields;
pub mod help;
mod key;
pub mod parse;

#[cfg(test)]
mod tests;
