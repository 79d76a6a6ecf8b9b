//! Files, whole or not at all: written beside their place under another name, and renamed when they are complete.
//!
//! Created for the user alone, and never through a link that somebody else has put there.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions, remove_file, rename};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Finds out now whether `path` could be written later; a sentence if not.
pub fn check(path: &Path) -> Result<(), String> {
    let folder = folder(path);
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(format!("{}: the folder {folder} does not exist: create it first", path.display()));
    }
    if path.is_dir() {
        return Err(format!("{}: is a folder: name a file", path.display()));
    }
    let beside = beside(path);
    match create(&beside) {
        Ok(file) => {
            drop(file);
            remove_file(&beside).map_err(|error| format!("{}: {error}", path.display()))
        }
        Err(error) => Err(format!("{}: cannot be written: {error}; choose another place", path.display())),
    }
}

/// The one spelling of a place that all its spellings have in common; `None` if its folder is not there.
pub fn identity(path: &Path) -> Option<PathBuf> {
    Some(folder(path).canonicalize().ok()?.join(path.file_name()?))
}

/// True if both names lead to one file, by whatever spelling or link.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let same = |one: Option<PathBuf>, other: Option<PathBuf>| one.is_some() && one == other;
    same(identity(one), identity(other)) || same(one.canonicalize().ok(), other.canonicalize().ok())
}

/// Writes a file, compressed or not; after a failure nothing is left of it.
pub fn write_whole(
    path: &Path,
    gzip: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let beside = beside(path);
    let result = fill(&beside, gzip, write).and_then(|()| rename(&beside, path));
    if result.is_err() {
        // It may not even have been created.
        let _ = remove_file(&beside);
    }
    result
}

fn fill(path: &Path, gzip: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // What a killed process of the same number left behind is of no use to anyone.
    if let Err(error) = remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = BufWriter::with_capacity(1 << 16, create(path)?);
    if gzip {
        let mut packed = GzEncoder::new(&mut file, Compression::fast());
        write(&mut packed)?;
        packed.finish()?;
    } else {
        write(&mut file)?;
    }
    file.flush()
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// `dir/.name.PID.part`
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder(path).join(format!(".{name}.{}.part", std::process::id()))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vouch-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = scratch("whole");
        let path = folder.join("a.json");
        let failed = write_whole(&path, true, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
        write_whole(&path, false, |out| out.write_all(b"{}")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = scratch("link");
        let (path, victim) = (folder.join("a.json"), folder.join("victim"));
        fs::write(&victim, b"precious").unwrap();
        std::os::unix::fs::symlink(&victim, beside(&path)).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_whole(&path, false, |out| out.write_all(b"{}")).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_told_beforehand() {
        let folder = scratch("check");
        assert!(check(&folder.join("a.json")).is_ok());
        assert!(check(Path::new("a.json")).is_ok());
        assert!(check(&folder.join("no/a.json")).unwrap_err().contains("create it first"));
        assert!(check(&folder).unwrap_err().contains("is a folder"));
        assert!(check(Path::new("/proc/a.json")).unwrap_err().contains("choose another place"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
