//! Reads VMStructs: the tables of fields, types and constants that every HotSpot exports for the
//! serviceability agent.
//!
//! The tables have the offset of each field that the agent reads. With them it finds the kernel's
//! ids of threads that started before the agent, and the JVM's flags. Fields of threads are read
//! through the kernel, because a thread that exits meanwhile must not cause a fault. The tables and
//! the flags never move.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use vouch_unwind::jvm_layout::JvmLayout;
use vouch_unwind::kernel::peek;

use vouch_unwind::code_cache::{CodeCache, MAX_HEAPS};

use crate::HotSpot;
use crate::fields::{self, Constant, Field, Flag, JdkName, Row, RowKind, StaticField, Type};

/// The offsets that lead from a JavaThread to the kernel's id of its thread.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLayout {
    os_thread: usize,
    thread_id: usize,
}

impl ThreadLayout {
    /// Reads the offsets of thread ids from VMStructs. `None` if this JVM does not publish one.
    pub fn find(hotspot: &HotSpot) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot)?;
        let os_thread = vm_structs.offset(&fields::THREAD_OSTHREAD)?;
        Some(Self { os_thread, thread_id: vm_structs.offset(&fields::OSTHREAD_THREAD_ID)? })
    }

    /// Reads the kernel's id of the thread that has its JavaThread at `java_thread`.
    pub fn tid(self, java_thread: usize) -> Option<u32> {
        let os_thread = read_word(java_thread.checked_add(self.os_thread)?)?;
        // `_thread_id` is a pid_t.
        read_u32(os_thread.checked_add(self.thread_id)?).filter(|tid| *tid != 0)
    }
}

/// The offsets in a JavaThread of the handles to its two thread objects.
#[derive(Debug, Clone, Copy)]
pub struct JavaThreadHandles {
    /// The offset in a JavaThread of the handle of the platform thread (`_threadObj`).
    pub own: usize,
    /// The offset in a JavaThread of the handle of the thread that runs now: the platform thread,
    /// or a mounted virtual thread (`_vthread`).
    pub current: usize,
}

impl JavaThreadHandles {
    /// Reads the offsets of the two handles. `None` if this JVM has no virtual threads.
    pub fn find(hotspot: &HotSpot) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot)?;
        Some(Self {
            own: vm_structs.offset(&fields::JAVA_THREAD_OBJ)?,
            current: vm_structs.offset(&fields::JAVA_THREAD_VTHREAD)?,
        })
    }
}

/// The addresses of code, and the offsets in a JavaThread of its stack and of its last Java frame.
#[derive(Debug, Clone, Copy)]
pub struct CodeLayout {
    /// The first address of the interpreter's code, and the address after its end.
    pub interpreter: (usize, usize),
    /// The layout of the code cache; `None` if the JVM does not publish it.
    pub code_cache: Option<CodeCache>,
    /// The offsets of the stack's base (its highest address) and size in a JavaThread.
    pub stack: Option<(usize, usize)>,
    /// The offset of the thread state in a JavaThread.
    pub state: usize,
    /// The offset of the last Java frame's stack pointer in a JavaThread.
    pub last_sp: usize,
    /// The offset of the last Java frame's pc in a JavaThread. If that pc is 0, it is in the word
    /// below the frame's stack pointer.
    pub last_pc: usize,
    /// The offset of the last Java frame's frame pointer in a JavaThread.
    pub last_fp: Option<usize>,
}

impl CodeLayout {
    /// Reads the layout of code and stacks. `None` if the JVM does not publish it, or has not
    /// generated its interpreter yet.
    pub fn find(hotspot: &HotSpot) -> Option<Self> {
        Self::from_vm_structs(&VmStructs::find(hotspot)?)
    }

    pub(crate) fn from_vm_structs(vm_structs: &VmStructs) -> Option<Self> {
        let queue = read_static(vm_structs.address(&fields::ABSTRACT_INTERPRETER_CODE)?);
        let begin = read_word(queue.checked_add(vm_structs.offset(&fields::STUB_QUEUE_STUB_BUFFER)?)?)?;
        let size = read_u32(queue.checked_add(vm_structs.offset(&fields::STUB_QUEUE_BUFFER_LIMIT)?)?)?;
        let anchor = vm_structs.offset(&fields::JAVA_THREAD_ANCHOR)?;
        Some(Self {
            interpreter: (begin, begin.checked_add(usize::try_from(size).ok()?)?),
            code_cache: code_cache(vm_structs),
            stack: stack_offsets(vm_structs),
            state: vm_structs.offset(&fields::JAVA_THREAD_STATE)?,
            last_sp: anchor + vm_structs.offset(&fields::LAST_JAVA_SP)?,
            last_pc: anchor + vm_structs.offset(&fields::LAST_JAVA_PC)?,
            last_fp: vm_structs.offset(&fields::LAST_JAVA_FP).map(|offset| anchor + offset),
        })
    }

    /// Makes the layout that recovery and Vouch's own walker read. `None` if the JVM does not
    /// publish it. `env` is the offset of the JNIEnv in a JavaThread.
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
            code_cache: self.code_cache?,
            interpreter: begin..end,
        })
    }
}

/// Finds the heaps of the code cache, and the offsets in a heap and in a blob.
fn code_cache(vm_structs: &VmStructs) -> Option<CodeCache> {
    let (heaps, first_dead_state) = if let Some(heaps) = vm_structs.address(&fields::CODE_CACHE_HEAPS) {
        (heaps_in_array(vm_structs, read_static(heaps))?, 3)
    } else {
        // JDK 8 has one heap, and one state less before "dead".
        let mut heaps = [0; MAX_HEAPS];
        heaps[0] = read_static(vm_structs.address(&fields::CODE_CACHE_HEAP)?);
        (heaps, 2)
    };
    let memory = vm_structs.offset(&fields::CODE_HEAP_MEMORY)?;
    let (low, high) =
        (vm_structs.offset(&fields::VIRTUAL_SPACE_LOW)?, vm_structs.offset(&fields::VIRTUAL_SPACE_HIGH)?);
    Some(CodeCache {
        heaps,
        low: memory + low,
        high: memory + high,
        segmap: vm_structs.offset(&fields::CODE_HEAP_SEGMAP)? + low,
        log2_segment_size: vm_structs.offset(&fields::CODE_HEAP_LOG2_SEGMENT_SIZE)?,
        used: vm_structs.offset(&fields::HEAP_BLOCK_HEADER_USED)?,
        header_size: vm_structs.size(&fields::HEAP_BLOCK)?,
        name: vm_structs.offset(&fields::CODE_BLOB_NAME)?,
        size: vm_structs.offset(&fields::CODE_BLOB_SIZE)?,
        state: vm_structs.offset(&fields::NMETHOD_STATE)?,
        first_dead_state,
    })
}

/// Reads the code heaps in a `GrowableArray`. `None` if there are more than [`MAX_HEAPS`].
fn heaps_in_array(vm_structs: &VmStructs, array: usize) -> Option<[usize; MAX_HEAPS]> {
    let length = vm_structs.offset(&fields::GROWABLE_ARRAY_LEN)?;
    let length = usize::try_from(read_u32(array.checked_add(length)?)?).ok()?;
    let data = read_word(array.checked_add(vm_structs.offset(&fields::GROWABLE_ARRAY_DATA)?)?)?;
    let mut heaps = [0; MAX_HEAPS];
    for (index, heap) in heaps.get_mut(..length)?.iter_mut().enumerate() {
        *heap = read_word(data.checked_add(index * size_of::<usize>())?)?;
    }
    Some(heaps)
}

/// Turns a boolean flag on, unless the JVM was started with a value for it. Returns false if this
/// JVM does not have the flag.
///
/// # Safety
/// No other thread may read the flag meanwhile: the JVM must not have started its compilers yet.
pub unsafe fn turn_on_by_default(hotspot: &HotSpot, flag: &Flag) -> bool {
    let Some(value) = FlagValue::find(hotspot, flag) else { return false };
    if explicit_flag(hotspot, flag).is_none() {
        // SAFETY: the address of a flag's value, which is a C++ bool, is never freed, and is not
        // read meanwhile by the caller's promise.
        unsafe { (value.0 as *mut u8).write_volatile(1) };
    }
    true
}

/// Returns the offsets of the stack's base (its highest address) and size in a JavaThread.
pub(crate) fn stack_offsets(vm_structs: &VmStructs) -> Option<(usize, usize)> {
    Some((
        vm_structs.offset(&fields::JAVA_THREAD_STACK_BASE)?,
        vm_structs.offset(&fields::JAVA_THREAD_STACK_SIZE)?,
    ))
}

/// Reads a boolean flag of the JVM. `None` if this JVM does not have it.
pub fn read_flag(hotspot: &HotSpot, flag: &Flag) -> Option<bool> {
    FlagValue::find(hotspot, flag).map(FlagValue::is_on)
}

/// Reads a boolean flag that the JVM was started with. `None` if the flag has its default value, or
/// if this JVM does not have it.
pub fn explicit_flag(hotspot: &HotSpot, flag: &Flag) -> Option<bool> {
    /// The bits of `JVMFlag::_flags` that say where the value is from, which are 0 for a default.
    const VALUE_ORIGIN_MASK: u32 = 15;
    let vm_structs = VmStructs::find(hotspot)?;
    let address = vm_structs.flag_address(flag)? + vm_structs.offset(&fields::JVM_FLAG_FLAGS)?;
    // SAFETY: a C++ int in an entry of the table of flags, which is never freed.
    let origin = unsafe { (address as *const u32).read_volatile() } & VALUE_ORIGIN_MASK;
    if origin == 0 { None } else { read_flag(hotspot, flag) }
}

/// The address of a flag that the JVM may turn on or off while it runs.
#[derive(Debug, Clone, Copy)]
pub struct FlagValue(usize);

impl FlagValue {
    /// Finds the address of a flag. `None` if this JVM does not have it.
    pub fn find(hotspot: &HotSpot, flag: &Flag) -> Option<Self> {
        VmStructs::find(hotspot)?.flag_value(flag).map(Self)
    }

    /// Reads whether the flag is on now.
    pub fn is_on(self) -> bool {
        // SAFETY: the address of a flag's value, which is a C++ bool and is never freed.
        unsafe { (self.0 as *const u8).read_volatile() != 0 }
    }
}

/// Returns a sentence for each feature that is lost because this JVM lacks a name that its JDK has.
pub fn losses(hotspot: &HotSpot, jdk: u32) -> Vec<String> {
    VmStructs::find(hotspot).map_or_else(Vec::new, |vm_structs| vm_structs.losses(jdk))
}

/// HotSpot's tables of fields, types and constants, with the layout of their entries.
#[derive(Debug, Clone, Copy)]
pub struct VmStructs {
    fields: EntryArray,
    /// The offset of a field's name in an entry of HotSpot's table of fields.
    field_name: usize,
    /// The offset of a field's offset in an entry of HotSpot's table of fields.
    offset: usize,
    /// The offset of a static field's address in an entry of HotSpot's table of fields.
    address: usize,
    types: EntryArray,
    /// The offset of a type's size in an entry of HotSpot's table of types.
    size: usize,
    constants: EntryArray,
    /// The offset of a constant's value in an entry of HotSpot's table of constants.
    value: usize,
}

impl VmStructs {
    /// Finds the tables VMStructs. `None` if the JVM does not export them. A process has one JVM,
    /// so its symbols are looked up once.
    pub(crate) fn find(hotspot: &HotSpot) -> Option<Self> {
        static TABLES: OnceLock<Option<VmStructs>> = OnceLock::new();
        *TABLES
            .get_or_init(|| Self::from_symbols(|name| hotspot.symbol(name).map(|address| address as usize)))
    }

    /// Finds the tables VMStructs. `symbol` returns the address of an exported symbol.
    pub(crate) fn from_symbols(symbol: impl Fn(&CStr) -> Option<usize>) -> Option<Self> {
        let word = |name| symbol(name).map(read_static);
        Some(Self {
            fields: EntryArray {
                entry: word(c"gHotSpotVMStructs")?,
                stride: word(c"gHotSpotVMStructEntryArrayStride")?,
                name: word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            },
            field_name: word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: word(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: word(c"gHotSpotVMStructEntryAddressOffset")?,
            types: EntryArray {
                entry: word(c"gHotSpotVMTypes")?,
                stride: word(c"gHotSpotVMTypeEntryArrayStride")?,
                name: word(c"gHotSpotVMTypeEntryTypeNameOffset")?,
            },
            size: word(c"gHotSpotVMTypeEntrySizeOffset")?,
            constants: EntryArray {
                entry: word(c"gHotSpotVMIntConstants")?,
                stride: word(c"gHotSpotVMIntConstantEntryArrayStride")?,
                name: word(c"gHotSpotVMIntConstantEntryNameOffset")?,
            },
            value: word(c"gHotSpotVMIntConstantEntryValueOffset")?,
        })
    }

    /// Returns the offset of a field of HotSpot. `None` if this JVM does not publish it.
    pub(crate) fn offset(&self, field: &Field) -> Option<usize> {
        field.0.names.iter().find_map(|name| self.offset_by_name(name))
    }

    /// Returns true if this JVM publishes the field.
    pub(crate) fn has(&self, field: &Field) -> bool {
        self.offset(field).is_some()
    }

    /// Returns the address of a static field of HotSpot.
    pub(crate) fn address(&self, field: &StaticField) -> Option<usize> {
        field.0.names.iter().find_map(|name| self.address_by_name(name))
    }

    /// Returns the size of a HotSpot type in bytes.
    pub(crate) fn size(&self, class: &Type) -> Option<usize> {
        class.0.names.iter().find_map(|name| self.size_by_name(name))
    }

    /// Returns the value of a HotSpot constant.
    pub(crate) fn constant(&self, constant: &Constant) -> Option<i32> {
        constant.0.names.iter().find_map(|name| self.constant_by_name(name))
    }

    /// Returns the address of a flag's entry in the JVM's table of flags.
    fn flag_address(&self, flag: &Flag) -> Option<usize> {
        let (flags, count) = (
            read_static(self.address(&fields::JVM_FLAG_ARRAY)?),
            read_static(self.address(&fields::JVM_FLAG_NUM_FLAGS)?),
        );
        let text = self.offset(&fields::JVM_FLAG_NAME)?;
        let size = self.size(&fields::JVM_FLAG)?;
        let address = |index: usize| flags + index * size;
        // The last flag is a sentinel without a name.
        let by_name = |name: &JdkName| {
            (0..count).find(|index| is_text_at(read_static(address(*index) + text), name.name)).map(address)
        };
        flag.0.names.iter().find_map(by_name)
    }

    /// Returns the address of a flag's value.
    fn flag_value(&self, flag: &Flag) -> Option<usize> {
        Some(read_static(self.flag_address(flag)? + self.offset(&fields::JVM_FLAG_ADDR)?))
    }

    pub(crate) fn losses(&self, jdk: u32) -> Vec<String> {
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

    /// Returns true if the tables have this name. A flag always counts as present, because a JVM
    /// may be built without the flag's feature. A function does, too, because it is in no table.
    fn has_name(&self, kind: RowKind, name: &JdkName) -> bool {
        match kind {
            RowKind::Field => self.offset_by_name(name).is_some(),
            RowKind::StaticField => self.address_by_name(name).is_some(),
            RowKind::Type => self.size_by_name(name).is_some(),
            RowKind::Constant => self.constant_by_name(name).is_some(),
            RowKind::Flag | RowKind::Function => true,
        }
    }

    fn offset_by_name(&self, name: &JdkName) -> Option<usize> {
        Some(read_static(self.field_entry(name)? + self.offset))
    }

    fn address_by_name(&self, name: &JdkName) -> Option<usize> {
        Some(read_static(self.field_entry(name)? + self.address)).filter(|address| *address != 0)
    }

    fn size_by_name(&self, name: &JdkName) -> Option<usize> {
        let entry = self.types.entries_named(name.name).next()?;
        Some(read_static(entry + self.size)).filter(|size| *size > 0)
    }

    fn constant_by_name(&self, name: &JdkName) -> Option<i32> {
        read_u32(self.constants.entries_named(name.name).next()? + self.value).map(u32::cast_signed)
    }

    /// Returns the address of a field's entry in the table.
    fn field_entry(&self, name: &JdkName) -> Option<usize> {
        let mut fields = self.fields.entries_named(name.type_name?);
        fields.find(|entry| is_text_at(read_static(entry + self.field_name), name.name))
    }
}

/// One of the tables that HotSpot exports. Its last entry has no name.
#[derive(Clone, Copy, Debug)]
struct EntryArray {
    /// The address of the table's first entry.
    entry: usize,
    /// The size of a table's entry in bytes.
    stride: usize,
    /// The offset of the name in a table's entry. For a field, this is the name of its type.
    name: usize,
}

impl EntryArray {
    /// Finds the entries of the table with this name, or of the type with this name.
    fn entries_named(self, name: &str) -> impl Iterator<Item = usize> {
        // The tables have about 3,000 entries. The bound ends the search in a damaged one.
        const MAX_ENTRIES: usize = 100_000;
        let entries = (0..MAX_ENTRIES).map(move |index| self.entry + index * self.stride);
        let named = entries
            .map(move |entry| (entry, read_static(entry + self.name)))
            .take_while(|(_, text)| *text != 0);
        named.filter(move |(_, text)| is_text_at(*text, name)).map(|(entry, _)| entry)
    }
}

/// Returns true if the C string at `pointer` is `text`. It compares byte by byte, because thousands
/// of names are compared, and most differ in their first bytes.
fn is_text_at(pointer: usize, text: &str) -> bool {
    // SAFETY: a name as in `c_string`. No byte is read after one that differs, so none after the
    // zero that ends the string.
    let byte = |index: usize| unsafe { (pointer as *const u8).add(index).read() };
    pointer != 0 && text.bytes().chain([0]).enumerate().all(|(index, wanted)| byte(index) == wanted)
}

/// Reads the C string at an address, which must be a name in VMStructs, in a flag, or in the
/// interpreter.
pub(crate) fn c_string(pointer: usize) -> Option<&'static str> {
    // SAFETY: these names are string constants of the JVM's library, which is never unloaded.
    unsafe { CStr::from_ptr(pointer as *const c_char) }.to_str().ok()
}

/// Reads a word of static data: of an exported table, a flag or a static field.
fn read_static(address: usize) -> usize {
    // SAFETY: the tables, flags and static fields are data of a library that is never unloaded.
    unsafe { (address as *const usize).read_unaligned() }
}

/// Reads a word of this process's memory through the kernel. `None` if it is not mapped.
pub fn read_word(address: usize) -> Option<usize> {
    peek::<1>(address).map(|[word]| word)
}

/// Reads 32 bits, such as a C++ int, through the kernel. `None` if the word that begins there is
/// not mapped.
pub fn read_u32(address: usize) -> Option<u32> {
    u32::try_from(read_word(address)? & 0xffff_ffff).ok()
}
