//! Blocks: how a file is cut, so that what is whole of it is known to be whole.
//!
//! Each has a head of sixteen bytes: `VchB`, the length of what follows, the sum of that, and the sum of these twelve bytes. All numbers
//! are little-endian, all sums CRC-32 as zip and PNG have it. A length must never be believed before its own sum has been right.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use crc32fast::hash;

/// What a file begins with; the version comes behind it, and four bytes that are 0 until it is ended.
const MAGIC: [u8; 8] = *b"VouchRec";
const VERSION: u32 = 1;
const BEGINNING: usize = 16;
/// Where that is, and what stands there then.
pub const ENDED: (u64, [u8; 4]) = (12, [1, 0, 0, 0]);

const MARK: [u8; 4] = *b"VchB";
const HEAD: usize = 16;
/// No block is longer: who writes keeps them far below.
const MOST: u64 = 8 << 20;

/// The first bytes of a file.
pub fn beginning() -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_le_bytes(), &[0; 4]].concat()
}

/// True if a file that begins so is a recording.
pub fn is_recording(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// True if nothing was to come any more when it was written last.
pub fn is_ended(file: &File) -> bool {
    let mut ended = [0; 4];
    file.read_exact_at(&mut ended, ENDED.0).is_ok() && ended == ENDED.1
}

/// Appends a block to what is to be written.
pub fn put(bytes: &mut Vec<u8>, content: &[u8]) {
    let begin = bytes.len();
    bytes.extend(MARK);
    bytes.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(hash(content).to_le_bytes());
    bytes.extend(hash(&bytes[begin..]).to_le_bytes());
    bytes.extend(content);
}

/// The blocks of a file that are whole.
#[derive(Debug)]
pub struct Blocks<R> {
    file: BufReader<R>,
    /// Where the next one is looked for, and where the file ended when it was opened: it may grow.
    at: u64,
    length: u64,
    /// Bytes that belong to no block that is whole.
    pub damaged: u64,
    /// So many may be read in vain, of blocks whose sums are wrong, until the whole of such a block is passed over: a file could be full
    /// of heads.
    patience: u64,
}

impl<R: Read + Seek> Blocks<R> {
    /// `None`: it is no recording. `Err` in it: of a version that is not known.
    pub fn open(mut file: R) -> io::Result<Option<Result<Self, u32>>> {
        let length = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut begin = [0; BEGINNING];
        if length < BEGINNING as u64 {
            return Ok(None);
        }
        file.read_exact(&mut begin)?;
        if begin[..8] != MAGIC {
            return Ok(None);
        }
        let version = number(&begin[8..12]);
        if version != VERSION {
            return Ok(Some(Err(version)));
        }
        let patience = length.saturating_mul(4);
        Ok(Some(Ok(Self { file, at: BEGINNING as u64, length, damaged: 0, patience })))
    }

    /// What stands in the next one; `None` where there is no more.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.find() {
            // Somebody has made it shorter.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.at = self.length;
                Ok(None)
            }
            found => found,
        }
    }

    fn find(&mut self) -> io::Result<Option<Vec<u8>>> {
        while self.length - self.at >= HEAD as u64 {
            let mut head = [0; HEAD];
            self.file.read_exact(&mut head)?;
            let length = u64::from(number(&head[4..8]));
            let room = (self.length - self.at - HEAD as u64).min(MOST);
            let mut read = HEAD as u64;
            if head[..4] == MARK && number(&head[12..]) == hash(&head[..12]) && length <= room {
                let mut content = vec![0; usize::try_from(length).map_err(io::Error::other)?];
                self.file.read_exact(&mut content)?;
                read += length;
                if hash(&content) == number(&head[8..12]) {
                    self.at += read;
                    return Ok(Some(content));
                }
                if self.patience < length {
                    self.damaged += read;
                    self.at += read;
                    continue;
                }
                self.patience -= length;
            }
            self.look_further(read)?;
        }
        self.damaged += self.length - self.at;
        self.at = self.length;
        Ok(None)
    }

    /// Goes on to where a block may begin, behind the place that was looked at, of which so much was read.
    fn look_further(&mut self, read: u64) -> io::Result<()> {
        let mut place = self.at + 1;
        self.file.seek_relative(1 - i64::try_from(read).map_err(io::Error::other)?)?;
        while place < self.length {
            let part = self.file.fill_buf()?;
            let length = part.len().min(usize::try_from(self.length - place).unwrap_or(usize::MAX));
            if length == 0 {
                place = self.length;
                break;
            }
            // A mark that the part cuts is looked at with the next part.
            let begins = |at: &usize| part[*at..].iter().zip(MARK).all(|(one, other)| *one == other);
            let found = (0..length).find(begins);
            let passed = found.unwrap_or(length);
            self.file.consume(passed);
            place += passed as u64;
            if found.is_some() {
                break;
            }
        }
        self.damaged += place - self.at;
        self.at = place;
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn file(blocks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = beginning();
        for block in blocks {
            put(&mut bytes, block);
        }
        bytes
    }

    fn whole(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
        let mut blocks = Blocks::open(Cursor::new(bytes)).unwrap().unwrap().unwrap();
        let mut all = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            all.push(block);
        }
        (all, blocks.damaged)
    }

    #[test]
    fn what_is_damaged_costs_no_more_than_itself() {
        let bytes = file(&[b"one", b"VchBVchB", b"", b"four"]);
        assert_eq!(whole(&bytes).0.len(), 4);
        for at in 16..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let (blocks, lost) = whole(&damaged);
            assert_eq!(blocks.len(), 3, "byte {at}");
            assert!((16..=24).contains(&lost), "byte {at}: {lost}");
        }
        // Between two of them, too, and where one has been cut out.
        let mut with = bytes.clone();
        with.splice(16..16, *b"Vch");
        assert_eq!((whole(&with).0.len(), whole(&with).1), (4, 3));
        let mut without = bytes.clone();
        without.drain(20..40);
        assert_eq!(whole(&without).0.len(), 2);
    }

    #[test]
    fn a_file_may_end_anywhere() {
        let bytes = file(&[b"one", b"two", b"three"]);
        let ends = [35, 54, 75];
        for length in 16..bytes.len() {
            let (blocks, lost) = whole(&bytes[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            let last = if whole == 0 { 16 } else { ends[whole - 1] };
            assert_eq!((blocks.len(), lost), (whole, (length - last) as u64), "{length} bytes");
        }
        for length in 0..16 {
            assert!(Blocks::open(Cursor::new(&bytes[..length])).unwrap().is_none());
        }
        let mut newer = bytes;
        newer[8] = 2;
        assert!(matches!(Blocks::open(Cursor::new(&newer)).unwrap(), Some(Err(2))));
    }
}
