//! Finds the source text of the methods in a profile and adds it. The front-end then shows times
//! beside each line.
//!
//! A text of another version must never be added. Rejected files are reported.

mod embedded;
mod matching;
mod requested;
mod search_path;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use crate::document::Part;
use crate::error::Error;

pub use embedded::Embedded;
use matching::Misfit;
use requested::RequestedFile;
use search_path::{Copy, SearchPath};

/// The default limit for the bytes of all texts together.
pub const DEFAULT_MAX_BYTES: u64 = 32 << 20;

/// The limit for the bytes of one file. Longer files are generated.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The text of a matching file, or the reason for rejecting the best copy.
type Text = Result<Rc<str>, Misfit>;

/// The result of searching one file. If the copy is in an archive, the archive is recorded, too.
struct Found<'a> {
    archive: Option<&'a str>,
    text: Text,
}

/// Adds the source texts of a profile's files. `paths` are folders, archives or single files. A
/// file that has a text already keeps it. At most `max_bytes` of text are added, first to the files
/// with the most time.
pub fn embed(document: &mut Part, paths: &[PathBuf], max_bytes: u64) -> Result<Embedded, Error> {
    let jdk = requested::jdk(document)?;
    let mut shared: Part = document.get("shared")?;
    let mut all = requested::read(document, &shared)?;
    all.sort_by(|one, other| other.weight.cmp(&one.weight).then_with(|| one.path.cmp(&other.path)));
    let mut sources: Part = shared.get("sources")?;
    let mut content: Vec<Option<Rc<str>>> = sources.get("content")?;
    let names: HashSet<&str> = all.iter().map(RequestedFile::name).collect();
    let search_path = SearchPath::search(paths, &names);
    let mut embedded = Embedded::default();
    embedded.unreadable.clone_from(&search_path.unreadable);
    let mut found = Vec::new();
    for requested in &all {
        if content.get(requested.row).ok_or(Error::SourcesShape)?.is_some() {
            embedded.had += 1;
            embedded.weigh(requested, true);
            continue;
        }
        let copies = search_path.copies(requested);
        if copies.is_empty() {
            embedded.not_found.push(requested.path.clone());
            embedded.weigh(requested, false);
        } else {
            found.push((requested, choose(copies, requested, jdk.as_deref())));
        }
    }
    let rejected = rejected_archives(found.iter().map(|(_, found)| found));
    for (requested, Found { archive, text }) in found {
        let rejected = archive.filter(|archive| rejected.contains(archive));
        let left_out = match (text, rejected) {
            (Err(misfit), _) => Some(misfit.why),
            (Ok(_), Some(archive)) => {
                Some(format!("{archive}: is of another version, as other files in it show"))
            }
            (Ok(text), None) if embedded.bytes + text.len() as u64 > max_bytes => {
                Some("there is no room left for it".to_owned())
            }
            (Ok(text), None) => {
                embedded.put_in += 1;
                embedded.bytes += text.len() as u64;
                content[requested.row] = Some(text);
                None
            }
        };
        embedded.weigh(requested, left_out.is_none());
        embedded.left_out.extend(left_out.map(|why| (requested.path.clone(), why)));
    }
    sources.set("content", &content)?;
    shared.set("sources", &sources)?;
    document.set("shared", &shared)?;
    Ok(embedded)
}

/// Returns the archives in which more than one file in ten does not match. They have another
/// version, and their other files match only by chance. In a folder single files may have been
/// changed, so folders are not rejected.
fn rejected_archives<'a: 'f, 'f>(found: impl Iterator<Item = &'f Found<'a>>) -> HashSet<&'a str> {
    const FILES_PER_MISFIT: usize = 10;
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for Found { archive, text } in found {
        if let Some(archive) = archive {
            let (misfits, all) = counts.entry(archive).or_default();
            *misfits += usize::from(text.as_ref().is_err_and(|misfit| misfit.other_version));
            *all += 1;
        }
    }
    let rejected = |(archive, (misfits, all)): (&'a str, (usize, usize))| {
        (misfits * FILES_PER_MISFIT > all).then_some(archive)
    };
    counts.into_iter().filter_map(rejected).collect()
}

/// Chooses the nearest matching copy. If two equally near copies match and differ, it chooses none.
/// If none matches, the result is of the nearest copy.
fn choose<'a>(mut copies: Vec<Copy<'a>>, requested: &RequestedFile, jdk: Option<&str>) -> Found<'a> {
    copies.sort_by_key(|copy| copy.distance);
    let mut why = None;
    let mut chosen: Option<(&Copy<'_>, Rc<str>)> = None;
    for copy in &copies {
        if chosen.as_ref().is_some_and(|(nearest, _)| nearest.distance < copy.distance) {
            break;
        }
        match (copy.matching(requested, jdk), &chosen) {
            (Ok(text), Some((other, first))) if text != *first => {
                let why = format!(
                    "{} and {} both fit, and differ: name the right one first",
                    other.location, copy.location
                );
                return Found { archive: None, text: Err(Misfit { why, other_version: false }) };
            }
            (Ok(text), None) => chosen = Some((copy, text)),
            (Err(misfit), None) => why = why.or(Some((copy.archive, misfit))),
            _ => {}
        }
    }
    match (chosen, why) {
        (Some((copy, text)), _) => Found { archive: copy.archive, text: Ok(text) },
        (None, Some((archive, misfit))) => Found { archive, text: Err(misfit) },
        (None, None) => {
            let why = "it is not there any more".to_owned();
            Found { archive: None, text: Err(Misfit { why, other_version: false }) }
        }
    }
}

impl Copy<'_> {
    /// Reads the text and checks that it matches.
    fn matching(&self, requested: &RequestedFile, jdk: Option<&str>) -> Text {
        if let (Some(version), Some(jdk)) = (self.jdk, jdk)
            && !matching::is_version(jdk, version)
        {
            let why = format!("{} is of JDK {version}, and the profile of {jdk}", self.location);
            return Err(Misfit { why, other_version: false });
        }
        let with_location = |why: String| format!("{}: {why}", self.location);
        let unread =
            |why: vouch_classes::Error| Misfit { why: with_location(why.to_string()), other_version: false };
        let text = self.read(MAX_FILE_BYTES).map_err(unread)?;
        match matching::misfit(&text, requested, self.is_in_package_folder) {
            None => Ok(text.into()),
            Some(Misfit { why, other_version }) => Err(Misfit { why: with_location(why), other_version }),
        }
    }
}
