//! Adds data to a profile before it is written: the events of the Flight Recorder's file (`jfr=`),
//! and source text (`sources=`).
//!
//! A failed addition must never cost the profile.

use std::io::{self, BufReader, Write};
use std::path::Path;

use vouch_profile::document::Part;
use vouch_profile::merge::{Choice, MAX_SHOWN_PER_KIND, merge};

use crate::error::Unmerged;
use crate::options::fields::Options;

/// Writes the profile itself.
type Profile<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// The result of the additions.
#[derive(Debug, Default)]
pub struct ProfileExtras {
    /// The document that is written instead of the profile.
    pub document: Option<Part>,
    /// What was added, one item a line.
    pub lines: Vec<String>,
    /// What could not be added, and why.
    pub failures: Vec<String>,
}

impl ProfileExtras {
    pub fn add_to(options: &Options, profile: Profile<'_>) -> Self {
        let mut profile_extras = Self::default();
        if let Some(jfr) = &options.jfr {
            match merged(jfr, profile) {
                Ok((document, line)) => {
                    profile_extras.document = Some(document);
                    profile_extras.lines.push(format!("jfr: {line}"));
                }
                Err(why) => {
                    profile_extras
                        .failures
                        .push(format!("jfr: the profile is without the recording's events: {why}"));
                }
            }
        }
        if !options.sources.is_empty() {
            let document = profile_extras.document.take().map_or_else(|| read(profile), Ok);
            let embedded = document.and_then(|document| {
                let document = profile_extras.document.insert(document);
                Ok(vouch_profile::sources::embed(
                    document,
                    &options.sources,
                    vouch_profile::sources::DEFAULT_MAX_BYTES,
                )?)
            });
            match embedded {
                Ok(embedded) => profile_extras.lines.extend(embedded.lines()),
                Err(why) => {
                    profile_extras.failures.push(format!("sources: the profile is without them: {why}"));
                }
            }
        }
        profile_extras
    }
}

fn read(profile: Profile<'_>) -> Result<Part, Unmerged> {
    let mut text = Vec::new();
    profile(&mut text)?;
    Ok(serde_json::from_slice(&text).map_err(vouch_profile::Error::from)?)
}

fn merged(jfr: &Path, profile: Profile<'_>) -> Result<(Part, String), Unmerged> {
    if !jfr.exists() {
        return Err(Unmerged::JfrMissing(jfr.to_owned()));
    }
    let file = vouch_classes::archive::open_file(jfr)
        .map_err(|why| Unmerged::JfrUnreadable { jfr: jfr.to_owned(), why })?;
    let document = read(profile)?;
    let recording = jfr.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let choice = Choice { recording, events: Vec::new(), most: MAX_SHOWN_PER_KIND };
    let (document, merged) = merge(document, BufReader::with_capacity(1 << 20, file), &choice)?;
    if let Some(pid) = &merged.stranger {
        return Err(Unmerged::OtherProcess { jfr: jfr.to_owned(), pid: pid.clone() });
    }
    Ok((document, merged.line()))
}
