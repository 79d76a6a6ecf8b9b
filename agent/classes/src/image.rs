//! A JDK's image of modules (`lib/modules`): which classes it has, and what stands in one.
//!
//! It must never keep in memory more than its index, or believe a place in it. (There are crates
//! for it. One panics on what is damaged, the other wants a newer compiler; both map the file, and
//! a file that is cut short meanwhile would be the end of the process.)

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::ZlibDecoder;

const MAGIC: u32 = 0xCAFE_DADA;
const HEADER: u64 = 28;
/// An index is a few MiB; a larger one is none.
const LARGEST: u64 = 256 << 20;
/// What stands before the bytes of a file that is packed.
const PACKED: usize = 29;
const PACKED_MAGIC: u32 = 0xCAFE_FAFA;
/// Packers may be put one around the other.
const MOST_PACKED: usize = 4;

/// An image, opened.
#[derive(Debug)]
pub struct Image {
    file: File,
    little: bool,
    /// Where the files begin.
    data: u64,
    strings: Vec<u8>,
    classes: HashMap<Box<str>, Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    /// 0: it is not packed.
    packed: u64,
    size: u64,
}

/// What an image says of a file.
#[derive(Debug, Default)]
struct Location {
    /// By the kind: the module, the folder, the name, its ending, the place, the packed size, the
    /// size.
    values: [u64; 8],
}

impl Image {
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = crate::archive::open_file(path)?;
        let length = file.metadata().map_err(|error| error.to_string())?.len();
        let header = bytes_at(&file, 0, HEADER)?;
        let little = u32_at(&header, 0, true) == Some(MAGIC);
        if !little && u32_at(&header, 0, false) != Some(MAGIC) {
            return Err("is no image of modules".to_owned());
        }
        let field = |number: usize| u64::from(u32_at(&header, number * 4, little).unwrap_or(0));
        let (slots, locations, strings) = (field(4), field(5), field(6));
        let offsets = slots * 4;
        let data = HEADER + 2 * offsets + locations + strings;
        if data > length.min(LARGEST) {
            return Err("is an image with an index that cannot be".to_owned());
        }
        // A table of redirections stands before that of offsets; it is for who looks for one name
        // alone.
        let offsets = bytes_at(&file, HEADER + offsets, offsets)?;
        let locations = bytes_at(&file, data - strings - locations, locations)?;
        let strings = bytes_at(&file, data - strings, strings)?;
        let mut image = Self { file, little, data, strings, classes: HashMap::new() };
        for place in offsets.chunks_exact(4) {
            let place = u32_at(place, 0, little).and_then(|place| usize::try_from(place).ok());
            let location = place.and_then(|place| Location::read(locations.get(place..)?));
            if let Some((name, place)) = location.and_then(|location| image.class(&location)) {
                image.classes.insert(name, place);
            }
        }
        Ok(image)
    }

    fn class(&self, location: &Location) -> Option<(Box<str>, Place)> {
        let [_, _, folder, name, ending, at, packed, size] = location.values;
        if self.string(ending)? != "class" {
            return None;
        }
        let (folder, name) = (self.string(folder)?, self.string(name)?);
        let name = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        Some((name.into(), Place { at, packed, size }))
    }

    fn string(&self, at: u64) -> Option<&str> {
        let rest = self.strings.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }

    /// True if it has a class of this name.
    pub fn has(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// What stands in a class, if that is no longer than `most`.
    pub fn read(&self, class: &str, most: u64) -> Result<Vec<u8>, String> {
        let Place { at, packed, size } = *self.classes.get(class).ok_or("is not there")?;
        let held = if packed == 0 { size } else { packed };
        if held.max(size) > most {
            return Err(format!("is longer than {} MiB", most >> 20));
        }
        let mut bytes = bytes_at(&self.file, self.data.checked_add(at).ok_or("is nowhere")?, held)?;
        for _ in 0..if packed == 0 { 0 } else { MOST_PACKED } {
            if u32_at(&bytes, 0, self.little) != Some(PACKED_MAGIC) {
                break;
            }
            bytes = self.unpacked(&bytes, most)?;
        }
        Ok(bytes)
    }

    /// The bytes without their outermost packing.
    fn unpacked(&self, bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
        let name = u32_at(bytes, 20, self.little).and_then(|at| self.string(u64::from(at)));
        let rest = bytes.get(PACKED..).ok_or("is cut short")?;
        if name != Some("zip") {
            return Err(format!(
                "is packed in a way that is not known: {}",
                name.unwrap_or("it has no name")
            ));
        }
        let mut whole = Vec::new();
        ZlibDecoder::new(rest).take(most).read_to_end(&mut whole).map_err(|error| error.to_string())?;
        Ok(whole)
    }
}

impl Location {
    /// Attributes, each with a byte that says which and how long, up to one that says the end.
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut location = Self::default();
        loop {
            let (first, rest) = bytes.split_first()?;
            let (kind, length) = (usize::from(first >> 3), usize::from(first & 7) + 1);
            if kind == 0 {
                return Some(location);
            }
            let value = rest.get(..length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
            // Later JDKs have kinds of their own.
            if let Some(place) = location.values.get_mut(kind) {
                *place = value;
            }
            bytes = &rest[length..];
        }
    }
}

fn bytes_at(file: &File, at: u64, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| "is too large")?];
    file.read_exact_at(&mut bytes, at).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn u32_at(bytes: &[u8], at: usize, little: bool) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}
