//! The source text of what a profile shows, found and put into it: the front-end then has times
//! beside each line.
//!
//! It must never show a text that is not of the code that ran: what does not fit is left out, and
//! told.

mod fits;
mod shelves;
mod told;
mod wanted;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use crate::document::{Part, Wrong};

use fits::Misfit;
use shelves::{Copy, Shelves};
pub use told::Embedded;
use wanted::Wanted;

/// All texts together take no more than this, if nobody says otherwise.
pub const MOST_BYTES: u64 = 32 << 20;

/// A file that is longer was not written by hand.
const MOST_OF_A_FILE: u64 = 4 << 20;

/// A text that fits, or why there is none.
type Text = Result<Rc<str>, Misfit>;

/// What was found of a file, and in which archive, if in one.
struct Found<'a> {
    archive: Option<&'a str>,
    text: Text,
}

/// Puts into a profile the texts of those of its files that lie below `paths`: folders, archives,
/// or single files. What has a text already keeps it. `most` bytes of text at most, of those first
/// in which most time went.
pub fn embed(document: &mut Part, paths: &[PathBuf], most: u64) -> Result<Embedded, Wrong> {
    let jdk = wanted::jdk(document)?;
    let mut shared: Part = document.get("shared")?;
    let mut all = wanted::read(document, &shared)?;
    all.sort_by(|one, other| other.weight.cmp(&one.weight).then_with(|| one.path.cmp(&other.path)));
    let mut sources: Part = shared.get("sources")?;
    let mut content: Vec<Option<Rc<str>>> = sources.get("content")?;
    let names: HashSet<&str> = all.iter().map(Wanted::name).collect();
    let shelves = Shelves::search(paths, &names);
    let mut embedded = Embedded::default();
    embedded.unreadable.clone_from(&shelves.unreadable);
    let mut found = Vec::new();
    for wanted in &all {
        if content.get(wanted.row).ok_or("its sources are of another shape")?.is_some() {
            embedded.had += 1;
            embedded.weigh(wanted, true);
            continue;
        }
        let copies = shelves.copies(wanted);
        if copies.is_empty() {
            embedded.not_found.push(wanted.path.clone());
            embedded.weigh(wanted, false);
        } else {
            found.push((wanted, choose(copies, wanted, jdk.as_deref())));
        }
    }
    let strange = strangers(found.iter().map(|(_, found)| found));
    for (wanted, Found { archive, text }) in found {
        let stranger = archive.filter(|archive| strange.contains(archive));
        let left_out = match (text, stranger) {
            (Err(misfit), _) => Some(misfit.why),
            (Ok(_), Some(archive)) => {
                Some(format!("{archive}: is of another version, as other files in it show"))
            }
            (Ok(text), None) if embedded.bytes + text.len() as u64 > most => {
                Some("there is no room left for it".to_owned())
            }
            (Ok(text), None) => {
                embedded.put_in += 1;
                embedded.bytes += text.len() as u64;
                content[wanted.row] = Some(text);
                None
            }
        };
        embedded.weigh(wanted, left_out.is_none());
        embedded.left_out.extend(left_out.map(|why| (wanted.path.clone(), why)));
    }
    sources.set("content", &content)?;
    shared.set("sources", &sources)?;
    document.set("shared", &shared)?;
    Ok(embedded)
}

/// Archives of which so many files do not fit that those which do fit by chance. A tree may have
/// files that were changed since; an archive is of one version.
fn strangers<'a: 'f, 'f>(found: impl Iterator<Item = &'f Found<'a>>) -> HashSet<&'a str> {
    const MANY: usize = 10;
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for Found { archive, text } in found {
        if let Some(archive) = archive {
            let (misfits, all) = counts.entry(archive).or_default();
            *misfits += usize::from(text.as_ref().is_err_and(|misfit| misfit.other_version));
            *all += 1;
        }
    }
    let strange =
        |(archive, (misfits, all)): (&'a str, (usize, usize))| (misfits * MANY > all).then_some(archive);
    counts.into_iter().filter_map(strange).collect()
}

/// Of several copies that one which fits and stands nearest; where two that stand equally near fit
/// and differ, none. With the archive that it, or the first that does not fit, lies in.
fn choose<'a>(mut copies: Vec<Copy<'a>>, wanted: &Wanted, jdk: Option<&str>) -> Found<'a> {
    copies.sort_by_key(|copy| copy.distance);
    let mut why = None;
    let mut chosen: Option<(&Copy<'_>, Rc<str>)> = None;
    for copy in &copies {
        if chosen.as_ref().is_some_and(|(nearest, _)| nearest.distance < copy.distance) {
            break;
        }
        match (copy.fitting(wanted, jdk), &chosen) {
            (Ok(text), Some((other, first))) if text != *first => {
                let why = format!(
                    "{} and {} both fit, and differ: name the right one first",
                    other.place, copy.place
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
    fn fitting(&self, wanted: &Wanted, jdk: Option<&str>) -> Text {
        if let (Some(of), Some(jdk)) = (self.jdk, jdk)
            && !fits::is_version(jdk, of)
        {
            let why = format!("{} is of JDK {of}, and the profile of {jdk}", self.place);
            return Err(Misfit { why, other_version: false });
        }
        let told = |why: String| format!("{}: {why}", self.place);
        let unread = |why: String| Misfit { why: told(why), other_version: false };
        let text = self.read(MOST_OF_A_FILE).map_err(unread)?;
        match fits::misfit(&text, wanted, self.in_its_package) {
            None => Ok(text.into()),
            Some(Misfit { why, other_version }) => Err(Misfit { why: told(why), other_version }),
        }
    }
}
