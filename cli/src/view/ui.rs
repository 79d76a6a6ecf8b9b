//! Serves a build of the front-end: the files below a folder, or in a zip archive.
//!
//! It must never serve a file outside of the build, whatever a path says or a link leads to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use vouch_classes::archive::Entry;

use crate::error::Error;

/// The page of the front-end. The front-end itself interprets its paths.
const INDEX: &str = "index.html";
/// A file of the front-end has at most this many bytes.
const MAX_BYTES: u64 = 256 << 20;

pub enum FrontEnd {
    Folder(PathBuf),
    Archive { path: PathBuf, entries: HashMap<String, Entry> },
}

impl FrontEnd {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |why: Error| why.about(path);
        let none = || wrong(Error::NotAFrontEnd { index: INDEX });
        let path = path.canonicalize().map_err(|why| wrong(why.into()))?;
        if path.is_dir() {
            return if path.join(INDEX).is_file() { Ok(Self::Folder(path)) } else { Err(none()) };
        }
        let listing = vouch_classes::archive::list(&path, |_| true).map_err(|why| wrong(why.into()))?;
        // All of it may lie in one folder of the archive.
        let index = listing.entries.iter().map(|entry| &entry.name).filter(|name| {
            name.strip_suffix(INDEX).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        });
        let root = index.min_by_key(|name| name.len()).ok_or_else(none)?;
        let root = root[..root.len() - INDEX.len()].to_owned();
        let below = |entry: Entry| Some((entry.name.strip_prefix(&root)?.to_owned(), entry));
        Ok(Self::Archive { path, entries: listing.entries.into_iter().filter_map(below).collect() })
    }

    /// Returns a file by its path, with its media type. A path that is no file belongs to the
    /// front-end, so it returns the page.
    pub fn file(&self, path: &str) -> Option<(&'static str, Vec<u8>)> {
        let name = path.trim_start_matches('/');
        let found = if name.is_empty() { None } else { self.read(name) };
        let (name, bytes) = match found {
            Some(bytes) => (name, bytes),
            // Only the profile's address has an ending. A missing file must not be answered with
            // the page.
            None if kind(name).is_none() || name.starts_with("from-url/") => (INDEX, self.read(INDEX)?),
            None => return None,
        };
        Some((kind(name).unwrap_or("application/octet-stream"), bytes))
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match self {
            Self::Folder(root) => {
                let file = root.join(name).canonicalize().ok()?;
                if !file.starts_with(root) {
                    return None;
                }
                vouch_classes::archive::read_file(&file, MAX_BYTES).ok()
            }
            Self::Archive { path, entries } => {
                vouch_classes::archive::read(path, entries.get(name)?, MAX_BYTES).ok()
            }
        }
    }
}

/// Returns the media type of a file.
fn kind(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('/').next()?.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" | "md" | "ftl" => "text/plain; charset=utf-8",
        _ => return None,
    })
}
