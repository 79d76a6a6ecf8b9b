//! Where source texts lie: folders and what is below them, and in them archives of sources
//! (`*-sources.jar`, a JDK's `src.zip`).
//!
//! It must never follow a link to a folder, take memory by what an archive says of itself, or stop
//! at what cannot be read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vouch_classes::archive::Listing;
use walkdir::WalkDir;

use crate::sources::wanted::Wanted;

/// Below all places together no more files than this are looked at.
const MOST_FILES: usize = 500_000;
/// No more files of one name.
const MOST_OF_A_NAME: usize = 4_096;
/// What a JDK says of itself is no longer.
const MOST_OF_A_RELEASE: u64 = 64 << 10;
/// No longer than this is looked about: the program may be waiting for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// All that lies there and has one of the wanted names.
#[derive(Debug)]
pub struct Shelves {
    archives: Vec<Archive>,
    by_name: HashMap<String, Vec<Entry>>,
    /// A sentence for each place that could not be looked at.
    pub unreadable: Vec<String>,
    looked_at: usize,
    begun: Instant,
}

#[derive(Debug)]
struct Archive {
    path: PathBuf,
    /// The version of the JDK of which it is the source.
    jdk: Option<String>,
}

#[derive(Debug)]
struct Entry {
    /// Below which of the places that were named.
    given: usize,
    /// With `/` between folders.
    path: String,
    at: At,
}

#[derive(Debug)]
enum At {
    Folder,
    Archive { archive: usize, entry: vouch_classes::archive::Entry },
}

impl Shelves {
    /// Looks at all that lies below the paths.
    pub fn search(paths: &[PathBuf], names: &HashSet<&str>) -> Self {
        let mut shelves = Self {
            archives: Vec::new(),
            by_name: HashMap::new(),
            unreadable: Vec::new(),
            looked_at: 0,
            begun: Instant::now(),
        };
        for (given, path) in paths.iter().enumerate() {
            if path.is_dir() {
                shelves.walk(given, path, names);
            } else if names.contains(&*file_name(path)) {
                shelves.put(given, path.to_string_lossy().into_owned(), At::Folder);
            } else {
                shelves.open(given, path, names);
            }
        }
        shelves
    }

    fn walk(&mut self, given: usize, folder: &Path, names: &HashSet<&str>) {
        let visible = |entry: &walkdir::DirEntry| {
            entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
        };
        for entry in WalkDir::new(folder).into_iter().filter_entry(visible) {
            self.looked_at += 1;
            if self.looked_at > MOST_FILES || self.begun.elapsed() > PATIENCE {
                let seen = self.looked_at;
                self.unreadable.push(format!(
                    "{}: not all of it was looked at, but {seen} files: name a folder further down",
                    folder.display()
                ));
                return;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let place = error.path().unwrap_or(folder).display().to_string();
                    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.unreadable.push(format!("{place}: {why}"));
                    continue;
                }
            };
            let name = entry.file_name().to_string_lossy();
            if entry.file_type().is_dir() {
                continue;
            }
            if names.contains(&*name) {
                self.put(given, entry.path().to_string_lossy().into_owned(), At::Folder);
            } else if name.ends_with("-sources.jar") || name == "src.zip" {
                self.open(given, entry.path(), names);
            }
        }
    }

    fn open(&mut self, given: usize, path: &Path, names: &HashSet<&str>) {
        if let Err(why) = self.try_open(given, path, names) {
            self.unreadable
                .push(format!("{} cannot be read as an archive of sources: {why}", path.display()));
        }
    }

    fn try_open(&mut self, given: usize, path: &Path, names: &HashSet<&str>) -> Result<(), String> {
        let wanted = |name: &str| names.contains(name.rsplit('/').next().unwrap_or(name));
        let Listing { entries, damage } = vouch_classes::archive::list(path, wanted)?;
        if !entries.is_empty() {
            let archive = self.archives.len();
            self.archives.push(Archive { path: path.to_owned(), jdk: jdk_of(path) });
            for entry in entries {
                self.put(given, entry.name.clone(), At::Archive { archive, entry });
            }
        }
        // What stands before the damage is there all the same.
        damage.map_or(Ok(()), Err)
    }

    fn put(&mut self, given: usize, path: String, at: At) {
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let entries = self.by_name.entry(name).or_default();
        if entries.len() < MOST_OF_A_NAME {
            entries.push(Entry { given, path, at });
        }
    }

    /// All files of that name.
    pub fn copies(&self, wanted: &Wanted) -> Vec<Copy<'_>> {
        let entries = self.by_name.get(wanted.name());
        entries.into_iter().flatten().map(|entry| self.copy(entry, wanted)).collect()
    }

    fn copy<'a>(&'a self, entry: &'a Entry, wanted: &Wanted) -> Copy<'a> {
        let in_its_package = entry
            .path
            .strip_suffix(wanted.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let archive = match entry.at {
            At::Folder => None,
            At::Archive { archive, .. } => Some(&self.archives[archive]),
        };
        let (place, jdk) = match archive {
            None => (entry.path.clone(), None),
            Some(archive) => (archive.path.display().to_string(), archive.jdk.as_deref()),
        };
        // `gson-2.11.0-sources.jar` is the source of `gson-2.11.0.jar`.
        let of_jar = archive.is_some_and(|archive| {
            let name = file_name(&archive.path);
            let jar = name.strip_suffix("-sources.jar").map(|name| format!("{name}.jar"));
            jar.is_some_and(|jar| wanted.resources.contains(&jar))
        });
        // `java.base/java/lang/String.java` is of the module java.base.
        let of_module = entry.path.split('/').next().is_some_and(|first| wanted.resources.contains(first));
        let distance = (!(of_jar || of_module), !in_its_package, entry.given);
        let archive = archive.and_then(|archive| archive.path.to_str());
        Copy { shelves: self, entry, place, archive, jdk, in_its_package, distance }
    }
}

/// The version of the JDK that an archive lies in: beside its `release` file, or in the `lib`
/// folder beside that.
fn jdk_of(archive: &Path) -> Option<String> {
    let mut folders = archive.ancestors().skip(1).take(2);
    let release =
        |folder: &Path| vouch_classes::archive::read_file(&folder.join("release"), MOST_OF_A_RELEASE).ok();
    let release = folders.find_map(release)?;
    let release = String::from_utf8_lossy(&release);
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"');
    (!version.is_empty()).then(|| version.to_owned())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// One file that has the wanted name.
#[derive(Debug)]
pub struct Copy<'a> {
    shelves: &'a Shelves,
    entry: &'a Entry,
    /// The file, or the archive.
    pub place: String,
    /// The archive that it lies in.
    pub archive: Option<&'a str>,
    /// The version of the JDK of which the archive is the source.
    pub jdk: Option<&'a str>,
    /// Its folders end with the package's.
    pub in_its_package: bool,
    /// The smaller, the likelier: of the jar or module that was loaded, in the package's folders,
    /// below a place that was named earlier.
    pub distance: (bool, bool, usize),
}

impl Copy<'_> {
    /// Its text, if that is no longer than `most`.
    pub fn read(&self, most: u64) -> Result<String, String> {
        let bytes = match &self.entry.at {
            At::Folder => vouch_classes::archive::read_file(Path::new(&self.entry.path), most)?,
            At::Archive { archive, entry } => {
                vouch_classes::archive::read(&self.shelves.archives[*archive].path, entry, most)?
            }
        };
        // Older sources are often in Latin-1, in which each byte is a character.
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect()))
    }
}
