//! Manages the folder through which the agent in a JVM sends messages to a waiting command.
//! `vouch_report::options::terminal` has the folder's layout.
//!
//! The folder belongs to the JVM's user, who may put anything there. So no file in it is followed,
//! executed, or assumed to be short. All work in it is done with that user's rights
//! (`jvm/user.rs`).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use vouch_log::is_orphaned;
use vouch_report::options::terminal::{
    BEGUN, ENDED, End, KEPT, KEY, MESSAGES, RECORDINGS, STATE, STATE_LENGTH,
};

use crate::error::Error;
use crate::jvm::user::{User, path_in};

/// At most this many bytes of a file in the folder are read at a time.
const MAX_READ_BYTES: u64 = 1 << 20;
/// At most this many bytes of the list of recordings are read. A build may start thousands of JVMs.
const MAX_RECORDINGS_BYTES: u64 = 1 << 26;
/// The prefix of the names of all such folders. A folder older than `YOUNG` may be orphaned.
const PREFIX: &str = ".vouch-";
const YOUNG: Duration = Duration::from_mins(1);

/// A folder for replies. It is removed when this value is dropped.
#[derive(Debug)]
pub struct ReplyDir {
    /// The parent folder, which is kept open so that it can be reached after the JVM has ended.
    parent: File,
    /// The folder, which is locked. By the lock the agent recognises that a command waits.
    folder: File,
    name: String,
    /// The path of the folder as the JVM sees it.
    seen: PathBuf,
    /// The JVM's user.
    user: User,
    /// True if the folder must stay, because it contains something that is needed.
    kept: bool,
    /// The number of bytes of the agent's messages that were read. The last line may not be
    /// complete yet.
    read: u64,
    rest: String,
}

/// The state of a recording as the agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Unknown,
    Running(String),
    Over(End),
}

impl ReplyDir {
    /// Makes a folder for JVMs that this process starts.
    pub fn for_own_jvms() -> Result<Self, Error> {
        let folder = std::path::absolute(std::env::temp_dir());
        let folder = folder.map_err(Error::NoTemporaryFolder)?;
        let parent = File::open(&folder).map_err(|why| nowhere(&folder, why))?;
        let user =
            User { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
        Self::create(parent, &folder, user)
    }

    /// Makes a folder that the JVM sees as `seen`, for the JVM's user.
    pub fn create(parent: File, seen: &Path, user: User) -> Result<Self, Error> {
        let random = RandomState::new().hash_one(std::process::id());
        let name = format!("{PREFIX}{}-{random:016x}", std::process::id());
        let folder = user.run_as(|| {
            remove_orphaned(&parent);
            let path = path_in(&parent, &name);
            let made = DirBuilder::new().mode(0o700).create(&path).and_then(|()| open_folder(&path));
            let folder = made.map_err(|why| nowhere(seen, why))?;
            // On a file system without locks the agent prints on stderr.
            let _ = folder.try_lock();
            Ok(folder)
        })?;
        let (seen, rest) = (seen.join(&name), String::new());
        Ok(Self { parent, folder, name, seen, user, kept: false, read: 0, rest })
    }

    /// Returns the option that passes the folder's path to the agent.
    pub fn option(&self) -> String {
        format!("{KEY}={}", self.seen.display())
    }

    /// Returns the path of a file in the folder as the JVM sees it.
    pub fn seen(&self, name: &str) -> PathBuf {
        self.seen.join(name)
    }

    /// Keeps the folder, because it contains the only data of a recording.
    pub fn keep(&mut self) {
        self.kept = true;
        // Later commands recognise by this file that the folder must stay. If it cannot be written,
        // the lock protects the folder for as long as this process runs.
        let _ = self.user.run_as(|| Ok(fs::write(path_in(&self.folder, KEPT), "")?));
    }

    /// Copies a file into the folder, for the JVM to load.
    pub fn copy_in(&self, name: &str, mut from: File) -> Result<(), Error> {
        self.user.run_as(|| {
            let mut to = OpenOptions::new();
            let to = to.write(true).create_new(true).mode(0o700).open(path_in(&self.folder, name));
            let laid = to.and_then(|mut to| io::copy(&mut from, &mut to));
            laid.map(|_| ()).map_err(|why| nowhere(&self.seen, why))
        })
    }

    /// Opens a regular file in the folder. Links and pipes are refused.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let opened = self.user.run_as(|| {
            let path = path_in(&self.folder, name);
            let is_file = |found: fs::Metadata| {
                if found.is_file() { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
            };
            // The type is checked before opening, because opening a device may do something. It is
            // checked again, because the file may have been replaced.
            let looked = fs::symlink_metadata(&path).and_then(is_file);
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
            let file = looked.and_then(|()| options.open(path));
            Ok(file.and_then(|file| file.metadata().and_then(is_file).map(|()| file)))
        });
        opened.map_err(io::Error::other)?
    }

    /// Returns the agent's messages since the previous call.
    pub fn said(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = self.open(MESSAGES).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(MAX_READ_BYTES).read_to_end(&mut bytes)
        });
        // There are no messages, or they cannot be read any more.
        let Ok(read) = read else { return Vec::new() };
        self.read += read as u64;
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        if self.rest.len() as u64 > MAX_READ_BYTES {
            // No message is that long, so the bytes are discarded.
            self.rest.clear();
        }
        lines.lines().map(vouch_report::plain).collect()
    }

    /// Returns the state of the recording that this command started.
    pub fn state(&self) -> State {
        let mut line = String::new();
        let read = self.open(STATE).and_then(|file| file.take(STATE_LENGTH as u64).read_to_string(&mut line));
        match line.trim_end() {
            _ if read.is_err() => State::Unknown,
            "" => State::Unknown,
            line => line.parse().map_or_else(|()| State::Running(vouch_report::plain(line)), State::Over),
        }
    }

    /// Returns the recordings that their JVMs have not ended, by their paths in the JVM.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let mut bytes = Vec::new();
        // If only a part of the list can be read, that part is used.
        let _ =
            self.open(RECORDINGS).and_then(|file| file.take(MAX_RECORDINGS_BYTES).read_to_end(&mut bytes));
        let lines = String::from_utf8_lossy(&bytes);
        let mut begun = BTreeSet::new();
        for line in lines.lines() {
            if let Some(path) = line.strip_prefix(BEGUN) {
                begun.insert(PathBuf::from(path));
            } else if let Some(path) = line.strip_prefix(ENDED) {
                begun.remove(Path::new(path));
            }
        }
        begun.into_iter().collect()
    }

    /// True if an agent has written to the folder.
    pub fn has_agent(&self) -> bool {
        self.open(MESSAGES).is_ok()
    }

    /// Opens a recording in the folder, if its process vanished without ending it.
    pub fn open_left(&self, name: &str) -> Option<File> {
        let left = self.user.run_as(|| Ok(is_orphaned(&path_in(&self.folder, name))));
        left.is_ok_and(|left| left).then(|| self.open(name).ok())?
    }

    fn remove(&self) -> Result<(), Error> {
        self.user
            .run_as(|| remove(&self.parent, &self.folder, &self.name).map_err(|why| nowhere(&self.seen, why)))
    }
}

/// Removes the files in this folder, even if another folder has its name by now. Then it removes
/// the folder by its name. A folder that another program put inside is not removed.
fn remove(parent: &File, folder: &File, name: &str) -> io::Result<()> {
    for file in fs::read_dir(path_in(folder, "."))?.flatten() {
        // A file that cannot be removed makes the next step fail.
        let _ = fs::remove_file(path_in(folder, &file.file_name().to_string_lossy()));
    }
    fs::remove_dir(path_in(parent, name))
}

/// Removes the folders of killed commands: those of the same user that no process has locked.
fn remove_orphaned(parent: &File) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(path_in(parent, ".")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(folder) =
            name.starts_with(PREFIX).then(|| open_folder(&path_in(parent, &name)).ok()).flatten()
        else {
            continue;
        };
        // Between the creation of a folder and its lock there is a moment without a lock.
        let old =
            |found: &fs::Metadata| found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > YOUNG));
        let left = folder.metadata().is_ok_and(|found| found.uid() == own && old(&found));
        if left && !path_in(&folder, KEPT).exists() && folder.try_lock().is_ok() {
            // A folder that cannot be removed does no harm.
            let _ = remove(parent, &folder, &name);
        }
    }
}

impl Drop for ReplyDir {
    fn drop(&mut self) {
        if !self.kept {
            // If the user has lost the right to remove the folder, nothing can be done.
            let _ = self.remove();
        }
    }
}

fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags(OFlags::DIRECTORY | OFlags::NOFOLLOW)).open(path)
}

/// Converts flags to the type that the standard library uses.
fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn nowhere(folder: &Path, why: io::Error) -> Error {
    Error::ReplyFolder { folder: folder.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn lines_come_whole_and_once() {
        let mut terminal = ReplyDir::for_own_jvms().unwrap();
        assert!(terminal.said().is_empty());
        let mut said = File::create(terminal.seen(MESSAGES)).unwrap();
        said.write_all(b"[vouch] one\n[vouch] tw").unwrap();
        assert_eq!(terminal.said(), ["[vouch] one"]);
        said.write_all(b"o\n").unwrap();
        assert_eq!(terminal.said(), ["[vouch] two"]);
        assert!(terminal.said().is_empty());
    }

    #[test]
    fn a_link_in_it_is_not_followed_and_nothing_of_it_stays() {
        let terminal = ReplyDir::for_own_jvms().unwrap();
        let secret = terminal.seen("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, terminal.seen(STATE)).unwrap();
        assert_eq!(terminal.state(), State::Unknown);
        fs::remove_file(terminal.seen(STATE)).unwrap();
        fs::write(terminal.seen(STATE), "recording   \n").unwrap();
        assert_eq!(terminal.state(), State::Running("recording".to_owned()));
        fs::write(terminal.seen(STATE), format!("{}    \n", End::Lost.line())).unwrap();
        assert_eq!(terminal.state(), State::Over(End::Lost));
        let folder = terminal.seen("");
        drop(terminal);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_somebody_has_put_into_it_is_not_emptied() {
        let terminal = ReplyDir::for_own_jvms().unwrap();
        let planted = terminal.seen("planted");
        fs::create_dir(&planted).unwrap();
        fs::write(planted.join("precious"), "").unwrap();
        let folder = terminal.seen("");
        drop(terminal);
        assert!(planted.join("precious").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_left_is_swept_unless_somebody_has_it_or_it_is_kept() {
        let parent = ReplyDir::for_own_jvms().unwrap();
        let old = std::time::SystemTime::now() - 2 * YOUNG;
        let folder = |name: &str| {
            let path = parent.seen(name);
            fs::create_dir(&path).unwrap();
            let folder = File::open(&path).unwrap();
            folder.set_modified(old).unwrap();
            folder
        };
        let (_left, waiting) = (folder(".vouch-1-left"), folder(".vouch-2-waiting"));
        let (kept, _other) = (folder(".vouch-3-kept"), folder("other"));
        folder(".vouch-4-young").set_modified(std::time::SystemTime::now()).unwrap();
        waiting.try_lock().unwrap();
        fs::write(parent.seen(".vouch-3-kept").join(KEPT), "").unwrap();
        kept.set_modified(old).unwrap();
        remove_orphaned(&parent.folder);
        let mut names: Vec<_> =
            fs::read_dir(parent.seen("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".vouch-2-waiting", ".vouch-3-kept", ".vouch-4-young", "other"]);
        fs::remove_dir_all(parent.seen("")).unwrap();
    }

    #[test]
    fn what_has_ended_is_not_left() {
        let terminal = ReplyDir::for_own_jvms().unwrap();
        fs::write(terminal.seen(RECORDINGS), "begun /a.vouch\nbegun /b.vouch\nended /a.vouch\n").unwrap();
        assert_eq!(terminal.recordings(), [PathBuf::from("/b.vouch")]);
    }

    #[test]
    fn it_is_locked_as_long_as_somebody_waits() {
        let terminal = ReplyDir::for_own_jvms().unwrap();
        let other = File::open(terminal.seen("")).unwrap();
        assert!(other.try_lock_shared().is_err());
        drop(terminal);
        assert!(other.try_lock_shared().is_ok());
    }
}
