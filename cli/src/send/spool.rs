//! Finds the profiles in a folder that wait to be sent, and removes those that were sent.
//!
//! It must never follow a link, send a file that it cannot remove, or remove a file that it did
//! not send. What it knows about a file is lost with the process, except that a sent file is gone.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::Access;
use vouch_log::output::held;

use crate::error::Error;

/// The ending of a profile that is a request of OTLP.
const ENDING: &[u8] = b".otlp.gz";
/// The folder for sent files, with --keep.
const SENT: &str = "sent";
/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A file is refused after this many failures, each followed by a success of another file.
const MAX_STRIKES: u32 = 10;
/// Sticky bit of a folder's mode: only the owner of the folder or of a file can remove that file.
const STICKY: u32 = 0o1000;

/// Device, inode, time of the content in seconds and nanoseconds, and size. A file with other
/// values is another file.
type Identity = (u64, u64, i64, i64, u64);

/// A file that waits to be sent.
#[derive(Debug)]
struct Waiting {
    identity: Identity,
    /// The number of requests that failed.
    failures: u32,
    /// True if the latest request failed, and no other file was accepted since.
    has_just_failed: bool,
    strikes: u32,
}

/// A file that is open to be sent.
#[derive(Debug)]
pub struct Opened {
    pub name: OsString,
    pub file: File,
    pub bytes: u64,
}

pub struct Spool {
    folder: PathBuf,
    /// The lock of this folder. The kernel releases it when the process ends.
    _lock: File,
    /// For how long sent files are kept.
    keep: Option<Duration>,
    waiting: HashMap<OsString, Waiting>,
    /// Files that are not sent again: refused, or sent and not removed.
    set_aside: HashMap<OsString, Identity>,
    /// The number of files that vanished before they were sent.
    pub lost: u64,
}

impl Spool {
    /// Opens a folder. Only one process may send from it.
    pub fn open(folder: &Path, keep: Option<Duration>) -> Result<Self, Error> {
        let lock = File::open(folder).map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => Error::NoSpool(folder.to_owned()),
            _ => Error::unreadable(folder, why),
        })?;
        if !folder.is_dir() {
            return Err(Error::SpoolNotAFolder(folder.to_owned()));
        }
        let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::access(folder, access)
            .map_err(|why| Error::SpoolUnwritable { folder: folder.to_owned(), why: why.into() })?;
        // On a file system without locks the user has to take care.
        if matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)) {
            return Err(Error::SpoolInUse(folder.to_owned()));
        }
        if keep.is_some() {
            let sent = folder.join(SENT);
            match fs::create_dir(&sent) {
                Err(_) if fs::symlink_metadata(&sent).is_ok_and(|found| found.is_dir()) => {}
                made => made.map_err(|why| Error::SpoolUnwritable { folder: sent, why })?,
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            _lock: lock,
            keep,
            waiting: HashMap::new(),
            set_aside: HashMap::new(),
            lost: 0,
        })
    }

    /// Returns the number of files that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Reads the folder. Returns a sentence for each file that cannot be sent.
    pub fn look(&mut self) -> Result<Vec<String>, Error> {
        let unreadable = |why| Error::unreadable(&self.folder, why);
        let folder = fs::metadata(&self.folder).map_err(unreadable)?;
        let (mut found, mut notes) = (HashMap::new(), Vec::new());
        for entry in fs::read_dir(&self.folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            // This does not follow a link. A file that has vanished meanwhile is not found.
            if is_profile(&name)
                && let Ok(metadata) = entry.metadata()
                && metadata.is_file()
            {
                found.insert(name, metadata);
            }
        }
        self.set_aside.retain(|name, known| found.get(name).is_some_and(|file| identity(file) == *known));
        let before = self.waiting.len();
        self.waiting
            .retain(|name, known| found.get(name).is_some_and(|file| identity(file) == known.identity));
        self.lost += (before - self.waiting.len()) as u64;
        for (name, file) in found {
            if self.waiting.contains_key(&name) || self.set_aside.contains_key(&name) {
                continue;
            }
            let identity = identity(&file);
            if is_removable(&folder, &file) {
                let waiting = Waiting { identity, failures: 0, has_just_failed: false, strikes: 0 };
                self.waiting.insert(name, waiting);
            } else {
                notes.push(format!(
                    "{} is another user's in a folder with the sticky bit, so it could not be removed: not sent; run vouch send as that user",
                    self.shown(&name)
                ));
                self.set_aside.insert(name, identity);
            }
        }
        Ok(notes)
    }

    /// Opens the next file: the one with the fewest failures, and of those the oldest. Returns
    /// `None` if no file waits. An error is a sentence about a file that is set aside.
    pub fn open_next(&mut self) -> Option<Result<Opened, String>> {
        loop {
            let name = self.waiting.iter().min_by_key(order)?.0.clone();
            let why = match self.open_file(&name) {
                Ok(Some((file, bytes))) => return Some(Ok(Opened { name, file, bytes })),
                Ok(None) => {
                    self.waiting.remove(&name);
                    self.lost += 1;
                    continue;
                }
                Err(why) => why,
            };
            self.set_aside(&name);
            return Some(Err(format!("{} is not sent: {why}", self.shown(&name))));
        }
    }

    /// Opens a file, and checks that it is compressed. So a foreign file that was linked or renamed
    /// into the folder is not sent. Returns `None` if the file has vanished or was replaced.
    fn open_file(&self, name: &OsStr) -> io::Result<Option<(File, u64)>> {
        let path = self.folder.join(name);
        let is_the_same = |found: &fs::Metadata| {
            self.waiting.get(name).is_some_and(|known| known.identity == identity(found))
        };
        if !fs::symlink_metadata(&path).is_ok_and(|found| is_the_same(&found)) {
            return Ok(None);
        }
        let mut file = held::open(&path)?;
        let found = file.metadata()?;
        let mut first = [0; GZIP.len()];
        if file.read_exact(&mut first).is_err() || first != GZIP {
            return Err(io::Error::other(
                "it is not compressed with gzip, so it is no profile of out=….otlp.gz",
            ));
        }
        file.rewind()?;
        Ok(Some((file, found.len())))
    }

    /// Removes a file that was sent, or moves it. Returns a sentence if it cannot.
    pub fn sent(&mut self, sent: &Opened) -> Option<String> {
        for other in self.waiting.values_mut() {
            if std::mem::take(&mut other.has_just_failed) {
                other.strikes += 1;
            }
        }
        let path = self.folder.join(&sent.name);
        // Another file that has replaced it is not sent yet.
        let done = if !held::is_file_at(&sent.file, &path) {
            Ok(())
        } else if self.keep.is_some() {
            fs::rename(&path, self.folder.join(SENT).join(&sent.name))
        } else {
            fs::remove_file(&path)
        };
        match done {
            Ok(()) => {
                self.waiting.remove(&sent.name);
                None
            }
            Err(why) => {
                self.set_aside(&sent.name);
                Some(format!(
                    "{} was sent, but cannot be removed: {why}; remove it, or the next vouch send sends it again",
                    self.shown(&sent.name)
                ))
            }
        }
    }

    /// Leaves a file where it is, and does not send it again.
    pub fn set_aside(&mut self, name: &OsStr) {
        if let Some((name, file)) = self.waiting.remove_entry(name) {
            self.set_aside.insert(name, file.identity);
        }
    }

    /// Notes that a request failed. Returns true if other files were accepted so often meanwhile
    /// that this one must be the reason.
    pub fn failed(&mut self, name: &OsStr) -> bool {
        let Some(file) = self.waiting.get_mut(name) else { return false };
        file.failures += 1;
        file.has_just_failed = true;
        file.strikes >= MAX_STRIKES
    }

    /// Removes the kept files that are too old. A file that cannot be removed stays.
    pub fn remove_old(&self) {
        let Some(keep) = self.keep else { return };
        for entry in fs::read_dir(self.folder.join(SENT)).into_iter().flatten().flatten() {
            let is_old = |file: fs::Metadata| {
                let age = file.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
                file.is_file() && age.is_some_and(|age| age > keep)
            };
            if is_profile(&entry.file_name()) && entry.metadata().is_ok_and(is_old) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the path of a file as it can be shown.
    pub fn shown(&self, name: &OsStr) -> String {
        vouch_report::plain(&self.folder.join(name).to_string_lossy())
    }
}

/// The order in which files are sent.
fn order<'w>((name, file): &(&'w OsString, &'w Waiting)) -> (u32, i64, i64, &'w OsString) {
    (file.failures, file.identity.2, file.identity.3, name)
}

/// True for the name of a complete profile. The agent writes it by another name, with a dot first.
fn is_profile(name: &OsStr) -> bool {
    name.as_bytes().ends_with(ENDING) && !name.as_bytes().starts_with(b".")
}

fn identity(file: &fs::Metadata) -> Identity {
    (file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.len())
}

/// True if this user may remove a file from a folder that it can write.
fn is_removable(folder: &fs::Metadata, file: &fs::Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    folder.mode() & STICKY == 0 || user == 0 || [folder.uid(), file.uid()].contains(&user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("vouch-spool-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn write(folder: &Path, name: &str) {
        fs::write(folder.join("part"), [&GZIP[..], name.as_bytes()].concat()).unwrap();
        fs::rename(folder.join("part"), folder.join(name)).unwrap();
    }

    #[test]
    fn a_file_that_replaces_a_sent_one_is_sent_too() {
        let folder = folder("replaced");
        write(&folder, "a.otlp.gz");
        let mut spool = Spool::open(&folder, None).unwrap();
        assert!(spool.look().unwrap().is_empty());
        let opened = spool.open_next().unwrap().unwrap();
        write(&folder, "a.otlp.gz");
        assert_eq!(spool.sent(&opened), None);
        assert!(spool.open_next().is_none() && folder.join("a.otlp.gz").exists());
        spool.look().unwrap();
        let opened = spool.open_next().unwrap().unwrap();
        assert_eq!(spool.sent(&opened), None);
        assert_eq!((spool.lost, folder.join("a.otlp.gz").exists()), (0, false));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_fails_is_behind_the_others_and_is_refused_at_last() {
        let folder = folder("strikes");
        write(&folder, "bad.otlp.gz");
        let mut spool = Spool::open(&folder, None).unwrap();
        let mut refused_after = 0;
        spool.look().unwrap();
        // Failures alone refuse nothing: the Collector may be down for days.
        for _ in 0..100 {
            assert!(!spool.failed("bad.otlp.gz".as_ref()));
        }
        for number in 1..=50 {
            write(&folder, "good.otlp.gz");
            spool.look().unwrap();
            let opened = spool.open_next().unwrap().unwrap();
            assert_eq!(opened.name, "good.otlp.gz");
            assert_eq!(spool.sent(&opened), None);
            if spool.failed("bad.otlp.gz".as_ref()) {
                refused_after = number;
                break;
            }
        }
        assert_eq!(refused_after, 10);
        spool.set_aside("bad.otlp.gz".as_ref());
        spool.look().unwrap();
        assert!(spool.open_next().is_none() && folder.join("bad.otlp.gz").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn in_a_sticky_folder_another_users_file_is_not_sent() {
        let folder = folder("sticky");
        write(&folder, "a.otlp.gz");
        let [file, own] = [folder.join("a.otlp.gz"), folder.clone()].map(|path| fs::metadata(path).unwrap());
        assert!(is_removable(&own, &file));
        // /tmp is root's and sticky.
        let tmp = fs::metadata("/tmp").unwrap();
        let user = rustix::process::geteuid().as_raw();
        let other = fs::metadata("/proc/1/exe").or_else(|_| fs::metadata("/")).unwrap();
        assert_eq!(is_removable(&tmp, &other), user == 0 || user == other.uid() || user == tmp.uid());
        fs::remove_dir_all(&folder).unwrap();
    }
}
