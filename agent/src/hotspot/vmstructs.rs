//! VMStructs: the offsets of some of HotSpot's own fields, which every HotSpot exports for its debugger.
//!
//! Used where the agent came late: a thread that was there before it has its JavaThread in a field of its Java
//! object, and its kernel id two steps further. All reads go through the kernel, so that a thread that dies
//! meanwhile gives an error and no fault.

use std::ffi::{CStr, c_char, c_void};

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
        let os_thread = read_u64(java_thread.checked_add(self.os_thread)?)?;
        let word = read_u64(usize::try_from(os_thread).ok()?.checked_add(self.thread_id)?)?;
        // `_thread_id` is a pid_t: the word's low half.
        u32::try_from(word & u64::from(u32::MAX)).ok().filter(|tid| *tid != 0)
    }
}

/// The table of fields, with the layout of its own entries.
struct Table {
    entry: usize,
    stride: usize,
    type_name: usize,
    field_name: usize,
    offset: usize,
}

impl Table {
    fn of(hotspot: &HotSpot) -> Option<Self> {
        let word = |name: &CStr| {
            let address = hotspot.symbol(name)?;
            read_u64(address as usize).and_then(|value| usize::try_from(value).ok())
        };
        Some(Self {
            entry: word(c"gHotSpotVMStructs")?,
            stride: word(c"gHotSpotVMStructEntryArrayStride")?,
            type_name: word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: word(c"gHotSpotVMStructEntryOffsetOffset")?,
        })
    }

    /// The offset of a field, by the names that the VM's sources give it.
    fn offset(&self, type_name: &str, field_name: &str) -> Option<usize> {
        // The tables have some 3,000 entries; the bound is against one that never ends.
        for index in 0..100_000_usize {
            let entry = self.entry + index * self.stride;
            // The last entry has no type name.
            let name = text_at(entry + self.type_name)?;
            if name == type_name && text_at(entry + self.field_name)? == field_name {
                return usize::try_from(read_u64(entry + self.offset)?).ok();
            }
        }
        None
    }
}

/// The C string that the pointer at `address` leads to.
fn text_at(address: usize) -> Option<&'static str> {
    let pointer = usize::try_from(read_u64(address)?).ok().filter(|pointer| *pointer != 0)?;
    // SAFETY: the exported table's names are string constants of the JVM's library, which is never unloaded.
    unsafe { CStr::from_ptr(pointer as *const c_char) }.to_str().ok()
}

/// Reads a word of this process's memory; `None` where there is none.
fn read_u64(address: usize) -> Option<u64> {
    let mut value = 0_u64;
    let local = libc::iovec { iov_base: (&raw mut value).cast(), iov_len: size_of::<u64>() };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: size_of::<u64>() };
    // SAFETY: the kernel checks the remote address and writes eight bytes into `value`.
    let read =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    (read == 8).then_some(value)
}
