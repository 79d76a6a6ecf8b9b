//! Whom a thread runs as: itself, or a virtual thread that it carries, with that one's id and name.
//!
//! It is read where the JVM and Java have it, under the rule by which chunks are: it must never
//! tell of an object that may have been moved meanwhile. What a thread is called may change while
//! it is read: so a name is a claim, and no more.
//!
//! # Invariants
//!
//! **Invariant 30.** A sample of a virtual thread names that thread, or says that it is unknown. It
//! never names another one. Held by: `agent/src/record/tests/carried.rs`,
//! `recording/tests/apart.rs`; `java-tests/profile/VirtualNames.java`.

use super::heap::{Classes, HeapLayout};
use crate::memory::Memory;

/// So much of a name is read, in words and in bytes.
pub const NAME_WORDS: usize = 16;
pub const NAME_BYTES: usize = NAME_WORDS * WORD;
const WORD: usize = size_of::<usize>();

/// Where it stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct CarriedLayout {
    /// In a JavaThread: the handle of the thread that it is, and of the one that it runs as.
    pub own: usize,
    pub current: usize,
    /// The class of virtual threads.
    pub class: usize,
    /// In a thread.
    pub id: usize,
    pub name: usize,
    /// In a string: its array, and whether each letter has two bytes; and in the array its first
    /// byte.
    pub letters: usize,
    pub wide: usize,
    pub first: usize,
}

/// A thread's name, as far as there is room for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Name {
    pub words: [u64; NAME_WORDS],
    pub bytes: u8,
    /// Each letter has two of them.
    pub wide: bool,
    /// It could not be read.
    pub unread: bool,
}

/// Whom a thread runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    Itself,
    Virtual(u64),
    /// It may be a virtual thread's carrier, and nobody can tell.
    Unknown,
}

impl CarriedLayout {
    /// Whom this JavaThread runs as, and what that one is called. `in_java`: nothing is moved while
    /// it is looked at.
    pub fn whom(
        &self,
        heap: &HeapLayout,
        memory: &impl Memory,
        java_thread: usize,
        in_java: bool,
        name: &mut Name,
    ) -> Whom {
        let handle = |at: usize| memory.word(java_thread.wrapping_add(at));
        let (Some(own), Some(current)) = (handle(self.own), handle(self.current)) else {
            return Whom::Unknown;
        };
        // A thread that is just beginning has none. Of two references to one object the one may
        // have been renewed, and the other not yet.
        if own == 0 || current == 0 || memory.word(own) == memory.word(current) {
            return Whom::Itself;
        }
        let moment = if in_java { None } else { heap.moment(memory) };
        if !in_java && moment.is_none() {
            return Whom::Unknown;
        }
        let told = self.told(heap, memory, current, name);
        let is_of_one_moment = in_java || heap.moment(memory) == moment;
        told.filter(|_| is_of_one_moment).unwrap_or(Whom::Unknown)
    }

    /// What the thread says that a handle holds; `None` if that cannot be read.
    fn told(&self, heap: &HeapLayout, memory: &impl Memory, handle: usize, name: &mut Name) -> Option<Whom> {
        let thread = heap.held(memory, handle).filter(|thread| *thread != 0)?;
        if heap.class(memory, thread)? != self.class {
            return Some(Whom::Itself);
        }
        let id = memory.word(thread.wrapping_add(self.id)).filter(|id| *id != 0)?;
        if self.name(heap, memory, thread, name).is_none() {
            *name = Name { unread: true, ..Name::default() };
        }
        Some(Whom::Virtual(id as u64))
    }

    /// `None` if it cannot be read; most virtual threads have an empty one.
    fn name(&self, heap: &HeapLayout, memory: &impl Memory, thread: usize, name: &mut Name) -> Option<()> {
        let text = heap.follow(memory, thread.wrapping_add(self.name)).filter(|text| *text != 0)?;
        let letters = heap.follow(memory, text.wrapping_add(self.letters)).filter(|letters| *letters != 0)?;
        let wide = memory.byte(text.wrapping_add(self.wide))? == 1;
        let length = memory.int(letters.wrapping_add(heap.classes.array_length()))?;
        let bytes = usize::try_from(length).ok()?.min(NAME_BYTES);
        let mut at = letters.wrapping_add(self.first);
        let mut left = bytes;
        for word in &mut name.words {
            if left == 0 {
                break;
            }
            let count = left.min(WORD);
            *word = memory.bytes(at, count)? as u64;
            at = at.wrapping_add(count);
            left = left.wrapping_sub(count);
        }
        name.bytes = u8::try_from(bytes).ok()?;
        name.wide = wide;
        Some(())
    }
}

impl Classes {
    /// Where an array has how long it is.
    const fn array_length(self) -> usize {
        match self {
            Self::Whole => 16,
            Self::Narrow(_) => 12,
            Self::Compact(_) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use core::cell::Cell;
    use std::collections::HashMap;

    use super::*;
    use crate::hotspot::heap::{Moves, Pointers};

    const THREAD: usize = 0x1000;
    const OWN: usize = 0x2000;
    const CURRENT: usize = 0x2008;
    const PLATFORM: usize = 0x3000;
    const VIRTUAL: usize = 0x4000;
    const TEXT: usize = 0x5000;
    const LETTERS: usize = 0x6000;
    const CLASS: usize = 0x7000;
    const PAUSES: usize = 0x8000;
    const PAUSE: usize = 0x8008;

    const LAYOUT: CarriedLayout = CarriedLayout {
        own: 8,
        current: 16,
        class: CLASS,
        id: 16,
        name: 24,
        letters: 16,
        wide: 24,
        first: 20,
    };
    const HEAP: HeapLayout = HeapLayout {
        pointers: Pointers::Whole,
        classes: Classes::Whole,
        moves: Moves::AtStops { count: PAUSES, going_on: PAUSE },
    };

    /// A carrier of a virtual thread whose name has these bytes.
    fn carrier(name: &[u8], wide: bool) -> HashMap<usize, usize> {
        let mut words: HashMap<usize, usize> = [
            (THREAD + 8, OWN),
            (THREAD + 16, CURRENT),
            (OWN, PLATFORM),
            (CURRENT, VIRTUAL),
            (PLATFORM, 1),
            (PLATFORM + 8, CLASS + 8),
            (VIRTUAL, 1),
            (VIRTUAL + 8, CLASS),
            (VIRTUAL + 16, 77),
            (VIRTUAL + 24, TEXT),
            (TEXT, 1),
            (TEXT + 16, LETTERS),
            (TEXT + 24, usize::from(wide)),
            (LETTERS, 1),
            (PAUSES, 3),
            (PAUSE, 0),
        ]
        .into();
        let length = u32::try_from(name.len()).unwrap().to_le_bytes();
        let array: std::vec::Vec<u8> = length.iter().chain(name).copied().collect();
        for (at, chunk) in array.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..chunk.len()].copy_from_slice(chunk);
            words.insert(LETTERS + 16 + at * WORD, usize::from_le_bytes(word));
        }
        words
    }

    const UNREAD: Name = Name { words: [0; NAME_WORDS], bytes: 0, wide: false, unread: true };

    fn whom(words: &HashMap<usize, usize>, in_java: bool) -> (Whom, Name) {
        let mut name = Name::default();
        let memory = |at: usize| words.get(&at).copied();
        (LAYOUT.whom(&HEAP, &memory, THREAD, in_java, &mut name), name)
    }

    fn text(name: &Name) -> std::vec::Vec<u8> {
        let bytes = name.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(name.bytes.into()).collect()
    }

    #[test]
    fn a_carrier_tells_whom_it_carries_and_how_that_one_is_called() {
        for in_java in [true, false] {
            let (carried, name) = whom(&carrier(b"worker-1031", false), in_java);
            assert_eq!(
                (carried, text(&name), name.wide),
                (Whom::Virtual(77), b"worker-1031".to_vec(), false)
            );
        }
        let (carried, name) = whom(&carrier(&[0xa9, 3, 0xb1, 3], true), true);
        assert_eq!((carried, text(&name), name.wide), (Whom::Virtual(77), std::vec![0xa9, 3, 0xb1, 3], true));
        let (carried, name) = whom(&carrier(&[b'x'; 500], false), true);
        assert_eq!((carried, text(&name)), (Whom::Virtual(77), std::vec![b'x'; NAME_BYTES]));
    }

    #[test]
    fn one_without_a_name_or_whose_name_cannot_be_read_has_its_id() {
        assert_eq!(whom(&carrier(b"", false), true), (Whom::Virtual(77), Name::default()));
        for lacking in [VIRTUAL + 24, TEXT + 16, LETTERS + 24] {
            let mut words = carrier(b"worker-1031", false);
            words.remove(&lacking);
            let (carried, name) = whom(&words, true);
            assert_eq!((carried, name), (Whom::Virtual(77), UNREAD), "{lacking:x}");
        }
    }

    #[test]
    fn who_runs_as_itself_carries_nobody() {
        let mut words = carrier(b"worker", false);
        words.insert(CURRENT, PLATFORM);
        // Whatever the collector does.
        words.insert(PAUSE, 1);
        assert_eq!(whom(&words, false), (Whom::Itself, Name::default()));
        words.insert(THREAD + 16, 0);
        assert_eq!(whom(&words, false).0, Whom::Itself, "it is just beginning");
        // The two references look different, and lead to one and the same, or to another that is no
        // virtual thread.
        let mut words = carrier(b"worker", false);
        words.insert(VIRTUAL + 8, CLASS + 8);
        assert_eq!(whom(&words, true), (Whom::Itself, Name::default()));
    }

    #[test]
    fn what_a_collector_has_marked_is_read_where_it_is_not_old() {
        let heap = HeapLayout {
            pointers: Pointers::Marked { old: PAUSES, shift: PAUSE },
            classes: Classes::Whole,
            moves: Moves::AnyTime,
        };
        let marked = |object: usize, mark: usize| object << 13 | mark;
        let told = |own: usize, current: usize, text: usize, in_java: bool| {
            let mut words = carrier(b"worker", false);
            words.extend([
                (OWN, own),
                (CURRENT, current),
                (VIRTUAL + 24, text),
                (TEXT + 16, marked(LETTERS, 0b10_0000)),
                (PAUSES, 0b100_0000),
                (PAUSE, 13),
            ]);
            let mut name = Name::default();
            let memory = |at: usize| words.get(&at).copied();
            let whom = LAYOUT.whom(&heap, &memory, THREAD, in_java, &mut name);
            (whom, name.bytes, name.unread)
        };
        let (good, old) = (0b10_0000, 0b100_0000);
        let text = marked(TEXT, good);
        assert_eq!(
            told(marked(PLATFORM, old), marked(VIRTUAL, good), text, true),
            (Whom::Virtual(77), 6, false)
        );
        assert_eq!(told(marked(PLATFORM, old), marked(PLATFORM, good), text, true).0, Whom::Itself);
        assert_eq!(told(marked(PLATFORM, good), marked(VIRTUAL, old), text, true).0, Whom::Unknown);
        let unread = told(marked(PLATFORM, good), marked(VIRTUAL, good), marked(TEXT, old), true);
        assert_eq!(unread, (Whom::Virtual(77), 0, true));
        // Outside of Java it may be moved while it is looked at.
        assert_eq!(told(marked(PLATFORM, good), marked(VIRTUAL, good), text, false).0, Whom::Unknown);
    }

    #[test]
    fn what_may_be_moving_or_is_no_virtual_thread_is_not_told_of() {
        let unknown = |at, value, in_java| {
            let mut words = carrier(b"worker", false);
            words.insert(at, value);
            assert_eq!(whom(&words, in_java).0, Whom::Unknown);
        };
        unknown(PAUSE, 1, false);
        unknown(VIRTUAL + 16, 0, true);
        unknown(CURRENT, 7, true);
        // A pause that begins meanwhile.
        let words = carrier(b"worker", false);
        let looks = Cell::new(0);
        let memory = |at: usize| {
            if at == PAUSES {
                looks.set(looks.get() + 1);
                return Some(looks.get());
            }
            words.get(&at).copied()
        };
        let mut name = Name::default();
        assert_eq!(LAYOUT.whom(&HEAP, &memory, THREAD, false, &mut name), Whom::Unknown);
        assert_eq!(looks.get(), 2);
    }
}
