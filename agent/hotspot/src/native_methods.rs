//! Finds the functions of native methods in the tables of the JVM's library. Each entry has a name,
//! a signature and a function.
//!
//! An entry is JNI's `JNINativeMethod`, so it has the same layout in every JVM. A method with
//! different functions in two tables is not found.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

const WORD: usize = size_of::<usize>();

/// A search for the function of one native method.
struct Search<'l> {
    /// An address of code in the library to search.
    inside: usize,
    name: &'l CStr,
    signature: &'l CStr,
    /// The functions of the native method that were found so far.
    functions: Vec<usize>,
}

/// Finds the function of a native method in the library that contains `inside`.
pub fn find(inside: *const c_void, name: &CStr, signature: &CStr) -> Option<*mut c_void> {
    let mut search = Search { inside: inside.addr(), name, signature, functions: Vec::new() };
    // SAFETY: the callback uses `search` only during this call.
    unsafe { libc::dl_iterate_phdr(Some(search_library), (&raw mut search).cast()) };
    let (first, others) = search.functions.split_first()?;
    others.iter().all(|other| other == first).then(|| std::ptr::with_exposed_provenance_mut(*first))
}

/// Searches one loaded library for the native method. Returns 0 to continue with the next library.
unsafe extern "C" fn search_library(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the linker passes a valid entry, and the value that `find` passed to it.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    // SAFETY: the linker owns the table of this library's headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let segments = |flags: u32| {
        let has_flags = move |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & (libc::PF_R | libc::PF_W | libc::PF_X) == libc::PF_R | flags
        };
        // Only the bytes of the file are searched: memory after them is zeroed, and has no table.
        let range = |header: &libc::Elf64_Phdr| {
            let start = usize::try_from(info.dlpi_addr.wrapping_add(header.p_vaddr)).unwrap_or(0);
            start..start.saturating_add(usize::try_from(header.p_filesz).unwrap_or(0))
        };
        headers.iter().filter(has_flags).map(range).collect::<Vec<Range<usize>>>()
    };
    let code = segments(libc::PF_X);
    if !any_contains(&code, search.inside) {
        return 0;
    }
    // Old linkers put constants into the code segment. If there is a read-only segment, pages of
    // code are not touched: this search runs at each start, and the data has many pointers to code.
    let read_only = segments(0);
    let constants = if read_only.is_empty() { &code } else { &read_only };
    for data in segments(libc::PF_W) {
        let (mut name, mut signature) = (0, 0);
        for address in (data.start.next_multiple_of(WORD)..data.end.saturating_sub(WORD - 1)).step_by(WORD) {
            // SAFETY: an aligned word in the data of a library that stays loaded. Other threads
            // write whole words.
            let word = unsafe { (address as *const usize).read_volatile() };
            if is_text_at(constants, name, search.name)
                && is_text_at(constants, signature, search.signature)
                && any_contains(&code, word)
            {
                search.functions.push(word);
            }
            (name, signature) = (signature, word);
        }
    }
    1
}

fn any_contains(segments: &[Range<usize>], address: usize) -> bool {
    segments.iter().any(|segment| segment.contains(&address))
}

/// Returns true if `address` is in a segment of constants, and the C string there is `text`.
fn is_text_at(constants: &[Range<usize>], address: usize, text: &CStr) -> bool {
    let text = text.to_bytes_with_nul();
    let is_long_enough =
        |segment: &Range<usize>| segment.contains(&address) && segment.end - address >= text.len();
    // SAFETY: the bytes are in a read-only segment of a loaded library.
    constants.iter().any(is_long_enough)
        && unsafe { std::slice::from_raw_parts(address as *const u8, text.len()) } == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_char;
    use std::hint::black_box;

    #[repr(C)]
    struct Native(*const c_char, *const c_char, *const c_void);

    // SAFETY: no thread writes it.
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
    fn a_native_is_found_by_name_and_signature_unless_it_is_ambiguous() {
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
