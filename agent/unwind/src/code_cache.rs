//! Finds the code blob at an address in HotSpot's code cache, as HotSpot does. A handler reads it
//! under the guard, and a thread of the agent reads it through the kernel.
//!
//! A `CodeHeap` consists of segments. Its segment map has a byte for each segment, which leads back
//! to the first segment of the block. A search must terminate for any content of the map.

use crate::memory::Memory;

/// The kind of code in a blob of HotSpot's code cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobKind {
    /// A compiled method or a native method's wrapper that may be running.
    Nmethod,
    /// An nmethod that cannot be running any more. Some versions of HotSpot abort when
    /// AsyncGetCallTrace is asked about such code.
    Dead,
    /// A stub, an adapter or another blob of the JVM.
    Other,
}

/// The maximal number of code heaps. HotSpot has three at most.
pub const MAX_HEAPS: usize = 8;

/// The addresses of the JVM's code heaps, and the offsets of fields in code heaps, heap blocks and
/// code blobs.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeCache {
    /// The addresses of the `CodeHeap`s. Unused elements are 0.
    pub heaps: [usize; MAX_HEAPS],
    /// Offset of `CodeHeap::_memory._low`.
    pub low: usize,
    /// Offset of `CodeHeap::_memory._high`.
    pub high: usize,
    /// Offset of `CodeHeap::_segmap._low`.
    pub segmap: usize,
    /// Offset of `CodeHeap::_log2_segment_size`.
    pub log2_segment_size: usize,
    /// Offset of `HeapBlock::Header::_used`.
    pub used: usize,
    /// Size of a `HeapBlock`, after which its blob begins.
    pub header_size: usize,
    /// Offset of `CodeBlob::_name`.
    pub name: usize,
    /// Offset of `CodeBlob::_size`.
    pub size: usize,
    /// Offset of `nmethod::_state`.
    pub state: usize,
    /// The first `nmethod::_state` of a dead nmethod. An nmethod that is not installed yet has a
    /// negative state, which is larger as a u8.
    pub first_dead_state: u8,
}

/// The maximal number of steps in the segment map from a segment to its block. A step is up to 254
/// segments, and the largest blobs have some thousands.
const MAX_STEPS: usize = 1 << 12;

impl CodeCache {
    /// Returns the kind of the code blob at an address, or `None` if the address is in no blob.
    pub fn kind_at(&self, address: usize, memory: &impl Memory) -> Option<BlobKind> {
        self.find(address, memory).map(|(_, kind)| kind)
    }

    /// Finds the code blob that contains an address, and returns the blob's address and kind.
    pub fn find(&self, address: usize, memory: &impl Memory) -> Option<(usize, BlobKind)> {
        for heap in self.heaps.into_iter().take_while(|heap| *heap != 0) {
            let field = |offset: usize| memory.word(heap.wrapping_add(offset));
            let low = field(self.low)?;
            if address < low || address >= field(self.high)? {
                continue;
            }
            let (map, log2) =
                (field(self.segmap)?, u32::try_from(field(self.log2_segment_size)? & 0x1f).ok()?);
            let mut segment = address.wrapping_sub(low).wrapping_shr(log2);
            for _ in 0..MAX_STEPS {
                match memory.byte(map.wrapping_add(segment))? {
                    // The segment is free.
                    0xff => return None,
                    0 => break,
                    back => segment = segment.wrapping_sub(back.into()),
                }
            }
            let block = low.wrapping_add(segment.wrapping_shl(log2));
            if memory.byte(block.wrapping_add(self.used))? == 0 {
                return None;
            }
            let blob = block.wrapping_add(self.header_size);
            return self.kind_of_blob(blob, address, memory).map(|kind| (blob, kind));
        }
        None
    }

    /// Returns the kind of the code blob that begins at `blob`, or `None` if the blob does not
    /// contain `address`.
    fn kind_of_blob(&self, blob: usize, address: usize, memory: &impl Memory) -> Option<BlobKind> {
        const NAMES: [usize; 2] = [usize::from_le_bytes(*b"nmethod\0"), usize::from_le_bytes(*b"native n")];
        let field = |offset: usize, count| memory.bytes(blob.wrapping_add(offset), count);
        if address.wrapping_sub(blob) >= field(self.size, 4)? {
            return None;
        }
        let name = memory.bytes(field(self.name, 8)?, 8)?;
        if !NAMES.contains(&name) {
            return Some(BlobKind::Other);
        }
        let dead = field(self.state, 1)? >= usize::from(self.first_dead_state);
        Some(if dead { BlobKind::Dead } else { BlobKind::Nmethod })
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
    /// The address of the test blob's name. It is not aligned.
    const NAME: usize = 0x3003;

    /// Memory that tests write byte by byte.
    #[derive(Default)]
    struct Memory(BTreeMap<usize, u8>);

    impl Memory {
        fn put(&mut self, at: usize, bytes: &[u8]) {
            self.0.extend(bytes.iter().enumerate().map(|(index, byte)| (at + index, *byte)));
        }

        fn word(&self, at: usize) -> Option<usize> {
            assert!(at.is_multiple_of(8), "words are aligned, so none crosses a page");
            self.0.range(at..at + 8).next()?;
            let byte = |index| self.0.get(&(at + index)).copied().unwrap_or(0);
            Some(usize::from_le_bytes(core::array::from_fn(byte)))
        }
    }

    /// Makes a code heap with segments of 64 bytes. The first three segments are a blob of 150
    /// bytes, the next one is a free block, and the last one belongs to no block.
    fn memory(name: &[u8], state: u8) -> (Memory, CodeCache) {
        let code_cache = CodeCache {
            heaps: [HEAP, 0, 0, 0, 0, 0, 0, 0],
            low: 0,
            high: 8,
            segmap: 16,
            log2_segment_size: 24,
            used: 4,
            header_size: 8,
            name: 8,
            size: 20,
            state: 33,
            first_dead_state: 3,
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
        (memory, code_cache)
    }

    fn at(name: &[u8], state: u8, address: usize) -> Option<BlobKind> {
        let (memory, code_cache) = memory(name, state);
        code_cache.kind_at(address, &|at| memory.word(at))
    }

    #[test]
    fn an_address_belongs_to_the_blob_that_contains_it() {
        for address in [LOW + 8, LOW + 70, LOW + 157] {
            assert_eq!(at(b"nmethod\0", 0, address), Some(BlobKind::Nmethod));
            assert_eq!(at(b"native nmethod\0", 2, address), Some(BlobKind::Nmethod));
            assert_eq!(at(b"RuntimeStub\0", 0, address), Some(BlobKind::Other));
        }
        // The addresses are in the header, after the end, in a free block, in no block, and outside
        // of the heap.
        for address in [LOW, LOW + 158, LOW + 0xd0, LOW + 0x110, LOW - 1, LOW + 0x140] {
            assert_eq!(at(b"nmethod\0", 0, address), None, "{address:x}");
        }
    }

    #[test]
    fn a_method_that_was_unloaded_or_is_not_installed_is_dead() {
        for state in [3, 4, 0xff] {
            assert_eq!(at(b"nmethod\0", state, LOW + 70), Some(BlobKind::Dead));
        }
    }

    #[test]
    fn a_search_ends_for_any_content() {
        let (mut memory, code_cache) = memory(b"nmethod\0", 0);
        // The map bytes lead around the address space.
        memory.put(HEAP + 8, &usize::MAX.to_le_bytes());
        assert_eq!(code_cache.kind_at(usize::MAX - 7, &|at| memory.word(at)), None);
        assert_eq!(code_cache.kind_at(LOW + 70, &|_| Some(usize::MAX)), None);
        assert_eq!(code_cache.kind_at(LOW + 70, &|_| Some(0x0101_0101_0101_0101)), None);
        assert_eq!(code_cache.kind_at(LOW + 70, &|_| None), None);
    }
}
