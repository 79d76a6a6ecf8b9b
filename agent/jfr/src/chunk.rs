//! A file is chunks, and each stands for itself: its types, its constants, its events.
//!
//! A chunk that was not finished (the process was killed) is as good as its header says, which the JVM writes anew each second from JDK 14
//! on.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use crate::bytes::{Bytes, Damage};
use crate::metadata::{Type, Types};
use crate::value::{Decoder, Value};

const MAGIC: &[u8; 4] = b"FLR\0";
const HEADER: usize = 68;
const METADATA: i64 = 0;
const CONSTANTS: i64 = 1;
/// A chunk is read as a whole; those of a JVM have 12 MiB if nobody asks for more.
const LARGEST: u64 = 1 << 30;
/// Values of an event that take no byte, beside those that do.
const SPARE: usize = 64;

/// What a chunk says of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub start_unix_ns: i64,
    pub duration_ns: i64,
    /// The clock of the events, when the chunk began,
    pub start_ticks: i64,
    /// and how fast it goes.
    pub ticks_per_second: i64,
}

/// Reads the chunks of a file.
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

    /// How much of the file there is, and was read.
    pub fn progress(&self) -> (u64, u64) {
        (self.at, self.length)
    }

    /// The next chunk; after a mistake there is none.
    pub fn next_chunk(&mut self) -> io::Result<Option<Result<Chunk, String>>> {
        let left = self.length.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let first = self.at == 0;
        // Only if it is whole the next chunk can be found.
        self.at = self.length;
        let refuse = |what: &str| Ok(Some(Err(what.to_owned())));
        let mut header = vec![0; HEADER];
        let not_one = if first { "it is no Flight Recorder file" } else { "what follows is no chunk" };
        if left < HEADER as u64 {
            return refuse(if first { not_one } else { "it ends in the header of a chunk" });
        }
        self.file.read_exact(&mut header)?;
        if &header[..4] != MAGIC {
            return refuse(not_one);
        }
        let major = u16::from_be_bytes([header[4], header[5]]);
        if !(1..=2).contains(&major) {
            return refuse(&format!("it has format {major}, and this vouch knows 1 and 2"));
        }
        let size = u64::from_be_bytes(header[8..16].try_into().unwrap_or_default());
        if size <= HEADER as u64 {
            return refuse("its last chunk was begun, and nothing of it was written yet");
        }
        if size > LARGEST {
            return refuse(&format!("a chunk of {} MiB, and 1,024 are the most", size >> 20));
        }
        let mut data = header;
        let held = size.min(left);
        self.file.by_ref().take(held - HEADER as u64).read_to_end(&mut data)?;
        if held == size {
            self.at = self.length - left + size;
        }
        Ok(Some(Chunk::new(data).map_err(|damage| {
            if held < size {
                format!("a chunk is cut short ({damage})")
            } else {
                format!("a chunk is damaged: {damage}")
            }
        })))
    }
}

/// A chunk.
#[derive(Debug)]
pub struct Chunk {
    data: Vec<u8>,
    compressed: bool,
    pub header: Header,
    types: Types,
    /// Where each stands.
    constants: HashMap<(i64, i64), usize>,
    /// A part of the constants cannot be read.
    pub damage: Option<Damage>,
}

/// An event, not yet read.
#[derive(Debug, Clone, Copy)]
pub struct Event<'c> {
    pub kind: &'c Type,
    chunk: &'c Chunk,
    at: usize,
    end: usize,
}

impl Chunk {
    fn new(data: Vec<u8>) -> Result<Self, Damage> {
        let mut header = Bytes::new(&data, false).from(16);
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
        let mut bytes = chunk.event_at(metadata, METADATA)?;
        chunk.types = Types::read(&mut bytes)?;
        // What was read of the constants is good, also where the rest is not: events that lack one say so.
        let (found, damage) = chunk.find_constants(constants);
        chunk.constants = found;
        chunk.damage = damage;
        Ok(chunk)
    }

    fn bytes(&self, at: usize) -> Bytes<'_> {
        Bytes::new(&self.data, self.compressed).from(at)
    }

    /// The bytes of such an event, behind its size and type.
    fn event_at(&self, place: i64, wanted: i64) -> Result<Bytes<'_>, Damage> {
        let nowhere = |at| Damage { what: "the header tells of a place that is not there", at };
        let at = usize::try_from(place).ok().filter(|at| (HEADER..self.data.len()).contains(at));
        let at = at.ok_or_else(|| nowhere(self.data.len()))?;
        let mut bytes = self.bytes(at);
        let _size = bytes.int()?;
        if bytes.long()? == wanted { Ok(bytes) } else { Err(nowhere(at)) }
    }

    /// From the last of the constants' events back to the first; where two have one number the later is meant.
    fn find_constants(&self, last: i64) -> (HashMap<(i64, i64), usize>, Option<Damage>) {
        let mut found = HashMap::new();
        let mut place = last;
        loop {
            match self.find_constants_at(place, &mut found) {
                Ok(0) => return (found, None),
                // Each points to an earlier one, so that there is an end to it.
                Ok(delta) if delta < 0 => place = place.saturating_add(delta),
                Ok(_) => {
                    let at = usize::try_from(place).unwrap_or_default();
                    return (found, Some(Damage { what: "constants that are not in order", at }));
                }
                Err(damage) => return (found, Some(damage)),
            }
        }
    }

    fn find_constants_at(&self, place: i64, found: &mut HashMap<(i64, i64), usize>) -> Result<i64, Damage> {
        let mut bytes = self.event_at(place, CONSTANTS)?;
        let (_start, _duration, delta, _kind) = (bytes.long()?, bytes.long()?, bytes.long()?, bytes.byte()?);
        let mut decoder = Decoder { types: &self.types, room: bytes.left() + SPARE };
        for _ in 0..bytes.count()? {
            let type_id = bytes.long()?;
            for _ in 0..bytes.count()? {
                let index = bytes.long()?;
                found.entry((type_id, index)).or_insert(bytes.at());
                decoder.value(&mut bytes, type_id, 0)?;
            }
        }
        Ok(delta)
    }

    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.all()
    }

    pub fn type_of(&self, id: i64) -> Option<&Type> {
        self.types.get(id)
    }

    /// A constant, itself perhaps with references to others. None: it is not in the file.
    pub fn constant(&self, type_id: i64, index: i64) -> Option<Value> {
        let at = *self.constants.get(&(type_id, index))?;
        let mut bytes = self.bytes(at);
        let mut decoder = Decoder { types: &self.types, room: bytes.left() + SPARE };
        decoder.value(&mut bytes, type_id, 0).ok()
    }

    /// Its events, in the order of the file, which is not that of their times; up to what is damaged.
    pub fn events(&self) -> impl Iterator<Item = Result<Event<'_>, Damage>> {
        let mut next = HEADER;
        std::iter::from_fn(move || {
            loop {
                if next >= self.data.len() {
                    return None;
                }
                let event = self.event(next);
                next = match &event {
                    Ok((_, end)) => *end,
                    Err(_) => self.data.len(),
                };
                match event {
                    Ok((None, _)) => {}
                    Ok((Some(event), _)) => return Some(Ok(event)),
                    Err(damage) => return Some(Err(damage)),
                }
            }
        })
    }

    /// With where the next one begins.
    fn event(&self, at: usize) -> Result<(Option<Event<'_>>, usize), Damage> {
        let mut bytes = self.bytes(at);
        let size = usize::try_from(bytes.int()?).ok();
        let type_id = bytes.long()?;
        let end = size.and_then(|size| at.checked_add(size));
        let end = end.filter(|end| (bytes.at()..=self.data.len()).contains(end));
        let end = end.ok_or(Damage { what: "an event of a size that cannot be", at })?;
        if type_id == METADATA || type_id == CONSTANTS {
            return Ok((None, end));
        }
        let kind =
            self.types.get(type_id).ok_or(Damage { what: "an event of a type that was not declared", at })?;
        Ok((Some(Event { kind, chunk: self, at: bytes.at(), end }), end))
    }
}

impl Event<'_> {
    /// What stands in its fields.
    pub fn values(&self) -> Result<Vec<Value>, Damage> {
        let mut bytes = self.chunk.bytes(self.at).until(self.end);
        let room = bytes.left() + SPARE;
        Decoder { types: &self.chunk.types, room }.fields(&mut bytes, self.kind, 0)
    }
}
