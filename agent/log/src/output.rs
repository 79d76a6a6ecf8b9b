//! Writes a file whole or not at all. It writes a temporary file in the same folder, and renames it
//! when it is complete.
//!
//! Only the user can access the file. A write never follows a link that another user planted.
//!
//! # Invariants
//!
//! **Invariant 9.** A file appears whole or not at all, for the user alone. Held by: this module's
//! tests.

pub mod elsewhere;
pub mod held;

use std::fs::{self, File, remove_file, rename};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Obstacle};

/// Maximum number of processes that may write a file of one name at a time, with one pid. The first
/// processes of containers often have equal pids.
const MAX_FILES_OF_ONE_NAME: u32 = 64;
/// Sticky bit of a folder's mode. It lets only the folder's owner or the file's owner replace a
/// file.
const STICKY: u32 = 0o1000;

/// Checks early whether the file `path` can be written later. Returns an error if not.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let folder = folder(path);
    if !folder.is_dir() {
        return Err(Error::FolderMissing(path.to_owned()));
    }
    if path.is_dir() {
        return Err(Error::IsAFolder(path.to_owned()));
    }
    match TemporaryFile::create(path) {
        Ok(temporary) => {
            let obstacle = obstacle(path, &temporary.file);
            // (Another process may have removed it: without file locks the file does not look in
            // use.)
            let _ = remove_file(&temporary.path);
            obstacle.map_or(Ok(()), |obstacle| Err(Error::Irreplaceable { path: path.to_owned(), obstacle }))
        }
        Err(why) => Err(Error::Unwritable { path: path.to_owned(), why }),
    }
}

/// Returns why a file like `ours` cannot replace the file at `path`, or `None` if it can.
fn obstacle(path: &Path, ours: &File) -> Option<Obstacle> {
    let existing = fs::symlink_metadata(path).ok()?;
    // A link to a device, such as /dev/stdout, counts too: the link itself would become a file.
    if fs::metadata(path).is_ok_and(|target| !target.is_file()) {
        return Some(Obstacle::SpecialFile);
    }
    let (folder, user) = (fs::metadata(folder(path)).ok()?, ours.metadata().ok()?.uid());
    if folder.mode() & STICKY != 0 && user != 0 && ![folder.uid(), existing.uid()].contains(&user) {
        return Some(Obstacle::OtherUser);
    }
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    is_mounted(&mounts, &identity(path)?).then_some(Obstacle::MountPoint)
}

/// Returns true if `path` is in the kernel's list of mounts. The list writes spaces, tabs, newlines
/// and backslashes as three octal digits.
fn is_mounted(mounts: &[u8], path: &Path) -> bool {
    let mut escaped = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
            _ => escaped.push(byte),
        }
    }
    let mut lines = mounts.split(|byte| *byte == b'\n');
    lines
        .any(|line| line.split(|byte| *byte == b' ').nth(4).is_some_and(|mount_point| mount_point == escaped))
}

/// Returns the canonical path of a file, which is equal for all spellings of the path. Returns
/// `None` if the folder does not exist.
pub fn identity(path: &Path) -> Option<PathBuf> {
    Some(folder(path).canonicalize().ok()?.join(path.file_name()?))
}

/// Returns true if two paths lead to one file, through any spelling or link.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let same = |one: Option<PathBuf>, other: Option<PathBuf>| one.is_some() && one == other;
    same(identity(one), identity(other)) || same(one.canonicalize().ok(), other.canonicalize().ok())
}

/// Writes a file, with gzip if requested. After a failure no part of the file remains.
pub fn write_whole(
    path: &Path,
    gzip: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let TemporaryFile { file, path: temporary_path } = TemporaryFile::create(path)?;
    let result = write_content(&file, gzip, write).and_then(|()| rename(&temporary_path, path));
    if result.is_err() {
        // If another process removed it first, the result is the same.
        let _ = remove_file(&temporary_path);
    }
    result
}

fn write_content(
    file: &File,
    gzip: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, file);
    if gzip {
        let mut packed = GzEncoder::new(&mut file, Compression::fast());
        write(&mut packed)?;
        packed.finish()?;
    } else {
        write(&mut file)?;
    }
    file.flush()
}

/// A temporary file that receives the content until it is complete.
struct TemporaryFile {
    file: File,
    path: PathBuf,
}

impl TemporaryFile {
    /// Creates the temporary file `dir/.name.PID.part`, or `dir/.name.PID.2.part` and so on if that
    /// exists. Two containers may share a folder and have equal pids.
    fn create(path: &Path) -> io::Result<Self> {
        for number in 1..=MAX_FILES_OF_ONE_NAME {
            let path = temporary_path(path, number);
            // The temporary file of a killed process is useless.
            held::remove_orphaned(&path);
            match held::create(&path) {
                // Before this process locked the file, another process may have removed it as
                // orphaned.
                Ok(file) if held::is_file_at(&file, &path) => return Ok(Self { file, path }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

fn temporary_path(path: &Path, number: u32) -> PathBuf {
    let (name, pid) = (path.file_name().unwrap_or_default().to_string_lossy(), std::process::id());
    let number = if number > 1 { format!(".{number}") } else { String::new() };
    folder(path).join(format!(".{name}.{pid}{number}.part"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vouch-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_pipe_or_a_device_is_not_replaced() {
        let folder = scratch("pipe");
        let (pipe, link, file) = (folder.join("pipe"), folder.join("link"), folder.join("file"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        fs::write(&file, "").unwrap();
        for refused in [&pipe, &link] {
            let why = check_writable(refused).unwrap_err().to_string();
            assert!(why.contains("is a pipe, a socket or a device"), "{why}");
        }
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(check_writable(&link).is_ok(), "a link to a file is replaced as it was");
        fs::remove_dir_all(folder).unwrap();
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
        std::os::unix::fs::symlink(&victim, temporary_path(&path, 1)).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_whole(&path, false, |out| out.write_all(b"{}")).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_orphaned_temporary_file_is_replaced() {
        let folder = scratch("left");
        let path = folder.join("a.json");
        fs::write(temporary_path(&path, 1), b"half").unwrap();
        check_writable(&path).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "it is taken away");
        fs::write(temporary_path(&path, 1), b"half").unwrap();
        write_whole(&path, false, |out| out.write_all(b"{}")).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_processes_of_one_number_do_not_write_into_each_others_file() {
        let folder = scratch("two");
        let path = folder.join("a.json");
        write_whole(&path, false, |first| {
            first.write_all(b"fir")?;
            check_writable(&path).unwrap();
            write_whole(&path, false, |second| second.write_all(b"second"))?;
            assert_eq!(fs::read(&path)?, b"second");
            first.write_all(b"st")
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_mounted_file_is_found_by_its_whole_name() {
        let mounts =
            b"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 254:0 /h /out/a\\040b.json rw - ext4 /dev/vda rw\n";
        assert!(is_mounted(mounts, Path::new("/out/a b.json")));
        assert!(!is_mounted(mounts, Path::new("/out/a b")));
        assert!(!is_mounted(b"", Path::new("/out/a b.json")));
    }

    #[test]
    fn what_cannot_be_written_is_reported_beforehand() {
        let folder = scratch("check");
        assert!(check_writable(&folder.join("a.json")).is_ok());
        assert!(check_writable(Path::new("a.json")).is_ok());
        let nowhere = folder.join("no/a.json");
        let error = check_writable(&nowhere).unwrap_err().to_string();
        assert_eq!(error, format!("the folder of {} does not exist: create it first", nowhere.display()));
        assert!(check_writable(&folder).unwrap_err().to_string().contains("is a folder"));
        assert!(
            check_writable(Path::new("/proc/a.json"))
                .unwrap_err()
                .to_string()
                .contains("choose another folder")
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
