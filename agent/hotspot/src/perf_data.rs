//! The JVM's performance counters, as it shares them with `jstat`: what the present collection is
//! for, and what it counts from its beginning on.
//!
//! They lie in memory of the process's own, with a head that says how they are laid out. Nothing of
//! it is believed without a look.

use std::ops::Range;

use vouch_walk::kernel::peek;

use crate::HotSpot;
use crate::fields::{self, StaticField};
use crate::vmstructs::{Table, read};

/// What a collection is for, as text that the JVM writes at its beginning.
#[derive(Debug)]
pub struct Reason {
    present: Text,
    last: Text,
    /// G1 gives a reason for all of its pauses but two, and for these none.
    is_g1: bool,
}

/// A text of the counters'.
#[derive(Debug, Clone)]
struct Text(Range<usize>);

/// All counters of this JVM.
#[derive(Debug, Clone)]
pub struct PerfData(Range<usize>);

impl PerfData {
    /// `None`: it has none.
    pub fn of(hotspot: &HotSpot) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let at = |field: &StaticField| read(table.address(field)?).filter(|address| *address != 0);
        Some(Self(at(&fields::PERF_MEMORY_START)?..at(&fields::PERF_MEMORY_END)?))
    }

    /// Where the values of these counters lie; `None` if one is lacking. All of them are looked for
    /// in one copy of the memory: to ask the kernel for each word would take milliseconds, at the
    /// JVM's start.
    fn find<const COUNT: usize>(&self, names: [&str; COUNT]) -> Option<[Range<usize>; COUNT]> {
        let bytes = copied(&self.0);
        let mut found = [const { None }; COUNT];
        for (name, value) in entries(&bytes) {
            if let Some(place) = names.iter().position(|wanted| wanted.as_bytes() == name) {
                found[place] = Some(self.0.start + value.start..self.0.start + value.end);
            }
        }
        found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
    }

    /// How many of the clock's ticks, in which the JVM counts times, are a second. (It tells when
    /// it is up, and not when it begins.)
    pub fn ticks_in_a_second(&self) -> Option<u64> {
        let [frequency] = self.find(["sun.os.hrt.frequency"])?;
        Some(read(frequency.start)? as u64).filter(|ticks| *ticks > 0)
    }
}

/// Figures that the JVM counts up from its beginning on.
#[derive(Debug)]
pub struct Tally<const COUNT: usize> {
    at: [usize; COUNT],
}

impl<const COUNT: usize> Tally<COUNT> {
    /// `None`: this JVM does not count one of them.
    pub fn of(data: &PerfData, names: [&str; COUNT]) -> Option<Self> {
        Some(Self { at: data.find(names)?.map(|value| value.start) })
    }

    /// What they are.
    pub fn now(&self) -> Option<[u64; COUNT]> {
        let mut values = [0; COUNT];
        for (value, at) in values.iter_mut().zip(self.at) {
            *value = read(at)? as u64;
        }
        Some(values)
    }

    /// What has come to each since a moment.
    pub fn since(&self, then: [u64; COUNT]) -> Option<[u64; COUNT]> {
        let mut values = self.now()?;
        for (value, before) in values.iter_mut().zip(then) {
            *value = value.saturating_sub(before);
        }
        Some(values)
    }
}

impl Reason {
    /// `None`: this JVM does not publish it.
    pub fn of(data: &PerfData, is_g1: bool) -> Option<Self> {
        let [present, last] = data.find(["sun.gc.cause", "sun.gc.lastCause"])?.map(Text);
        Some(Self { present, last, is_g1 })
    }

    /// That of the collection which runs, or has just ended.
    pub fn present(&self) -> Option<String> {
        match self.present.read().filter(|text| text != NO_REASON) {
            Some(reason) => Some(reason),
            None if self.is_g1 => Some("G1 Remark or Cleanup".to_owned()),
            // The serial and the parallel collector of older JDKs have taken it away by the time
            // that they say that they have done.
            None => self.last.read().filter(|text| text != NO_REASON),
        }
    }
}

/// What the JVM says while nothing is collected.
const NO_REASON: &str = "No GC";

impl Text {
    fn read(&self) -> Option<String> {
        let mut text = Vec::new();
        for at in self.0.clone().step_by(size_of::<usize>()) {
            let bytes = read(at)?.to_le_bytes();
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

/// The memory's bytes, as far as there are any.
fn copied(memory: &Range<usize>) -> Vec<u8> {
    const PAGE: usize = 512;
    const WORD: usize = size_of::<usize>();
    let mut bytes = Vec::with_capacity(memory.len());
    while bytes.len() < memory.len() {
        let (at, left) = (memory.start + bytes.len(), memory.len() - bytes.len());
        if left >= PAGE * WORD
            && let Some(words) = peek::<PAGE>(at)
        {
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        } else if let Some(word) = read(at).filter(|_| left >= WORD) {
            bytes.extend(word.to_le_bytes());
        } else {
            break;
        }
    }
    bytes
}

/// The counters that lie in these bytes: their names, and where their values are.
fn entries(bytes: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    const MAGIC: u32 = 0xcafe_c0c0;
    let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let place = move |at: usize| half(at).and_then(|half| usize::try_from(half).ok());
    let whole = half(0).is_some_and(|magic| magic.swap_bytes() == MAGIC || magic == MAGIC);
    let mut next = place(24).filter(|_| whole);
    let count = place(28).unwrap_or(0).min(10_000);
    (0..count).map_while(move |_| {
        let at = next?;
        // Its length, where its name is, how long its value is; a byte each for what it is; where
        // its value is.
        let [length, name, elements, value] = [place(at)?, place(at + 4)?, place(at + 8)?, place(at + 16)?];
        next = Some(at + length).filter(|_| length > 0);
        // A number has no elements, and is a word.
        let value = at + value..at + value + if elements == 0 { size_of::<u64>() } else { elements };
        let name = bytes.get(at + name..value.start).filter(|_| value.end <= bytes.len())?;
        Some((name.split(|byte| *byte == 0).next()?, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter of text, as the JVM lays it out.
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

    /// A counter of a number.
    fn number(name: &str, value: u64) -> Vec<u8> {
        let place = (20 + name.len() + 1).next_multiple_of(8);
        let mut bytes = Vec::new();
        for word in [place + 8, 20, 0] {
            bytes.extend(u32::try_from(word).unwrap().to_le_bytes());
        }
        bytes.extend(*b"J\0\x02\x03");
        bytes.extend(u32::try_from(place).unwrap().to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.resize(place, 0);
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
        let [value] = data(bytes).find([name])?;
        Text(value).read()
    }

    #[test]
    fn a_counter_is_found_by_its_name() {
        let bytes = memory(&[counter("sun.gc.cause", "System.gc()"), counter("sun.gc.lastCause", "No GC")]);
        assert_eq!(found(&bytes, "sun.gc.cause").as_deref(), Some("System.gc()"));
        assert_eq!(found(&bytes, "sun.gc.lastCause").as_deref(), Some("No GC"));
        assert_eq!(found(&bytes, "sun.gc"), None);
    }

    #[test]
    fn a_pause_has_the_reason_that_is_told_with_it_or_else_by_its_collector() {
        let reason = |present, last, is_g1| {
            let bytes = memory(&[counter("sun.gc.cause", present), counter("sun.gc.lastCause", last)]);
            Reason::of(&data(&bytes), is_g1).and_then(|reason| reason.present())
        };
        assert_eq!(reason("System.gc()", "Warmup", false).as_deref(), Some("System.gc()"));
        assert_eq!(reason("No GC", "Allocation Failure", false).as_deref(), Some("Allocation Failure"));
        assert_eq!(reason("No GC", "G1 Evacuation Pause", true).as_deref(), Some("G1 Remark or Cleanup"));
        assert_eq!(reason("No GC", "No GC", false), None);
    }

    #[test]
    fn figures_are_told_from_a_moment_on() {
        let numbers =
            [("sun.os.hrt.frequency", 1_000_000), ("sun.rt.safepoints", 9), ("sun.rt.safepointTime", 70)];
        let bytes = memory(&numbers.map(|(name, value)| number(name, value)));
        let tally = Tally::of(&data(&bytes), ["sun.rt.safepointTime", "sun.rt.safepoints"]).unwrap();
        assert_eq!(tally.now(), Some([70, 9]));
        assert_eq!(tally.since([10, 9]), Some([60, 0]));
        assert_eq!(data(&bytes).ticks_in_a_second(), Some(1_000_000));
        assert!(
            Tally::of(&data(&bytes), ["sun.rt.safepoints", "sun.ci.threads"]).is_none(),
            "one is lacking"
        );
        let bytes =
            memory(&numbers[1..].iter().map(|(name, value)| number(name, *value)).collect::<Vec<_>>());
        assert_eq!(data(&bytes).ticks_in_a_second(), None, "nobody knows how long a tick is");
    }

    #[test]
    fn what_is_no_such_memory_has_no_counters() {
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[0] = 0;
        assert_eq!(found(&bytes, "sun.gc.cause"), None);
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[32..36].fill(0);
        bytes[28] = 200;
        assert_eq!(found(&bytes, "sun.gc.other"), None, "a counter without a length is the last");
        let mut bytes = memory(&[counter("sun.gc.cause", "System.gc()")]);
        bytes[41] = 255;
        assert_eq!(found(&bytes, "sun.gc.cause"), None, "a value that reaches beyond the memory is none");
    }
}
