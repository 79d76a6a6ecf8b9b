//! Creates and opens files that their process locks. The lock shows other processes that the file
//! is in use. The kernel releases it when the process exits or is killed.
//!
//! These functions never follow a link. They never block on a pipe or device that another user put
//! at the path.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Open flag that keeps the process from waiting for a pipe at the path. The value is the same on
/// every Linux platform that runs Java.
const O_NONBLOCK: i32 = 0o4000;

/// Creates a file for its user alone, and locks it so that others see it in use. Without file
/// locks, as on some file systems, others take it for an orphaned file.
pub fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    let file = beyond_standard_streams(file)?;
    // Another process locks the file for a moment when it checks the file's use.
    for _ in 0..20 {
        if file.try_lock().is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(file)
}

/// Returns the same file with a descriptor that is not a standard stream's. In a process that was
/// started without standard streams, a new file could get one. Anything that the process prints
/// would then end up in the file.
pub fn beyond_standard_streams(file: File) -> io::Result<File> {
    const STANDARD_STREAMS: i32 = 3;
    // A clone never gets a standard stream's descriptor.
    if file.as_raw_fd() < STANDARD_STREAMS { file.try_clone() } else { Ok(file) }
}

/// Opens a regular file to read it, and refuses a link.
pub fn open(path: &Path) -> io::Result<File> {
    open_regular_file(path, OpenOptions::new().read(true))
}

fn open_regular_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = beyond_standard_streams(options.custom_flags(O_NONBLOCK).open(path)?)?;
    if is_file_at(&file, path) { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Returns true if the path leads to this file, but not through a link.
pub fn is_file_at(file: &File, path: &Path) -> bool {
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let existing = fs::symlink_metadata(path).map(identity).ok();
    existing.is_some() && existing == file.metadata().map(identity).ok()
}

/// Returns true if the process that writes the file is alive. Without file locks this is unknown,
/// and the result is false.
pub fn is_in_use(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Removes a file if the process that wrote it has exited. Errors are ignored: a user without
/// permission loses nothing.
pub fn remove_orphaned(path: &Path) {
    // Network file systems grant an exclusive lock only on a writable file.
    if let Ok(file) = open_regular_file(path, OpenOptions::new().read(true).write(true))
        // The lock keeps other processes from using the file. A process that just created it then
        // finds that it was removed.
        && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        && is_file_at(&file, path)
    {
        let _ = fs::remove_file(path);
    }
}
