//! VMStructs: the offsets of some of HotSpot's own fields, which every HotSpot exports for its
//! debugger.
//!
//! Used where the agent came late: a thread that was there before it has its JavaThread in a field
//! of its Java object, and its kernel id two steps further. Reads of a thread's fields go through
//! the kernel, so that one that dies meanwhile gives an error and no fault. And used for the JVM's
//! flags, which lie still.

use std::ffi::{CStr, c_char};

use vouch_walk::kernel::peek;

use vouch_walk::code_cache::{CodeCache, MAX_HEAPS};

use super::HotSpot;

/// Where a JavaThread keeps the kernel's id of its thread.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLayout {
    os_thread: usize,
    thread_id: usize,
}

impl ThreadLayout {
    /// Reads the exported tables; `None` if this JVM's are not as expected.
    pub fn of(hotspot: &HotSpot) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let os_thread = table.offset("Thread", "_osthread").or(table.offset("JavaThread", "_osthread"))?;
        Some(Self { os_thread, thread_id: table.offset("OSThread", "_thread_id")? })
    }

    /// The kernel's id of the thread whose JavaThread lies at `java_thread`.
    pub fn tid(self, java_thread: usize) -> Option<u32> {
        let os_thread = read(java_thread.checked_add(self.os_thread)?)?;
        // `_thread_id` is a pid_t.
        read_half(os_thread.checked_add(self.thread_id)?).filter(|tid| *tid != 0)
    }
}

/// Where a JavaThread has the handles of two thread objects.
#[derive(Debug, Clone, Copy)]
pub struct JavaThreadHandles {
    /// The thread that it is.
    pub own: usize,
    /// The thread that it runs as: itself, or a virtual thread.
    pub current: usize,
}

impl JavaThreadHandles {
    /// Reads the exported tables; `None` where there are no virtual threads.
    pub fn new(hotspot: &HotSpot) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let offset = |field| table.offset("JavaThread", field);
        Some(Self { own: offset("_threadObj")?, current: offset("_vthread")? })
    }
}

/// Where code lies, and where a JavaThread keeps its stack's place and what it left Java with.
#[derive(Debug, Clone, Copy)]
pub struct CodeLayout {
    pub interpreter: (usize, usize),
    /// Whose code lies where; `None` if the JVM does not tell.
    pub blobs: Option<CodeCache>,
    /// Of the end of the stack at which a thread began, and of the stack's size, in a JavaThread.
    pub stack: Option<(usize, usize)>,
    /// Of a JavaThread's state.
    pub state: usize,
    /// Of the last Java frame's registers, in a JavaThread. Where the pc is 0 it stands below what
    /// the stack pointer says.
    pub last_sp: usize,
    pub last_pc: usize,
    pub last_fp: Option<usize>,
}

impl CodeLayout {
    /// Reads the exported tables, once the JVM has its interpreter.
    pub fn of(hotspot: &HotSpot) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let queue = still(table.address("AbstractInterpreter", "_code")?);
        let begin = read(queue.checked_add(table.offset("StubQueue", "_stub_buffer")?)?)?;
        let size = read_half(queue.checked_add(table.offset("StubQueue", "_buffer_limit")?)?)?;
        let anchor = table.offset("JavaThread", "_anchor")?;
        Some(Self {
            interpreter: (begin, begin.checked_add(usize::try_from(size).ok()?)?),
            blobs: blobs(hotspot, &table),
            stack: stack(&table),
            state: table.offset("JavaThread", "_thread_state")?,
            last_sp: anchor + table.offset("JavaFrameAnchor", "_last_Java_sp")?,
            last_pc: anchor + table.offset("JavaFrameAnchor", "_last_Java_pc")?,
            last_fp: table.offset("JavaFrameAnchor", "_last_Java_fp").map(|offset| anchor + offset),
        })
    }
}

/// The heaps of the code cache, and what lies where in them.
fn blobs(hotspot: &HotSpot, table: &Table) -> Option<CodeCache> {
    let (heaps, dead) = if let Some(heaps) = table.address("CodeCache", "_heaps") {
        (several(table, still(heaps))?, 3)
    } else {
        // Until JDK 9 there was one, and a method had a state less.
        let mut heaps = [0; MAX_HEAPS];
        heaps[0] = still(table.address("CodeCache", "_heap")?);
        (heaps, 2)
    };
    let memory = table.offset("CodeHeap", "_memory")?;
    let (low, high) = (table.offset("VirtualSpace", "_low")?, table.offset("VirtualSpace", "_high")?);
    Some(CodeCache {
        heaps,
        low: memory + low,
        high: memory + high,
        segmap: table.offset("CodeHeap", "_segmap")? + low,
        log2_segment_size: table.offset("CodeHeap", "_log2_segment_size")?,
        used: table.offset("HeapBlock::Header", "_used")?,
        header_size: size_of_type(hotspot, "HeapBlock")?,
        name: table.offset("CodeBlob", "_name")?,
        size: table.offset("CodeBlob", "_size")?,
        state: table.offset("nmethod", "_state")?,
        first_dead_state: dead,
    })
}

/// The pointers in a growable array of the JVM's, if they are not too many.
fn several(table: &Table, array: usize) -> Option<[usize; MAX_HEAPS]> {
    // The type that has its length got another name.
    let length = ["GrowableArrayBase", "GenericGrowableArray"];
    let length = length.into_iter().find_map(|kind| table.offset(kind, "_len"))?;
    let length = usize::try_from(read_half(array.checked_add(length)?)?).ok()?;
    let data = read(array.checked_add(table.offset("GrowableArray<int>", "_data")?)?)?;
    let mut found = [0; MAX_HEAPS];
    for (place, heap) in found.get_mut(..length)?.iter_mut().enumerate() {
        *heap = read(data.checked_add(place * size_of::<usize>())?)?;
    }
    Some(found)
}

/// Where a JavaThread keeps the end of its stack and the stack's size. The fields are those of its
/// base in newer versions.
fn stack(table: &Table) -> Option<(usize, usize)> {
    let of = |name| ["JavaThread", "Thread"].into_iter().find_map(|kind| table.offset(kind, name));
    Some((of("_stack_base")?, of("_stack_size")?))
}

/// The value of a flag of the JVM's that is on or off; `None` if it has none of this name.
pub fn flag(hotspot: &HotSpot, name: &str) -> Option<bool> {
    Flag::of(hotspot, name).map(Flag::is_on)
}

/// A flag that the JVM may turn on or off while it runs.
#[derive(Debug, Clone, Copy)]
pub struct Flag(usize);

impl Flag {
    /// `None` if it has none of this name.
    pub fn of(hotspot: &HotSpot, name: &str) -> Option<Self> {
        place_of_flag(hotspot, name).map(Self)
    }

    pub fn is_on(self) -> bool {
        // SAFETY: the address of a flag's value, which is a C++ bool and never goes.
        unsafe { (self.0 as *const u8).read_volatile() != 0 }
    }
}

fn place_of_flag(hotspot: &HotSpot, name: &str) -> Option<usize> {
    let table = Table::of(hotspot)?;
    // Until JDK 9 the type had another name.
    let kind = ["JVMFlag", "Flag"].into_iter().find(|kind| table.address(kind, "flags").is_some())?;
    let (flags, count) = (still(table.address(kind, "flags")?), still(table.address(kind, "numFlags")?));
    let (text, value) = (table.offset(kind, "_name")?, table.offset(kind, "_addr")?);
    let size = size_of_type(hotspot, kind)?;
    let place = |index: usize| flags + index * size;
    // The last of them is a sentinel without a name.
    let found = (0..count).find(|index| is_text(still(place(*index) + text), name))?;
    Some(still(place(found) + value))
}

/// The table of fields, with the layout of its own entries.
pub(super) struct Table {
    rows: Rows,
    field_name: usize,
    offset: usize,
    address: usize,
}

impl Table {
    pub(super) fn of(hotspot: &HotSpot) -> Option<Self> {
        let word = |name| exported(hotspot, name);
        Some(Self {
            rows: Rows {
                entry: word(c"gHotSpotVMStructs")?,
                stride: word(c"gHotSpotVMStructEntryArrayStride")?,
                type_name: word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            },
            field_name: word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: word(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: word(c"gHotSpotVMStructEntryAddressOffset")?,
        })
    }

    /// The offset of a field, by the names that the VM's sources give it.
    pub(super) fn offset(&self, type_name: &str, field_name: &str) -> Option<usize> {
        Some(still(self.entry(type_name, field_name)? + self.offset))
    }

    /// The address of a static field.
    pub(super) fn address(&self, type_name: &str, field_name: &str) -> Option<usize> {
        Some(still(self.entry(type_name, field_name)? + self.address)).filter(|address| *address != 0)
    }

    fn entry(&self, type_name: &str, field_name: &str) -> Option<usize> {
        self.rows.of_type(type_name).find(|entry| is_text(still(entry + self.field_name), field_name))
    }
}

/// The size of a type, from the table of types.
pub(super) fn size_of_type(hotspot: &HotSpot, name: &str) -> Option<usize> {
    let word = |name| exported(hotspot, name);
    let rows = Rows {
        entry: word(c"gHotSpotVMTypes")?,
        stride: word(c"gHotSpotVMTypeEntryArrayStride")?,
        type_name: word(c"gHotSpotVMTypeEntryTypeNameOffset")?,
    };
    let size = word(c"gHotSpotVMTypeEntrySizeOffset")?;
    let found = rows.of_type(name).next()?;
    Some(still(found + size)).filter(|size| *size > 0)
}

/// The value of a constant, from the table of those.
pub(super) fn constant(hotspot: &HotSpot, name: &str) -> Option<i32> {
    let word = |name| exported(hotspot, name);
    let rows = Rows {
        entry: word(c"gHotSpotVMIntConstants")?,
        stride: word(c"gHotSpotVMIntConstantEntryArrayStride")?,
        type_name: word(c"gHotSpotVMIntConstantEntryNameOffset")?,
    };
    let found = rows.of_type(name).next()?;
    read_half(found + word(c"gHotSpotVMIntConstantEntryValueOffset")?).map(u32::cast_signed)
}

/// An exported table: where its first entry is, how far apart they are, and where in each is the
/// name of a type.
#[derive(Clone, Copy)]
struct Rows {
    entry: usize,
    stride: usize,
    type_name: usize,
}

impl Rows {
    /// The entries that are of this type.
    fn of_type(self, name: &str) -> impl Iterator<Item = usize> {
        // The tables have some 3,000 entries; the bound is against one that never ends.
        let entries = (0..100_000_usize).map(move |index| self.entry + index * self.stride);
        // The last entry has no type name.
        let named = entries
            .map(move |entry| (entry, still(entry + self.type_name)))
            .take_while(|(_, text)| *text != 0);
        named.filter(move |(_, text)| is_text(*text, name)).map(|(entry, _)| entry)
    }
}

/// Whether the C string that lies at `pointer` is this one. Most differ in their first bytes, and
/// thousands are asked: none is measured first.
fn is_text(pointer: usize, text: &str) -> bool {
    // SAFETY: see `text_of`; no byte is read behind one that differs, and so none behind the
    // string's end, which is a zero.
    let byte = |index: usize| unsafe { (pointer as *const u8).add(index).read() };
    pointer != 0 && text.bytes().chain([0]).enumerate().all(|(index, wanted)| byte(index) == wanted)
}

/// The C string that lies at an address.
pub(super) fn text_of(pointer: usize) -> Option<&'static str> {
    // SAFETY: names in the exported tables, those of the flags, and those of the interpreter's
    // parts, are string constants of the JVM's library, which is never unloaded.
    unsafe { CStr::from_ptr(pointer as *const c_char) }.to_str().ok()
}

/// The value of an exported word.
fn exported(hotspot: &HotSpot, name: &CStr) -> Option<usize> {
    hotspot.symbol(name).map(|address| still(address as usize))
}

/// A word of an exported table's, or of what it leads to in the JVM's library.
fn still(address: usize) -> usize {
    // SAFETY: the tables and the flags are data of a library that is never unloaded.
    unsafe { (address as *const usize).read_unaligned() }
}

/// Reads a word of this process's memory; `None` where there is none.
pub fn read(address: usize) -> Option<usize> {
    peek::<1>(address).map(|[word]| word)
}

/// Reads half a word, such as a C++ int.
pub fn read_half(address: usize) -> Option<u32> {
    u32::try_from(read(address)? & 0xffff_ffff).ok()
}
