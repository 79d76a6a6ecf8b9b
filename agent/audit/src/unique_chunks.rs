//! Reads the chunks of several files of one run. Each chunk is read once, although several files
//! may contain it.

use std::collections::HashSet;
use std::io::{Read, Seek};

use vouch_jfr::{Chunk, Reader};

use crate::error::Error;
use crate::progress::Progress;
use crate::run_info::RunInfo;

/// The chunks that were already read.
#[derive(Debug, Default)]
pub struct UniqueChunks {
    /// The start times and lengths of all chunks that were read.
    known: HashSet<(i64, u64)>,
    /// The number of times that a known chunk was found again.
    pub duplicates: u64,
    /// The depth at which stacks are cut, from the last setting. It also holds for later chunks.
    depth_limit: Option<usize>,
}

impl UniqueChunks {
    /// Passes each new chunk of a file to `handle`, with the depth limit of its stacks, or an error
    /// if it is damaged. An error of this function means that the disk could not be read.
    pub fn for_each(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        mut progress: impl FnMut(Progress),
        mut handle: impl FnMut(Result<(&Chunk, Option<usize>), vouch_jfr::Error>),
    ) -> Result<(), Error> {
        let unreadable = |why| Error::Unreadable { name: name.to_owned(), why };
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
