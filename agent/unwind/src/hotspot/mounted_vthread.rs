//! Reads the id and the name of the virtual thread that a carrier runs.
//!
//! The id and the name are read from the Java objects, so an object that may have been moved in the
//! meantime must never be used. The JVM or the program may change a name while it is read, so a
//! name is only a hint.
//!
//! # Invariants
//!
//! **Invariant 30.** A sample of a virtual thread names that thread, or says that it is unknown. It
//! never names another one. Held by: `agent/collect/src/record/tests/mounted_vthread.rs`,
//! `recording/tests/virtual_threads.rs`; `java-tests/profile/VirtualNames.java`.

use super::heap::{HeapLayout, KlassEncoding};
use crate::memory::Memory;

/// The maximal number of words that are read of a thread's name.
pub const NAME_WORDS: usize = 16;
/// The maximal number of bytes that are read of a thread's name.
pub const NAME_BYTES: usize = NAME_WORDS * WORD;
const WORD: usize = size_of::<usize>();

/// Offsets that lead from a JavaThread to the id and name of its virtual thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct MountedVthreadLayout {
    /// Offset of `JavaThread::_threadObj`, the handle of the carrier's own thread object.
    pub thread_obj: usize,
    /// Offset of `JavaThread::_vthread`, the handle of the current thread object.
    pub vthread: usize,
    /// The klass of `java.lang.VirtualThread`.
    pub klass: usize,
    /// Offset of `Thread.tid`, the thread's id.
    pub tid: usize,
    /// Offset of `Thread.name`.
    pub name: usize,
    /// Offset of `String.value`, the array of bytes.
    pub string_value: usize,
    /// Offset of `String.coder`, which is 1 if each letter has two bytes.
    pub string_coder: usize,
    /// Offset of the first byte in an array.
    pub array_base: usize,
}

/// The name of a virtual thread, cut to [`NAME_BYTES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VthreadName {
    pub words: [u64; NAME_WORDS],
    /// The number of bytes of `words` that the name uses.
    pub bytes: u8,
    /// True if each letter of the name has two bytes.
    pub wide: bool,
    /// True if the thread's name could not be read.
    pub unread: bool,
}

/// The Java thread that a JavaThread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurrentThread {
    /// The JavaThread runs as itself: its own thread object is current.
    Itself,
    /// The JavaThread runs the virtual thread with this id.
    Virtual(u64),
    /// The JavaThread may be a carrier, but its fields cannot be read now.
    Unknown,
}

impl MountedVthreadLayout {
    /// Reads which Java thread a JavaThread runs, and the name of that thread. With `in_java` the
    /// JavaThread is in Java, so no object is moved while it is read.
    pub fn current_thread(
        &self,
        heap: &HeapLayout,
        memory: &impl Memory,
        java_thread: usize,
        in_java: bool,
        name: &mut VthreadName,
    ) -> CurrentThread {
        let handle = |at: usize| memory.word(java_thread.wrapping_add(at));
        let (Some(thread_obj), Some(vthread)) = (handle(self.thread_obj), handle(self.vthread)) else {
            return CurrentThread::Unknown;
        };
        // A new thread has no handles yet. Different words may refer to the same object: ZGC may
        // have renewed only one of the two references.
        if thread_obj == 0 || vthread == 0 || memory.word(thread_obj) == memory.word(vthread) {
            return CurrentThread::Itself;
        }
        let epoch = if in_java { None } else { heap.epoch(memory) };
        if !in_java && epoch.is_none() {
            return CurrentThread::Unknown;
        }
        let found = self.vthread_at(heap, memory, vthread, name);
        let is_heap_unchanged = in_java || heap.epoch(memory) == epoch;
        found.filter(|_| is_heap_unchanged).unwrap_or(CurrentThread::Unknown)
    }

    /// Reads the id of the thread object that a handle refers to. The result is `None` if the
    /// object cannot be read.
    fn vthread_at(
        &self,
        heap: &HeapLayout,
        memory: &impl Memory,
        handle: usize,
        name: &mut VthreadName,
    ) -> Option<CurrentThread> {
        let thread = heap.resolve_handle(memory, handle).filter(|thread| *thread != 0)?;
        if heap.klass(memory, thread)? != self.klass {
            return Some(CurrentThread::Itself);
        }
        let id = memory.word(thread.wrapping_add(self.tid)).filter(|id| *id != 0)?;
        if self.name(heap, memory, thread, name).is_none() {
            *name = VthreadName { unread: true, ..VthreadName::default() };
        }
        Some(CurrentThread::Virtual(id as u64))
    }

    /// Reads the name of a virtual thread. The result is `None` if it cannot be read. Most virtual
    /// threads have an empty name.
    fn name(
        &self,
        heap: &HeapLayout,
        memory: &impl Memory,
        thread: usize,
        name: &mut VthreadName,
    ) -> Option<()> {
        let text = heap.load_oop(memory, thread.wrapping_add(self.name)).filter(|text| *text != 0)?;
        let letters =
            heap.load_oop(memory, text.wrapping_add(self.string_value)).filter(|letters| *letters != 0)?;
        let wide = memory.byte(text.wrapping_add(self.string_coder))? == 1;
        let length = memory.int(letters.wrapping_add(heap.klasses.array_length()))?;
        let bytes = usize::try_from(length).ok()?.min(NAME_BYTES);
        let mut at = letters.wrapping_add(self.array_base);
        let mut remaining = bytes;
        for word in &mut name.words {
            if remaining == 0 {
                break;
            }
            let count = remaining.min(WORD);
            *word = memory.bytes(at, count)? as u64;
            at = at.wrapping_add(count);
            remaining = remaining.wrapping_sub(count);
        }
        name.bytes = u8::try_from(bytes).ok()?;
        name.wide = wide;
        Some(())
    }
}

impl KlassEncoding {
    /// Returns the offset of a Java array's length.
    const fn array_length(self) -> usize {
        match self {
            Self::Full => 16,
            Self::Narrow(_) => 12,
            Self::CompactHeader(_) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use core::cell::Cell;
    use std::collections::HashMap;

    use super::*;
    use crate::hotspot::heap::{OopEncoding, Relocation};

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

    const LAYOUT: MountedVthreadLayout = MountedVthreadLayout {
        thread_obj: 8,
        vthread: 16,
        klass: CLASS,
        tid: 16,
        name: 24,
        string_value: 16,
        string_coder: 24,
        array_base: 20,
    };
    const HEAP: HeapLayout = HeapLayout {
        oops: OopEncoding::Full,
        klasses: KlassEncoding::Full,
        relocation: Relocation::AtPauses { count: PAUSES, is_active: PAUSE },
    };

    /// Returns the memory of a carrier that has mounted a virtual thread with this name, for tests.
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

    const UNREAD: VthreadName = VthreadName { words: [0; NAME_WORDS], bytes: 0, wide: false, unread: true };

    fn current_thread(words: &HashMap<usize, usize>, in_java: bool) -> (CurrentThread, VthreadName) {
        let mut name = VthreadName::default();
        let memory = |at: usize| words.get(&at).copied();
        (LAYOUT.current_thread(&HEAP, &memory, THREAD, in_java, &mut name), name)
    }

    fn text(name: &VthreadName) -> std::vec::Vec<u8> {
        let bytes = name.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(name.bytes.into()).collect()
    }

    #[test]
    fn the_id_and_name_of_a_mounted_virtual_thread_are_read() {
        for in_java in [true, false] {
            let (carried, name) = current_thread(&carrier(b"worker-1031", false), in_java);
            assert_eq!(
                (carried, text(&name), name.wide),
                (CurrentThread::Virtual(77), b"worker-1031".to_vec(), false)
            );
        }
        let (carried, name) = current_thread(&carrier(&[0xa9, 3, 0xb1, 3], true), true);
        assert_eq!(
            (carried, text(&name), name.wide),
            (CurrentThread::Virtual(77), std::vec![0xa9, 3, 0xb1, 3], true)
        );
        let (carried, name) = current_thread(&carrier(&[b'x'; 500], false), true);
        assert_eq!((carried, text(&name)), (CurrentThread::Virtual(77), std::vec![b'x'; NAME_BYTES]));
    }

    #[test]
    fn a_virtual_thread_without_a_readable_name_still_has_its_id() {
        assert_eq!(
            current_thread(&carrier(b"", false), true),
            (CurrentThread::Virtual(77), VthreadName::default())
        );
        for lacking in [VIRTUAL + 24, TEXT + 16, LETTERS + 24] {
            let mut words = carrier(b"worker-1031", false);
            words.remove(&lacking);
            let (carried, name) = current_thread(&words, true);
            assert_eq!((carried, name), (CurrentThread::Virtual(77), UNREAD), "{lacking:x}");
        }
    }

    #[test]
    fn a_thread_that_runs_as_itself_has_no_virtual_thread() {
        let mut words = carrier(b"worker", false);
        words.insert(CURRENT, PLATFORM);
        // This holds also during a pause of the collector.
        words.insert(PAUSE, 1);
        assert_eq!(current_thread(&words, false), (CurrentThread::Itself, VthreadName::default()));
        words.insert(THREAD + 16, 0);
        assert_eq!(current_thread(&words, false).0, CurrentThread::Itself, "the thread is just starting");
        // The two references differ. They refer to the same object, or the second one refers to a
        // thread that is not virtual.
        let mut words = carrier(b"worker", false);
        words.insert(VIRTUAL + 8, CLASS + 8);
        assert_eq!(current_thread(&words, true), (CurrentThread::Itself, VthreadName::default()));
    }

    #[test]
    fn coloured_pointers_are_read_unless_they_are_stale() {
        let heap = HeapLayout {
            oops: OopEncoding::GenerationalZ { bad_mask: PAUSES, load_shift: PAUSE },
            klasses: KlassEncoding::Full,
            relocation: Relocation::Concurrent,
        };
        let marked = |object: usize, mark: usize| object << 13 | mark;
        let read = |own: usize, current: usize, text: usize, in_java: bool| {
            let mut words = carrier(b"worker", false);
            words.extend([
                (OWN, own),
                (CURRENT, current),
                (VIRTUAL + 24, text),
                (TEXT + 16, marked(LETTERS, 0b10_0000)),
                (PAUSES, 0b100_0000),
                (PAUSE, 13),
            ]);
            let mut name = VthreadName::default();
            let memory = |at: usize| words.get(&at).copied();
            let whom = LAYOUT.current_thread(&heap, &memory, THREAD, in_java, &mut name);
            (whom, name.bytes, name.unread)
        };
        let (good, old) = (0b10_0000, 0b100_0000);
        let text = marked(TEXT, good);
        assert_eq!(
            read(marked(PLATFORM, old), marked(VIRTUAL, good), text, true),
            (CurrentThread::Virtual(77), 6, false)
        );
        assert_eq!(read(marked(PLATFORM, old), marked(PLATFORM, good), text, true).0, CurrentThread::Itself);
        assert_eq!(read(marked(PLATFORM, good), marked(VIRTUAL, old), text, true).0, CurrentThread::Unknown);
        let unread = read(marked(PLATFORM, good), marked(VIRTUAL, good), marked(TEXT, old), true);
        assert_eq!(unread, (CurrentThread::Virtual(77), 0, true));
        // Outside of Java the object may be moved while it is read.
        assert_eq!(
            read(marked(PLATFORM, good), marked(VIRTUAL, good), text, false).0,
            CurrentThread::Unknown
        );
    }

    #[test]
    fn an_object_that_may_be_moving_or_is_no_virtual_thread_is_not_reported() {
        let unknown = |at, value, in_java| {
            let mut words = carrier(b"worker", false);
            words.insert(at, value);
            assert_eq!(current_thread(&words, in_java).0, CurrentThread::Unknown);
        };
        unknown(PAUSE, 1, false);
        unknown(VIRTUAL + 16, 0, true);
        unknown(CURRENT, 7, true);
        // A pause begins during the reads.
        let words = carrier(b"worker", false);
        let looks = Cell::new(0);
        let memory = |at: usize| {
            if at == PAUSES {
                looks.set(looks.get() + 1);
                return Some(looks.get());
            }
            words.get(&at).copied()
        };
        let mut name = VthreadName::default();
        assert_eq!(LAYOUT.current_thread(&HEAP, &memory, THREAD, false, &mut name), CurrentThread::Unknown);
        assert_eq!(looks.get(), 2);
    }
}
