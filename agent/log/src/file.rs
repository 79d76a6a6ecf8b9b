//! The file: created for its user alone, appended to, and gone when it is no longer needed.
//!
//! A write goes to the page cache, from where it reaches the disk though the process is killed.
//! What cannot be written is kept and tried again: it must never cost the program more than the
//! attempt, nor leave in the file what would be taken for a block.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::output::held::{create, is_at, is_in_use, open, remove_left};
use prost::Message;
use vouch_recording::Recording;

use crate::block::{self, Packer};
use crate::news::{Told, half};
use crate::state::State;

/// What a recording's name ends with.
pub const ENDING: &str = ".vouch";

/// So many of one name may lie beside each other, of processes that were killed.
const MOST: u32 = 9;
/// After one of its attempts to make room has failed it waits so long, and then twice as long each
/// time.
const PATIENCE_NS: u64 = 1_000_000_000;
const MOST_PATIENCE_NS: u64 = 300 * PATIENCE_NS;

/// A recording that is being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Of what has been written, and how much of it are states of the run.
    length: u64,
    states: u64,
    /// What was written in all, though it was begun again.
    written: u64,
    /// What it may take, with a second file while it is begun again.
    most: u64,
    /// When what is in it begins: 0 is the beginning of the run.
    since_ns: u64,
    /// It is not begun again before that, since it could not be; and how long it was waited for
    /// last.
    again_ns: u64,
    patience_ns: u64,
    /// What could not be written yet.
    unwritten: Vec<u8>,
    packer: Packer,
    told: Told,
}

/// What lies beside a recording that begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Recordings of processes that are gone and had not ended them.
    pub left: Vec<PathBuf>,
    /// The oldest of them, whose place was needed.
    pub replaced: Option<PathBuf>,
}

impl Writer {
    /// A new file `stem.vouch`, or `stem.2.vouch` and so on where that is taken: what another
    /// process left is no one's to overwrite.
    pub fn create(stem: &Path, most: u64) -> io::Result<(Self, Beside)> {
        let mut beside = Beside::default();
        let mut created = None;
        for path in (1..=MOST).map(|number| numbered(stem, number)) {
            // What a process that was killed left where it wanted to begin a file again.
            remove_left(&part_of(&path));
            if fs::symlink_metadata(&path).is_ok() {
                beside.left.extend(Some(path).filter(|path| is_left(path)));
            } else if created.is_none() {
                created = match create(&path) {
                    // Another process was quicker.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                    file => Some((file?, path)),
                };
            }
        }
        let (file, path) = match created {
            Some(created) => created,
            None => beside.instead()?,
        };
        let (unwritten, told) = (block::beginning(), Told::default());
        Ok((Self::new(file, path, most, 0, unwritten, told), beside))
    }

    fn new(file: File, path: PathBuf, most: u64, since_ns: u64, unwritten: Vec<u8>, told: Told) -> Self {
        Self {
            file,
            path,
            length: 0,
            states: 0,
            written: 0,
            most,
            since_ns,
            again_ns: 0,
            patience_ns: PATIENCE_NS,
            unwritten,
            packer: Packer::new(),
            told,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How much has been written to it, and to those that it took the place of.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes what has come since, and behind it a state: the first time there has to be one. After
    /// an error it is tried again the next time.
    pub fn append(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: Option<&State>,
    ) -> io::Result<()> {
        if self.is_at_its_limit() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.put()?;
        loop {
            let news = self.told.news(recording, time_ns);
            let has_more = self.told.has_more();
            let text = state.filter(|_| !has_more).map_or_else(String::new, State::text);
            let of_state = text.len() as u64;
            if let Some(block) = self.told.block(news, text) {
                let (content, before) = (block.encode_to_vec(), self.unwritten.len());
                self.packer.put(&mut self.unwritten, &content);
                let length = (self.unwritten.len() - before) as u64;
                // Its part of the block, however far that was packed.
                self.states += of_state * length / (content.len() as u64).max(1);
                self.put()?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Nothing comes any more, and it lacks nothing.
    pub fn finish(&mut self) -> io::Result<()> {
        self.put()?;
        self.file.write_all_at(&block::ENDED.1, block::ENDED.0)
    }

    /// True if it is to be begun again, without what came first.
    pub fn is_full(&self, time_ns: u64) -> bool {
        self.length > self.most / 2 && time_ns >= self.again_ns
    }

    /// True if nothing more is written to it.
    pub fn is_at_its_limit(&self) -> bool {
        self.length > self.most
    }

    /// Begins it again, without the earlier half of its samples, or more of them; from when on it
    /// tells now (0: of all). `None`: what is in it besides samples leaves them no room. After
    /// that, or an error, it is what it was.
    pub fn start_over(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: &State,
    ) -> io::Result<Option<u64>> {
        let part = part_of(&self.path);
        let begun = self.later_half(&part, recording, time_ns, state);
        let renamed = begun.and_then(|again| {
            if again.has_room() { fs::rename(&part, &self.path).map(|()| Some(again)) } else { Ok(None) }
        });
        if let Ok(Some(again)) = renamed {
            *self = Self { path: self.path.clone(), written: self.written + again.written, ..again };
            return Ok(Some(self.since_ns));
        }
        // It may not even have been created.
        let _ = fs::remove_file(&part);
        self.told.all_wait(recording);
        self.again_ns = time_ns.saturating_add(self.patience_ns);
        self.patience_ns = (self.patience_ns * 2).min(MOST_PATIENCE_NS);
        renamed.map(|_| None)
    }

    fn later_half(
        &self,
        part: &Path,
        recording: &mut Recording,
        time_ns: u64,
        state: &State,
    ) -> io::Result<Self> {
        let mut since_ns = self.since_ns.min(time_ns);
        // Where it is full of states that hold no more, it has to lose nothing else.
        let mut whole = self.states > self.length / 4;
        loop {
            if !std::mem::take(&mut whole) {
                since_ns = half(recording, since_ns, time_ns);
            }
            match fs::remove_file(part) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let told = Told::from(recording, since_ns);
            let file = create(part)?;
            let mut again = Self::new(file, part.to_owned(), self.most, since_ns, block::beginning(), told);
            again.append(recording, time_ns, Some(state))?;
            if again.has_room() || since_ns >= time_ns {
                return Ok(again);
            }
        }
    }

    /// True if it does not have to be begun again soon.
    fn has_room(&self) -> bool {
        self.length <= self.most / 8 * 3
    }

    fn put(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.unwritten, self.length)?;
        self.length += self.unwritten.len() as u64;
        self.written += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    /// True if its name leads to it still.
    pub fn is_there(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Takes it away. Another file of its name stays.
    pub fn remove(self) -> io::Result<()> {
        if self.is_there() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}

impl Beside {
    /// A new file in the place of the oldest that was left.
    fn instead(&mut self) -> io::Result<(File, PathBuf)> {
        let age = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        let oldest = (0..self.left.len()).min_by_key(|at| age(&self.left[*at]));
        let oldest = self.left.remove(oldest.ok_or(io::ErrorKind::AlreadyExists)?);
        // While it is locked nobody else takes it, and it is looked at again: somebody may have
        // been quicker.
        let file = open(&oldest)?;
        if file.try_lock().is_err() || !is_at(&file, &oldest) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::remove_file(&oldest)?;
        self.replaced = Some(oldest.clone());
        Ok((create(&oldest)?, oldest))
    }
}

/// True if a process wrote it that is gone and did not end it.
pub fn is_left(path: &Path) -> bool {
    open(path).is_ok_and(|file| !is_in_use(&file) && block::has_begun(&file) && !block::is_ended(&file))
}

fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

fn numbered(stem: &Path, number: u32) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name.push(ENDING);
    PathBuf::from(name)
}
