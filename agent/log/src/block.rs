//! Frames the blocks of a file with checksums, so that a reader can verify each block separately.
//!
//! Each block has a head of 16 bytes: a magic number, the content's length, its sum, and the sum of
//! these 12 bytes. The magic is `VchB`, or `VchZ` if the content is deflated. All numbers are
//! little-endian. All sums are CRC-32, as in zip and PNG. A reader must never trust a length before
//! it verified the head's sum. Inflated content must never exceed `MAX_DEFLATE_RATIO` times its
//! length in the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use crc32fast::hash;
use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Magic number at the beginning of a recording's file. The version follows, then four bytes that
/// are 0 until the recording ends.
const FILE_MAGIC: [u8; 8] = *b"VouchRec";
/// Version of the recording's format. Version 1 had no deflated blocks.
const VERSION: u32 = 2;
const FILE_HEADER_BYTES: usize = 16;
/// Offset in the file of the flag that the recording has ended, and the bytes of the flag in an
/// ended recording.
pub const END_FLAG: (u64, [u8; 4]) = (12, [1, 0, 0, 0]);

const PLAIN_BLOCK_MAGIC: [u8; 4] = *b"VchB";
const DEFLATED_BLOCK_MAGIC: [u8; 4] = *b"VchZ";
/// Common beginning of `PLAIN_BLOCK_MAGIC` and `DEFLATED_BLOCK_MAGIC`. A reader searches for it
/// after damage.
const BLOCK_MAGIC_PREFIX: &[u8] = b"Vch";
const BLOCK_HEADER_BYTES: usize = 16;
/// Maximum length in bytes of a block's content, deflated or inflated. A writer stays far below it.
const MAX_CONTENT_BYTES: u64 = 8 << 20;
/// Minimum length in bytes of content that is deflated. Content that would shrink by more than
/// `MAX_DEFLATE_RATIO` times is also stored plain: a small file must not inflate to a large
/// recording. (Typical content shrinks to a half.)
const MIN_DEFLATED_INPUT_BYTES: usize = 256;
const MAX_DEFLATE_RATIO: u64 = 16;

/// Returns the first bytes of a new recording's file.
pub fn file_header() -> Vec<u8> {
    [FILE_MAGIC.as_slice(), &VERSION.to_le_bytes(), &[0; 4]].concat()
}

/// Returns true if a file with these first bytes is a recording.
pub fn is_recording(first: &[u8]) -> bool {
    first.starts_with(&FILE_MAGIC)
}

/// Returns true if a file starts like a recording. A process may have been killed during its first
/// write, so a partial magic number suffices.
pub fn starts_like_recording(file: &File) -> bool {
    let mut first = [0; FILE_MAGIC.len()];
    file.read_at(&mut first, 0).is_ok_and(|length| FILE_MAGIC.starts_with(&first[..length]))
}

/// Returns true if the recording in this file was ended, so that no blocks follow.
pub fn is_ended(file: &File) -> bool {
    let mut flag = [0; 4];
    file.read_exact_at(&mut flag, END_FLAG.0).is_ok() && flag == END_FLAG.1
}

/// Builds the blocks of a file. One writer serves the whole file, because its deflate state takes
/// memory.
#[derive(Debug)]
pub struct BlockWriter {
    deflate: Compress,
    packed: Vec<u8>,
}

impl BlockWriter {
    pub fn new() -> Self {
        Self { deflate: Compress::new(Compression::fast(), false), packed: Vec::new() }
    }

    /// Appends a block with this content to `bytes`. The content is deflated unless it must be
    /// stored plain.
    pub fn append(&mut self, bytes: &mut Vec<u8>, content: &[u8]) {
        match self.deflate_content(content) {
            Some(packed) => append_framed(bytes, DEFLATED_BLOCK_MAGIC, packed),
            None => append_framed(bytes, PLAIN_BLOCK_MAGIC, content),
        }
    }

    /// Deflates a block's content. Returns `None` if the content must be stored plain.
    fn deflate_content(&mut self, content: &[u8]) -> Option<&[u8]> {
        if content.len() < MIN_DEFLATED_INPUT_BYTES {
            return None;
        }
        self.deflate.reset();
        self.packed.clear();
        // Content that does not shrink does not reach `StreamEnd` within this capacity, or is
        // rejected below.
        self.packed.reserve(content.len());
        let status = self.deflate.compress_vec(content, &mut self.packed, FlushCompress::Finish);
        let is_shorter = matches!(status, Ok(Status::StreamEnd)) && self.packed.len() < content.len();
        (is_shorter && content.len() as u64 <= self.packed.len() as u64 * MAX_DEFLATE_RATIO)
            .then_some(&self.packed)
    }
}

fn append_framed(bytes: &mut Vec<u8>, magic: [u8; 4], content: &[u8]) {
    let begin = bytes.len();
    bytes.extend(magic);
    bytes.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(hash(content).to_le_bytes());
    bytes.extend(hash(&bytes[begin..]).to_le_bytes());
    bytes.extend(content);
}

/// Inflates a block's content. Returns `None` if the bytes are not a valid deflate stream, or
/// inflate beyond the limits.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    let max_bytes = MAX_CONTENT_BYTES.min(packed.len() as u64 * MAX_DEFLATE_RATIO);
    let mut content = Vec::new();
    DeflateDecoder::new(packed).take(max_bytes + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= max_bytes).then_some(content)
}

/// Iterates over the intact blocks of a file.
#[derive(Debug)]
pub struct Blocks<R> {
    file: BufReader<R>,
    /// Offset where the search for the next block starts. `length` is the file's length when it was
    /// opened: the file may grow.
    at: u64,
    length: u64,
    /// Offset in the file of the end of the last intact block.
    whole: u64,
    /// Number of bytes of the file that belong to no intact block.
    pub damaged_bytes: u64,
    /// Number of bytes that may still be read again after a block with a wrong sum. Afterwards such
    /// a block is skipped as a whole: a forged file could be full of block heads.
    reread_budget: u64,
}

impl<R: Read + Seek> Blocks<R> {
    /// Opens a file to read its blocks. Returns `None` if it is not a recording, and the version in
    /// `Err` if this reader does not support it.
    pub fn open(mut file: R) -> io::Result<Option<Result<Self, u32>>> {
        let length = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut header = [0; FILE_HEADER_BYTES];
        if length < FILE_HEADER_BYTES as u64 {
            return Ok(None);
        }
        file.read_exact(&mut header)?;
        if header[..8] != FILE_MAGIC {
            return Ok(None);
        }
        let version = le_u32(&header[8..12]);
        if !(1..=VERSION).contains(&version) {
            return Ok(Some(Err(version)));
        }
        let reread_budget = length.saturating_mul(4);
        let at = FILE_HEADER_BYTES as u64;
        Ok(Some(Ok(Self { file, at, length, whole: at, damaged_bytes: 0, reread_budget })))
    }

    /// Returns true if the file has other bytes after its last intact block.
    pub fn has_torn_tail(&self) -> bool {
        self.whole < self.length
    }

    /// Returns the content of the file's next intact block, or `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.find() {
            // Another process truncated the file.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.at = self.length;
                Ok(None)
            }
            found => found,
        }
    }

    fn find(&mut self) -> io::Result<Option<Vec<u8>>> {
        while self.length - self.at >= BLOCK_HEADER_BYTES as u64 {
            let mut head = [0; BLOCK_HEADER_BYTES];
            self.file.read_exact(&mut head)?;
            let length = u64::from(le_u32(&head[4..8]));
            let max_length = (self.length - self.at - BLOCK_HEADER_BYTES as u64).min(MAX_CONTENT_BYTES);
            let mut read = BLOCK_HEADER_BYTES as u64;
            let is_deflated = head[..4] == DEFLATED_BLOCK_MAGIC;
            let has_magic = is_deflated || head[..4] == PLAIN_BLOCK_MAGIC;
            if has_magic && le_u32(&head[12..]) == hash(&head[..12]) && length <= max_length {
                let mut content = vec![0; usize::try_from(length).map_err(io::Error::other)?];
                self.file.read_exact(&mut content)?;
                read += length;
                if hash(&content) == le_u32(&head[8..12]) {
                    self.at += read;
                    self.whole = self.at;
                    let Some(content) = (if is_deflated { inflate(&content) } else { Some(content) }) else {
                        // The sum was right, so another program wrote this block.
                        self.damaged_bytes += read;
                        continue;
                    };
                    return Ok(Some(content));
                }
                if self.reread_budget < length {
                    self.damaged_bytes += read;
                    self.at += read;
                    continue;
                }
                self.reread_budget -= length;
            }
            self.skip_to_next_magic(read)?;
        }
        self.damaged_bytes += self.length - self.at;
        self.at = self.length;
        Ok(None)
    }

    /// Moves to the next offset in the file where a block may begin. `read` is the number of bytes
    /// already consumed from the current offset.
    fn skip_to_next_magic(&mut self, read: u64) -> io::Result<()> {
        let mut offset = self.at + 1;
        self.file.seek_relative(1 - i64::try_from(read).map_err(io::Error::other)?)?;
        while offset < self.length {
            let part = self.file.fill_buf()?;
            let length = part.len().min(usize::try_from(self.length - offset).unwrap_or(usize::MAX));
            if length == 0 {
                offset = self.length;
                break;
            }
            // If the buffer ends within a magic, the next buffer completes the check.
            let begins =
                |at: &usize| part[*at..].iter().zip(BLOCK_MAGIC_PREFIX).all(|(one, other)| one == other);
            let found = (0..length).find(begins);
            let passed = found.unwrap_or(length);
            self.file.consume(passed);
            offset += passed as u64;
            if found.is_some() {
                break;
            }
        }
        self.damaged_bytes += offset - self.at;
        self.at = offset;
        Ok(())
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn file(blocks: &[&[u8]]) -> Vec<u8> {
        let (mut bytes, mut block_writer) = (file_header(), BlockWriter::new());
        for block in blocks {
            block_writer.append(&mut bytes, block);
        }
        bytes
    }

    fn whole(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
        let mut blocks = Blocks::open(Cursor::new(bytes)).unwrap().unwrap().unwrap();
        let mut all = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            all.push(block);
        }
        (all, blocks.damaged_bytes)
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
        // Damage between two blocks, and a gap that cuts two blocks, lose no more either.
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
        newer[8] = 1;
        assert_eq!(whole(&newer).0.len(), 3, "the first version");
        for version in [0, 3] {
            newer[8] = version;
            assert!(
                matches!(Blocks::open(Cursor::new(&newer)).unwrap(), Some(Err(it)) if it == u32::from(version))
            );
        }
    }

    /// Returns pseudorandom bytes, which deflate cannot shrink.
    fn noise(length: usize) -> Vec<u8> {
        let step = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(state.to_le_bytes()[3])
        };
        std::iter::repeat_n((), length).scan(7, |state, ()| step(state)).collect()
    }

    #[test]
    fn what_becomes_shorter_is_packed_and_what_would_become_too_short_is_not() {
        let text: Vec<u8> = (0..150).flat_map(|number| format!("word {number} ").into_bytes()).collect();
        // Returns which blocks are packed, and the length of the file in bytes.
        let packed = |blocks: &[&[u8]]| {
            let bytes = file(blocks);
            let contents: Vec<_> = blocks.iter().map(|block| block.to_vec()).collect();
            assert_eq!(whole(&bytes), (contents, 0));
            let (mut at, mut packed) = (FILE_HEADER_BYTES, Vec::new());
            while at < bytes.len() {
                packed.push(bytes[at..at + 4] == DEFLATED_BLOCK_MAGIC);
                at += BLOCK_HEADER_BYTES + le_u32(&bytes[at + 4..at + 8]) as usize;
            }
            (packed, bytes.len())
        };
        let (is_deflated, length) = packed(&[&text]);
        assert!(is_deflated == [true] && length < 16 + 16 + text.len() / 2, "{length} of {}", text.len());
        assert_eq!(packed(&[&text[..200]]).0, [false], "a short one");
        assert_eq!(packed(&[&noise(5_000)]).0, [false], "without order");
        assert_eq!(packed(&[&vec![0; 1 << 20]]).0, [false], "too tight");
        // The packer resets for each block, however long the previous one was.
        let mixed = packed(&[&text, &noise(300), &text, b"", &vec![0; 50_000], &noise(260), &text]);
        assert_eq!(mixed.0, [true, false, true, false, false, false, true]);
    }

    #[test]
    fn what_no_packer_has_made_is_passed_over() {
        let packed = |content: &[u8]| {
            let mut deflate = Compress::new(Compression::best(), false);
            let mut packed = Vec::with_capacity(content.len() + 100);
            deflate.compress_vec(content, &mut packed, FlushCompress::Finish).unwrap();
            packed
        };
        // The first content inflates beyond the length limit, and the second beyond the ratio
        // limit.
        let long: Vec<u8> = noise(1 << 20).into_iter().flat_map(|byte| [byte; 9]).collect();
        let (long, tight) = (packed(&long), packed(&vec![0; 1 << 20]));
        assert!((1 << 20..8 << 20).contains(&long.len()), "{}", long.len());
        for content in [long, tight, b"no stream at all".to_vec()] {
            let mut bytes = file(&[b"before"]);
            append_framed(&mut bytes, DEFLATED_BLOCK_MAGIC, &content);
            append_framed(&mut bytes, PLAIN_BLOCK_MAGIC, b"behind");
            let (blocks, lost) = whole(&bytes);
            assert_eq!(blocks, [b"before", b"behind"]);
            assert_eq!(lost, 16 + content.len() as u64);
        }
    }
}
