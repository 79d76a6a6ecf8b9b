//! VMStructs: the offsets of some of HotSpot's own fields, which every HotSpot exports for its
//! debugger.
//!
//! Used where the agent came late: a thread that was there before it has its JavaThread in a field
//! of its Java object, and its kernel id two steps further. Reads of a thread's fields go through
//! the kernel, so that one that dies meanwhile gives an error and no fault. And used for the JVM's
//! flags, which lie still.

use std::ffi::{CStr, c_char};

use vouch_walk::jvm_layout::JvmLayout;
use vouch_walk::kernel::peek;

use vouch_walk::code_cache::{CodeCache, MAX_HEAPS};

use crate::HotSpot;
use crate::fields::{self, Constant, Field, Flag, JdkName, Kind, Row, StaticField, Type};

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
        let os_thread = table.offset(&fields::THREAD_OSTHREAD)?;
        Some(Self { os_thread, thread_id: table.offset(&fields::OSTHREAD_THREAD_ID)? })
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
        Some(Self {
            own: table.offset(&fields::JAVA_THREAD_OBJ)?,
            current: table.offset(&fields::JAVA_THREAD_VTHREAD)?,
        })
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
        Self::new(&Table::of(hotspot)?)
    }

    pub(crate) fn new(table: &Table) -> Option<Self> {
        let queue = still(table.address(&fields::ABSTRACT_INTERPRETER_CODE)?);
        let begin = read(queue.checked_add(table.offset(&fields::STUB_QUEUE_STUB_BUFFER)?)?)?;
        let size = read_half(queue.checked_add(table.offset(&fields::STUB_QUEUE_BUFFER_LIMIT)?)?)?;
        let anchor = table.offset(&fields::JAVA_THREAD_ANCHOR)?;
        Some(Self {
            interpreter: (begin, begin.checked_add(usize::try_from(size).ok()?)?),
            blobs: blobs(table),
            stack: stack(table),
            state: table.offset(&fields::JAVA_THREAD_STATE)?,
            last_sp: anchor + table.offset(&fields::LAST_JAVA_SP)?,
            last_pc: anchor + table.offset(&fields::LAST_JAVA_PC)?,
            last_fp: table.offset(&fields::LAST_JAVA_FP).map(|offset| anchor + offset),
        })
    }

    /// What recovery and our own walker read of this JVM, or `None` if the JVM does not publish it.
    /// `env` is the offset of the JNIEnv in a JavaThread.
    pub fn jvm_layout(&self, env: usize) -> Option<JvmLayout> {
        let (begin, end) = self.interpreter;
        let (stack_base, stack_size) = self.stack?;
        Some(JvmLayout {
            env,
            stack_base,
            stack_size,
            last_sp: self.last_sp,
            last_pc: self.last_pc,
            last_fp: self.last_fp?,
            code_cache: self.blobs?,
            interpreter: begin..end,
        })
    }
}

/// The heaps of the code cache, and what lies where in them.
fn blobs(table: &Table) -> Option<CodeCache> {
    let (heaps, dead) = if let Some(heaps) = table.address(&fields::CODE_CACHE_HEAPS) {
        (several(table, still(heaps))?, 3)
    } else {
        // Until JDK 9 there was one, and a method had a state less.
        let mut heaps = [0; MAX_HEAPS];
        heaps[0] = still(table.address(&fields::CODE_CACHE_HEAP)?);
        (heaps, 2)
    };
    let memory = table.offset(&fields::CODE_HEAP_MEMORY)?;
    let (low, high) = (table.offset(&fields::VIRTUAL_SPACE_LOW)?, table.offset(&fields::VIRTUAL_SPACE_HIGH)?);
    Some(CodeCache {
        heaps,
        low: memory + low,
        high: memory + high,
        segmap: table.offset(&fields::CODE_HEAP_SEGMAP)? + low,
        log2_segment_size: table.offset(&fields::CODE_HEAP_LOG2_SEGMENT_SIZE)?,
        used: table.offset(&fields::HEAP_BLOCK_HEADER_USED)?,
        header_size: table.size(&fields::HEAP_BLOCK)?,
        name: table.offset(&fields::CODE_BLOB_NAME)?,
        size: table.offset(&fields::CODE_BLOB_SIZE)?,
        state: table.offset(&fields::NMETHOD_STATE)?,
        first_dead_state: dead,
    })
}

/// The pointers in a growable array of the JVM's, if they are not too many.
fn several(table: &Table, array: usize) -> Option<[usize; MAX_HEAPS]> {
    let length = table.offset(&fields::GROWABLE_ARRAY_LEN)?;
    let length = usize::try_from(read_half(array.checked_add(length)?)?).ok()?;
    let data = read(array.checked_add(table.offset(&fields::GROWABLE_ARRAY_DATA)?)?)?;
    let mut found = [0; MAX_HEAPS];
    for (place, heap) in found.get_mut(..length)?.iter_mut().enumerate() {
        *heap = read(data.checked_add(place * size_of::<usize>())?)?;
    }
    Some(found)
}

/// Where a JavaThread keeps the end of its stack and the stack's size.
pub(crate) fn stack(table: &Table) -> Option<(usize, usize)> {
    Some((table.offset(&fields::JAVA_THREAD_STACK_BASE)?, table.offset(&fields::JAVA_THREAD_STACK_SIZE)?))
}

/// The value of a flag; `None` if this JVM does not have it.
pub fn flag(hotspot: &HotSpot, flag: &Flag) -> Option<bool> {
    FlagValue::find(hotspot, flag).map(FlagValue::is_on)
}

/// A flag that the JVM may turn on or off while it runs.
#[derive(Debug, Clone, Copy)]
pub struct FlagValue(usize);

impl FlagValue {
    /// `None` if this JVM does not have the flag.
    pub fn find(hotspot: &HotSpot, flag: &Flag) -> Option<Self> {
        Table::of(hotspot)?.flag(flag).map(Self)
    }

    pub fn is_on(self) -> bool {
        // SAFETY: the address of a flag's value, which is a C++ bool and never goes.
        unsafe { (self.0 as *const u8).read_volatile() != 0 }
    }
}

/// What this JVM lacks of the names that its JDK has, and what is lost without: a sentence for each
/// loss.
pub fn missing(hotspot: &HotSpot, jdk: u32) -> Vec<String> {
    Table::of(hotspot).map_or_else(Vec::new, |table| table.missing(jdk))
}

/// HotSpot's tables of fields, types and constants, with the layout of their own entries.
#[derive(Debug)]
pub struct Table {
    fields: Rows,
    field_name: usize,
    offset: usize,
    address: usize,
    types: Rows,
    size: usize,
    constants: Rows,
    value: usize,
}

impl Table {
    pub(crate) fn of(hotspot: &HotSpot) -> Option<Self> {
        Self::new(|name| hotspot.symbol(name).map(|address| address as usize))
    }

    /// Finds the tables by the address of each exported symbol.
    pub(crate) fn new(symbol: impl Fn(&CStr) -> Option<usize>) -> Option<Self> {
        let word = |name| symbol(name).map(still);
        Some(Self {
            fields: Rows {
                entry: word(c"gHotSpotVMStructs")?,
                stride: word(c"gHotSpotVMStructEntryArrayStride")?,
                name: word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            },
            field_name: word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: word(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: word(c"gHotSpotVMStructEntryAddressOffset")?,
            types: Rows {
                entry: word(c"gHotSpotVMTypes")?,
                stride: word(c"gHotSpotVMTypeEntryArrayStride")?,
                name: word(c"gHotSpotVMTypeEntryTypeNameOffset")?,
            },
            size: word(c"gHotSpotVMTypeEntrySizeOffset")?,
            constants: Rows {
                entry: word(c"gHotSpotVMIntConstants")?,
                stride: word(c"gHotSpotVMIntConstantEntryArrayStride")?,
                name: word(c"gHotSpotVMIntConstantEntryNameOffset")?,
            },
            value: word(c"gHotSpotVMIntConstantEntryValueOffset")?,
        })
    }

    /// The offset of a field.
    pub(crate) fn offset(&self, field: &Field) -> Option<usize> {
        field.0.names.iter().find_map(|name| self.offset_by_name(name))
    }

    /// True if this JVM has the field.
    pub(crate) fn has(&self, field: &Field) -> bool {
        self.offset(field).is_some()
    }

    /// The address of a static field.
    pub(crate) fn address(&self, field: &StaticField) -> Option<usize> {
        field.0.names.iter().find_map(|name| self.address_by_name(name))
    }

    /// The size of a type.
    pub(crate) fn size(&self, of: &Type) -> Option<usize> {
        of.0.names.iter().find_map(|name| self.size_by_name(name))
    }

    /// The value of a constant.
    pub(crate) fn constant(&self, constant: &Constant) -> Option<i32> {
        constant.0.names.iter().find_map(|name| self.constant_by_name(name))
    }

    /// The address of a flag's value.
    fn flag(&self, flag: &Flag) -> Option<usize> {
        let (flags, count) = (
            still(self.address(&fields::JVM_FLAG_FLAGS)?),
            still(self.address(&fields::JVM_FLAG_NUM_FLAGS)?),
        );
        let (text, value) = (self.offset(&fields::JVM_FLAG_NAME)?, self.offset(&fields::JVM_FLAG_ADDR)?);
        let size = self.size(&fields::JVM_FLAG)?;
        let address = |index: usize| flags + index * size;
        // The last of them is a sentinel without a name.
        let by_name = |name: &JdkName| {
            (0..count).find(|index| is_text(still(address(*index) + text), name.name)).map(address)
        };
        Some(still(flag.0.names.iter().find_map(by_name)? + value))
    }

    pub(crate) fn missing(&self, jdk: u32) -> Vec<String> {
        let mut lost: Vec<&Row> = Vec::new();
        for (kind, row) in fields::ALL {
            let is_expected = row.names.iter().any(|name| name.is_in(jdk));
            let is_missing = is_expected && !row.names.iter().any(|name| self.has_name(*kind, name));
            if is_missing && lost.iter().all(|other| other.lost != row.lost) {
                lost.push(row);
            }
        }
        lost.iter().map(|row| format!("this JVM does not publish {row}: {}", row.lost)).collect()
    }

    /// True if the tables have this name. A flag may be lacking, because a JVM is built without
    /// what it turns on. An exported function is in no table.
    fn has_name(&self, kind: Kind, name: &JdkName) -> bool {
        match kind {
            Kind::Field => self.offset_by_name(name).is_some(),
            Kind::StaticField => self.address_by_name(name).is_some(),
            Kind::Type => self.size_by_name(name).is_some(),
            Kind::Constant => self.constant_by_name(name).is_some(),
            Kind::Flag | Kind::Function => true,
        }
    }

    fn offset_by_name(&self, name: &JdkName) -> Option<usize> {
        Some(still(self.entry(name)? + self.offset))
    }

    fn address_by_name(&self, name: &JdkName) -> Option<usize> {
        Some(still(self.entry(name)? + self.address)).filter(|address| *address != 0)
    }

    fn size_by_name(&self, name: &JdkName) -> Option<usize> {
        let entry = self.types.named(name.name).next()?;
        Some(still(entry + self.size)).filter(|size| *size > 0)
    }

    fn constant_by_name(&self, name: &JdkName) -> Option<i32> {
        read_half(self.constants.named(name.name).next()? + self.value).map(u32::cast_signed)
    }

    /// The entry of a field.
    fn entry(&self, name: &JdkName) -> Option<usize> {
        let mut fields = self.fields.named(name.type_name?);
        fields.find(|entry| is_text(still(entry + self.field_name), name.name))
    }
}

/// An exported table: where its first entry is, how far apart they are, and where in each is its
/// name, or the name of its type.
#[derive(Clone, Copy, Debug)]
struct Rows {
    entry: usize,
    stride: usize,
    name: usize,
}

impl Rows {
    /// The entries with this name, or of the type with this name.
    fn named(self, name: &str) -> impl Iterator<Item = usize> {
        // The tables have some 3,000 entries; the bound is against one that never ends.
        let entries = (0..100_000_usize).map(move |index| self.entry + index * self.stride);
        // The last entry has no type name.
        let named =
            entries.map(move |entry| (entry, still(entry + self.name))).take_while(|(_, text)| *text != 0);
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
pub(crate) fn text_of(pointer: usize) -> Option<&'static str> {
    // SAFETY: names in the exported tables, those of the flags, and those of the interpreter's
    // parts, are string constants of the JVM's library, which is never unloaded.
    unsafe { CStr::from_ptr(pointer as *const c_char) }.to_str().ok()
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
