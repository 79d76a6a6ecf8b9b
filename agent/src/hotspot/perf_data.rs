//! The JVM's performance counters, as it shares them with `jstat`: what the present collection is for, how long the program stood still.
//!
//! They lie in memory of the process's own, with a head that says how they are laid out. Nothing of it is believed without a look.

use std::ops::Range;

use vouch_walk::kernel::peek;

use super::HotSpot;
use super::vmstructs::{Table, read};

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
        let at = |name| read(table.address("PerfMemory", name)?).filter(|address| *address != 0);
        Some(Self(at("_start")?..at("_end")?))
    }

    /// Where the values of these counters lie; `None` if one is lacking. All of them are looked for in one copy of the memory: to ask the
    /// kernel for each word would take milliseconds, at the JVM's start.
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
}

/// Where the JVM counts what it stood still for.
#[derive(Debug)]
pub struct Safepoints {
    count: usize,
    stopped: usize,
    reaching: usize,
    data: PerfData,
}

/// What the JVM has counted of it until a moment, in ticks of its clock.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    times: u64,
    stopped: u64,
    reaching: u64,
}

/// How often and for how long all threads have stood still, whatever that was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stood {
    pub times: u64,
    pub stopped_ns: u64,
    /// Until the last of them stood, in addition.
    pub reaching_ns: u64,
}

impl Safepoints {
    /// `None`: this JVM does not count them.
    pub fn of(data: &PerfData) -> Option<Self> {
        let [count, stopped, reaching] = data
            .find(["sun.rt.safepoints", "sun.rt.safepointTime", "sun.rt.safepointSyncTime"])?
            .map(|value| value.start);
        Some(Self { count, stopped, reaching, data: data.clone() })
    }

    /// Since the JVM began.
    pub fn now(&self) -> Option<Counted> {
        let count = |at| Some(read(at)? as u64);
        Some(Counted {
            times: count(self.count)?,
            stopped: count(self.stopped)?,
            reaching: count(self.reaching)?,
        })
    }

    /// What has come since a moment. (How long a tick is the JVM tells when it is up, and not when it begins.)
    pub fn since(&self, then: Counted) -> Option<Stood> {
        let now = self.now()?;
        let [frequency] = self.data.find(["sun.os.hrt.frequency"])?;
        let in_a_second = read(frequency.start)? as u128;
        let nanos = |now: u64, then: u64| {
            let ticks = u128::from(now.saturating_sub(then)) * 1_000_000_000;
            u64::try_from(ticks.checked_div(in_a_second)?).ok()
        };
        Some(Stood {
            times: now.times.saturating_sub(then.times),
            stopped_ns: nanos(now.stopped, then.stopped)?,
            reaching_ns: nanos(now.reaching, then.reaching)?,
        })
    }
}

impl Reason {
    /// `None`: this JVM does not tell.
    pub fn of(data: &PerfData, is_g1: bool) -> Option<Self> {
        let [present, last] = data.find(["sun.gc.cause", "sun.gc.lastCause"])?.map(Text);
        Some(Self { present, last, is_g1 })
    }

    /// That of the collection which runs, or has just ended.
    pub fn present(&self) -> Option<String> {
        match self.present.read().filter(|text| text != NO_REASON) {
            Some(reason) => Some(reason),
            None if self.is_g1 => Some("G1 Remark or Cleanup".to_owned()),
            // The serial and the parallel collector of older JDKs have taken it away by the time that they say that they have done.
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
        // Its length, where its name is, how long its value is; a byte each for what it is; where its value is.
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
    fn times_are_told_in_nanoseconds_and_from_a_moment_on() {
        let numbers = [
            ("sun.os.hrt.frequency", 1_000_000),
            ("sun.rt.safepoints", 9),
            ("sun.rt.safepointSyncTime", 3),
            ("sun.rt.safepointTime", 70),
        ];
        let bytes = memory(&numbers.map(|(name, value)| number(name, value)));
        let safepoints = Safepoints::of(&data(&bytes)).unwrap();
        let stood = safepoints.since(Counted { times: 8, stopped: 10, reaching: 0 });
        assert_eq!(stood, Some(Stood { times: 1, stopped_ns: 60_000, reaching_ns: 3_000 }));
        let bytes =
            memory(&numbers[1..].iter().map(|(name, value)| number(name, *value)).collect::<Vec<_>>());
        let untold = Safepoints::of(&data(&bytes)).unwrap();
        assert_eq!(untold.since(untold.now().unwrap()), None, "nobody knows how long a tick is");
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
