//! The hook on `pthread_create`: calls from loaded libraries go through this module, so that each
//! thread is entered at its start.
//!
//! The hook changes only each library's own import table. The system's function stays unchanged.
//! The new thread enters the registry before its first own instruction. The destructor of a
//! thread-specific key removes it, however the thread ends. This file must not depend on what the
//! registry does.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use super::registry;
use crate::clock;

/// The start routine of a thread.
type Routine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What the creator passes to the new thread.
struct Start {
    routine: Routine,
    argument: *mut c_void,
}

/// The key with the destructor that runs at a thread's end. `None` if the process had no free key.
static END_KEY: Lazy<Option<libc::pthread_key_t>> = Lazy::new(|| {
    let mut key = 0;
    // SAFETY: writes one key.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
    (made == 0).then_some(key)
});

/// The loaded libraries for which the imports have been checked.
static DONE: Lazy<Mutex<Vec<Done>>> = Lazy::new(Mutex::default);

/// A checked library: its address, and one import that was changed, if it has any. Another library
/// may be loaded later at the same address.
#[derive(Clone, Copy)]
struct Done {
    base: usize,
    end: usize,
    place: Option<usize>,
}

/// The address range of the library that defines `pthread_create`.
static SYSTEM: Lazy<std::ops::Range<usize>> =
    Lazy::new(|| library_of(libc::pthread_create as *const () as usize));

static SEEN: Loaded = Loaded::new();

/// The linker's total of loaded and unloaded libraries at the last check.
#[derive(Debug, Default)]
pub struct Loaded(AtomicU64);

impl Loaded {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns true if libraries were loaded or unloaded since the last call. Cheap.
    pub fn has_changed(&self) -> bool {
        let mut changes = 0_u64;
        // SAFETY: the callback writes `changes` and ends the iteration at the first object.
        unsafe { libc::dl_iterate_phdr(Some(count_changes), (&raw mut changes).cast()) };
        self.0.swap(changes, Ordering::Relaxed) != changes
    }
}

/// Redirects the `pthread_create` import of every loaded library to this module. Libraries that are
/// done already stay unchanged.
pub fn install() {
    Lazy::force(&END_KEY);
    // The system's own function is the address that the linker returns. In older code it is a stub
    // in the library itself, which asks the linker.
    let system = &*SYSTEM;
    let mut done = DONE.lock();
    let before = std::mem::take(&mut *done);
    let ours = create as *const () as usize;
    let mut visit = |object: &Object| {
        let Object { base, end, .. } = *object;
        if object.holds(ours) {
            return;
        }
        let known = before.iter().find(|known| known.base == base && known.end == end);
        let still = known.filter(|known| known.place.is_some_and(|place| object.read(place) == Some(ours)));
        let mut places = if still.is_some() { Vec::new() } else { object.imports(c"pthread_create") };
        // An import that another tool has redirected stays unchanged, so that its hook still runs.
        // A later scan finds such threads.
        places.retain(|place| {
            object
                .read(*place)
                .is_some_and(|value| value == ours || system.contains(&value) || object.holds(value))
        });
        for place in &places {
            object.write(*place, ours);
        }
        let place = still.and_then(|known| known.place).or(places.first().copied());
        done.push(Done { base, end, place });
    };
    each(&mut visit);
}

/// Returns the address range of the library that contains this address. The range is empty if no
/// library does.
fn library_of(address: usize) -> std::ops::Range<usize> {
    let mut found = 0..0;
    each(&mut |object: &Object| {
        if object.holds(address) {
            found = object.base..object.end;
        }
    });
    found
}

/// Visits each loaded library.
fn each(mut visit: &mut dyn FnMut(&Object)) {
    // SAFETY: the callback gets `visit` back for as long as this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(each_object), (&raw mut visit).cast()) };
}

/// Runs `install` if a library was loaded or unloaded since the last call, and returns whether one
/// was. Cheap if none was.
pub fn install_if_changed() -> bool {
    let has_changed = SEEN.has_changed();
    if has_changed {
        install();
    }
    has_changed
}

/// Makes the calling thread leave the registry when it ends.
pub fn watch_end() {
    if let Some(key) = *END_KEY {
        // SAFETY: the key is never deleted, and the value only needs to be other than null.
        unsafe { libc::pthread_setspecific(key, std::ptr::dangling()) };
    }
}

/// Replaces `pthread_create`.
unsafe extern "C" fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let start = Box::into_raw(Box::new(Start { routine, argument }));
    // SAFETY: the signatures differ only in what may unwind. A cancelled thread unwinds through
    // `begin`, which has nothing to drop.
    let begin: extern "C" fn(*mut c_void) -> *mut c_void =
        unsafe { std::mem::transmute(begin as extern "C-unwind" fn(*mut c_void) -> *mut c_void) };
    // SAFETY: the caller's own arguments; `start` is a box that the new thread takes over.
    let result = unsafe { libc::pthread_create(thread, attributes, begin, start.cast()) };
    if result != 0 {
        // SAFETY: no thread was created, so the box still belongs to this function.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}

extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: `create` made this box for this thread alone.
    let Start { routine, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    // An error in the agent must not keep the thread from running.
    let _ = catch_unwind(|| {
        registry().begin_thread(clock::own_tid(), routine as usize);
        watch_end();
    });
    routine(argument)
}

extern "C" fn end(_value: *mut c_void) {
    let _ = catch_unwind(|| registry().leave(clock::own_tid()));
}

unsafe extern "C" fn count_changes(info: *mut libc::dl_phdr_info, _: usize, changes: *mut c_void) -> c_int {
    // SAFETY: the linker passes a valid entry, `Loaded` its own counter.
    unsafe { changes.cast::<u64>().write((*info).dlpi_adds.wrapping_add((*info).dlpi_subs)) };
    1
}

unsafe extern "C" fn each_object(info: *mut libc::dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
    // SAFETY: the linker passes a valid entry and `install`'s own pointer.
    let (object, visit) =
        unsafe { (Object::from_info(&*info), &mut *visit.cast::<&mut dyn FnMut(&Object)>()) };
    if let Some(object) = object {
        visit(&object);
    }
    0
}

/// A loaded library's tables of names and imports.
#[derive(Debug)]
pub struct Object {
    base: usize,
    end: usize,
    /// The pages that the linker made read-only after it had filled them.
    sealed: std::ops::Range<usize>,
    symbols: *const libc::Elf64_Sym,
    strings: *const c_char,
    strings_length: usize,
    /// The start and size in bytes of the two relocation tables.
    relocations: [(usize, usize); 2],
}

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_JMPREL: i64 = 23;

/// The two kinds of relocation that hold an imported function's address.
#[cfg(target_arch = "x86_64")]
const IMPORT_KINDS: [u64; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const IMPORT_KINDS: [u64; 2] = [1025, 1026];

impl Object {
    /// # Safety
    /// `info` must point to an entry in the dynamic linker's list of libraries.
    pub unsafe fn from_info(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = usize::try_from(info.dlpi_addr).ok()?;
        // SAFETY: the linker's own table of this object's headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let range = |header: &libc::Elf64_Phdr| {
            let start = base + usize::try_from(header.p_vaddr).unwrap_or(0);
            start..start + usize::try_from(header.p_memsz).unwrap_or(0)
        };
        let find = |kind| headers.iter().find(|header| header.p_type == kind).map(range);
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(range);
        let end = loaded.map(|range| range.end).max()?;
        let mut object = Self {
            base,
            end,
            sealed: find(libc::PT_GNU_RELRO).unwrap_or(0..0),
            symbols: std::ptr::null(),
            strings: std::ptr::null(),
            strings_length: 0,
            relocations: [(0, 0); 2],
        };
        let mut entry = find(libc::PT_DYNAMIC)?.start as *const Dynamic;
        loop {
            // SAFETY: the dynamic section ends with an entry that has the tag 0.
            let Dynamic { tag, value } = unsafe { entry.read() };
            // The linker has replaced these offsets by addresses, except in objects that it may not
            // write to.
            let address = if value < base { base + value } else { value };
            match tag {
                0 => break,
                DT_SYMTAB => object.symbols = address as *const _,
                DT_STRTAB => object.strings = address as *const _,
                DT_STRSZ => object.strings_length = value,
                DT_JMPREL => object.relocations[0].0 = address,
                DT_PLTRELSZ => object.relocations[0].1 = value,
                DT_RELA => object.relocations[1].0 = address,
                DT_RELASZ => object.relocations[1].1 = value,
                _ => {}
            }
            // SAFETY: this entry is not the last one.
            entry = unsafe { entry.add(1) };
        }
        (!object.symbols.is_null() && !object.strings.is_null()).then_some(object)
    }

    /// Returns true if a symbol or library in the object has this name.
    pub fn has_name(&self, name: &CStr) -> bool {
        // SAFETY: the linker owns the table, which has `strings_length` bytes and stays loaded as
        // long as the object.
        let names = unsafe { std::slice::from_raw_parts(self.strings.cast::<u8>(), self.strings_length) };
        let name = name.to_bytes_with_nul();
        names.windows(name.len()).any(|part| part == name)
    }

    fn holds(&self, address: usize) -> bool {
        (self.base..self.end).contains(&address)
    }

    /// Returns the addresses of the import slots of the function `name`.
    fn imports(&self, name: &CStr) -> Vec<usize> {
        let mut places = Vec::new();
        for (start, bytes) in self.relocations.into_iter().filter(|(start, _)| *start != 0) {
            let count = bytes / size_of::<libc::Elf64_Rela>();
            // SAFETY: the object's own table, with the size that its dynamic section has.
            let table = unsafe { std::slice::from_raw_parts(start as *const libc::Elf64_Rela, count) };
            for relocation in table.iter().filter(|r| IMPORT_KINDS.contains(&(r.r_info & 0xffff_ffff))) {
                let index = usize::try_from(relocation.r_info >> 32).unwrap_or(0);
                // SAFETY: a relocation's symbol is in the object's symbol table, and its name in
                // the string table.
                let imported = unsafe {
                    let symbol = &*self.symbols.add(index);
                    CStr::from_ptr(self.strings.add(symbol.st_name as usize))
                };
                if imported == name {
                    places.push(self.base + usize::try_from(relocation.r_offset).unwrap_or(0));
                }
            }
        }
        places
    }

    /// Returns the address in an import slot.
    fn read(&self, place: usize) -> Option<usize> {
        if !self.holds(place) {
            return None;
        }
        // SAFETY: an aligned pointer in the object, which is loaded. Other threads may write it at
        // the same time.
        Some(unsafe { (*(place as *const AtomicUsize)).load(Ordering::Acquire) })
    }

    /// Writes one address, also into pages that were made read-only.
    fn write(&self, place: usize, value: usize) {
        // SAFETY: reads a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let first = (place & !(page - 1)) as *mut c_void;
        let sealed = self.sealed.contains(&place);
        let protect = |rights| {
            // SAFETY: the page holds the object's own table and nothing that is executed.
            unsafe { libc::mprotect(first, page, rights) == 0 }
        };
        if sealed && !protect(libc::PROT_READ | libc::PROT_WRITE) {
            return;
        }
        // SAFETY: the slot is an aligned pointer in the object, and is writable now. Other threads
        // may read it at the same time, so it is stored as one atomic word.
        unsafe { (*(place as *const AtomicUsize)).store(value, Ordering::Release) };
        if sealed {
            protect(libc::PROT_READ);
        }
    }
}
