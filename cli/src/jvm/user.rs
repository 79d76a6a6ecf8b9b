//! Accesses the files of a JVM's user with that user's rights.
//!
//! Another user can fill, mount and rename folders. If root worked in these folders, that user
//! could make root do anything. So root's rights must not be used there.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::process::{Gid, Uid, geteuid};

use crate::error::Error;

/// The user of a JVM, by user id and group id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

impl User {
    /// True if this process runs as another user.
    pub fn is_another(self) -> bool {
        self.uid != geteuid().as_raw()
    }

    /// Calls a function with that user's rights, in a separate thread that has none of root's
    /// rights.
    pub fn run_as<T: Send>(self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        if !self.is_another() {
            return work();
        }
        let become_and_work = || {
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            rustix::thread::set_thread_groups(&[])
                .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
                .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
                .map_err(|why| Error::OtherUser { uid: self.uid, why: why.into() })?;
            work()
        };
        let done = thread::scope(|scope| scope.spawn(become_and_work).join());
        done.unwrap_or_else(|_| Err(Error::Panicked))
    }
}

/// Returns the path of a file in an open folder. It is short, and valid while the folder is open,
/// even if the folder is renamed.
pub fn path_in(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

/// Opens a file for reading by its path in a process. Links never lead out of the process's root,
/// and opening a pipe does not wait.
pub fn open_inside(pid: u32, path: &Path) -> io::Result<File> {
    let root = File::open(format!("/proc/{pid}/root"))?;
    let path = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(&root, path, flags, Mode::empty(), within) {
        Ok(file) => Ok(File::from(file)),
        // Linux before 5.6 lacks openat2. In that case no link is followed.
        Err(error) if error == rustix::io::Errno::NOSYS => {
            let file = rustix::fs::openat(&root, path, flags | OFlags::NOFOLLOW, Mode::empty())?;
            Ok(File::from(file))
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads a small text file by its path in a process. Returns `None` if it is not a regular file, or
/// not text.
pub fn read_inside(pid: u32, path: &Path) -> Option<String> {
    const MAX_TEXT_BYTES: u64 = 1 << 16;
    let file = open_inside(pid, path).ok()?;
    let mut text = String::new();
    (file.metadata().ok()?.is_file() && file.take(MAX_TEXT_BYTES).read_to_string(&mut text).is_ok())
        .then_some(text)
}
