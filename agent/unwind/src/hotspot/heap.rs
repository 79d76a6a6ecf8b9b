//! Reads Java objects on the way to a virtual thread's frames, which may be in the heap.
//!
//! A collector may move an object while it is read. [`Relocation`] says when the JVM's collector
//! does so, and nothing is read where a move cannot be noticed. An object's klass says what the
//! object is, and an object of an unexpected klass is refused.

use core::sync::atomic::{Ordering, fence};

use crate::memory::Memory;

/// Offset of the klass field in an object's header.
const KLASS: usize = 8;
/// The bits of the mark word that are both set in a forwarded object.
const FORWARDED: usize = 3;
/// The lowest bit of the narrow klass in the mark word, with compact object headers.
const COMPACT_KLASS_SHIFT: u32 = 42;
/// The colour bits of generational ZGC are in the lowest two bytes of a pointer.
const COLOUR_LIMIT: usize = 1 << 16;

/// How this JVM's objects refer to each other and to their klasses, and when the collector moves
/// them.
#[derive(Debug, Clone, Copy)]
pub struct HeapLayout {
    pub oops: OopEncoding,
    pub klasses: KlassEncoding,
    pub relocation: Relocation,
}

/// The encoding of a narrowOop or a narrowKlass. Its address is `base + (value << shift)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Narrow {
    pub base: usize,
    pub shift: u32,
}

impl Narrow {
    fn decode(self, number: usize) -> usize {
        self.base.wrapping_add(number.wrapping_shl(self.shift))
    }
}

/// How a field of an object refers to another object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OopEncoding {
    /// A reference field of an object has the other object's address.
    Full,
    /// A reference field of an object has a compressed oop.
    Narrow(Narrow),
    /// Generational ZGC is in use: a field has the address shifted left, with colour bits below it.
    GenerationalZ {
        /// Address of the `ZPointerLoadBadMask`. A pointer with one of the mask's bits is stale.
        bad_mask: usize,
        /// Address of the `ZPointerLoadShift`.
        load_shift: usize,
    },
    /// ZGC without generations is in use: the colour bits are part of the address, and the memory
    /// is mapped at each of these addresses.
    SingleGenerationZ {
        /// Address of the `XAddressBadMask`. A pointer with one of the mask's bits is stale.
        bad_mask: usize,
    },
}

/// How an object refers to its klass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KlassEncoding {
    /// The klass field of the object's header has the klass's address.
    Full,
    /// The klass field of the object's header has a compressed class pointer.
    Narrow(Narrow),
    /// Objects have compact headers: the narrow klass is in the mark word.
    CompactHeader(Narrow),
}

/// When the garbage collector moves objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relocation {
    /// Objects move during stop-the-world pauses. A pause does not wait for threads outside of
    /// Java, so such threads compare [`HeapEpoch`]s.
    AtPauses {
        /// Address of `CollectedHeap::_total_collections`.
        count: usize,
        /// Address of `CollectedHeap::_is_stw_gc_active`.
        is_active: usize,
    },
    /// Objects move at any time, and only threads in Java take part in the collector's handshakes.
    /// A forwarded object has its new address in its mark word.
    Concurrent,
}

/// The number of the collector's pauses so far. Values that were read in one epoch belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapEpoch(usize);

impl HeapLayout {
    /// Returns the present epoch of the heap. It is for a thread outside of Java, which no
    /// collector waits for. The result is `None` if objects may be moving.
    pub fn epoch(&self, memory: &impl Memory) -> Option<HeapEpoch> {
        let Relocation::AtPauses { count, is_active } = self.relocation else { return None };
        // The fences keep the order of the reads. Earlier reads belong to the earlier epoch, later
        // reads to this one. The JVM sets the active flag, then counts the pause, then moves
        // objects.
        fence(Ordering::Acquire);
        let count = memory.bytes(count, 4)?;
        fence(Ordering::Acquire);
        let still = memory.byte(is_active)? == 0;
        fence(Ordering::Acquire);
        still.then_some(HeapEpoch(count))
    }

    /// Loads the object that a field refers to. The result is 0 for null, and `None` if the
    /// reference is stale or unreadable.
    pub fn load_oop(&self, memory: &impl Memory, field: usize) -> Option<usize> {
        let object = match self.oops {
            OopEncoding::Full => memory.word(field)?,
            OopEncoding::Narrow(narrow) => {
                let number = memory.bytes(field, 4)?;
                if number == 0 { 0 } else { narrow.decode(number) }
            }
            OopEncoding::SingleGenerationZ { bad_mask } => {
                let coloured = memory.word(field)?;
                let is_old = coloured & memory.word(bad_mask)? != 0;
                (!is_old).then_some(coloured)?
            }
            OopEncoding::GenerationalZ { bad_mask, load_shift } => {
                let coloured = memory.word(field)?;
                // A null reference has colour bits, too, and ZGC never renews them.
                if coloured < COLOUR_LIMIT {
                    return Some(0);
                }
                let is_old = coloured & memory.word(bad_mask)? != 0;
                let shift = u32::try_from(memory.word(load_shift)?).ok()?;
                (!is_old).then(|| coloured.checked_shr(shift))??
            }
        };
        if object == 0 { Some(0) } else { self.forwardee(memory, object) }
    }

    /// Loads the object that an `OopHandle` of the JVM refers to. The result is 0 for null, and
    /// `None` if the reference is stale or unreadable.
    pub fn resolve_handle(&self, memory: &impl Memory, handle: usize) -> Option<usize> {
        // A handle has a full address, even where fields have compressed oops.
        let oops = match self.oops {
            OopEncoding::Narrow(_) => OopEncoding::Full,
            oops => oops,
        };
        Self { oops, ..*self }.load_oop(memory, handle)
    }

    /// Returns the address of an object, or its new address if it was forwarded.
    pub fn forwardee(&self, memory: &impl Memory, address: usize) -> Option<usize> {
        let may_be_object = |address: &usize| *address != 0 && address.is_multiple_of(size_of::<usize>());
        let address = Some(address).filter(may_be_object)?;
        let mark = memory.word(address)?;
        match self.relocation {
            _ if mark & FORWARDED != FORWARDED => Some(address),
            Relocation::Concurrent => Some(mark & !FORWARDED).filter(may_be_object),
            Relocation::AtPauses { .. } => None,
        }
    }

    /// Reads the klass of an object.
    pub fn klass(&self, memory: &impl Memory, object: usize) -> Option<usize> {
        let at = object.wrapping_add(KLASS);
        Some(match self.klasses {
            KlassEncoding::Full => memory.word(at)?,
            KlassEncoding::Narrow(narrow) => narrow.decode(memory.bytes(at, 4)?),
            KlassEncoding::CompactHeader(narrow) => {
                narrow.decode(memory.word(object)?.wrapping_shr(COMPACT_KLASS_SHIFT))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    const OBJECT: usize = 0x1000;
    const NARROW: Narrow = Narrow { base: 0x8000, shift: 3 };

    fn heap(oops: OopEncoding, klasses: KlassEncoding, relocation: Relocation) -> HeapLayout {
        HeapLayout { oops, klasses, relocation }
    }

    #[test]
    fn an_object_is_found_with_each_encoding_of_references() {
        let at_stops = Relocation::AtPauses { count: 0x20, is_active: 0x28 };
        let memory = |at: usize| match at {
            0x100 => Some(OBJECT),
            0x108 => Some(0x7_0000_0200),
            0x110 => Some(OBJECT << 13 | 0b10_0000),
            0x118 => Some(OBJECT << 13 | 0b100_0000),
            0x120 | 0x138 => Some(0b100_0000),
            0x128 => Some(13),
            0x130 => Some(0),
            OBJECT => Some(1),
            0x9038 => Some(5),
            0x9000 => Some(3 << 42 | 1),
            _ => None,
        };
        let whole = heap(OopEncoding::Full, KlassEncoding::Full, at_stops);
        assert_eq!(whole.load_oop(&memory, 0x100), Some(OBJECT));
        assert_eq!(whole.load_oop(&memory, 0x130), Some(0));
        let narrow = heap(OopEncoding::Narrow(NARROW), KlassEncoding::CompactHeader(NARROW), at_stops);
        assert_eq!(narrow.load_oop(&memory, 0x108), Some(0x9000), "a u32");
        assert_eq!(narrow.load_oop(&memory, 0x10c), None, "7 is not the address of an object");
        assert_eq!(narrow.klass(&memory, 0x9000), Some(0x8018));
        let marked = heap(
            OopEncoding::GenerationalZ { bad_mask: 0x120, load_shift: 0x128 },
            KlassEncoding::Full,
            Relocation::Concurrent,
        );
        assert_eq!(marked.load_oop(&memory, 0x110), Some(OBJECT));
        assert_eq!(marked.load_oop(&memory, 0x118), None, "the reference is stale");
        assert_eq!(marked.load_oop(&memory, 0x138), Some(0), "null is never stale");
    }

    #[test]
    fn a_forwarded_object_is_followed_only_with_a_concurrent_collector() {
        let memory = |at: usize| match at {
            OBJECT => Some(0x2000 | FORWARDED),
            _ => None,
        };
        let heap = |relocation| heap(OopEncoding::Full, KlassEncoding::Full, relocation);
        assert_eq!(heap(Relocation::Concurrent).forwardee(&memory, OBJECT), Some(0x2000));
        assert_eq!(heap(Relocation::AtPauses { count: 0, is_active: 0 }).forwardee(&memory, OBJECT), None);
        assert_eq!(heap(Relocation::Concurrent).forwardee(&memory, 0), None);
    }

    #[test]
    fn a_pause_that_begins_between_the_two_reads_changes_the_epoch() {
        // The pause begins just after the flag was read.
        let (count, is_active) = (Cell::new(7), Cell::new(0));
        let memory = |at: usize| match at {
            0x20 => Some(count.get()),
            0x28 => {
                let was = is_active.get();
                (count.get() == 7).then(|| count.set(8));
                Some(was)
            }
            _ => None,
        };
        let heap = heap(
            OopEncoding::Full,
            KlassEncoding::Full,
            Relocation::AtPauses { count: 0x20, is_active: 0x28 },
        );
        let first = heap.epoch(&memory);
        assert!(first.is_some() && heap.epoch(&memory) != first);
    }

    #[test]
    fn an_epoch_ends_with_a_pause() {
        let at = |count: usize, is_active: usize| {
            let memory = move |at: usize| match at {
                0x20 => Some(count),
                0x28 => Some(is_active),
                _ => None,
            };
            heap(
                OopEncoding::Full,
                KlassEncoding::Full,
                Relocation::AtPauses { count: 0x20, is_active: 0x28 },
            )
            .epoch(&memory)
        };
        assert!(at(7, 0).is_some() && at(7, 0) == at(7, 0) && at(7, 0) != at(8, 0));
        assert_eq!(at(7, 1), None);
        assert_eq!(
            heap(OopEncoding::Full, KlassEncoding::Full, Relocation::Concurrent).epoch(&|_| Some(0)),
            None
        );
    }
}
