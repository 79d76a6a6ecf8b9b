//! Zip archives, as far as they are whole: which entries there are, and what is in one.
//!
//! It must never take memory by what an archive says of itself, or keep it open: of a whole
//! repository of them, descriptors would run out, which may be the program's own.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
};

/// No more entries than this are listed.
const MOST: usize = 1_000_000;

/// A file in an archive.
#[derive(Debug)]
pub struct Entry {
    /// With `/` between folders.
    pub name: String,
    at: ZipArchiveEntryWayfinder,
    packed: bool,
}

/// What an archive has.
#[derive(Debug)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// Why there may be more.
    pub damage: Option<String>,
}

/// Lists the files that have wanted names.
pub fn list(path: &Path, wanted: impl FnMut(&str) -> bool) -> Result<Listing, String> {
    Ok(list_of(&open(path, &mut buffer())?, wanted))
}

/// The same of an archive in memory, as one within another does.
pub fn list_within(bytes: &[u8], wanted: impl FnMut(&str) -> bool) -> Result<Listing, String> {
    Ok(list_of(&within(bytes)?, wanted))
}

fn list_of<R: ReaderAt>(archive: &ZipArchive<R>, mut wanted: impl FnMut(&str) -> bool) -> Listing {
    let mut buffer = buffer();
    let mut all = archive.entries(&mut buffer);
    let mut entries = Vec::new();
    let damage = loop {
        let entry = match all.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        };
        let packed = match entry.compression_method() {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            _ => continue,
        };
        let raw = entry.file_path();
        let name = String::from_utf8_lossy(raw.as_ref());
        if entry.is_dir() || !wanted(&name) {
            continue;
        }
        if entries.len() == MOST {
            break Some(format!("there are more than {MOST} entries"));
        }
        entries.push(Entry { name: name.into_owned(), at: entry.wayfinder(), packed });
    };
    Listing { entries, damage }
}

/// What is in a file of the archive, if that is no longer than `most`.
pub fn read(path: &Path, entry: &Entry, most: u64) -> Result<Vec<u8>, String> {
    read_of(&open(path, &mut buffer())?, entry, most)
}

/// The same of an archive in memory.
pub fn read_within(bytes: &[u8], entry: &Entry, most: u64) -> Result<Vec<u8>, String> {
    read_of(&within(bytes)?, entry, most)
}

fn read_of<R: ReaderAt>(archive: &ZipArchive<R>, entry: &Entry, most: u64) -> Result<Vec<u8>, String> {
    let found = archive.get_entry(entry.at).map_err(|error| error.to_string())?;
    let whole: &mut dyn Read = if entry.packed {
        &mut found.verifying_reader(DeflateDecoder::new(found.reader()))
    } else {
        &mut found.verifying_reader(found.reader())
    };
    at_most(whole, most)
}

/// What is in a file, if that is no longer than `most`.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    at_most(&mut open_file(path)?, most)
}

/// All that a reader has, if that is no longer than `most`.
fn at_most(reader: &mut dyn Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most { Err(format!("is longer than {} MiB", most >> 20)) } else { Ok(bytes) }
}

/// Opens a file to read it. What is no file is not even opened: a pipe of that name would have who
/// reads wait for ever.
pub fn open_file(path: &Path) -> Result<File, String> {
    let about = |error: std::io::Error| format!("cannot be read: {error}");
    if !path.metadata().map_err(about)?.is_file() {
        return Err("is no file".to_owned());
    }
    File::open(path).map_err(about)
}

fn buffer() -> Vec<u8> {
    vec![0; RECOMMENDED_BUFFER_SIZE]
}

fn within(bytes: &[u8]) -> Result<ZipArchive<&[u8]>, String> {
    let archive = ZipArchive::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(archive.into_reader_archive())
}

fn open(path: &Path, buffer: &mut [u8]) -> Result<ZipArchive<FileReader>, String> {
    let file = open_file(path)?;
    ZipArchive::from_file(file, buffer).map_err(|error| error.to_string())
}

/// An archive of files with these texts.
#[cfg(any(test, feature = "testing"))]
pub fn of(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    of_bytes(&entries)
}

/// An archive of files with these bytes.
#[cfg(any(test, feature = "testing"))]
pub fn of_bytes(entries: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;

    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in entries {
        let file = archive.new_file(name).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let packed = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(packed);
        writer.write_all(content).unwrap();
        let (packed, descriptor) = writer.finish().unwrap();
        packed.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}
