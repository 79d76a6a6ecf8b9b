//! Reads the chunks of a recording. Each has its own types, constants and events.
//!
//! If the process was killed, the last chunk is unfinished. It is readable as far as its header
//! says. From JDK 14 on the JVM updates the header each second.

use std::io::{self, Read, Seek, SeekFrom};

use foldhash::{HashMap, HashMapExt};

use crate::bytes::{ByteCursor, Damage};
use crate::decoder::Decoder;
use crate::error::Error;
use crate::metadata::{Field, Type, Types, Unit};
use crate::value::Value;

const MAGIC: &[u8; 4] = b"FLR\0";

/// True if these are the first bytes of a Flight Recorder file.
pub fn is_recording(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}
const HEADER_BYTES: usize = 68;
/// The reader follows a chain of constants for at most this many steps.
const MAX_HOPS: u32 = 8;
const METADATA_TYPE: i64 = 0;
const CONSTANTS_TYPE: i64 = 1;
/// A larger chunk is refused, since chunks are read as a whole. The JVM's chunks have 12 MiB by
/// default.
const MAX_CHUNK_BYTES: u64 = 1 << 30;
/// The reader allows this many values for each byte. Objects are values, too, and some values take
/// no bytes.
const VALUES_PER_BYTE: usize = 4;
const SPARE_VALUES: usize = 64;
/// An event or constant has at most this many values, because a value takes much more memory than
/// bytes in the file.
const MAX_VALUES: usize = 1 << 20;

/// The times of a chunk, and its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub start_unix_ns: i64,
    pub duration_ns: i64,
    /// The value of the events' clock at the chunk's start.
    pub start_ticks: i64,
    /// The frequency of the events' clock.
    pub ticks_per_second: i64,
}

/// Reads the chunks of a file one after another.
#[derive(Debug)]
pub struct Reader<F> {
    file: F,
    length: u64,
    at: u64,
}

impl<F: Read + Seek> Reader<F> {
    pub fn new(mut file: F) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, length, at: 0 })
    }

    /// Returns the number of bytes that were read, and the number of bytes of the file.
    pub fn progress(&self) -> (u64, u64) {
        (self.at, self.length)
    }

    /// Returns the next chunk, or an error about it. After an error another chunk follows only if
    /// its start is known.
    pub fn next_chunk(&mut self) -> io::Result<Option<Result<Chunk, Error>>> {
        let left = self.length.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let first = self.at == 0;
        // The next chunk can be found only if this one is complete.
        self.at = self.length;
        let refuse = |error| Ok(Some(Err(error)));
        let mut header = vec![0; HEADER_BYTES];
        let not_a_chunk = if first { Error::NotARecording } else { Error::NotAChunk };
        if left < HEADER_BYTES as u64 {
            return refuse(if first { not_a_chunk } else { Error::HeaderCutShort });
        }
        self.file.read_exact(&mut header)?;
        if &header[..4] != MAGIC {
            return refuse(not_a_chunk);
        }
        let major = u16::from_be_bytes([header[4], header[5]]);
        if !(1..=2).contains(&major) {
            return refuse(Error::UnknownFormat(major));
        }
        let size = u64::from_be_bytes(header[8..16].try_into().unwrap_or_default());
        if size <= HEADER_BYTES as u64 {
            return refuse(Error::ChunkUnwritten);
        }
        if size > MAX_CHUNK_BYTES {
            self.at = self.length.min(self.length - left + size.min(left));
            return refuse(Error::ChunkTooLarge { bytes: size });
        }
        let mut data = header;
        let available = size.min(left);
        self.file.by_ref().take(available - HEADER_BYTES as u64).read_to_end(&mut data)?;
        if available == size {
            self.at = self.length - left + size;
        }
        Ok(Some(Chunk::new(data).map_err(|damage| {
            if available < size { Error::ChunkCutShort(damage) } else { Error::ChunkDamaged(damage) }
        })))
    }
}

/// A chunk of a recording, in memory.
#[derive(Debug)]
pub struct Chunk {
    data: Vec<u8>,
    compressed: bool,
    pub header: Header,
    types: Types,
    /// The offset of each constant in the chunk, by type id and index.
    constants: HashMap<(i64, i64), usize>,
    /// The damage among the constants, if some of them are unreadable.
    pub damage: Option<Damage>,
}

/// An event with fields that are not yet decoded.
#[derive(Debug, Clone, Copy)]
pub struct Event<'c> {
    pub kind: &'c Type,
    chunk: &'c Chunk,
    at: usize,
    end: usize,
}

impl Chunk {
    fn new(data: Vec<u8>) -> Result<Self, Damage> {
        let mut header = ByteCursor::new(&data, false).starting_at(16);
        let (constants, metadata) = (header.long()?, header.long()?);
        let (start_unix_ns, duration_ns) = (header.long()?, header.long()?);
        let (start_ticks, ticks_per_second) = (header.long()?, header.long()?);
        let compressed = header.int()? & 1 != 0;
        if ticks_per_second <= 0 {
            return Err(header.damage("a clock that stands still"));
        }
        let header = Header { start_unix_ns, duration_ns, start_ticks, ticks_per_second };
        let mut chunk = Self {
            data,
            compressed,
            header,
            types: Types::default(),
            constants: HashMap::new(),
            damage: None,
        };
        let (mut bytes, _) = chunk.event_at(metadata, METADATA_TYPE, chunk.data.len())?;
        chunk.types = Types::read(&mut bytes)?;
        // The constants that were read are good even if others are damaged. An event that lacks one
        // shows that.
        let (found, damage) = chunk.find_constants(constants);
        chunk.constants = found;
        chunk.damage = damage;
        Ok(chunk)
    }

    /// Converts the value of a field to nanoseconds since 1970. Returns `None` if the field is not
    /// a time.
    pub fn unix_ns(&self, field: &Field, value: &Value) -> Option<i64> {
        let Value::Integer(number) = value else { return None };
        match field.unit {
            Unit::TimeTicks => {
                let since = self.nanos(number.wrapping_sub(self.header.start_ticks));
                Some(self.header.start_unix_ns.saturating_add(since))
            }
            Unit::Time(ns) => Some(number.saturating_mul(i64::try_from(ns).unwrap_or(i64::MAX))),
            _ => None,
        }
    }

    /// Converts the value of a field to a duration in nanoseconds. Returns `None` if the field is
    /// not a duration.
    pub fn duration_ns(&self, field: &Field, value: &Value) -> Option<u64> {
        let Value::Integer(number) = value else { return None };
        match field.unit {
            Unit::SpanTicks => u64::try_from(self.nanos(*number)).ok(),
            Unit::Span(ns) => Some(u64::try_from(*number).ok()?.saturating_mul(ns)),
            _ => None,
        }
    }

    fn nanos(&self, ticks: i64) -> i64 {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.header.ticks_per_second);
        i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
    }

    fn bytes_at(&self, at: usize) -> ByteCursor<'_> {
        ByteCursor::new(&self.data, self.compressed).starting_at(at)
    }

    /// Returns the bytes of an event of the wanted type, without its size and type, and its offset.
    /// The event must end at or before `before`.
    fn event_at(&self, offset: i64, wanted: i64, before: usize) -> Result<(ByteCursor<'_>, usize), Damage> {
        let nowhere = |at| Damage { what: "the header has an offset without such an event", at };
        let at = usize::try_from(offset).ok().filter(|at| (HEADER_BYTES..self.data.len()).contains(at));
        let at = at.ok_or_else(|| nowhere(self.data.len()))?;
        let mut bytes = self.bytes_at(at);
        let end = self.event_end(at, &mut bytes)?;
        if bytes.long()? == wanted && end <= before {
            Ok((bytes.ending_at(end), at))
        } else {
            Err(nowhere(at))
        }
    }

    /// Returns where the event at an offset ends. It reads the event's size for that.
    fn event_end(&self, at: usize, bytes: &mut ByteCursor<'_>) -> Result<usize, Damage> {
        let size = usize::try_from(bytes.int()?).ok();
        let end = size.and_then(|size| at.checked_add(size));
        let end = end.filter(|end| (bytes.position()..=self.data.len()).contains(end));
        end.ok_or(Damage { what: "an event of a size that cannot be", at })
    }

    /// Reads the constant pools from the last to the first. If two pools have a constant with the
    /// same index, the later one counts.
    fn find_constants(&self, last: i64) -> (HashMap<(i64, i64), usize>, Option<Damage>) {
        let mut found = HashMap::new();
        let (mut offset, mut before, mut damaged) = (last, self.data.len(), None);
        loop {
            // A pool must end before the one that refers to it begins, so no byte is read twice.
            let (mut bytes, at) = match self.event_at(offset, CONSTANTS_TYPE, before) {
                Ok(event) => event,
                Err(damage) => return (found, damaged.or(Some(damage))),
            };
            let delta = match previous_pool_offset(&mut bytes) {
                Ok(delta) => delta,
                Err(damage) => return (found, damaged.or(Some(damage))),
            };
            if let Err(damage) = self.add_constants(&mut bytes, &mut found) {
                // After a damaged pool, the earlier pools may still be good.
                damaged.get_or_insert(damage);
            }
            if delta == 0 {
                return (found, damaged);
            }
            (offset, before) = (offset.saturating_add(delta), at);
        }
    }

    fn add_constants(
        &self,
        bytes: &mut ByteCursor<'_>,
        found: &mut HashMap<(i64, i64), usize>,
    ) -> Result<(), Damage> {
        let mut values_left = max_values(bytes);
        for _ in 0..bytes.count()? {
            let type_id = bytes.long()?;
            for _ in 0..bytes.count()? {
                let index = bytes.long()?;
                let at = bytes.position();
                let budget = values_left.min(MAX_VALUES);
                let mut decoder = Decoder { types: &self.types, budget };
                decoder.skip_value(bytes, type_id, 0)?;
                values_left -= budget - decoder.budget;
                found.entry((type_id, index)).or_insert(at);
            }
        }
        Ok(())
    }

    /// Returns a value that identifies the chunk. A chunk that occurs in several concatenated files
    /// must count once.
    pub fn identity(&self) -> (i64, u64) {
        (self.header.start_unix_ns, self.bytes())
    }

    /// Returns the number of the chunk's bytes that exist in the file.
    pub fn bytes(&self) -> u64 {
        self.data.len() as u64
    }

    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.all()
    }

    pub fn type_of(&self, id: i64) -> Option<&Type> {
        self.types.get(id)
    }

    /// Returns a constant, which may have references to others. Returns `None` if the file lacks
    /// it.
    pub fn constant(&self, type_id: i64, index: i64) -> Option<Value> {
        let (mut bytes, mut decoder) = self.constant_reader(type_id, index)?;
        decoder.value(&mut bytes, type_id, 0).ok()
    }

    /// Returns the bytes of a constant, and a decoder for them.
    pub(crate) fn constant_reader(&self, type_id: i64, index: i64) -> Option<(ByteCursor<'_>, Decoder<'_>)> {
        let bytes = self.bytes_at(*self.constants.get(&(type_id, index))?);
        Some((bytes, Decoder { types: &self.types, budget: value_budget(&bytes) }))
    }

    /// Follows a reference until it reaches a value. In a damaged file constants may refer to each
    /// other in a circle.
    pub fn resolve(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..MAX_HOPS {
            let Value::Constant(type_id, index) = value else { return value };
            value = self.constant(type_id, index).unwrap_or(Value::Null);
        }
        Value::Null
    }

    /// Returns the events in the order of the file, which is not the order of time. After damage
    /// that hides where an event ends, no more events follow.
    pub fn events(&self) -> impl Iterator<Item = Result<Event<'_>, Damage>> {
        let mut next = HEADER_BYTES;
        std::iter::from_fn(move || {
            loop {
                if next >= self.data.len() {
                    return None;
                }
                match self.event(next) {
                    Ok((event, end)) => {
                        next = end;
                        if let Some(event) = event.transpose() {
                            return Some(event);
                        }
                    }
                    Err(damage) => {
                        next = self.data.len();
                        return Some(Err(damage));
                    }
                }
            }
        })
    }

    /// Reads the event at an offset, and returns the offset of the next one. The chunk's own
    /// metadata and constants are not events.
    fn event(&self, at: usize) -> Result<(Result<Option<Event<'_>>, Damage>, usize), Damage> {
        let mut bytes = self.bytes_at(at);
        let end = self.event_end(at, &mut bytes)?;
        let type_id = bytes.long()?;
        if type_id == METADATA_TYPE || type_id == CONSTANTS_TYPE {
            return Ok((Ok(None), end));
        }
        let kind = self.types.get(type_id);
        let kind = kind.ok_or(Damage { what: "an event of a type that was not declared", at });
        Ok((kind.map(|kind| Some(Event { kind, chunk: self, at: bytes.position(), end })), end))
    }
}

/// Reads the head of a constant pool up to its list, and returns the offset of the previous pool.
fn previous_pool_offset(bytes: &mut ByteCursor<'_>) -> Result<i64, Damage> {
    let (_start, _duration, delta, _kind) = (bytes.long()?, bytes.long()?, bytes.long()?, bytes.byte()?);
    Ok(delta)
}

/// Returns the most values that these bytes can contain.
fn max_values(bytes: &ByteCursor<'_>) -> usize {
    bytes.remaining() * VALUES_PER_BYTE + SPARE_VALUES
}

/// Returns the most values that an event or constant in these bytes may have.
fn value_budget(bytes: &ByteCursor<'_>) -> usize {
    MAX_VALUES.min(max_values(bytes))
}

impl Event<'_> {
    /// Decodes the values of all fields of the event.
    pub fn values(&self) -> Result<Vec<Value>, Damage> {
        let mut bytes = self.chunk.bytes_at(self.at).ending_at(self.end);
        let budget = value_budget(&bytes);
        Decoder { types: &self.chunk.types, budget }.fields(&mut bytes, self.kind, 0)
    }

    /// Decodes only the fields in these rows, in the order of the fields. The bytes after the last
    /// of these fields are not read.
    pub fn selected_values(&self, wanted: &[usize]) -> Result<Vec<Value>, Damage> {
        let mut bytes = self.chunk.bytes_at(self.at).ending_at(self.end);
        let budget = value_budget(&bytes);
        let mut decoder = Decoder { types: &self.chunk.types, budget };
        let last = wanted.iter().max().map_or(0, |last| last + 1);
        let mut values = Vec::with_capacity(wanted.len());
        for (row, field) in self.kind.fields.iter().enumerate().take(last) {
            if wanted.contains(&row) {
                values.push(decoder.field(&mut bytes, field, 0)?);
            } else {
                decoder.skip_field(&mut bytes, field, 0)?;
            }
        }
        Ok(values)
    }
}
