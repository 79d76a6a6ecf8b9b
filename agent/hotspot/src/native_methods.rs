//! Native methods that the JVM's library has itself: it keeps them in tables, each by its name, its
//! signature and its function.
//!
//! That table is JNI's own, so it looks alike in every JVM. What is not there, or is there twice
//! and not the same, is not found.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

const WORD: usize = size_of::<usize>();

/// What is looked for, and where.
struct Looked<'l> {
    /// An address in the library.
    inside: usize,
    name: &'l CStr,
    signature: &'l CStr,
    found: Vec<usize>,
}

/// The function of a native method that the library around an address keeps in its tables.
pub fn find(inside: *const c_void, name: &CStr, signature: &CStr) -> Option<*mut c_void> {
    let mut looked = Looked { inside: inside.addr(), name, signature, found: Vec::new() };
    // SAFETY: the callback gets `looked` back for as long as this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut looked).cast()) };
    let (first, others) = looked.found.split_first()?;
    others.iter().all(|other| other == first).then(|| std::ptr::with_exposed_provenance_mut(*first))
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, looked: *mut c_void) -> c_int {
    // SAFETY: the linker passes a valid entry, and `find`'s own value.
    let (info, looked) = unsafe { (&*info, &mut *looked.cast::<Looked<'_>>()) };
    // SAFETY: the linker's own table of this object's headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let parts = |flags: u32| {
        let part = move |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & (libc::PF_R | libc::PF_W | libc::PF_X) == libc::PF_R | flags
        };
        // What lies in the file: whatever is behind it begins empty, and has no table.
        let range = |header: &libc::Elf64_Phdr| {
            let start = usize::try_from(info.dlpi_addr.wrapping_add(header.p_vaddr)).unwrap_or(0);
            start..start.saturating_add(usize::try_from(header.p_filesz).unwrap_or(0))
        };
        headers.iter().filter(part).map(range).collect::<Vec<Range<usize>>>()
    };
    let code = parts(libc::PF_X);
    if !holds(&code, looked.inside) {
        return 0;
    }
    // Linkers used to put constants to the code. Where they have parts of their own, no page of
    // code is touched for what may be a name: the library is full of tables of functions, and this
    // is done at each start.
    let own = parts(0);
    let constants = if own.is_empty() { &code } else { &own };
    for table in parts(libc::PF_W) {
        let (mut name, mut signature) = (0, 0);
        for place in (table.start.next_multiple_of(WORD)..table.end.saturating_sub(WORD - 1)).step_by(WORD) {
            // SAFETY: an aligned word of the library's data, which is loaded for good; what other
            // threads write in it is whole words.
            let word = unsafe { (place as *const usize).read_volatile() };
            if stands(constants, name, looked.name)
                && stands(constants, signature, looked.signature)
                && holds(&code, word)
            {
                looked.found.push(word);
            }
            (name, signature) = (signature, word);
        }
    }
    1
}

fn holds(parts: &[Range<usize>], address: usize) -> bool {
    parts.iter().any(|part| part.contains(&address))
}

/// Whether a text stands there, among constants.
fn stands(constants: &[Range<usize>], address: usize, text: &CStr) -> bool {
    let text = text.to_bytes_with_nul();
    let has_room = |part: &Range<usize>| part.contains(&address) && part.end - address >= text.len();
    // SAFETY: so many bytes of a loaded library's constants, which nobody writes.
    constants.iter().any(has_room)
        && unsafe { std::slice::from_raw_parts(address as *const u8, text.len()) } == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_char;
    use std::hint::black_box;

    #[repr(C)]
    struct Native(*const c_char, *const c_char, *const c_void);

    // SAFETY: nobody writes it.
    unsafe impl Sync for Native {}

    extern "C" fn one() {}
    extern "C" fn other() -> u32 {
        7
    }

    static NATIVES: [Native; 4] = [
        Native(c"vouchOnce".as_ptr(), c"()V".as_ptr(), one as *const c_void),
        Native(c"vouchTwice".as_ptr(), c"()V".as_ptr(), one as *const c_void),
        Native(c"vouchTwice".as_ptr(), c"()V".as_ptr(), other as *const c_void),
        Native(c"vouchAlike".as_ptr(), c"(ZJ)V".as_ptr(), other as *const c_void),
    ];
    static AGAIN: Native = Native(c"vouchAlike".as_ptr(), c"(ZJ)V".as_ptr(), other as *const c_void);

    #[test]
    fn a_native_is_found_by_its_name_and_signature_and_what_is_not_certain_is_not() {
        black_box((&NATIVES, &AGAIN));
        let found = |name, signature| find(find as *const c_void, name, signature).map(<*mut c_void>::addr);
        let (one, other) = (one as *const c_void, other as *const c_void);
        assert_eq!(found(c"vouchOnce", c"()V"), Some(one.addr()));
        assert_eq!(found(c"vouchAlike", c"(ZJ)V"), Some(other.addr()), "in two tables, and the same");
        assert_eq!(found(c"vouchTwice", c"()V"), None, "two of them");
        assert_eq!(found(c"vouchOnce", c"(ZJ)V"), None);
        assert_eq!(find(std::ptr::null(), c"vouchOnce", c"()V"), None, "in no library");
    }
}
