//! Writes a file into another folder if its own folder refuses it: the disk is full, or the folder
//! was deleted.
//!
//! It never replaces an existing file, and never follows a link: other users may write to these
//! folders.

use std::fs::{hard_link, remove_file};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{MAX_FILES_OF_ONE_NAME, TemporaryFile, folder, write_content};

/// Writes a file into the first of these folders that accepts it, and returns its path. Each folder
/// that refuses costs one attempt. The name is the file's own, with `run` before its ending.
/// Returns `None` if every folder refuses.
pub fn write_elsewhere(
    (path, ending): (&Path, &str),
    run: &str,
    folders: &[PathBuf],
    gzip: bool,
    write: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(ending).unwrap_or(&name);
    other_folders(path, folders).find_map(|folder| {
        let numbered = |number: u32| {
            let number = if number > 1 { format!(".{number}") } else { String::new() };
            folder.join(format!("{stem}-{run}{number}{ending}"))
        };
        write_new(numbered, gzip, &write).ok()
    })
}

/// Returns the folders that are tried if the file's own folder refuses it.
pub fn other_folders<'f>(path: &Path, folders: &'f [PathBuf]) -> impl Iterator<Item = PathBuf> + use<'f> {
    let own = folder(path).canonicalize().ok();
    let others = folders.iter().filter_map(|other| other.canonicalize().ok());
    others.filter(move |other| Some(other) != own.as_ref())
}

/// Writes a file under the first of these numbered names that does not exist yet.
fn write_new(
    numbered: impl Fn(u32) -> PathBuf,
    gzip: bool,
    write: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let TemporaryFile { file, path: temporary_path } = TemporaryFile::create(&numbered(1))?;
    let linked = write_content(&file, gzip, write).and_then(|()| {
        let mut names = (1..=MAX_FILES_OF_ONE_NAME).map(&numbered);
        // A hard link fails if the name exists; a rename would replace that file.
        let taken = |path: &PathBuf| match hard_link(&temporary_path, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            linked => Some(linked),
        };
        let linked = names.find_map(|path| Some(taken(&path)?.map(|()| path)));
        linked.unwrap_or(Err(io::ErrorKind::AlreadyExists.into()))
    });
    // The file has its final name by now, or the write failed.
    let _ = remove_file(&temporary_path);
    linked
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const LOST: (&str, &str) = ("/no such folder/a.json.gz", ".json.gz");

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vouch-elsewhere-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn write(folders: &[PathBuf], content: &'static [u8]) -> Option<PathBuf> {
        write_elsewhere((Path::new(LOST.0), LOST.1), "7-20260131-235959", folders, false, |file| {
            file.write_all(content)
        })
    }

    #[test]
    fn the_first_folder_that_takes_the_file_gets_it_for_the_user_alone() {
        let folder = scratch("first");
        let folders = ["/no such folder".into(), "/proc".into(), folder.clone()];
        let written = write(&folders, b"{}").unwrap();
        assert_eq!(written, folder.join("a-7-20260131-235959.json.gz"));
        assert_eq!(fs::read(&written).unwrap(), b"{}");
        assert_eq!(fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no part of a file remains");
        assert_eq!(write(&folders[..2], b"{}"), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_or_a_link_of_that_name_stays() {
        let folder = scratch("stays");
        let (first, second) =
            (folder.join("a-7-20260131-235959.json.gz"), folder.join("a-7-20260131-235959.2.json.gz"));
        let victim = folder.join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &first).unwrap();
        fs::write(&second, "another run's").unwrap();
        let written = write(std::slice::from_ref(&folder), b"{}").unwrap();
        assert_eq!(written, folder.join("a-7-20260131-235959.3.json.gz"));
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&second).unwrap(), b"another run's");
        assert_eq!(fs::read(&written).unwrap(), b"{}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_folder_that_refused_the_file_is_not_tried_again() {
        let folder = scratch("own");
        let path = folder.join("a.json");
        let written =
            write_elsewhere((&path, ".json"), "7", std::slice::from_ref(&folder), false, |_| Ok(()));
        assert_eq!(written, None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_remains_of_a_file_that_does_not_fit_there_either() {
        let folder = scratch("full");
        let full = |file: &mut dyn Write| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let written =
            write_elsewhere((Path::new(LOST.0), LOST.1), "7", std::slice::from_ref(&folder), false, full);
        assert_eq!(written, None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }
}
