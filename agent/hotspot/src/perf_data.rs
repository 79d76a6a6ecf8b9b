//! Reads the JVM's performance counters, which `jstat` reads as well: the cause of the current
//! collection, and counts since the JVM's start.
//!
//! They are in a memory region of the process (HotSpot's `PerfMemory`), with a header that
//! describes their layout. Every offset and length in it is checked before it is used.

use std::ops::Range;

use vouch_unwind::kernel::peek;

use crate::HotSpot;
use crate::fields::{self, StaticField};
use crate::vmstructs::{VmStructs, read_word};

/// The performance counters that have the cause of a garbage collection, which the JVM writes when
/// it begins.
#[derive(Debug)]
pub struct GcCause {
    current: TextCounter,
    last: TextCounter,
    /// True for G1, which writes a cause for all pauses except Remark and Cleanup.
    is_g1: bool,
}

/// The addresses of a performance counter's text.
#[derive(Debug, Clone)]
struct TextCounter(Range<usize>);

/// The memory of this JVM's performance counters.
#[derive(Debug, Clone)]
pub struct PerfData(Range<usize>);

impl PerfData {
    /// Finds the JVM's performance counters. `None` if this JVM has none, as with
    /// `-XX:-UsePerfData`.
    pub fn find(hotspot: &HotSpot) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot)?;
        let pointer =
            |field: &StaticField| read_word(vm_structs.address(field)?).filter(|address| *address != 0);
        Some(Self(pointer(&fields::PERF_MEMORY_START)?..pointer(&fields::PERF_MEMORY_END)?))
    }

    /// Returns the addresses of the values of these performance counters, or `None` if one does not
    /// exist.
    ///
    /// The memory is copied once and searched there. A system call for each word would add
    /// milliseconds to the JVM's start.
    fn values<const COUNT: usize>(&self, names: [&str; COUNT]) -> Option<[Range<usize>; COUNT]> {
        let bytes = copy_of(&self.0);
        let mut values = [const { None }; COUNT];
        for (name, value) in entries(&bytes) {
            if let Some(index) = names.iter().position(|wanted| wanted.as_bytes() == name) {
                values[index] = Some(self.0.start + value.start..self.0.start + value.end);
            }
        }
        values.iter().all(Option::is_some).then(|| values.map(Option::unwrap_or_default))
    }

    /// Reads how many ticks of the JVM's counters of time are a second. `None` while the JVM
    /// starts.
    pub fn ticks_per_second(&self) -> Option<u64> {
        let [frequency] = self.values(["sun.os.hrt.frequency"])?;
        Some(read_word(frequency.start)? as u64).filter(|ticks| *ticks > 0)
    }
}

/// Performance counters with numbers as values, which grow from the JVM's start on.
#[derive(Debug)]
pub struct PerfCounters<const COUNT: usize> {
    addresses: [usize; COUNT],
}

impl<const COUNT: usize> PerfCounters<COUNT> {
    /// Finds the performance counters with these names. `None` if this JVM lacks one of them.
    pub fn find(data: &PerfData, names: [&str; COUNT]) -> Option<Self> {
        Some(Self { addresses: data.values(names)?.map(|value| value.start) })
    }

    /// Reads the present values of the counters.
    pub fn read(&self) -> Option<[u64; COUNT]> {
        let mut values = [0; COUNT];
        for (value, address) in values.iter_mut().zip(self.addresses) {
            *value = read_word(address)? as u64;
        }
        Some(values)
    }

    /// Returns by how much each counter has grown since [`Self::read`] returned `earlier`.
    pub fn growth_since(&self, earlier: [u64; COUNT]) -> Option<[u64; COUNT]> {
        let mut values = self.read()?;
        for (value, before) in values.iter_mut().zip(earlier) {
            *value = value.saturating_sub(before);
        }
        Some(values)
    }
}

/// The cause of a pause of G1 for which the JVM sets none.
pub const G1_REMARK_OR_CLEANUP: &str = "G1 Remark or Cleanup";

impl GcCause {
    /// Finds the counters with the cause of a collection. `None` if this JVM lacks one of them.
    pub fn find(data: &PerfData, is_g1: bool) -> Option<Self> {
        let [current, last] = data.values(["sun.gc.cause", "sun.gc.lastCause"])?.map(TextCounter);
        Some(Self { current, last, is_g1 })
    }

    /// Reads the cause of the collection that runs, or has just ended.
    pub fn read(&self) -> Option<String> {
        match self.current.read().filter(|text| text != NO_GC) {
            Some(cause) => Some(cause),
            None if self.is_g1 => Some(G1_REMARK_OR_CLEANUP.to_owned()),
            // Serial and Parallel GC of older JDKs have already cleared the cause when they report
            // the end of a collection.
            None => self.last.read().filter(|text| text != NO_GC),
        }
    }
}

/// The text that the JVM writes as the cause while no collection runs.
const NO_GC: &str = "No GC";

impl TextCounter {
    fn read(&self) -> Option<String> {
        let mut text = Vec::new();
        for at in self.0.clone().step_by(size_of::<usize>()) {
            let bytes = read_word(at)?.to_le_bytes();
            let end = bytes.iter().position(|byte| *byte == 0);
            text.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if end.is_some() {
                break;
            }
        }
        text.truncate(self.0.len());
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }
}

/// Copies memory, up to the first byte that is not mapped.
fn copy_of(memory: &Range<usize>) -> Vec<u8> {
    const PAGE: usize = 512;
    const WORD: usize = size_of::<usize>();
    let mut bytes = Vec::with_capacity(memory.len());
    while bytes.len() < memory.len() {
        let (at, left) = (memory.start + bytes.len(), memory.len() - bytes.len());
        if left >= PAGE * WORD
            && let Some(words) = peek::<PAGE>(at)
        {
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        } else if let Some(word) = read_word(at).filter(|_| left >= WORD) {
            bytes.extend(word.to_le_bytes());
        } else {
            break;
        }
    }
    bytes
}

/// Parses the performance counters in `bytes`. Returns the name of each, and the range of its value
/// in `bytes`.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    const MAGIC: u32 = 0xcafe_c0c0;
    const MAX_ENTRIES: usize = 10_000;
    let int = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let offset = move |at: usize| int(at).and_then(|int| usize::try_from(int).ok());
    let has_magic = int(0).is_some_and(|magic| magic.swap_bytes() == MAGIC || magic == MAGIC);
    let mut next = offset(24).filter(|_| has_magic);
    let count = offset(28).unwrap_or(0).min(MAX_ENTRIES);
    (0..count).map_while(move |_| {
        let at = next?;
        // HotSpot's `PerfDataEntry`: entry_length, name_offset, vector_length, four bytes of types
        // and units, data_offset.
        let [length, name, elements, value] =
            [offset(at)?, offset(at + 4)?, offset(at + 8)?, offset(at + 16)?];
        next = Some(at + length).filter(|_| length > 0);
        // A vector_length of 0 is a number of eight bytes.
        let value = at + value..at + value + if elements == 0 { size_of::<u64>() } else { elements };
        let name = bytes.get(at + name..value.start).filter(|_| value.end <= bytes.len())?;
        Some((name.split(|byte| *byte == 0).next()?, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the entry of a performance counter with a text as its value.
    fn counter(name: &str, text: &str) -> Vec<u8> {
        let value = 20 + name.len() + 1;
        let size = (value + 80).next_multiple_of(8);
        let mut bytes = Vec::new();
        for word in [size, 20, 80] {
            bytes.extend(u32::try_from(word).unwrap().to_le_bytes());
        }
        bytes.extend(*b"B\0\x05\x03");
        bytes.extend(u32::try_from(value).unwrap().to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend(text.as_bytes());
        bytes.resize(size, 0);
        bytes
    }

    /// Makes the entry of a performance counter with a number as its value.
    fn number(name: &str, value: u64) -> Vec<u8> {
        let offset = (20 + name.len() + 1).next_multiple_of(8);
        let mut bytes = Vec::new();
        for word in [offset + 8, 20, 0] {
            bytes.extend(u32::try_from(word).unwrap().to_le_bytes());
        }
        bytes.extend(*b"J\0\x02\x03");
        bytes.extend(u32::try_from(offset).unwrap().to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.resize(offset, 0);
        bytes.extend(value.to_le_bytes());
        bytes
    }

    fn memory(counters: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        bytes[..4].copy_from_slice(&0xcafe_c0c0_u32.to_be_bytes());
        bytes[24..28].copy_from_slice(&32_u32.to_le_bytes());
        bytes[28..].copy_from_slice(&u32::try_from(counters.len()).unwrap().to_le_bytes());
        bytes.extend(counters.concat());
        bytes
    }

    fn data(bytes: &[u8]) -> PerfData {
        let start = bytes.as_ptr() as usize;
        PerfData(start..start + bytes.len())
    }

    fn found(bytes: &[u8], name: &str) -> Option<String> {
        let [value] = data(bytes).values([name])?;
        TextCounter(value).read()
    }

    #[test]
    fn a_counter_is_found_by_its_name() {
        let bytes = memory(&[counter("sun.gc.cause", "System.gc()"), counter("sun.gc.lastCause", "No GC")]);
        assert_eq!(found(&bytes, "sun.gc.cause").as_deref(), Some("System.gc()"));
        assert_eq!(found(&bytes, "sun.gc.lastCause").as_deref(), Some("No GC"));
        assert_eq!(found(&bytes, "sun.gc"), None);
    }

    #[test]
    fn a_cleared_cause_is_replaced_by_the_last_one_or_by_the_pause_of_g1() {
        let cause = |current, last, is_g1| {
            let bytes = memory(&[counter("sun.gc.cause", current), counter("sun.gc.lastCause", last)]);
            GcCause::find(&data(&bytes), is_g1).and_then(|cause| cause.read())
        };
        assert_eq!(cause("System.gc()", "Warmup", false).as_deref(), Some("System.gc()"));
        assert_eq!(cause("No GC", "Allocation Failure", false).as_deref(), Some("Allocation Failure"));
        assert_eq!(cause("No GC", "G1 Evacuation Pause", true).as_deref(), Some("G1 Remark or Cleanup"));
        assert_eq!(cause("No GC", "No GC", false), None);
    }

    #[test]
    fn counters_report_their_growth_since_an_earlier_read() {
        let numbers =
            [("sun.os.hrt.frequency", 1_000_000), ("sun.rt.safepoints", 9), ("sun.rt.safepointTime", 70)];
        let bytes = memory(&numbers.map(|(name, value)| number(name, value)));
        let counters =
            PerfCounters::find(&data(&bytes), ["sun.rt.safepointTime", "sun.rt.safepoints"]).unwrap();
        assert_eq!(counters.read(), Some([70, 9]));
        assert_eq!(counters.growth_since([10, 9]), Some([60, 0]));
        assert_eq!(data(&bytes).ticks_per_second(), Some(1_000_000));
        assert!(
            PerfCounters::find(&data(&bytes), ["sun.rt.safepoints", "sun.ci.threads"]).is_none(),
            "one is lacking"
        );
        let bytes =
            memory(&numbers[1..].iter().map(|(name, value)| number(name, *value)).collect::<Vec<_>>());
        assert_eq!(data(&bytes).ticks_per_second(), None, "the length of a tick is unknown");
    }

    #[test]
    fn malformed_memory_has_no_counters() {
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[0] = 0;
        assert_eq!(found(&bytes, "sun.gc.cause"), None);
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[32..36].fill(0);
        bytes[28] = 200;
        assert_eq!(found(&bytes, "sun.gc.other"), None, "a counter without a length is the last");
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[41] = 255;
        assert_eq!(found(&bytes, "sun.gc.cause"), None, "a value beyond the end of the memory is ignored");
    }
}
