//! A file that its process holds, by a lock: others see that it is in use, and that it no longer is
//! when that process is gone, however it ended.
//!
//! A link is never followed, and what somebody else has put where a file should be never waited
//! for.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// By this a pipe that somebody has put where a file should be is not waited for. The same wherever
/// Linux runs Java.
const O_NONBLOCK: i32 = 0o4000;

/// Creates a file for its user alone, which others see to be in use; on a file system that has no
/// locks they take it for an orphaned one.
pub fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    let file = beyond_standard_streams(file)?;
    // A process that asks whether it is in use has it locked for a moment.
    for _ in 0..20 {
        if file.try_lock().is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(file)
}

/// The same file with a descriptor that is no standard stream's. In a process that was started
/// without standard streams a file would become one, and whatever the process prints would land in
/// it.
pub fn beyond_standard_streams(file: File) -> io::Result<File> {
    const STANDARD_STREAMS: i32 = 3;
    // A clone never takes the descriptor of one.
    if file.as_raw_fd() < STANDARD_STREAMS { file.try_clone() } else { Ok(file) }
}

/// Opens what is a file and no link, to read it.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, OpenOptions::new().read(true))
}

fn opened(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = beyond_standard_streams(how.custom_flags(O_NONBLOCK).open(path)?)?;
    if is_at(&file, path) { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// True if a name leads to a file, and not by a link.
pub fn is_at(file: &File, path: &Path) -> bool {
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let there = fs::symlink_metadata(path).map(identity).ok();
    there.is_some() && there == file.metadata().map(identity).ok()
}

/// True if the process that writes it lives; where there are no locks that is unknown, and it
/// is taken for gone.
pub fn is_in_use(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Takes away the file of a process that is gone. A user who may not do so is not disturbed by it.
pub fn remove_left(path: &Path) {
    // Over a network only who may write has it for himself.
    if let Ok(file) = opened(path, OpenOptions::new().read(true).write(true))
        // While it is locked no other takes it for his own: who has just created it sees then that
        // it is gone.
        && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        && is_at(&file, path)
    {
        let _ = fs::remove_file(path);
    }
}
