//! The terminal of a command of `vouch` that waits for what the agent says: a folder (crate `vouch-options` has its layout).
//!
//! It must never lead anywhere but into that folder, nor hold the program up: it is written to like a log, and whoever made it may be
//! gone.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use parking_lot::Mutex;
use vouch_options::terminal::{KEY, RECORDINGS, SAID, STATE, STATE_LENGTH};

/// One that is open.
#[derive(Debug)]
pub struct Terminal {
    folder: PathBuf,
    said: File,
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
    fn open(folder: &Path) -> io::Result<Self> {
        let said = append_to(&folder.join(SAID))?;
        Ok(Self { folder: folder.to_owned(), said })
    }

    /// False if nobody can read it there.
    fn say(&self, text: &str) -> bool {
        self.said.metadata().is_ok_and(|file| file.nlink() > 0)
            && (&self.said).write_all(text.as_bytes()).is_ok()
    }
}

/// The calling thread obeys a command whose answer is wanted there.
pub fn answer(folder: Option<&Path>) -> Result<Option<Answering>, String> {
    let Some(folder) = folder else { return Ok(None) };
    let terminal = Terminal::open(folder).map_err(|error| format!("{KEY}={}: {error}", folder.display()))?;
    OF_COMMAND.set(Some(Arc::new(terminal)));
    Ok(Some(Answering(())))
}

/// A recording begins, and what there is to say of it is wanted there.
pub fn follow(folder: Option<&Path>) {
    // Whoever could not be answered was told so, and hears the rest on stderr.
    *OF_RECORDING.lock() = folder.and_then(|folder| Terminal::open(folder).ok()).map(Arc::new);
}

/// The recording is over, and everything of it is said.
pub fn leave() {
    if let Some(terminal) = OF_RECORDING.lock().take() {
        // It may be gone, with all that is in it.
        let _ = std::fs::remove_file(terminal.folder.join(STATE));
    }
}

/// Says it to whoever waits for it; false if that is nobody.
pub fn say(text: &str) -> bool {
    let terminal = OF_COMMAND.with_borrow(Clone::clone).or_else(|| OF_RECORDING.lock().clone());
    terminal.is_some_and(|terminal| terminal.say(text))
}

/// Tells whoever follows the recording what state it is in.
pub fn state(line: &str) {
    let Some(terminal) = OF_RECORDING.lock().clone() else { return };
    let mut end = line.len().min(STATE_LENGTH - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = line.as_bytes()[..end].to_vec();
    text.resize(STATE_LENGTH - 1, b' ');
    text.push(b'\n');
    // It is told again in a second.
    let _ = overwrite(&terminal.folder.join(STATE)).and_then(|file| file.write_all_at(&text, 0));
}

/// Tells whoever follows it what would be left of the recording.
pub fn recording(file: &Path) {
    let Some(terminal) = OF_RECORDING.lock().clone() else { return };
    let file = absolute(file).unwrap_or_else(|_| file.to_owned());
    let line = format!("{}\n", file.display());
    // Without it the recording is found by its name.
    let _ = append_to(&terminal.folder.join(RECORDINGS)).and_then(|mut file| file.write_all(line.as_bytes()));
}

fn append_to(path: &Path) -> io::Result<File> {
    regular(options().append(true).open(path)?)
}

fn overwrite(path: &Path) -> io::Result<File> {
    regular(options().write(true).open(path)?)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

/// A pipe has no reader who can be relied on.
fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
