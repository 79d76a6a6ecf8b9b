//! The chunks of several files of one run, each once: one may lie in several files.

use std::collections::HashSet;
use std::io::{Read, Seek};

use vouch_jfr::{Chunk, Reader};

use crate::progress::Progress;
use crate::run_info::RunInfo;

/// Which of them were there.
#[derive(Debug, Default)]
pub struct UniqueChunks {
    /// By when they began and how long they are.
    known: HashSet<(i64, u64)>,
    /// How many were there again.
    pub duplicates: u64,
    /// At so many frames a stack was cut, as far as was told: it holds for the chunks behind, too.
    depth_limit: Option<usize>,
}

impl UniqueChunks {
    /// Goes through a file, chunk by chunk, each with how deep its stacks can be; what is damaged
    /// is passed on as a sentence. An error is one of the disk's.
    pub fn for_each(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        mut progress: impl FnMut(Progress),
        mut handle: impl FnMut(Result<(&Chunk, Option<usize>), String>),
    ) -> Result<(), String> {
        let unreadable = |error| format!("{name} cannot be read: {error}");
        let mut reader = Reader::new(file).map_err(unreadable)?;
        while let Some(chunk) = reader.next_chunk().map_err(unreadable)? {
            match chunk {
                Ok(chunk) if self.known.insert(chunk.identity()) => {
                    self.depth_limit = RunInfo::stack_depth_limit(&chunk).or(self.depth_limit);
                    handle(Ok((&chunk, self.depth_limit)));
                }
                Ok(_) => self.duplicates += 1,
                Err(error) => handle(Err(error)),
            }
            let (done, of) = reader.progress();
            progress(Progress::Reading(done, of));
        }
        Ok(())
    }
}
