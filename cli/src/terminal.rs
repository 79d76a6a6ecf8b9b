//! The folder through which the agent in a JVM speaks to a command that waits for it (crate `vouch-options` has its layout).
//!
//! It belongs to the JVM's user, who may put there what he likes: nothing in it is followed, run, or believed to be short.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use vouch_options::terminal::{KEY, RECORDINGS, SAID, STATE, STATE_LENGTH};

/// Of a file in it no more is read at a time.
const MOST: u64 = 1 << 20;
/// What has these is a folder, and not what a link leads to; nobody waits for a pipe.
const O_DIRECTORY: i32 = 0o200_000;
const O_NOFOLLOW: i32 = 0o400_000;
const O_NONBLOCK: i32 = 0o4000;

/// One of them; it is taken away when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    /// Where it lies, open, so that it is reached though the JVM that saw it is gone.
    parent: File,
    folder: File,
    name: String,
    /// What the JVM calls it.
    seen: PathBuf,
    /// Of what was said, so much has been read; the last line may not be whole yet.
    read: u64,
    rest: String,
}

impl Terminal {
    /// For JVMs that this process starts.
    pub fn here() -> Result<Self, String> {
        let folder = std::path::absolute(std::env::temp_dir());
        let folder = folder.map_err(|error| format!("there is no folder for temporary files: {error}"))?;
        Self::create(&folder, &folder, None)
    }

    /// In a folder that the JVM calls `seen`, for its user and group.
    pub fn create(parent: &Path, seen: &Path, owner: Option<(u32, u32)>) -> Result<Self, String> {
        let failed = |error: io::Error| format!("nothing can be laid down in {}: {error}", parent.display());
        let random = RandomState::new().hash_one(std::process::id());
        let name = format!(".vouch-{}-{random:016x}", std::process::id());
        let parent_folder =
            OpenOptions::new().read(true).custom_flags(O_DIRECTORY).open(parent).map_err(failed)?;
        let path = within(&parent_folder, &name);
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let folder = OpenOptions::new().read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(&path);
        let folder = folder.map_err(failed)?;
        let terminal = Self {
            parent: parent_folder,
            folder,
            seen: seen.join(&name),
            name,
            read: 0,
            rest: String::new(),
        };
        if let Some((uid, gid)) = owner {
            fchown(&terminal.folder, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(terminal)
    }

    /// What the agent is told.
    pub fn option(&self) -> String {
        format!("{KEY}={}", self.seen.display())
    }

    /// What the JVM calls a file in it.
    pub fn seen(&self, name: &str) -> PathBuf {
        self.seen.join(name)
    }

    /// The same file, from here.
    pub fn path(&self, name: &str) -> PathBuf {
        within(&self.folder, name)
    }

    /// A file in it, which is no link and no pipe.
    pub fn open(&self, name: &str) -> io::Result<File> {
        let file =
            OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(self.path(name))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// The lines that were said since.
    pub fn said(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = self.open(SAID).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(MOST).read_to_end(&mut bytes)
        });
        // Nothing has been said, or no more can be.
        let Ok(read) = read else { return Vec::new() };
        self.read += read as u64;
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        lines.lines().map(vouch_report::plain).collect()
    }

    /// What is being recorded; `None` if there is no recording that was begun from here.
    pub fn state(&self) -> Option<String> {
        let mut line = String::new();
        let file = self.open(STATE).ok()?;
        file.take(STATE_LENGTH as u64).read_to_string(&mut line).ok()?;
        Some(vouch_report::plain(line.trim_end()))
    }

    /// What would be left of the recordings if their JVMs were killed, as those call it.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let mut lines = String::new();
        let read = self.open(RECORDINGS).and_then(|file| file.take(MOST).read_to_string(&mut lines));
        let mut paths: Vec<PathBuf> =
            read.map_or_else(|_| Vec::new(), |_| lines.lines().map(PathBuf::from).collect());
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Whoever may not do so has lost the right to it meanwhile, and can do nothing about it.
        let _ = fs::remove_dir_all(within(&self.parent, &self.name));
    }
}

fn within(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn lines_come_whole_and_once() {
        let mut terminal = Terminal::here().unwrap();
        assert!(terminal.said().is_empty());
        let mut said = File::create(terminal.seen(SAID)).unwrap();
        said.write_all(b"[vouch] one\n[vouch] tw").unwrap();
        assert_eq!(terminal.said(), ["[vouch] one"]);
        said.write_all(b"o\n").unwrap();
        assert_eq!(terminal.said(), ["[vouch] two"]);
        assert!(terminal.said().is_empty());
    }

    #[test]
    fn a_link_in_it_is_not_followed_and_nothing_of_it_stays() {
        let terminal = Terminal::here().unwrap();
        let secret = terminal.seen("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, terminal.seen(STATE)).unwrap();
        assert_eq!(terminal.state(), None);
        fs::remove_file(terminal.seen(STATE)).unwrap();
        fs::write(terminal.seen(STATE), "recording   \n").unwrap();
        assert_eq!(terminal.state().as_deref(), Some("recording"));
        let folder = terminal.seen("");
        drop(terminal);
        assert!(!folder.exists());
    }
}
