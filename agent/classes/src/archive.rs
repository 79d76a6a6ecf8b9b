//! Reads zip archives as far as they are intact: their entries, and the contents of one entry.
//!
//! It must never allocate by a size that an archive states, or keep an archive open. With a whole
//! repository of archives, the process would run out of descriptors, and the process may be the
//! program.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
};

use crate::error::Error;

/// At most this many entries of an archive are listed.
const MAX_ENTRIES: usize = 1_000_000;

/// A file in an archive: its name, and how to read it.
#[derive(Debug)]
pub struct Entry {
    /// The path of the file, with `/` between folders.
    pub name: String,
    wayfinder: ZipArchiveEntryWayfinder,
    compressed: bool,
}

/// The entries that an archive contains.
#[derive(Debug)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// The reason why there may be more entries, if the archive is damaged.
    pub damage: Option<Error>,
}

/// Lists the files with wanted names.
pub fn list(path: &Path, wanted: impl FnMut(&str) -> bool) -> Result<Listing, Error> {
    Ok(list_entries(&open(path, &mut buffer())?, wanted))
}

/// Lists the files of an archive in memory, such as one within another.
pub fn list_in_memory(bytes: &[u8], wanted: impl FnMut(&str) -> bool) -> Result<Listing, Error> {
    Ok(list_entries(&from_memory(bytes)?, wanted))
}

fn list_entries<R: ReaderAt>(archive: &ZipArchive<R>, mut wanted: impl FnMut(&str) -> bool) -> Listing {
    let mut buffer = buffer();
    let mut all = archive.entries(&mut buffer);
    let mut entries = Vec::new();
    let damage = loop {
        let entry = match all.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break None,
            Err(error) => break Some(error.into()),
        };
        let compressed = match entry.compression_method() {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            _ => continue,
        };
        let raw = entry.file_path();
        let name = String::from_utf8_lossy(raw.as_ref());
        if entry.is_dir() || !wanted(&name) {
            continue;
        }
        if entries.len() == MAX_ENTRIES {
            break Some(Error::TooManyEntries { limit: MAX_ENTRIES });
        }
        entries.push(Entry { name: name.into_owned(), wayfinder: entry.wayfinder(), compressed });
    };
    Listing { entries, damage }
}

/// Reads a file of the archive, if it is no longer than `max_bytes`.
pub fn read(path: &Path, entry: &Entry, max_bytes: u64) -> Result<Vec<u8>, Error> {
    read_entry(&open(path, &mut buffer())?, entry, max_bytes)
}

/// Reads a file of an archive in memory.
pub fn read_in_memory(bytes: &[u8], entry: &Entry, max_bytes: u64) -> Result<Vec<u8>, Error> {
    read_entry(&from_memory(bytes)?, entry, max_bytes)
}

fn read_entry<R: ReaderAt>(archive: &ZipArchive<R>, entry: &Entry, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let found = archive.get_entry(entry.wayfinder)?;
    let whole: &mut dyn Read = if entry.compressed {
        &mut found.verifying_reader(DeflateDecoder::new(found.reader()))
    } else {
        &mut found.verifying_reader(found.reader())
    };
    read_limited(whole, max_bytes)
}

/// Reads a regular file, if it is no longer than `max_bytes`.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    read_limited(&mut open_file(path)?, max_bytes)
}

/// Reads to the end of a reader, up to `max_bytes`.
fn read_limited(reader: &mut dyn Read, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reader.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(Error::TooLong { max_bytes }) } else { Ok(bytes) }
}

/// Opens a regular file for reading. Anything else is refused before it is opened, because opening
/// a pipe could wait forever.
pub fn open_file(path: &Path) -> Result<File, Error> {
    if !path.metadata().map_err(Error::Unopenable)?.is_file() {
        return Err(Error::NotAFile);
    }
    File::open(path).map_err(Error::Unopenable)
}

fn buffer() -> Vec<u8> {
    vec![0; RECOMMENDED_BUFFER_SIZE]
}

fn from_memory(bytes: &[u8]) -> Result<ZipArchive<&[u8]>, Error> {
    Ok(ZipArchive::from_slice(bytes)?.into_reader_archive())
}

fn open(path: &Path, buffer: &mut [u8]) -> Result<ZipArchive<FileReader>, Error> {
    Ok(ZipArchive::from_file(open_file(path)?, buffer)?)
}

/// Makes an archive of files with these texts, for tests.
#[cfg(any(test, feature = "testing"))]
pub fn from_texts(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    from_bytes(&entries)
}

/// Makes an archive of files with these bytes, for tests.
#[cfg(any(test, feature = "testing"))]
pub fn from_bytes(entries: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;

    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in entries {
        let file = archive.new_file(name).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let compressed = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(compressed);
        writer.write_all(content).unwrap();
        let (compressed, descriptor) = writer.finish().unwrap();
        compressed.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}
