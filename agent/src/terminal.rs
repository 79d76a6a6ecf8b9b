//! The terminal of a command of `vouch` that waits for what the agent says: a folder
//! (`vouch_report::options::terminal` has its layout).
//!
//! It must never lead anywhere but into that folder, nor hold the program up: it is written to like
//! a log, and nobody is waited for.

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

/// One that is open. All files are made at once: whoever takes the folder away then finds no new
/// ones in it.
#[derive(Debug)]
struct Terminal {
    folder: File,
    said: File,
    /// Of one that follows a recording.
    followed: Option<Followed>,
}

#[derive(Debug)]
struct Followed {
    state: File,
    recordings: File,
}

/// Who is answered: whoever gave the calling thread its command; else whoever began the recording.
static OF_RECORDING: Mutex<Option<Arc<Terminal>>> = Mutex::new(None);

thread_local! {
    static OF_COMMAND: RefCell<Option<Arc<Terminal>>> = const { RefCell::new(None) };
}

/// As long as it lives the calling thread answers there.
#[derive(Debug)]
pub struct Answering(());

impl Drop for Answering {
    fn drop(&mut self) {
        OF_COMMAND.set(None);
    }
}

impl Terminal {
    /// A mistake is a sentence.
    fn open(path: &Path, follows: bool) -> Result<Arc<Self>, String> {
        let opened = Self::try_open(path, follows);
        opened.map(Arc::new).map_err(|error| format!("{KEY}={}: {error}", path.display()))
    }

    fn try_open(path: &Path, follows: bool) -> io::Result<Self> {
        let folder =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)?;
        let folder = beyond_standard_streams(folder)?;
        let found = folder.metadata()?;
        // SAFETY: it only asks.
        let own = unsafe { libc::geteuid() };
        if found.uid() != own || found.mode() & 0o077 != 0 {
            // Somebody has made it where there was one.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let said = file(path, MESSAGES, |options| options.append(true))?;
        let followed = if follows {
            let state = file(path, STATE, |options| options.write(true))?;
            // Its room is there from now on: its end has to be told on a full disk, too.
            state.write_all_at(&padded(""), 0)?;
            Some(Followed { state, recordings: file(path, RECORDINGS, |options| options.append(true))? })
        } else {
            None
        };
        Ok(Self { folder, said, followed })
    }

    /// Whoever waits has it locked.
    fn is_heard(&self) -> bool {
        match self.folder.try_lock_shared() {
            Ok(()) => {
                // It is closed in any case.
                let _ = self.folder.unlock();
                false
            }
            Err(_) => true,
        }
    }
}

/// The calling thread obeys a command whose answer is wanted there.
pub fn answer(folder: Option<&Path>) -> Result<Option<Answering>, String> {
    let Some(folder) = folder else { return Ok(None) };
    OF_COMMAND.set(Some(Terminal::open(folder, false)?));
    Ok(Some(Answering(())))
}

/// A recording begins, and what there is to say of it is wanted there.
pub fn follow(folder: Option<&Path>) -> Result<(), String> {
    *OF_RECORDING.lock() = folder.map(|folder| Terminal::open(folder, true)).transpose()?;
    Ok(())
}

/// The recording is over, and everything of it is said.
pub fn leave(end: End) {
    state(|| end.line().to_owned());
    *OF_RECORDING.lock() = None;
}

/// Says it to whoever waits for it; false if that is nobody.
pub fn say(text: &str) -> bool {
    let terminal = OF_COMMAND.with_borrow(Clone::clone).or_else(|| OF_RECORDING.lock().clone());
    terminal
        .is_some_and(|terminal| terminal.is_heard() && (&terminal.said).write_all(text.as_bytes()).is_ok())
}

/// Tells whoever follows the recording what state it is in; where that is nobody, nobody is asked.
pub fn state(line: impl FnOnce() -> String) {
    // It is told again in a second, or was the last word, for which there is room.
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

/// Tells whoever follows it what would be left of the recording, from when on and until when:
/// [`BEGUN`], [`ENDED`].
pub fn recording(word: &str, file: &Path) {
    let file = absolute(file).unwrap_or_else(|_| file.to_owned());
    let line = format!("{word}{}\n", file.display());
    // Without it the recording is found by its name.
    followed(|followed| drop((&followed.recordings).write_all(line.as_bytes())));
}

fn followed(tell: impl FnOnce(&Followed)) {
    let terminal = OF_RECORDING.lock().clone();
    if let Some(followed) = terminal.as_ref().and_then(|terminal| terminal.followed.as_ref()) {
        tell(followed);
    }
}

/// A file in it: no link, and no pipe, since that has no reader who can be relied on.
fn file(folder: &Path, name: &str, how: fn(&mut OpenOptions) -> &mut OpenOptions) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = beyond_standard_streams(how(&mut options).open(folder.join(name))?)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
