//! Objects of Java's, as far as the way to a virtual thread's frames leads through some.
//!
//! A collector may move an object under a reader. Which one does so when is told by [`Moves`]:
//! nothing must be read where that cannot be seen. What an object is its class says, and nothing is
//! taken for one that has another.

use core::sync::atomic::{Ordering, fence};

use crate::memory::Memory;

/// Where the class lies in an object.
const CLASS: usize = 8;
/// In the first word of an object: what says that it has moved, and how far the class lies in it,
/// where it lies there.
const MOVED: usize = 3;
const CLASS_SHIFT: u32 = 42;
/// In a reference with marks: these are in its lowest two bytes.
const MARKS: usize = 1 << 16;

/// How this JVM has objects.
#[derive(Debug, Clone, Copy)]
pub struct HeapLayout {
    pub pointers: Pointers,
    pub classes: Classes,
    pub moves: Moves,
}

/// A number that is an address, so many bits to the right and so far from a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Narrow {
    pub base: usize,
    pub shift: u32,
}

impl Narrow {
    fn wide(self, number: usize) -> usize {
        self.base.wrapping_add(number.wrapping_shl(self.shift))
    }
}

/// How an object refers to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointers {
    Whole,
    Narrow(Narrow),
    /// With the collector's marks in it: where the mask of those lies that say that it leads to an
    /// old place, and where how far to the right the address stands.
    Marked {
        old: usize,
        shift: usize,
    },
    /// With such marks as leave it an address, which leads there whichever it has: where their mask
    /// lies.
    Coloured {
        old: usize,
    },
}

/// How an object refers to its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classes {
    Whole,
    Narrow(Narrow),
    /// In its first word.
    Compact(Narrow),
}

/// When the collector moves objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// While all threads are stopped: those in Java, and those outside where they are. Where the
    /// number of its pauses lies, and whether one is going on.
    AtStops { count: usize, going_on: usize },
    /// At any time; a thread that is in Java has been told of it. What has moved says where to.
    AnyTime,
}

/// What was read from a heap at one moment belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(usize);

impl HeapLayout {
    /// The moment, for a thread that is outside of Java, and that nobody waits for; `None` if
    /// objects may be moving.
    pub fn moment(&self, memory: &impl Memory) -> Option<Moment> {
        let Moves::AtStops { count, going_on } = self.moves else { return None };
        // In this order, whatever the processor would make of it: what was read before is of the
        // moment before; a pause is going on before it counts, and counts before anything is moved;
        // what is read afterwards is of this moment.
        fence(Ordering::Acquire);
        let count = memory.bytes(count, 4)?;
        fence(Ordering::Acquire);
        let still = memory.byte(going_on)? == 0;
        fence(Ordering::Acquire);
        still.then_some(Moment(count))
    }

    /// The object that a field refers to, 0 if it is none; `None` if nobody can tell.
    pub fn follow(&self, memory: &impl Memory, field: usize) -> Option<usize> {
        let object = match self.pointers {
            Pointers::Whole => memory.word(field)?,
            Pointers::Narrow(narrow) => {
                let number = memory.bytes(field, 4)?;
                if number == 0 { 0 } else { narrow.wide(number) }
            }
            Pointers::Coloured { old } => {
                let coloured = memory.word(field)?;
                let is_old = coloured & memory.word(old)? != 0;
                (!is_old).then_some(coloured)?
            }
            Pointers::Marked { old, shift } => {
                let marked = memory.word(field)?;
                // What refers to nothing has marks, too, and they are never renewed.
                if marked < MARKS {
                    return Some(0);
                }
                let is_old = marked & memory.word(old)? != 0;
                let shift = u32::try_from(memory.word(shift)?).ok()?;
                (!is_old).then(|| marked.checked_shr(shift))??
            }
        };
        if object == 0 { Some(0) } else { self.object(memory, object) }
    }

    /// The object that one of the JVM's own handles holds, at this address, 0 if it is none; `None`
    /// if nobody can tell.
    pub fn held(&self, memory: &impl Memory, handle: usize) -> Option<usize> {
        // There an object's address is whole, whatever a field has.
        let pointers = match self.pointers {
            Pointers::Narrow(_) => Pointers::Whole,
            pointers => pointers,
        };
        Self { pointers, ..*self }.follow(memory, handle)
    }

    /// The object at an address, or where it is now.
    pub fn object(&self, memory: &impl Memory, address: usize) -> Option<usize> {
        let is_one = |address: &usize| *address != 0 && address.is_multiple_of(size_of::<usize>());
        let address = Some(address).filter(is_one)?;
        let head = memory.word(address)?;
        match self.moves {
            _ if head & MOVED != MOVED => Some(address),
            Moves::AnyTime => Some(head & !MOVED).filter(is_one),
            Moves::AtStops { .. } => None,
        }
    }

    /// Its class.
    pub fn class(&self, memory: &impl Memory, object: usize) -> Option<usize> {
        let at = object.wrapping_add(CLASS);
        Some(match self.classes {
            Classes::Whole => memory.word(at)?,
            Classes::Narrow(narrow) => narrow.wide(memory.bytes(at, 4)?),
            Classes::Compact(narrow) => narrow.wide(memory.word(object)?.wrapping_shr(CLASS_SHIFT)),
        })
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    const OBJECT: usize = 0x1000;
    const NARROW: Narrow = Narrow { base: 0x8000, shift: 3 };

    fn heap(pointers: Pointers, classes: Classes, moves: Moves) -> HeapLayout {
        HeapLayout { pointers, classes, moves }
    }

    #[test]
    fn an_object_is_found_however_it_is_referred_to() {
        let at_stops = Moves::AtStops { count: 0x20, going_on: 0x28 };
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
        let whole = heap(Pointers::Whole, Classes::Whole, at_stops);
        assert_eq!(whole.follow(&memory, 0x100), Some(OBJECT));
        assert_eq!(whole.follow(&memory, 0x130), Some(0));
        let narrow = heap(Pointers::Narrow(NARROW), Classes::Compact(NARROW), at_stops);
        assert_eq!(narrow.follow(&memory, 0x108), Some(0x9000), "half a word");
        assert_eq!(narrow.follow(&memory, 0x10c), None, "7 is no object's address");
        assert_eq!(narrow.class(&memory, 0x9000), Some(0x8018));
        let marked = heap(Pointers::Marked { old: 0x120, shift: 0x128 }, Classes::Whole, Moves::AnyTime);
        assert_eq!(marked.follow(&memory, 0x110), Some(OBJECT));
        assert_eq!(marked.follow(&memory, 0x118), None, "it leads to an old place");
        assert_eq!(marked.follow(&memory, 0x138), Some(0), "nothing has no place, however old");
    }

    #[test]
    fn what_has_moved_is_followed_where_it_says_where_to() {
        let memory = |at: usize| match at {
            OBJECT => Some(0x2000 | MOVED),
            _ => None,
        };
        let heap = |moves| heap(Pointers::Whole, Classes::Whole, moves);
        assert_eq!(heap(Moves::AnyTime).object(&memory, OBJECT), Some(0x2000));
        assert_eq!(heap(Moves::AtStops { count: 0, going_on: 0 }).object(&memory, OBJECT), None);
        assert_eq!(heap(Moves::AnyTime).object(&memory, 0), None);
    }

    #[test]
    fn a_pause_between_two_looks_is_no_moment() {
        // One that begins when it was looked whether there is one.
        let (count, going_on) = (Cell::new(7), Cell::new(0));
        let memory = |at: usize| match at {
            0x20 => Some(count.get()),
            0x28 => {
                let was = going_on.get();
                (count.get() == 7).then(|| count.set(8));
                Some(was)
            }
            _ => None,
        };
        let heap = heap(Pointers::Whole, Classes::Whole, Moves::AtStops { count: 0x20, going_on: 0x28 });
        let first = heap.moment(&memory);
        assert!(first.is_some() && heap.moment(&memory) != first);
    }

    #[test]
    fn a_moment_ends_with_a_pause() {
        let at = |count: usize, going_on: usize| {
            let memory = move |at: usize| match at {
                0x20 => Some(count),
                0x28 => Some(going_on),
                _ => None,
            };
            heap(Pointers::Whole, Classes::Whole, Moves::AtStops { count: 0x20, going_on: 0x28 })
                .moment(&memory)
        };
        assert!(at(7, 0).is_some() && at(7, 0) == at(7, 0) && at(7, 0) != at(8, 0));
        assert_eq!(at(7, 1), None);
        assert_eq!(heap(Pointers::Whole, Classes::Whole, Moves::AnyTime).moment(&|_| Some(0)), None);
    }
}
