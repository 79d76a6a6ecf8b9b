//! The terminal of a `vouch` command that waits for the agent's messages. It is a folder
//! (`vouch_report::options::terminal` has its layout).
//!
//! The agent must never write outside that folder, nor block the program. It writes to the folder
//! as to a log, and never waits for a reader.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, absolute};
use std::sync::Arc;

use parking_lot::Mutex;
use vouch_log::output::held::beyond_standard_streams;
pub use vouch_report::options::terminal::{BEGUN, ENDED};
use vouch_report::options::terminal::{End, KEY, MESSAGES, RECORDINGS, STATE, STATE_LENGTH};

use crate::error::Error;

/// An open terminal. All files are created at once, so a command that removes the folder finds no
/// new files in it.
#[derive(Debug)]
struct Terminal {
    folder: File,
    said: File,
    /// The files of a terminal that follows a recording.
    followed: Option<Followed>,
}

#[derive(Debug)]
struct Followed {
    state: File,
    recordings: File,
}

/// The terminal of the command that began the recording. It gets the messages if the calling thread
/// runs no other command.
static OF_RECORDING: Mutex<Option<Arc<Terminal>>> = Mutex::new(None);

thread_local! {
    static OF_COMMAND: RefCell<Option<Arc<Terminal>>> = const { RefCell::new(None) };
}

/// Sends the calling thread's messages to a terminal until it is dropped.
#[derive(Debug)]
pub struct Answering(());

impl Drop for Answering {
    fn drop(&mut self) {
        OF_COMMAND.set(None);
    }
}

impl Terminal {
    /// Opens a terminal.
    fn open(path: &Path, follows: bool) -> Result<Arc<Self>, Error> {
        let opened = Self::try_open(path, follows);
        opened.map(Arc::new).map_err(|why| Error::Terminal { key: KEY, folder: path.to_owned(), why })
    }

    fn try_open(path: &Path, follows: bool) -> io::Result<Self> {
        let folder =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)?;
        let folder = beyond_standard_streams(folder)?;
        let found = folder.metadata()?;
        // SAFETY: this only returns the process's user id.
        let own = unsafe { libc::geteuid() };
        if found.uid() != own || found.mode() & 0o077 != 0 {
            // Another user may have replaced the folder, or may write to it.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let said = file(path, MESSAGES, |options| options.append(true))?;
        let followed = if follows {
            let state = file(path, STATE, |options| options.write(true))?;
            // This allocates the file's space, so that the end can be reported on a full disk, too.
            state.write_all_at(&padded(""), 0)?;
            Some(Followed { state, recordings: file(path, RECORDINGS, |options| options.append(true))? })
        } else {
            None
        };
        Ok(Self { folder, said, followed })
    }

    /// Returns true if a command waits for messages. It locks the folder while it waits.
    fn is_heard(&self) -> bool {
        match self.folder.try_lock_shared() {
            Ok(()) => {
                // The lock is released in any case when the file is closed.
                let _ = self.folder.unlock();
                false
            }
            Err(_) => true,
        }
    }
}

/// Sends the messages of the calling thread's command to this folder.
pub fn answer(folder: Option<&Path>) -> Result<Option<Answering>, Error> {
    let Some(folder) = folder else { return Ok(None) };
    OF_COMMAND.set(Some(Terminal::open(folder, false)?));
    Ok(Some(Answering(())))
}

/// Sends the messages of the recording that begins to this folder.
pub fn follow(folder: Option<&Path>) -> Result<(), Error> {
    *OF_RECORDING.lock() = folder.map(|folder| Terminal::open(folder, true)).transpose()?;
    Ok(())
}

/// Closes the terminal after the recording's last message.
pub fn leave(end: End) {
    state(|| end.line().to_owned());
    *OF_RECORDING.lock() = None;
}

/// Sends a message to the command that waits for it. Returns false if no command waits.
pub fn say(text: &str) -> bool {
    let terminal = OF_COMMAND.with_borrow(Clone::clone).or_else(|| OF_RECORDING.lock().clone());
    terminal
        .is_some_and(|terminal| terminal.is_heard() && (&terminal.said).write_all(text.as_bytes()).is_ok())
}

/// Writes the recording's state for the command that follows it. `line` is only called if there is
/// one.
pub fn state(line: impl FnOnce() -> String) {
    // A lost line is written again after a second. The last line has its space allocated.
    followed(|followed| drop(followed.state.write_all_at(&padded(&line()), 0)));
}

fn padded(line: &str) -> Vec<u8> {
    let mut end = line.len().min(STATE_LENGTH - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = line.as_bytes()[..end].to_vec();
    text.resize(STATE_LENGTH - 1, b' ');
    text.push(b'\n');
    text
}

/// Writes the name of the file that remains if the recording is interrupted. `word` is [`BEGUN`] at
/// the start of that period, and [`ENDED`] at its end.
pub fn recording(word: &str, file: &Path) {
    let file = absolute(file).unwrap_or_else(|_| file.to_owned());
    let line = format!("{word}{}\n", file.display());
    // If this fails, the command finds the recording by its name.
    followed(|followed| drop((&followed.recordings).write_all(line.as_bytes())));
}

fn followed(tell: impl FnOnce(&Followed)) {
    let terminal = OF_RECORDING.lock().clone();
    if let Some(followed) = terminal.as_ref().and_then(|terminal| terminal.followed.as_ref()) {
        tell(followed);
    }
}

/// Opens a file in the folder. It follows no link, and opens no pipe, because a pipe may have no
/// reader.
fn file(folder: &Path, name: &str, how: fn(&mut OpenOptions) -> &mut OpenOptions) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = beyond_standard_streams(how(&mut options).open(folder.join(name))?)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
