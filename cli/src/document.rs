//! Finds out whether a file is a trust report, a profile with a report inside, or something else.
//!
//! The bytes decide, not the name. A profile may be large, so it is read as a stream, and all keys
//! except for the wanted ones are skipped. Each error is one sentence that names the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;
use vouch_profile::document::Part;

use crate::error::Error;
use crate::unpack::gunzip;

/// The first byte of each gzip file.
pub const GZIP: u8 = 0x1f;

/// The keys by which a report differs from a profile, and the parts of the report that verbs read.
#[derive(Deserialize)]
struct Document {
    vouch: Option<Value>,
    refutations: Option<Value>,
    witness: Option<Value>,
    groups: Option<Value>,
    plausible_because: Option<Value>,
    weight_ms: Option<Value>,
    meta: Option<Meta>,
}

impl Document {
    /// True if the document is a trust report.
    fn is_report(&self) -> bool {
        self.vouch.as_ref().is_some_and(Value::is_string)
    }
}

#[derive(Deserialize)]
struct Meta {
    /// The trust report that a profile contains.
    vouch: Option<Value>,
}

/// The refutations in a trust report: by the bytecode, and by the JVM. They are lists as in the
/// file.
pub struct Against {
    pub refutations: Value,
    /// The stacks that the JVM itself contradicts. The report of an older Vouch has none.
    pub contradictions: Value,
    /// The reasons for which stacks are plausible and not proven. It is null in the report of an
    /// older Vouch.
    pub plausible_because: Value,
    /// The time of all samples, by their fates.
    pub weight_ms: Value,
}

impl Against {
    fn from_document(document: Document) -> Option<Self> {
        let Document { refutations, witness, plausible_because, weight_ms, .. } = document;
        let [plausible_because, weight_ms] = [plausible_because, weight_ms].map(Option::unwrap_or_default);
        let refutations = refutations.filter(Value::is_array)?;
        let contradictions = witness.and_then(|mut witness| Some(witness.get_mut("contradictions")?.take()));
        let contradictions =
            contradictions.filter(Value::is_array).unwrap_or_else(|| Value::Array(Vec::new()));
        Some(Self { refutations, contradictions, plausible_because, weight_ms })
    }
}

/// Returns an error if the file is among the earlier ones, under any spelling of its path.
pub fn named_once(before: &[PathBuf], one: &Path) -> Result<(), Error> {
    if before.iter().any(|before| before == one || vouch_log::output::is_same(before, one)) {
        return Err(Error::NamedTwice(one.to_owned()));
    }
    Ok(())
}

/// The kind of a file, by its first bytes or its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A recording by Vouch.
    Recording,
    /// A recording by Flight Recorder, even if it is empty or damaged.
    FlightRecorder,
    /// A JSON file, compressed or not, or a file of an unknown kind.
    Document,
}

pub fn kind(file: &Path) -> Result<FileKind, Error> {
    let unreadable = |why| Error::unreadable(file, why);
    let mut first = Vec::new();
    File::open(file).and_then(|file| file.take(16).read_to_end(&mut first)).map_err(unreadable)?;
    Ok(if vouch_log::is_recording(&first) {
        FileKind::Recording
    } else if vouch_profile::merge::is_recording(&first)
        || file.extension().is_some_and(|ending| ending == "jfr")
    {
        FileKind::FlightRecorder
    } else {
        FileKind::Document
    })
}

/// Reads a profile that is to be changed and written again.
pub fn profile(file: &Path) -> Result<Part, Error> {
    let document: Part = read(file, Error::NotAProfile)?;
    document.get::<Part>("meta").map_err(|_| Error::NotAProfile(file.to_owned()))?;
    Ok(document)
}

/// Reads the wanted keys of a JSON file, compressed or not. `other` says that the file is something
/// else.
pub fn read<D: DeserializeOwned>(file: &Path, other: fn(PathBuf) -> Error) -> Result<D, Error> {
    let path = || file.to_owned();
    let unreadable = |why| Error::unreadable(file, why);
    let (bytes, first) = open(file).map_err(unreadable)?;
    let packed = first == Some(GZIP);
    let document = if packed { parse(gunzip(bytes)) } else { parse(bytes) };
    let document = document.map_err(|why| match why.classify() {
        Category::Io if packed && is_damage(&why) => Error::DamagedGzip { path: path(), why },
        Category::Io => Error::UnreadableJson { path: path(), why },
        Category::Eof if first.is_some() => Error::JsonCutShort { path: path(), why },
        Category::Eof | Category::Syntax => match kind(file) {
            Ok(FileKind::Recording) => Error::IsRecording(path()),
            Ok(FileKind::FlightRecorder) => Error::IsFlightRecorder(path()),
            _ => match other_format(file) {
                Some(what) => Error::OtherFormat { path: path(), what },
                None => Error::NotJson { path: path(), why },
            },
        },
        Category::Data => other(path()),
    })?;
    document.ok_or_else(|| other(path()))
}

/// Returns the format of a file that Vouch writes for other programs, by its first bytes. They are
/// unpacked if the file is compressed.
fn other_format(file: &Path) -> Option<&'static str> {
    let mut first = Vec::new();
    unpacked(file).ok()?.take(4096).read_to_end(&mut first).ok()?;
    if let Some(format) = protobuf_format(&first) {
        return Some(format);
    }
    if first.starts_with(b"PAR1") {
        return Some("a table for other engines (.parquet)");
    }
    let text = String::from_utf8_lossy(&first);
    let start = text.trim_start().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Some("a page for a browser (.html)");
    }
    if start.starts_with("<?xml") || start.starts_with("<svg") {
        return Some("a picture (.svg)");
    }
    let is_folded = |line: &str| {
        let count = line.rsplit_once(' ').map(|(_, count)| count);
        count.is_some_and(|count| count.parse::<u64>().is_ok())
    };
    // The last line may be cut.
    let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    (!whole.is_empty() && whole.lines().all(is_folded)).then_some("a list of folded stacks (.folded)")
}

/// The description of a file with the message that `vouch_formats` writes for collectors.
const OTLP: &str = "an OpenTelemetry profile (.otlp.gz), for a collector";

/// True if a file that begins with these bytes, unpacked, is an OpenTelemetry profile.
pub fn is_otlp(first: &[u8]) -> bool {
    protobuf_format(first) == Some(OTLP)
}

/// Returns the format of a protobuf message, by the type of its first field.
fn protobuf_format(first: &[u8]) -> Option<&'static str> {
    const MESSAGE_ONE: u8 = 0x0a;
    const MESSAGE_TWO: u8 = 0x12;
    const NUMBERS: [u8; 2] = [0x08, 0x10];
    // Text may begin with an empty line, but contains no such bytes.
    let is_text = !first.iter().any(|byte| *byte < b'\t');
    let (field, rest) = first.split_first()?;
    let length_bytes = rest.iter().position(|byte| *byte < 0x80)? + 1;
    let inner = *rest.get(length_bytes)?;
    match *field {
        _ if is_text => None,
        // A pprof file begins with a type of value: two numbers of strings.
        MESSAGE_ONE if NUMBERS.contains(&inner) => Some("a pprof file (.pb.gz), for `go tool pprof`"),
        MESSAGE_ONE | MESSAGE_TWO if matches!(inner, MESSAGE_ONE | MESSAGE_TWO) => Some(OTLP),
        _ => None,
    }
}

/// Opens a file, and returns its first byte. The byte shows whether the file is compressed with
/// gzip.
pub fn open(file: &Path) -> io::Result<(BufReader<File>, Option<u8>)> {
    let mut bytes = BufReader::with_capacity(1 << 16, File::open(file)?);
    let first = bytes.fill_buf()?.first().copied();
    Ok((bytes, first))
}

/// Opens a file for reading. It decompresses a gzip file.
pub fn unpacked(file: &Path) -> Result<Box<dyn BufRead>, Error> {
    let (bytes, first) = open(file).map_err(|why| Error::unreadable(file, why))?;
    Ok(if first == Some(GZIP) { Box::new(gunzip(bytes)) } else { Box::new(bytes) })
}

/// Reads all bytes of a file. Returns `None` if it has more of them than `limit`.
pub fn bytes(file: &Path, bytes: impl Read, limit: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut all = Vec::new();
    bytes.take(limit + 1).read_to_end(&mut all).map_err(|why| unreadable(file, why))?;
    Ok(Some(all).filter(|all| all.len() as u64 <= limit))
}

/// Returns the error for a file that cannot be read to its end.
pub fn unreadable(file: &Path, why: io::Error) -> Error {
    let (path, why) = (file.to_owned(), serde_json::Error::io(why));
    if is_damage(&why) { Error::DamagedGzip { path, why } } else { Error::UnreadableJson { path, why } }
}

/// Returns the refutations in a trust report, which may be inside of a profile.
pub fn refutations_in(file: &Path) -> Result<Against, Error> {
    Against::from_document(report(file)?).ok_or_else(|| Error::NoRefutations(file.to_owned()))
}

/// Returns the groups of tasks in the report of a file. They are null for an older Vouch's report.
pub fn groups(file: &Path) -> Result<Value, Error> {
    Ok(report(file)?.groups.unwrap_or_default())
}

/// Reads the trust report that a file is, or contains.
fn report(file: &Path) -> Result<Document, Error> {
    let document: Document = read(file, Error::NeitherReportNorProfile)?;
    if document.is_report() {
        return Ok(document);
    }
    let Some(Meta { vouch }) = document.meta else {
        return Err(Error::NeitherReportNorProfile(file.to_owned()));
    };
    let Some(carried) = vouch else {
        return Err(Error::NoTrustReport(file.to_owned()));
    };
    let report = serde_json::from_value(carried).ok().filter(Document::is_report);
    report.ok_or_else(|| Error::TrustReportShape(file.to_owned()))
}

/// Checks that a file is a complete profile by Vouch.
pub fn is_profile(file: &Path) -> Result<(), Error> {
    let document: Document = read(file, Error::NotAProfile)?;
    document.meta.and_then(|meta| meta.vouch).map(|_| ()).ok_or_else(|| Error::NotAProfile(file.to_owned()))
}

/// True if the error is about the file's contents, and not about reading them.
fn is_damage(error: &serde_json::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.io_error_kind(), Some(InvalidData | InvalidInput | UnexpectedEof))
}

/// Reads the whole document, so that a truncated one is noticed wherever the key is. Returns `None`
/// for a list, since its items must not be taken for fields.
fn parse<D: DeserializeOwned>(mut bytes: impl BufRead) -> serde_json::Result<Option<D>> {
    let begins = bytes.fill_buf().map_err(serde_json::Error::io)?.trim_ascii_start().first().copied();
    if begins == Some(b'[') {
        return Ok(None);
    }
    let mut documents = serde_json::Deserializer::from_reader(bytes);
    let document = D::deserialize(&mut documents)?;
    documents.end()?;
    Ok(Some(document))
}
