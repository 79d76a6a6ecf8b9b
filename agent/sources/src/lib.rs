//! The source text of what a profile shows, found and put into it: the front-end then has times beside each line.
//!
//! It must never show a text that is not of the code that ran: what does not fit is left out, and told.
#![forbid(unsafe_code)]

mod fits;
mod shelves;
mod told;
mod wanted;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;

use vouch_document::{Part, Wrong};

use shelves::{Copy, Shelves};
pub use told::Embedded;
use wanted::Wanted;

/// All texts together take no more than this, if nobody says otherwise.
pub const MOST_BYTES: u64 = 32 << 20;

/// A file that is longer was not written by hand.
const MOST_OF_A_FILE: u64 = 4 << 20;

/// Why a file is left out, as it stands behind the file's name; or its text.
type Found = Result<Rc<str>, String>;

/// Puts into a profile the texts of those of its files that lie below `paths`: folders, archives, or single files. What has a text already
/// keeps it. `most` bytes of text at most, of those first in which most time went.
pub fn embed(mut document: Part, paths: &[PathBuf], most: u64) -> Result<(Part, Embedded), Wrong> {
    let jdk = wanted::jdk(&document)?;
    let mut shared: Part = document.get("shared")?;
    let mut all = wanted::read(&document, &shared)?;
    all.sort_by(|one, other| other.weight.cmp(&one.weight).then_with(|| one.path.cmp(&other.path)));
    let mut sources: Part = shared.get("sources")?;
    let mut content: Vec<Option<Rc<str>>> = sources.get("content")?;
    let names: HashSet<&str> = all.iter().map(Wanted::name).collect();
    let shelves = Shelves::search(paths, &names);
    let mut embedded = Embedded::default();
    embedded.unreadable.clone_from(&shelves.unreadable);
    for wanted in &all {
        let cell = content.get_mut(wanted.row).ok_or("its sources are of another shape")?;
        if cell.is_some() {
            embedded.had += 1;
            embedded.weigh(wanted, true);
            continue;
        }
        let copies = shelves.copies(wanted);
        if copies.is_empty() {
            embedded.not_found.push(wanted.path.clone());
            embedded.weigh(wanted, false);
            continue;
        }
        let found = choose(copies, wanted, jdk.as_deref()).and_then(|text| {
            let bytes = embedded.bytes + text.len() as u64;
            if bytes > most { Err("there is no room left for it".to_owned()) } else { Ok(text) }
        });
        embedded.weigh(wanted, found.is_ok());
        match found {
            Ok(text) => {
                embedded.put_in += 1;
                embedded.bytes += text.len() as u64;
                *cell = Some(text);
            }
            Err(why) => embedded.left_out.push((wanted.path.clone(), why)),
        }
    }
    sources.set("content", &content)?;
    shared.set("sources", &sources)?;
    document.set("shared", &shared)?;
    Ok((document, embedded))
}

/// Of several copies that one which fits and stands nearest; where two that stand equally near fit and differ, none.
fn choose(mut copies: Vec<Copy<'_>>, wanted: &Wanted, jdk: Option<&str>) -> Found {
    copies.sort_by_key(|copy| copy.distance);
    let mut why = None;
    let mut chosen: Option<(&Copy<'_>, Rc<str>)> = None;
    for copy in &copies {
        if chosen.as_ref().is_some_and(|(nearest, _)| nearest.distance < copy.distance) {
            break;
        }
        match (copy.fitting(wanted, jdk), &chosen) {
            (Ok(text), Some((other, first))) if text != *first => {
                return Err(format!(
                    "{} and {} both fit, and differ: name the right one first",
                    other.place, copy.place
                ));
            }
            (Ok(text), None) => chosen = Some((copy, text)),
            (Err(misfit), None) => why = why.or(Some(misfit)),
            _ => {}
        }
    }
    let none = || why.unwrap_or_else(|| "it is not there any more".to_owned());
    chosen.map(|(_, text)| text).ok_or_else(none)
}

impl Copy<'_> {
    fn fitting(&self, wanted: &Wanted, jdk: Option<&str>) -> Found {
        if let (Some(of), Some(jdk)) = (self.jdk, jdk)
            && !fits::is_version(jdk, of)
        {
            return Err(format!("{} is of JDK {of}, and the profile of {jdk}", self.place));
        }
        let text = self.read(MOST_OF_A_FILE).map_err(|why| format!("{}: {why}", self.place))?;
        match fits::misfit(&text, wanted, self.in_its_package) {
            None => Ok(text.into()),
            Some(misfit) => Err(format!("{}: {misfit}", self.place)),
        }
    }
}
