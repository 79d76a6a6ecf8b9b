//! HotSpot's code cache, as far as it says whose code lies at an address: looked up as HotSpot
//! does, and read by whoever asks, so that a handler may, under the guard, and a thread of the
//! agent's, through the kernel.
//!
//! A heap of code is cut into segments; a map has a byte for each, which leads back to the
//! beginning of the block that it is of. It must never follow what it read without an end.

use crate::memory::Memory;

/// Whose code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blob {
    /// A compiled method's, or a native method's wrapper, that may be running.
    Method,
    /// One that was given up for good: it cannot be running, and some versions of HotSpot abort
    /// when they are asked about it.
    Dead,
    /// The JVM's own.
    Other,
}

/// The most heaps that a JVM has: three, and some reserve.
pub const HEAPS: usize = 8;

/// Where things lie: the heaps, and offsets in them and in their blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Blobs {
    /// The heaps; 0 where there are no more.
    pub heaps: [usize; HEAPS],
    /// In a heap: the ends of its memory, the beginning of its map, and the logarithm of a
    /// segment's size.
    pub low: usize,
    pub high: usize,
    pub map: usize,
    pub segment: usize,
    /// In a block: whether it is used; and how long its head is, behind which the blob begins.
    pub used: usize,
    pub head: usize,
    /// In a blob: its name, its size, and a method's state.
    pub name: usize,
    pub size: usize,
    pub state: usize,
    /// The first state of a method that is dead. (One that is not installed yet has a negative
    /// one.)
    pub dead: u8,
}

/// Steps back from a segment to its block: each is of up to 254 segments, and the largest blobs
/// have some thousands.
const STEPS: usize = 1 << 12;

impl Blobs {
    /// Whose code lies at an address; `None` if nobody's.
    pub fn at(&self, address: usize, memory: &impl Memory) -> Option<Blob> {
        self.find(address, memory).map(|(_, kind)| kind)
    }

    /// The same with where the blob begins.
    pub fn find(&self, address: usize, memory: &impl Memory) -> Option<(usize, Blob)> {
        for heap in self.heaps.into_iter().take_while(|heap| *heap != 0) {
            let field = |offset: usize| memory.word(heap.wrapping_add(offset));
            let low = field(self.low)?;
            if address < low || address >= field(self.high)? {
                continue;
            }
            let (map, log2) = (field(self.map)?, u32::try_from(field(self.segment)? & 0x1f).ok()?);
            let mut segment = address.wrapping_sub(low).wrapping_shr(log2);
            for _ in 0..STEPS {
                match memory.byte(map.wrapping_add(segment))? {
                    // Nothing lies there.
                    0xff => return None,
                    0 => break,
                    back => segment = segment.wrapping_sub(back.into()),
                }
            }
            let block = low.wrapping_add(segment.wrapping_shl(log2));
            if memory.byte(block.wrapping_add(self.used))? == 0 {
                return None;
            }
            let blob = block.wrapping_add(self.head);
            return self.blob(blob, address, memory).map(|kind| (blob, kind));
        }
        None
    }

    /// What the blob that begins there is, if the address is in it.
    fn blob(&self, blob: usize, address: usize, memory: &impl Memory) -> Option<Blob> {
        const NAMES: [usize; 2] = [usize::from_le_bytes(*b"nmethod\0"), usize::from_le_bytes(*b"native n")];
        let field = |offset: usize, count| memory.bytes(blob.wrapping_add(offset), count);
        if address.wrapping_sub(blob) >= field(self.size, 4)? {
            return None;
        }
        let name = memory.bytes(field(self.name, 8)?, 8)?;
        if !NAMES.contains(&name) {
            return Some(Blob::Other);
        }
        let dead = field(self.state, 1)? >= usize::from(self.dead);
        Some(if dead { Blob::Dead } else { Blob::Method })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeMap;

    const HEAP: usize = 0x1000;
    const LOW: usize = 0x10_0000;
    const MAP: usize = 0x2000;
    /// A name lies anywhere.
    const NAME: usize = 0x3003;

    /// Memory as it was written, byte by byte.
    #[derive(Default)]
    struct Memory(BTreeMap<usize, u8>);

    impl Memory {
        fn put(&mut self, at: usize, bytes: &[u8]) {
            self.0.extend(bytes.iter().enumerate().map(|(index, byte)| (at + index, *byte)));
        }

        fn word(&self, at: usize) -> Option<usize> {
            assert!(at.is_multiple_of(8), "a word that no page may cut");
            self.0.range(at..at + 8).next()?;
            let byte = |index| self.0.get(&(at + index)).copied().unwrap_or(0);
            Some(usize::from_le_bytes(core::array::from_fn(byte)))
        }
    }

    /// A heap with a segment of 64 bytes, of which the first three are a blob of 150 bytes, the
    /// next free, and then nothing.
    fn memory(name: &[u8], state: u8) -> (Memory, Blobs) {
        let blobs = Blobs {
            heaps: [HEAP, 0, 0, 0, 0, 0, 0, 0],
            low: 0,
            high: 8,
            map: 16,
            segment: 24,
            used: 4,
            head: 8,
            name: 8,
            size: 20,
            state: 33,
            dead: 3,
        };
        let mut memory = Memory::default();
        for (offset, value) in [(0, LOW), (8, LOW + 0x140), (16, MAP), (24, 6)] {
            memory.put(HEAP + offset, &value.to_le_bytes());
        }
        memory.put(MAP, &[0, 1, 1, 0, 0xff]);
        memory.put(NAME, name);
        let blob = LOW + 8;
        memory.put(LOW + 4, &[1]);
        memory.put(LOW + 0xc4, &[0]);
        memory.put(blob + 8, &NAME.to_le_bytes());
        memory.put(blob + 20, &150_u32.to_le_bytes());
        memory.put(blob + 33, &[state]);
        (memory, blobs)
    }

    fn at(name: &[u8], state: u8, address: usize) -> Option<Blob> {
        let (memory, blobs) = memory(name, state);
        blobs.at(address, &|at| memory.word(at))
    }

    #[test]
    fn an_address_is_of_the_blob_whose_block_it_lies_in() {
        for address in [LOW + 8, LOW + 70, LOW + 157] {
            assert_eq!(at(b"nmethod\0", 0, address), Some(Blob::Method));
            assert_eq!(at(b"native nmethod\0", 2, address), Some(Blob::Method));
            assert_eq!(at(b"RuntimeStub\0", 0, address), Some(Blob::Other));
        }
        // In its head, behind its end, in a free block, in none, outside of the heap.
        for address in [LOW, LOW + 158, LOW + 0xd0, LOW + 0x110, LOW - 1, LOW + 0x140] {
            assert_eq!(at(b"nmethod\0", 0, address), None, "{address:x}");
        }
    }

    #[test]
    fn a_method_that_was_given_up_or_is_not_there_yet_is_dead() {
        for state in [3, 4, 0xff] {
            assert_eq!(at(b"nmethod\0", state, LOW + 70), Some(Blob::Dead));
        }
    }

    #[test]
    fn whatever_stands_there_it_comes_to_an_end() {
        let (mut memory, blobs) = memory(b"nmethod\0", 0);
        // Each leads back by nothing but around.
        memory.put(HEAP + 8, &usize::MAX.to_le_bytes());
        assert_eq!(blobs.at(usize::MAX - 7, &|at| memory.word(at)), None);
        assert_eq!(blobs.at(LOW + 70, &|_| Some(usize::MAX)), None);
        assert_eq!(blobs.at(LOW + 70, &|_| Some(0x0101_0101_0101_0101)), None);
        assert_eq!(blobs.at(LOW + 70, &|_| None), None);
    }
}
