//! Searches folders and archives (`*-sources.jar`, a JDK's `src.zip`) for source files.
//!
//! The search must not follow links to folders, or allocate memory by an archive's own sizes. It
//! continues after a path that cannot be read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vouch_classes::archive::Listing;
use walkdir::WalkDir;

use crate::sources::requested::RequestedFile;

/// The search checks at most this many files.
const MAX_FILES: usize = 500_000;
/// The search keeps at most this many files with one name.
const MAX_FILES_PER_NAME: usize = 4_096;
/// The limit for the bytes of a JDK's `release` file.
const MAX_RELEASE_BYTES: u64 = 64 << 10;
/// A search ends after this time, because the program may be waiting for it.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(5);

/// All files with a requested name that were found below the searched paths.
#[derive(Debug)]
pub struct SearchPath {
    archives: Vec<Archive>,
    by_name: HashMap<String, Vec<Entry>>,
    /// The paths that could not be searched, each with the reason.
    pub unreadable: Vec<String>,
    /// The number of files that were checked.
    checked: usize,
    begun: Instant,
}

#[derive(Debug)]
struct Archive {
    path: PathBuf,
    /// The version of the JDK that contains the archive, if one does.
    jdk: Option<String>,
}

/// A file that the search found.
#[derive(Debug)]
struct Entry {
    /// The index of the searched path that contains it.
    path_index: usize,
    /// The path of the file, with `/` between folders.
    path: String,
    at: EntryLocation,
}

#[derive(Debug)]
enum EntryLocation {
    Folder,
    Archive { archive: usize, entry: vouch_classes::archive::Entry },
}

impl SearchPath {
    /// Searches all paths for files with these names.
    pub fn search(paths: &[PathBuf], names: &HashSet<&str>) -> Self {
        let mut search_path = Self {
            archives: Vec::new(),
            by_name: HashMap::new(),
            unreadable: Vec::new(),
            checked: 0,
            begun: Instant::now(),
        };
        for (path_index, path) in paths.iter().enumerate() {
            if path.is_dir() {
                search_path.walk(path_index, path, names);
            } else if names.contains(&*file_name(path)) {
                search_path.put(path_index, path.to_string_lossy().into_owned(), EntryLocation::Folder);
            } else {
                search_path.open(path_index, path, names);
            }
        }
        search_path
    }

    fn walk(&mut self, path_index: usize, folder: &Path, names: &HashSet<&str>) {
        let visible = |entry: &walkdir::DirEntry| {
            entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
        };
        for entry in WalkDir::new(folder).into_iter().filter_entry(visible) {
            self.checked += 1;
            if self.checked > MAX_FILES || self.begun.elapsed() > MAX_SEARCH_TIME {
                let seen = self.checked;
                self.unreadable.push(format!(
                    "{}: not all of it was looked at, but {seen} files: name a folder further down",
                    folder.display()
                ));
                return;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().unwrap_or(folder).display().to_string();
                    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.unreadable.push(format!("{path}: {why}"));
                    continue;
                }
            };
            let name = entry.file_name().to_string_lossy();
            if entry.file_type().is_dir() {
                continue;
            }
            if names.contains(&*name) {
                self.put(path_index, entry.path().to_string_lossy().into_owned(), EntryLocation::Folder);
            } else if name.ends_with("-sources.jar") || name == "src.zip" {
                self.open(path_index, entry.path(), names);
            }
        }
    }

    fn open(&mut self, path_index: usize, path: &Path, names: &HashSet<&str>) {
        if let Err(why) = self.try_open(path_index, path, names) {
            self.unreadable
                .push(format!("{} cannot be read as an archive of sources: {why}", path.display()));
        }
    }

    fn try_open(
        &mut self,
        path_index: usize,
        path: &Path,
        names: &HashSet<&str>,
    ) -> Result<(), vouch_classes::Error> {
        let requested = |name: &str| names.contains(name.rsplit('/').next().unwrap_or(name));
        let Listing { entries, damage } = vouch_classes::archive::list(path, requested)?;
        if !entries.is_empty() {
            let archive = self.archives.len();
            self.archives.push(Archive { path: path.to_owned(), jdk: jdk_version(path) });
            for entry in entries {
                self.put(path_index, entry.name.clone(), EntryLocation::Archive { archive, entry });
            }
        }
        // The entries before the damage are kept.
        damage.map_or(Ok(()), Err)
    }

    fn put(&mut self, path_index: usize, path: String, at: EntryLocation) {
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let entries = self.by_name.entry(name).or_default();
        if entries.len() < MAX_FILES_PER_NAME {
            entries.push(Entry { path_index, path, at });
        }
    }

    /// Returns all copies of a file, which are all found files with its name.
    pub fn copies(&self, requested: &RequestedFile) -> Vec<Copy<'_>> {
        let entries = self.by_name.get(requested.name());
        entries.into_iter().flatten().map(|entry| self.copy(entry, requested)).collect()
    }

    fn copy<'a>(&'a self, entry: &'a Entry, requested: &RequestedFile) -> Copy<'a> {
        let is_in_package_folder = entry
            .path
            .strip_suffix(requested.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let archive = match entry.at {
            EntryLocation::Folder => None,
            EntryLocation::Archive { archive, .. } => Some(&self.archives[archive]),
        };
        let (location, jdk) = match archive {
            None => (entry.path.clone(), None),
            Some(archive) => (archive.path.display().to_string(), archive.jdk.as_deref()),
        };
        // `gson-2.11.0-sources.jar` has the sources of `gson-2.11.0.jar`.
        let of_jar = archive.is_some_and(|archive| {
            let name = file_name(&archive.path);
            let jar = name.strip_suffix("-sources.jar").map(|name| format!("{name}.jar"));
            jar.is_some_and(|jar| requested.resources.contains(&jar))
        });
        // `java.base/java/lang/String.java` belongs to the module java.base.
        let of_module = entry.path.split('/').next().is_some_and(|first| requested.resources.contains(first));
        let distance = (!(of_jar || of_module), !is_in_package_folder, entry.path_index);
        let archive = archive.and_then(|archive| archive.path.to_str());
        Copy { search_path: self, entry, location, archive, jdk, is_in_package_folder, distance }
    }
}

/// Returns the version of the JDK that contains an archive. The archive is beside the JDK's
/// `release` file, or in the folder `lib` beside that file.
fn jdk_version(archive: &Path) -> Option<String> {
    let mut folders = archive.ancestors().skip(1).take(2);
    let release =
        |folder: &Path| vouch_classes::archive::read_file(&folder.join("release"), MAX_RELEASE_BYTES).ok();
    let release = folders.find_map(release)?;
    let release = String::from_utf8_lossy(&release);
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"');
    (!version.is_empty()).then(|| version.to_owned())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A found file with the name of a requested one.
#[derive(Debug)]
pub struct Copy<'a> {
    search_path: &'a SearchPath,
    entry: &'a Entry,
    /// The path of the file, or of the archive that contains it.
    pub location: String,
    /// The path of the archive that contains the file, if one does.
    pub archive: Option<&'a str>,
    /// The version of the JDK that contains the archive, if one does.
    pub jdk: Option<&'a str>,
    /// True if the folders of the file end with the package's name.
    pub is_in_package_folder: bool,
    /// The rank of the copy, nearest first. Nearest is the loaded jar or module, then the package's
    /// folders, then the path that comes first.
    pub distance: (bool, bool, usize),
}

impl Copy<'_> {
    /// Reads the text of the copy. A text longer than `max_bytes` is an error.
    pub fn read(&self, max_bytes: u64) -> Result<String, vouch_classes::Error> {
        let bytes = match &self.entry.at {
            EntryLocation::Folder => {
                vouch_classes::archive::read_file(Path::new(&self.entry.path), max_bytes)?
            }
            EntryLocation::Archive { archive, entry } => {
                vouch_classes::archive::read(&self.search_path.archives[*archive].path, entry, max_bytes)?
            }
        };
        // Old sources are often in Latin-1, where each byte is a character.
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect()))
    }
}
