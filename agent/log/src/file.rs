//! The file: created for its user alone, appended to, and gone when it is no longer needed.
//!
//! A write goes to the page cache, from where it reaches the disk though the process is killed. What cannot be written is kept and tried
//! again: it must never cost the program more than the attempt, nor leave in the file what would be taken for a block.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use prost::Message;
use vouch_recording::Recording;

use crate::block;
use crate::news::{Told, half};
use crate::state::State;

/// What a recording's name ends with.
pub const ENDING: &str = ".vouch";

/// So many of one name may lie beside each other, of processes that were killed.
const MOST: u32 = 9;

/// A recording that is being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Of what has been written.
    length: u64,
    /// It is to be no longer than this.
    most: u64,
    /// When what is in it begins.
    since_ns: Option<u64>,
    /// What could not be written yet.
    unwritten: Vec<u8>,
    told: Told,
}

/// What lies beside a recording that begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Recordings of processes that are gone.
    pub left: Vec<PathBuf>,
    /// The oldest of them, whose place was needed.
    pub replaced: Option<PathBuf>,
}

impl Writer {
    /// A new file `stem.vouch`, or `stem.2.vouch` and so on where that is taken: what another process left is no one's to overwrite.
    pub fn create(stem: &Path, most: u64) -> io::Result<(Self, Beside)> {
        let mut beside = Beside::default();
        let (taken, free): (Vec<_>, Vec<_>) = (1..=MOST)
            .map(|number| numbered(stem, number))
            .partition(|path| fs::symlink_metadata(path).is_ok());
        beside.left.extend(taken.into_iter().filter(|path| is_left(path)));
        let (file, path) = if let Some(created) = first_of(free)? {
            created
        } else {
            let age = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
            let oldest = (0..beside.left.len()).min_by_key(|at| age(&beside.left[*at]));
            let oldest = beside.left.remove(oldest.ok_or(io::ErrorKind::AlreadyExists)?);
            fs::remove_file(&oldest)?;
            beside.replaced = Some(oldest.clone());
            (create(&oldest)?, oldest)
        };
        lock(&file);
        let (unwritten, told) = (block::beginning(), Told::default());
        Ok((Self { file, path, length: 0, most, since_ns: None, unwritten, told }, beside))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Writes what has come since; the first time a state has to be among it. After an error it is tried again the next time.
    pub fn append(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: Option<&State>,
    ) -> io::Result<()> {
        self.since_ns.get_or_insert(time_ns);
        self.put()?;
        let mut state = state.map_or_else(String::new, State::text);
        while let Some(news) = self.told.news(recording, time_ns, std::mem::take(&mut state)) {
            block::put(&mut self.unwritten, &news.encode_to_vec());
            self.put()?;
            if !self.told.has_more() {
                break;
            }
        }
        Ok(())
    }

    /// True if it has reached its limit.
    pub fn is_full(&self) -> bool {
        self.length > self.most
    }

    /// Begins it again, without the earlier half of its samples; from when on it tells now. `None`: what is in it besides samples leaves them no
    /// room.
    pub fn start_over(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: &State,
    ) -> io::Result<Option<u64>> {
        let since_ns = half(recording, self.since_ns.unwrap_or(time_ns).min(time_ns), time_ns);
        let mut part = self.path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut again = Self {
            file: create(&part)?,
            path: part.clone(),
            length: 0,
            most: self.most,
            since_ns: Some(since_ns),
            unwritten: block::beginning(),
            told: Told::from(recording, since_ns),
        };
        lock(&again.file);
        let begun =
            again.append(recording, time_ns, Some(state)).and_then(|()| fs::rename(&part, &self.path));
        if let Err(error) = begun {
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        again.path.clone_from(&self.path);
        *self = again;
        Ok((self.length <= self.most / 4 * 3).then_some(since_ns))
    }

    fn put(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.unwritten, self.length)?;
        self.length += self.unwritten.len() as u64;
        // A long block may have been the first, and no other one will be as long.
        self.unwritten = Vec::new();
        Ok(())
    }

    /// True if its name leads to it still.
    pub fn is_there(&self) -> bool {
        let identity = |file: fs::Metadata| (file.dev(), file.ino());
        let there = fs::symlink_metadata(&self.path).map(identity).ok();
        there.is_some() && there == self.file.metadata().map(identity).ok()
    }

    /// Takes it away. Another file of its name stays.
    pub fn remove(self) -> io::Result<()> {
        if self.is_there() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}

/// True if the process that wrote it is gone.
pub fn is_left(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    is_file && File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// The first that can be created; another process may have been quicker.
fn first_of(free: Vec<PathBuf>) -> io::Result<Option<(File, PathBuf)>> {
    for path in free {
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok(Some((created?, path))),
        }
    }
    Ok(None)
}

/// By this others see that a file is in use; on a file system that has no locks they take it for one that was left.
fn lock(file: &File) {
    let _ = file.try_lock();
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn numbered(stem: &Path, number: u32) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name.push(ENDING);
    PathBuf::from(name)
}
