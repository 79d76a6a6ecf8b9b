//! Implements `vouch embed`, which adds the source text of the shown methods to a profile.
//!
//! It must never read source text outside of the folders that the user names.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use vouch_profile::sources::DEFAULT_MAX_BYTES;
use vouch_report::plain;

use crate::error::Error;
use crate::rewrite::Rewritten;

#[derive(Args)]
pub struct EmbedOptions {
    /// Source trees, -sources.jar files or folders of these, a JDK or its src.zip
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write this file, and replace it if it exists [default: the profile's name with .sources in
    /// it, or a free name like it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add at most this much text, hottest files first
    #[arg(long, value_name = "MEGABYTES", default_value_t = DEFAULT_MAX_BYTES >> 20)]
    limit: u64,
}

/// Writes the profile with the texts, and returns a text about what was added and what is missing.
pub fn embed(profile: &Path, how: EmbedOptions) -> Result<String, Error> {
    let rewritten = Rewritten::new(profile, how.out, "sources")?;
    for path in &how.paths {
        path.metadata().map_err(|why| Error::from(why).about(path))?;
    }
    let mut document = rewritten.read()?;
    if io::stderr().is_terminal() {
        eprintln!("looking for sources …");
    }
    let embedded =
        vouch_profile::sources::embed(&mut document, &how.paths, how.limit.saturating_mul(1 << 20))
            .map_err(|wrong| Error::from(wrong).about(profile))?;
    let out = rewritten.write(&document)?;
    let lines = embedded.lines().into_iter().map(|line| format!("{}\n", plain(&line)));
    Ok(format!("wrote {out}\n{}", lines.collect::<String>()))
}
