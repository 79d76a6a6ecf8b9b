//! The names of functions in libraries: ELF symbol tables, demangled.
//!
//! It runs in normal context: in the agent's own thread, when samples are recorded. A table is read
//! at the first address in its library. It must not trust a file, and it must not guess: an address
//! in no symbol has no name.

extern crate std;

use core::cmp::Reverse;
use core::fmt::Write;
use core::ops::Range;
use std::borrow::ToOwned;
use std::collections::HashMap;
use std::format;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use cpp_demangle::DemangleOptions;
use object::elf::{STT_FUNC, STT_GNU_IFUNC, Sym64};
use object::pod::slice_from_all_bytes;
use object::read::StringTable;
use object::read::elf::Sym;
use object::{LittleEndian, Object, ObjectSection, ReadRef};

use crate::native::libraries::{ElfReader, Library, read_file};

/// The longest name of a function that is kept, in bytes. Names of templates may be much longer.
const MAX_NAME_BYTES: usize = 256;

/// The sections that linkers write stubs into.
const LINKAGE_TABLES: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];

/// The functions of a library, by address in its file.
#[derive(Debug, Default)]
struct SymbolTable {
    /// What to add to an address of the file for the address in memory.
    bias: u64,
    /// Sorted by their beginning, without overlaps of equal beginnings.
    functions: Vec<Function>,
    /// The names of all functions, one after the other.
    names: String,
    /// Where functions begin by the unwind table or by their symbols, sorted.
    begins: Vec<u64>,
    /// The sections with the stubs of the procedure linkage table.
    linkage_tables: Vec<Range<u64>>,
    /// True if the file has been stripped, so that an address in no symbol is in such a function.
    is_stripped: bool,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    begin: u64,
    bytes: u64,
    /// Where the name begins in `names`, and how long it is.
    name: (u32, u32),
}

/// The function at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name of the library's file.
    pub library: String,
    /// The name of the function, or `None` if the library has no symbol there.
    pub function: Option<String>,
    /// The address as an offset from the beginning of the library. Without a name it is where the
    /// function begins, if that is known.
    pub offset: usize,
}

impl Symbol {
    /// The name for users: `library!function`, or `library+0x1234`.
    pub fn full_name(&self) -> String {
        match &self.function {
            Some(function) => format!("{}!{function}", self.library),
            None => format!("{}+{:#x}", self.library, self.offset),
        }
    }
}

/// Finds names, in the libraries that are loaded now.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Sorted by address.
    libraries: Vec<Library>,
    tables: HashMap<Library, SymbolTable>,
}

impl Symbols {
    /// Sets the libraries that are loaded now. The tables of libraries that stay are kept. Returns
    /// the addresses of libraries that have gone.
    pub fn set_libraries(&mut self, mut libraries: Vec<Library>) -> Vec<Range<usize>> {
        libraries.sort_by_key(|library| library.range.start);
        self.tables.retain(|library, _| libraries.contains(library));
        let before = core::mem::replace(&mut self.libraries, libraries);
        let has_gone = |library: &Library| !self.libraries.contains(library);
        before.into_iter().filter(has_gone).map(|library| library.range).collect()
    }

    /// Finds the function at an address. The result is `None` if the address is in no library.
    pub fn find(&mut self, address: usize) -> Option<Symbol> {
        let (library, table) = self.table(address)?;
        let function = table.find(address).map(demangled);
        let is_begin_known = function.is_none() && table.is_stripped;
        let begin = is_begin_known.then(|| table.bounds(address).0).flatten().unwrap_or(address);
        let offset = begin.wrapping_sub(library.range.start);
        Some(Symbol { library: library.name().to_owned(), function, offset })
    }

    /// Returns the addresses of the function at an address in code: to the next function, so it may
    /// have bytes after its last instruction. Parts that a compiler has split off are functions.
    /// `None` if the address is in no code, or before the first function.
    pub fn function(&mut self, address: usize) -> Option<Range<usize>> {
        let (library, table) = self.table(address)?;
        let code = library.code.iter().find(|code| code.contains(&address))?;
        let (begin, end) = table.bounds(address);
        Some(begin.filter(|begin| code.contains(begin))?..end.map_or(code.end, |end| end.min(code.end)))
    }

    /// True if the address is in a procedure linkage table.
    pub fn is_in_linkage_table(&mut self, address: usize) -> bool {
        self.table(address).is_some_and(|(_, table)| {
            let in_file = (address as u64).wrapping_sub(table.bias);
            table.linkage_tables.iter().any(|section| section.contains(&in_file))
        })
    }

    /// Returns the name of the library's file at an address, and the offset from its beginning.
    pub fn offset(&self, address: usize) -> Option<(&str, usize)> {
        let library = library_at(&self.libraries, address)?;
        Some((library.name(), address.wrapping_sub(library.range.start)))
    }

    /// Returns the library at an address with its symbols, which are read the first time.
    fn table(&mut self, address: usize) -> Option<(&Library, &SymbolTable)> {
        let library = library_at(&self.libraries, address)?;
        if !self.tables.contains_key(library) {
            self.tables.insert(library.clone(), SymbolTable::read(library));
        }
        self.tables.get(library).map(|table| (library, table))
    }
}

/// Finds the library at an address. The libraries are sorted by address.
fn library_at(libraries: &[Library], address: usize) -> Option<&Library> {
    let after = libraries.partition_point(|library| library.range.start <= address);
    libraries[..after].last().filter(|library| library.range.contains(&address))
}

impl SymbolTable {
    /// Reads the symbols of a library, or of its separate debug file. Without either it is empty.
    fn read(library: &Library) -> Self {
        let read = library.read(SymbolReader(library)).unwrap_or_default();
        let debug = read.build_id.as_deref().and_then(debug_file);
        let mut table = read.table;
        if let Some(separate) = debug.and_then(|path| read_file(&path, SymbolReader(library))) {
            // Only the loaded file has the segments by which the bias is found.
            let Self { begins, linkage_tables, bias, .. } = table;
            table = Self { bias, linkage_tables, is_stripped: false, ..separate.table };
            table.begins.extend(begins);
            table.sort_begins();
        }
        table
    }

    /// Adds the functions of a symbol table that are in this library.
    fn add_all(&mut self, symbols: &[u8], names: &[u8]) {
        let names = StringTable::new(names, 0, names.len() as u64);
        for symbol in slice_from_all_bytes::<Sym64<LittleEndian>>(symbols).unwrap_or_default() {
            let is_function = [STT_FUNC, STT_GNU_IFUNC].contains(&symbol.st_type());
            if is_function && symbol.is_definition(LittleEndian, names) {
                let name = symbol.name(LittleEndian, names).ok().and_then(|name| str::from_utf8(name).ok());
                let (begin, bytes) = (symbol.st_value(LittleEndian), symbol.st_size(LittleEndian));
                if let Some(name) = name {
                    self.add(begin, bytes, name);
                }
            }
        }
    }

    fn add(&mut self, begin: u64, bytes: u64, name: &str) {
        let (Ok(at), Ok(length)) = (u32::try_from(self.names.len()), u32::try_from(name.len())) else {
            return;
        };
        self.names.push_str(name);
        self.functions.push(Function { begin, bytes, name: (at, length) });
    }

    fn finish(&mut self) {
        // Of several names of one function the longest symbol is kept, then the plainest name:
        // `open` instead of `__GI___libc_open`.
        let Self { functions, names, .. } = self;
        let plainness = |(at, length): (u32, u32)| {
            let name = names.get(at as usize..).and_then(|names| names.get(..length as usize));
            let name = name.unwrap_or_default();
            (name.len() - name.trim_start_matches('_').len(), length, name)
        };
        functions.sort_by(|one, other| {
            let key = |function: &Function| (function.begin, Reverse(function.bytes));
            key(one).cmp(&key(other)).then_with(|| plainness(one.name).cmp(&plainness(other.name)))
        });
        self.functions.dedup_by_key(|function| function.begin);
        self.functions.shrink_to_fit();
    }

    /// Finds the name of the function at an address in memory.
    fn find(&self, address: usize) -> Option<&str> {
        let in_file = (address as u64).wrapping_sub(self.bias);
        let after = self.functions.partition_point(|function| function.begin <= in_file);
        let index = after.checked_sub(1)?;
        let Function { begin, bytes, name: (at, length) } = self.functions[index];
        // Functions in assembly may have no size. They last until the next one.
        let next = self.functions.get(after).map_or(begin, |next| next.begin);
        let end = if bytes == 0 { next } else { begin.saturating_add(bytes) };
        (in_file < end).then_some(())?;
        self.names.get(at as usize..)?.get(..length as usize)
    }

    fn sort_begins(&mut self) {
        self.begins.sort_unstable();
        self.begins.dedup();
        self.begins.shrink_to_fit();
    }

    /// Finds where the function at an address in memory begins, and where the next one does.
    fn bounds(&self, address: usize) -> (Option<usize>, Option<usize>) {
        let after = self.begins.partition_point(|begin| *begin <= (address as u64).wrapping_sub(self.bias));
        let in_memory = |at: Option<usize>| {
            let begin = self.begins.get(at?)?;
            usize::try_from(begin.wrapping_add(self.bias)).ok()
        };
        (in_memory(after.checked_sub(1)), in_memory(Some(after)))
    }
}

#[derive(Default)]
struct SymbolsRead {
    table: SymbolTable,
    build_id: Option<Vec<u8>>,
}

struct SymbolReader<'l>(&'l Library);

impl ElfReader for SymbolReader<'_> {
    type Output = SymbolsRead;

    fn read<'d, R: ReadRef<'d>>(self, file: &object::File<'d, R>) -> Option<SymbolsRead> {
        let mut table = SymbolTable { bias: self.0.bias(file).unwrap_or(0), ..SymbolTable::default() };
        for (symbols, names) in [(".dynsym", ".dynstr"), (".symtab", ".strtab")] {
            // Whole sections are read, because each name that is read alone is a system call.
            let section = |name| file.section_by_name(name).and_then(|section| section.data().ok());
            if let (Some(symbols), Some(names)) = (section(symbols), section(names)) {
                table.add_all(symbols, names);
            }
        }
        table.finish();
        table.is_stripped = file.symbols().next().is_none();
        let sections = LINKAGE_TABLES.iter().filter_map(|name| file.section_by_name(name));
        table.linkage_tables = sections
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let starts = file.section_by_name(".eh_frame_hdr").and_then(|it| function_starts(&it));
        table.begins = starts.unwrap_or_default();
        table.begins.extend(table.functions.iter().map(|function| function.begin));
        table.sort_begins();
        Some(SymbolsRead { table, build_id: file.build_id().ok().flatten().map(<[u8]>::to_vec) })
    }
}

/// Reads where functions begin, from the table for searches in `.eh_frame_hdr`. The result is
/// `None` if its numbers are not in the form that linkers write.
fn function_starts<'d>(section: &impl ObjectSection<'d>) -> Option<Vec<u64>> {
    /// Version 1; the pointer as i32 from here, the count as u32, the table as i32 from the
    /// section.
    const SUPPORTED_ENCODINGS: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let (address, bytes) = (section.address(), section.data().ok()?);
    let (head, entries) = bytes.split_at_checked(12)?;
    (head.get(..4)? == SUPPORTED_ENCODINGS).then_some(())?;
    let begins = entries.chunks_exact(8).map(|entry| {
        let begin = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
        address.wrapping_add_signed(begin.into())
    });
    Some(begins.collect())
}

/// Returns the path of an installed debug file by the build id of the library.
fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let mut path = format!("/usr/lib/debug/.build-id/{first:02x}/");
    for byte in rest {
        write!(path, "{byte:02x}").ok()?;
    }
    path.push_str(".debug");
    let path = PathBuf::from(path);
    path.is_file().then_some(path)
}

/// The name of a function in its language, without the types of its parameters.
fn demangled(name: &str) -> String {
    let rust = rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
    let plain = || {
        let options = DemangleOptions::new().no_params().no_return_type();
        cpp_demangle::Symbol::new(name).ok()?.demangle_with_options(&options).ok()
    };
    let mut name = rust.or_else(plain).unwrap_or_else(|| name.to_owned());
    if name.len() > MAX_NAME_BYTES {
        name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::libraries::loaded;
    use std::vec;

    fn table(functions: &[(u64, u64, &str)]) -> SymbolTable {
        let mut table = SymbolTable { bias: 0x1000, ..SymbolTable::default() };
        for (begin, bytes, name) in functions {
            table.add(*begin, *bytes, name);
        }
        table.finish();
        table
    }

    #[test]
    fn a_function_has_its_addresses_and_none_beyond_them() {
        let table = table(&[
            (0x30, 0, "bare"),
            (0x10, 8, "short"),
            (0x10, 16, "__GI___long"),
            (0x10, 16, "long64"),
            (0x10, 16, "long"),
            (0x40, 4, "last"),
        ]);
        let name = |address| table.find(address);
        assert_eq!([0x100f, 0x1010, 0x101f, 0x1020].map(name), [None, Some("long"), Some("long"), None]);
        assert_eq!(
            [0x1030, 0x103f, 0x1040, 0x1044].map(name),
            [Some("bare"), Some("bare"), Some("last"), None]
        );
    }

    #[test]
    fn without_symbols_an_address_has_the_beginning_of_its_function() {
        let table = SymbolTable { bias: 0x1000, begins: vec![0x10, 0x30], ..SymbolTable::default() };
        let bounds = [0x100f, 0x1010, 0x102f, 0x1030].map(|address| table.bounds(address));
        let (first, second) = (Some(0x1010), Some(0x1030));
        assert_eq!(bounds, [(None, first), (first, second), (first, second), (second, None)]);
    }

    #[test]
    fn names_are_demangled_and_cut() {
        assert_eq!(
            demangled("_ZN14PhaseIdealLoop18build_and_optimizeEv"),
            "PhaseIdealLoop::build_and_optimize"
        );
        assert_eq!(
            demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(demangled("_ZN5vouch4walk17h0123456789abcdefE"), "vouch::walk");
        assert_eq!(demangled("deflate_slow"), "deflate_slow");
        assert_eq!(demangled(&"é".repeat(200)).chars().count(), 129);
    }

    #[test]
    fn this_function_is_found_by_its_address() {
        let mut symbols = Symbols::default();
        symbols.set_libraries(loaded().unwrap());
        let address = (this_function_is_found_by_its_address as *const ()).addr();
        let symbol = symbols.find(address).unwrap();
        assert!(symbol.function.is_some_and(|name| name.ends_with("this_function_is_found_by_its_address")));
        assert_eq!(symbols.find(0x10), None);
    }

    #[test]
    fn this_function_ends_before_the_next_one() {
        let mut symbols = Symbols::default();
        symbols.set_libraries(loaded().unwrap());
        let address = (this_function_ends_before_the_next_one as *const ()).addr();
        let function = symbols.function(address).unwrap();
        assert_eq!(function.start, address);
        assert!(function.len() > 16 && symbols.function(function.end).unwrap().start == function.end);
        assert_eq!(symbols.function(address + 1), Some(function));
        let (library, offset) = symbols.offset(address).unwrap();
        assert!(library.starts_with("vouch_unwind") && offset < address, "{library} {offset}");
        assert_eq!((symbols.function(0x10), symbols.offset(0x10)), (None, None));
    }

    #[test]
    fn an_address_without_a_symbol_has_its_offset() {
        let symbol = |function: Option<&str>| Symbol {
            library: "liba.so".to_owned(),
            function: function.map(str::to_owned),
            offset: 0x1234,
        };
        assert_eq!(symbol(Some("run")).full_name(), "liba.so!run");
        assert_eq!(symbol(None).full_name(), "liba.so+0x1234");
    }
}
