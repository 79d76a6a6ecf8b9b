//! A container of classes, with the names of its classes: the files below a folder, an archive, or
//! an archive within one.
//!
//! It must never follow a link to a folder, keep an archive open, or stop at an unreadable file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::archive::{Entry, Listing};
use walkdir::WalkDir;

use crate::error::Error;
use crate::manifest::{self, class_path};

/// A class file with more bytes than this is not read.
pub const MAX_CLASS_BYTES: u64 = 16 << 20;
/// Archives within archives are kept in memory, up to this total.
const MAX_NESTED_BYTES: u64 = 1 << 30;
/// The search visits at most this many files in all folders together.
const MAX_FILES: usize = 1_000_000;
/// The folders before the package in archives of servers, of Spring Boot, and of JDK modules.
const CLASS_FOLDERS: [&str; 3] = ["WEB-INF/classes/", "BOOT-INF/classes/", "classes/"];
/// The folder with classes for newer Java releases.
const VERSIONED_FOLDER: &str = "META-INF/versions/";
/// The deepest nesting of archives that is read.
const MAX_NESTING: usize = 3;

/// A container of classes, which finds them by names such as `java/lang/String`.
#[derive(Debug)]
pub enum ClassContainer {
    /// The class files below a folder, by the last part of the class name, since the root of the
    /// packages is unknown.
    Folder(HashMap<String, Vec<PathBuf>>),
    /// A folder in which packages are folders.
    Root(PathBuf),
    Archive {
        path: PathBuf,
        entries: Entries,
    },
    NestedArchive {
        location: String,
        bytes: Vec<u8>,
        entries: Entries,
    },
}

type Entries = HashMap<String, Vec<Entry>>;

/// The containers of classes that were found, and the files that could not be read.
#[derive(Debug, Default)]
pub struct Containers {
    pub all: Vec<ClassContainer>,
    /// A sentence for each unreadable file.
    pub unreadable: Vec<String>,
    files_seen: usize,
    /// The number of bytes of nested archives that are kept in memory.
    nested_bytes: u64,
}

impl Containers {
    /// Adds all classes at a path, which may be a class file, an archive, or a folder of these.
    pub fn add_tree(&mut self, path: &Path) {
        if !path.is_dir() {
            self.add_archive(path);
            return;
        }
        let mut folder: HashMap<String, Vec<PathBuf>> = HashMap::new();
        let mut archives = Vec::new();
        for entry in WalkDir::new(path).sort_by_file_name() {
            self.files_seen += 1;
            if self.files_seen > MAX_FILES {
                self.unreadable.push(format!(
                    "{}: not all of it was looked at, but {MAX_FILES} files: name a folder further down",
                    path.display()
                ));
                break;
            }
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => match ending(entry.path()) {
                    "class" => {
                        let name = stem(entry.path());
                        folder.entry(name).or_default().push(entry.into_path());
                    }
                    "jar" | "war" | "ear" | "jmod" => archives.push(entry.into_path()),
                    _ => {}
                },
                Err(error) => {
                    let location = error.path().unwrap_or(path).display().to_string();
                    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.unreadable.push(format!("{location}: {why}"));
                }
            }
        }
        if !folder.is_empty() {
            self.all.push(ClassContainer::Folder(folder));
        }
        for archive in archives {
            self.add_archive(&archive);
        }
    }

    /// Adds the classes that a JVM finds at an entry of its class path, and at the entries that a
    /// manifest there names.
    pub fn add_class_path_entry(&mut self, path: &Path) {
        if path.is_dir() {
            return self.all.push(ClassContainer::Root(path.to_owned()));
        }
        // A manifest may name its own archive, or the one before, under another spelling.
        let (mut waiting, mut seen) = (vec![path.to_owned()], HashSet::new());
        while let Some(path) = waiting.pop() {
            if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                continue;
            }
            let Some(manifest) = self.add_archive(&path) else { continue };
            // The JVM skips missing entries.
            let named = class_path(&path, &manifest).into_iter().filter(|path| path.exists());
            let (folders, archives): (Vec<PathBuf>, Vec<PathBuf>) = named.partition(|path| path.is_dir());
            self.all.extend(folders.into_iter().map(ClassContainer::Root));
            waiting.extend(archives.into_iter().rev());
        }
    }

    /// Adds an archive or a class file. Returns the archive's manifest, if it has one and is new.
    fn add_archive(&mut self, path: &Path) -> Option<Entry> {
        if ending(path) == "class" {
            self.all.push(ClassContainer::Folder(HashMap::from([(stem(path), vec![path.to_owned()])])));
            return None;
        }
        // An archive that was added first may be in a folder with the others, such as `rt.jar` of
        // an old JDK.
        if self.all.iter().any(
            |container| matches!(container, ClassContainer::Archive { path: known, .. } if known == path),
        ) {
            return None;
        }
        let location = path.display().to_string();
        let wanted = |name: &str| is_wanted(name) || name == manifest::NAME;
        let mut listing = self.or_report(&location, crate::archive::list(path, wanted))?;
        let manifest =
            listing.entries.extract_if(.., |entry| entry.name == manifest::NAME).reduce(|first, _| first);
        let (entries, inner) = self.classes_and_archives(&location, listing);
        for entry in inner {
            let bytes =
                crate::archive::read(path, &entry, MAX_NESTED_BYTES.saturating_sub(self.nested_bytes));
            self.add_nested(format!("{location}!/{}", entry.name), bytes, 1);
        }
        self.all.push(ClassContainer::Archive { path: path.to_owned(), entries });
        manifest
    }

    fn add_nested(&mut self, location: String, bytes: Result<Vec<u8>, Error>, depth: usize) {
        let Some(bytes) = self.or_report(&location, bytes) else { return };
        self.nested_bytes += bytes.len() as u64;
        let listing = crate::archive::list_in_memory(&bytes, is_wanted);
        let Some(listing) = self.or_report(&location, listing) else { return };
        let (entries, inner) = self.classes_and_archives(&location, listing);
        for entry in inner.into_iter().filter(|_| depth < MAX_NESTING) {
            let bytes = crate::archive::read_in_memory(
                &bytes,
                &entry,
                MAX_NESTED_BYTES.saturating_sub(self.nested_bytes),
            );
            self.add_nested(format!("{location}!/{}", entry.name), bytes, depth + 1);
        }
        self.all.push(ClassContainer::NestedArchive { location, bytes, entries });
    }

    /// Separates the entries into classes by name, and archives.
    fn classes_and_archives(
        &mut self,
        location: &str,
        Listing { entries, damage }: Listing,
    ) -> (Entries, Vec<Entry>) {
        if let Some(damage) = damage {
            self.unreadable.push(format!("{location}: not all of it can be read: {damage}"));
        }
        let (mut classes, mut archives) = (Entries::new(), Vec::new());
        for entry in entries {
            match class_of(&entry.name) {
                Some(class) => classes.entry(class.to_owned()).or_default().push(entry),
                None => archives.push(entry),
            }
        }
        (classes, archives)
    }

    /// Returns the value. For an error it adds the error to `unreadable` and returns `None`.
    fn or_report<T>(&mut self, location: &str, result: Result<T, Error>) -> Option<T> {
        result.map_err(|why| self.unreadable.push(format!("{location}: {why}"))).ok()
    }
}

impl ClassContainer {
    /// Returns all copies of a class in this container, with their locations.
    pub fn copies(&self, class: &str) -> Vec<(String, Result<Vec<u8>, Error>)> {
        match self {
            Self::Folder(files) => {
                let last = class.rsplit('/').next().unwrap_or(class);
                let named = format!("/{class}.class");
                let of_name = || files.get(last).into_iter().flatten();
                let in_its_package: Vec<_> =
                    of_name().filter(|file| file.to_string_lossy().ends_with(&named)).collect();
                // A file outside of package folders may still be the class: its own contents
                // decide.
                let files = if in_its_package.is_empty() { of_name().collect() } else { in_its_package };
                files
                    .into_iter()
                    .map(|file| {
                        (file.display().to_string(), crate::archive::read_file(file, MAX_CLASS_BYTES))
                    })
                    .collect()
            }
            Self::Root(root) => {
                let file = root.join(format!("{class}.class"));
                let found = file.is_file().then(|| crate::archive::read_file(&file, MAX_CLASS_BYTES));
                found.into_iter().map(|bytes| (root.display().to_string(), bytes)).collect()
            }
            Self::Archive { path, entries } => {
                let entries = entries.get(class).into_iter().flatten();
                entries
                    .map(|entry| {
                        (path.display().to_string(), crate::archive::read(path, entry, MAX_CLASS_BYTES))
                    })
                    .collect()
            }
            Self::NestedArchive { location, bytes, entries } => {
                let entries = entries.get(class).into_iter().flatten();
                entries
                    .map(|entry| {
                        (location.clone(), crate::archive::read_in_memory(bytes, entry, MAX_CLASS_BYTES))
                    })
                    .collect()
            }
        }
    }
}

fn is_wanted(name: &str) -> bool {
    name.ends_with(".class") || name.ends_with(".jar") || name.ends_with(".war")
}

/// Returns the class name for a file in an archive.
fn class_of(name: &str) -> Option<&str> {
    let class = name.strip_suffix(".class")?;
    let class = CLASS_FOLDERS.iter().find_map(|before| class.strip_prefix(before)).unwrap_or(class);
    let of_a_release = class.strip_prefix(VERSIONED_FOLDER).and_then(|rest| rest.split_once('/'));
    Some(of_a_release.map_or(class, |(_, class)| class))
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
