//! Reads a JDK's image of modules (`lib/modules`): which classes it has, and the contents of one.
//!
//! It must never keep more than its index in memory, or trust an offset in it. (Of the crates for
//! this format, one panics on damage, and one needs a newer compiler. Both map the file, so
//! truncating it would crash the process.)

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::error::Error;

const MAGIC: u32 = 0xCAFE_DADA;
const HEADER_BYTES: u64 = 28;
/// An index with more bytes than this is refused. Real ones have a few MiB.
const MAX_INDEX_BYTES: u64 = 256 << 20;
/// The size of the header before a compressed file.
const COMPRESSED_HEADER_BYTES: usize = 29;
const COMPRESSED_MAGIC: u32 = 0xCAFE_FAFA;
/// The reader undoes at most this many layers of compression.
const MAX_COMPRESSIONS: usize = 4;

/// An open image.
#[derive(Debug)]
pub struct Image {
    file: File,
    is_little_endian: bool,
    /// The offset of the first file in the image.
    data: u64,
    strings: Vec<u8>,
    classes: HashMap<Box<str>, FileExtent>,
}

#[derive(Debug, Clone, Copy)]
struct FileExtent {
    offset: u64,
    /// The compressed size of the file, or 0 if the file is not compressed.
    compressed: u64,
    size: u64,
}

/// The attributes of a file in the image.
#[derive(Debug, Default)]
struct Location {
    /// The values of the attributes by kind: module, parent, base, extension, offset, compressed
    /// size, uncompressed size.
    values: [u64; 8],
}

impl Image {
    /// Opens an image, and reads its index.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = crate::archive::open_file(path)?;
        let length = file.metadata()?.len();
        let header = bytes_at(&file, 0, HEADER_BYTES)?;
        let is_little_endian = u32_at(&header, 0, true) == Some(MAGIC);
        if !is_little_endian && u32_at(&header, 0, false) != Some(MAGIC) {
            return Err(Error::NotAnImage);
        }
        let field = |number: usize| u64::from(u32_at(&header, number * 4, is_little_endian).unwrap_or(0));
        let (slots, locations, strings) = (field(4), field(5), field(6));
        let offsets = slots * 4;
        let data = HEADER_BYTES + 2 * offsets + locations + strings;
        if data > length.min(MAX_INDEX_BYTES) {
            return Err(Error::ImageIndex);
        }
        // The redirect table comes before the offsets. It is only for lookups by name.
        let offsets = bytes_at(&file, HEADER_BYTES + offsets, offsets)?;
        let locations = bytes_at(&file, data - strings - locations, locations)?;
        let strings = bytes_at(&file, data - strings, strings)?;
        let mut image = Self { file, is_little_endian, data, strings, classes: HashMap::new() };
        for extent in offsets.chunks_exact(4) {
            let extent = u32_at(extent, 0, is_little_endian).and_then(|extent| usize::try_from(extent).ok());
            let location = extent.and_then(|extent| Location::read(locations.get(extent..)?));
            if let Some((name, extent)) = location.and_then(|location| image.class(&location)) {
                image.classes.insert(name, extent);
            }
        }
        Ok(image)
    }

    fn class(&self, location: &Location) -> Option<(Box<str>, FileExtent)> {
        let [_, _, folder, name, ending, offset, compressed, size] = location.values;
        if self.string(ending)? != "class" {
            return None;
        }
        let (folder, name) = (self.string(folder)?, self.string(name)?);
        let name = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        Some((name.into(), FileExtent { offset, compressed, size }))
    }

    fn string(&self, at: u64) -> Option<&str> {
        let rest = self.strings.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }

    /// True if the image has a class with this name.
    pub fn has(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// Reads a class, if it is no longer than `max_bytes`.
    pub fn read(&self, class: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
        let FileExtent { offset, compressed, size } = *self.classes.get(class).ok_or(Error::NotInImage)?;
        let stored_bytes = if compressed == 0 { size } else { compressed };
        if stored_bytes.max(size) > max_bytes {
            return Err(Error::TooLong { max_bytes });
        }
        let mut bytes =
            bytes_at(&self.file, self.data.checked_add(offset).ok_or(Error::Offset)?, stored_bytes)?;
        for _ in 0..if compressed == 0 { 0 } else { MAX_COMPRESSIONS } {
            if u32_at(&bytes, 0, self.is_little_endian) != Some(COMPRESSED_MAGIC) {
                break;
            }
            bytes = self.decompress(&bytes, max_bytes)?;
        }
        Ok(bytes)
    }

    /// Undoes the outermost compression.
    fn decompress(&self, bytes: &[u8], max_bytes: u64) -> Result<Vec<u8>, Error> {
        let name = u32_at(bytes, 20, self.is_little_endian).and_then(|at| self.string(u64::from(at)));
        let rest = bytes.get(COMPRESSED_HEADER_BYTES..).ok_or(Error::Truncated)?;
        if name != Some("zip") {
            return Err(Error::Compression(name.map(str::to_owned)));
        }
        let mut bytes_out = Vec::new();
        ZlibDecoder::new(rest).take(max_bytes).read_to_end(&mut bytes_out)?;
        Ok(bytes_out)
    }
}

impl Location {
    /// Reads attributes up to the end marker. Each begins with a byte that has its kind and length.
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut location = Self::default();
        loop {
            let (first, rest) = bytes.split_first()?;
            let (kind, length) = (usize::from(first >> 3), usize::from(first & 7) + 1);
            if kind == 0 {
                return Some(location);
            }
            let value = rest.get(..length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
            // Later JDKs may add kinds.
            if let Some(extent) = location.values.get_mut(kind) {
                *extent = value;
            }
            bytes = &rest[length..];
        }
    }
}

fn bytes_at(file: &File, at: u64, length: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Error::TooLarge)?];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

fn u32_at(bytes: &[u8], at: usize, is_little_endian: bool) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(if is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}
