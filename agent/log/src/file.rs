//! Creates the file of a recording for its user alone, appends to it, and removes it when it is no
//! longer needed.
//!
//! A write goes to the page cache, so the kernel stores it even if the process is killed. Data that
//! cannot be written is kept, and the next append retries it. A failed write must never cost the
//! program more than the attempt. It must never leave bytes in the file that look like a block.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::output::held::{create, is_file_at, is_in_use, open, remove_orphaned};
use prost::Message;
use vouch_recording::Recording;

use crate::block::{self, BlockWriter};
use crate::state::State;
use crate::written_rows::{WrittenRows, median_time_ns};

/// File name ending of a recording on disk.
pub const ENDING: &str = ".vouch";

/// Maximum number of recordings of one name in a folder. Killed processes leave them.
const MAX_RECORDINGS_OF_ONE_STEM: u32 = 9;
/// Delay in nanoseconds after the first failed attempt to start the file over without its oldest
/// samples. Each further failure doubles the delay, up to `MAX_RETRY_DELAY_NS`.
const FIRST_RETRY_DELAY_NS: u64 = 1_000_000_000;
const MAX_RETRY_DELAY_NS: u64 = 300 * FIRST_RETRY_DELAY_NS;

/// Writes one recording to its file.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Length of the recording's file in bytes. `state_bytes` is the part that states of the run
    /// take.
    length: u64,
    state_bytes: u64,
    /// Number of bytes written in total, including the files that were started over.
    written: u64,
    /// Limit in bytes on the disk space of the recording. It covers the second file that exists
    /// while the recording starts over.
    max_bytes: u64,
    /// Time in nanoseconds from which on the file has samples; 0 is the beginning of the run.
    since_ns: u64,
    /// Earliest time in nanoseconds of the next attempt to start the file over. `retry_delay_ns` is
    /// the delay after the next failure.
    retry_ns: u64,
    retry_delay_ns: u64,
    /// Bytes that are not written yet. A failed write keeps them for the next append.
    unwritten: Vec<u8>,
    blocks: BlockWriter,
    written_rows: WrittenRows,
}

/// Lists the other recordings that were found when a new recording was created.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OtherRecordings {
    /// Orphaned recordings: those with a process that has exited without ending them.
    pub orphaned: Vec<PathBuf>,
    /// The oldest orphaned recording, if the new one replaced it.
    pub replaced: Option<PathBuf>,
}

impl Writer {
    /// Creates the file `stem.vouch` of a recording, or `stem.2.vouch` and so on if that exists. It
    /// does not overwrite an orphaned recording while a name is free.
    pub fn create(stem: &Path, max_bytes: u64) -> io::Result<(Self, OtherRecordings)> {
        let mut others = OtherRecordings::default();
        let mut created = None;
        for path in (1..=MAX_RECORDINGS_OF_ONE_STEM).map(|number| numbered(stem, number)) {
            // A process may have been killed while it started a file over.
            remove_orphaned(&temporary_path(&path));
            if fs::symlink_metadata(&path).is_ok() {
                others.orphaned.extend(Some(path).filter(|path| is_orphaned(path)));
            } else if created.is_none() {
                created = match create(&path) {
                    // Another process created the file first.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                    file => Some((file?, path)),
                };
            }
        }
        let (file, path) = match created {
            Some(created) => created,
            None => others.replace_oldest()?,
        };
        let (unwritten, written_rows) = (block::file_header(), WrittenRows::default());
        Ok((Self::new(file, path, max_bytes, 0, unwritten, written_rows), others))
    }

    fn new(
        file: File,
        path: PathBuf,
        max_bytes: u64,
        since_ns: u64,
        unwritten: Vec<u8>,
        written_rows: WrittenRows,
    ) -> Self {
        Self {
            file,
            path,
            length: 0,
            state_bytes: 0,
            written: 0,
            max_bytes,
            since_ns,
            retry_ns: 0,
            retry_delay_ns: FIRST_RETRY_DELAY_NS,
            unwritten,
            blocks: BlockWriter::new(),
            written_rows,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the recording's file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes written in total, including the files that this one replaced.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends new data to the recording, and then the state if there is one. The first append
    /// needs a state. After an error the next append retries.
    pub fn append(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: Option<&State>,
    ) -> io::Result<()> {
        if self.is_at_its_limit() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.write_pending()?;
        loop {
            let new_rows = self.written_rows.new_rows(recording, time_ns);
            let has_more = self.written_rows.has_more();
            let text = state.filter(|_| !has_more).map_or_else(String::new, State::to_json);
            let state_bytes = text.len() as u64;
            if let Some(block) = self.written_rows.numbered_block(new_rows, text) {
                let (content, before) = (block.encode_to_vec(), self.unwritten.len());
                self.blocks.append(&mut self.unwritten, &content);
                let length = (self.unwritten.len() - before) as u64;
                // The state's share of the block, in bytes after deflation.
                self.state_bytes += state_bytes * length / (content.len() as u64).max(1);
                self.write_pending()?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Marks the recording as ended and complete. No append may follow.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.file.write_all_at(&block::END_FLAG.1, block::END_FLAG.0)
    }

    /// Returns true if the file must start over without its oldest samples.
    pub fn is_full(&self, time_ns: u64) -> bool {
        self.length > self.max_bytes / 2 && time_ns >= self.retry_ns
    }

    /// Returns true if the file exceeds its limit, so that no more is written.
    pub fn is_at_its_limit(&self) -> bool {
        self.length > self.max_bytes
    }

    /// Starts the recording's file over without the older half of its samples, or more. Markers and
    /// amounts of that time are removed too, but no tables. If old states fill over a quarter of
    /// the file, it first tries to remove only these. Returns the new start time of the samples; 0
    /// is the beginning of the run. Returns `None` if the other data leaves too little space for
    /// samples. After `None` or an error, the file is unchanged.
    pub fn start_over(
        &mut self,
        recording: &mut Recording,
        time_ns: u64,
        state: &State,
    ) -> io::Result<Option<u64>> {
        let temporary = temporary_path(&self.path);
        let rewritten = self.write_later_half(&temporary, recording, time_ns, state);
        let renamed = rewritten.and_then(|again| {
            if again.is_small_enough() {
                fs::rename(&temporary, &self.path).map(|()| Some(again))
            } else {
                Ok(None)
            }
        });
        if let Ok(Some(again)) = renamed {
            *self = Self { path: self.path.clone(), written: self.written + again.written, ..again };
            return Ok(Some(self.since_ns));
        }
        // The file may not exist.
        let _ = fs::remove_file(&temporary);
        self.written_rows.check_all_threads(recording);
        self.retry_ns = time_ns.saturating_add(self.retry_delay_ns);
        self.retry_delay_ns = (self.retry_delay_ns * 2).min(MAX_RETRY_DELAY_NS);
        renamed.map(|_| None)
    }

    fn write_later_half(
        &self,
        temporary: &Path,
        recording: &mut Recording,
        time_ns: u64,
        state: &State,
    ) -> io::Result<Self> {
        let mut since_ns = self.since_ns.min(time_ns);
        // If outdated states fill the file, it first starts over with all samples.
        let mut whole = self.state_bytes > self.length / 4;
        loop {
            if !std::mem::take(&mut whole) {
                since_ns = median_time_ns(recording, since_ns, time_ns);
            }
            match fs::remove_file(temporary) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let written_rows = WrittenRows::from(recording, since_ns);
            let file = create(temporary)?;
            let mut again = Self::new(
                file,
                temporary.to_owned(),
                self.max_bytes,
                since_ns,
                block::file_header(),
                written_rows,
            );
            again.append(recording, time_ns, Some(state))?;
            if again.is_small_enough() || since_ns >= time_ns {
                return Ok(again);
            }
        }
    }

    /// Returns true if the file is small enough not to start over again soon: at most 3/8 of its
    /// limit.
    fn is_small_enough(&self) -> bool {
        self.length <= self.max_bytes / 8 * 3
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.unwritten, self.length)?;
        self.length += self.unwritten.len() as u64;
        self.written += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    /// Returns true if the path still leads to the file of this recording.
    pub fn is_there(&self) -> bool {
        is_file_at(&self.file, &self.path)
    }

    /// Removes the file of the recording. Another file at the path is kept.
    pub fn remove(self) -> io::Result<()> {
        if self.is_there() { fs::remove_file(&self.path) } else { Ok(()) }
    }
}

impl OtherRecordings {
    /// Creates a new recording's file, which replaces the oldest orphaned recording.
    fn replace_oldest(&mut self) -> io::Result<(File, PathBuf)> {
        let age = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        let oldest = (0..self.orphaned.len()).min_by_key(|at| age(&self.orphaned[*at]));
        let oldest = self.orphaned.remove(oldest.ok_or(io::ErrorKind::AlreadyExists)?);
        // The lock keeps other processes away. The second check detects a process that was faster.
        let file = open(&oldest)?;
        if file.try_lock().is_err() || !is_file_at(&file, &oldest) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::remove_file(&oldest)?;
        self.replaced = Some(oldest.clone());
        Ok((create(&oldest)?, oldest))
    }
}

/// Returns true if the recording is orphaned: its process has exited without ending it.
pub fn is_orphaned(path: &Path) -> bool {
    open(path)
        .is_ok_and(|file| !is_in_use(&file) && block::starts_like_recording(&file) && !block::is_ended(&file))
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    PathBuf::from(temporary)
}

fn numbered(stem: &Path, number: u32) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name.push(ENDING);
    PathBuf::from(name)
}
