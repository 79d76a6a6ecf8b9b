//! The libraries that are loaded in this process, by `/proc/self/maps`, and their ELF files.
//!
//! It runs in normal context. It must not trust a file: a damaged one has no sections and no
//! symbols.

extern crate std;

use core::ops::Range;
use std::borrow::ToOwned;
use std::format;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::string::String;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use object::elf::PF_X;
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};

/// The kernel's name for the library that it maps into each process.
const VDSO: &str = "[vdso]";
/// What the kernel appends to the path of a file that was removed or replaced.
const DELETED: &str = " (deleted)";
/// The largest vDSO that is read. The real one has two pages.
const MAX_VDSO_BYTES: usize = 1 << 20;
/// The bits of an offset in a page.
const PAGE: u64 = 0xfff;
/// The largest unwind table that is copied. That of the largest JVM has 2 MB.
const MAX_SECTION_BYTES: u64 = 64 << 20;

/// A library, or the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Library {
    /// The path of the file, or `[vdso]`.
    pub path: String,
    /// The addresses from its first to its last mapping.
    pub range: Range<usize>,
    /// The addresses of its code.
    pub code: Vec<Range<usize>>,
    /// The address minus the file offset of its first mapping of code.
    code_begin: (usize, u64),
    /// The end of its first mapping.
    first_end: usize,
    /// The inode of the mapped file, since another file may have its path later.
    inode: u64,
}

/// A section of a library's file.
#[derive(Debug, Clone)]
pub struct Section {
    /// Where the section is, by the addresses of the file.
    pub addresses: Range<u64>,
    pub bytes: Arc<[u8]>,
}

/// What unwinding needs of a library.
#[derive(Debug, Clone)]
pub struct UnwindSections {
    /// What to add to an address of the file for the address in memory.
    pub bias: u64,
    pub eh_frame: Option<Section>,
    pub eh_frame_hdr: Option<Section>,
}

/// Reads which libraries this process has loaded.
pub fn loaded() -> io::Result<Vec<Library>> {
    Ok(from_maps(&fs::read_to_string("/proc/self/maps")?))
}

/// Finds the libraries in the text of `/proc/self/maps`, by address. Mappings of one file that
/// follow one another are one library.
fn from_maps(maps: &str) -> Vec<Library> {
    let mut libraries: Vec<Library> = Vec::new();
    for mapping in maps.lines().filter_map(Mapping::parse) {
        match libraries.last_mut() {
            Some(last) if last.path == mapping.path && last.inode == mapping.inode => last.add(&mapping),
            _ => libraries.push(Library::new(&mapping)),
        }
    }
    libraries.retain(|library| !library.code.is_empty());
    libraries
}

/// A line of `/proc/self/maps` with a file.
struct Mapping<'t> {
    range: Range<usize>,
    is_code: bool,
    offset: u64,
    /// It is 0 for the vDSO.
    inode: u64,
    path: &'t str,
    is_deleted: bool,
}

impl<'t> Mapping<'t> {
    /// Reads a line such as `7f00-7f80 r-xp 00026000 08:01 1234  /lib/libc.so.6`.
    fn parse(line: &'t str) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let (field, after) = rest.split_once(' ')?;
            rest = after.trim_start();
            Some(field)
        };
        let (addresses, rights, offset, _, inode) = (field()?, field()?, field()?, field()?, field()?);
        let (begin, end) = addresses.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let file = rest.strip_suffix(DELETED);
        let path = file.unwrap_or(rest);
        (path.starts_with('/') || path == VDSO).then_some(())?;
        Some(Self {
            range: address(begin)?..address(end)?,
            is_code: rights.as_bytes().get(2) == Some(&b'x'),
            offset: u64::from_str_radix(offset, 16).ok()?,
            inode: inode.parse().ok()?,
            path,
            is_deleted: file.is_some(),
        })
    }
}

impl Library {
    fn new(mapping: &Mapping<'_>) -> Self {
        let Mapping { range, path, inode, .. } = mapping;
        let mut library = Self {
            path: (*path).to_owned(),
            range: range.clone(),
            code: Vec::new(),
            code_begin: (0, 0),
            first_end: range.end,
            inode: *inode,
        };
        library.add(mapping);
        library
    }

    fn add(&mut self, mapping: &Mapping<'_>) {
        self.range.end = mapping.range.end;
        if mapping.is_code {
            if self.code.is_empty() {
                self.code_begin = (mapping.range.start, mapping.offset);
            }
            self.code.push(mapping.range.clone());
        }
    }

    /// The name of the file without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Reads the unwind tables. The result is `None` if the file is not readable, or not an ELF
    /// file.
    pub fn unwind_sections(&self) -> Option<UnwindSections> {
        self.read(UnwindReader(self))
    }

    /// Passes the file, or the vDSO's memory, to a reader.
    pub(crate) fn read<T: ElfReader>(&self, reader: T) -> Option<T::Output> {
        if self.path == VDSO {
            let bytes = self.vdso().ok()?;
            return reader.read(&object::File::parse(bytes.as_slice()).ok()?);
        }
        read_elf(self.open()?, reader)
    }

    /// Opens the mapped file. If another file has its path by now, the kernel's link leads to the
    /// mapped one, but only with `CAP_SYS_ADMIN` or `CAP_CHECKPOINT_RESTORE`.
    fn open(&self) -> Option<File> {
        let link = format!("/proc/self/map_files/{:x}-{:x}", self.range.start, self.first_end);
        File::open(if self.is_deleted() { &link } else { &self.path }).ok()
    }

    /// True if the mapped file has no path any more: it was removed or replaced. That may change
    /// while the library is loaded, so it is no part of its identity.
    fn is_deleted(&self) -> bool {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut mappings = maps.lines().filter_map(Mapping::parse);
        mappings.any(|mapping| mapping.range.start == self.range.start && mapping.is_deleted)
    }

    /// Copies the vDSO, which has no file.
    fn vdso(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.range.len().min(MAX_VDSO_BYTES)];
        File::open("/proc/self/mem")?.read_exact_at(&mut bytes, self.range.start as u64)?;
        Ok(bytes)
    }

    /// Returns what to add to an address of the file for the address in memory. A library that is
    /// mapped by another file's segments has none.
    pub(crate) fn bias<'d, R: ReadRef<'d>>(&self, file: &object::File<'d, R>) -> Option<u64> {
        let (address, offset) = self.code_begin;
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X));
        file.segments().filter(|segment| is_code(segment.flags())).find_map(|segment| {
            let (begin, size) = segment.file_range();
            let mapped = begin & !PAGE..begin.checked_add(size)?;
            let file_address = segment.address().wrapping_add(offset.wrapping_sub(begin));
            mapped.contains(&offset).then(|| (address as u64).wrapping_sub(file_address))
        })
    }
}

/// Reads a file in parts, as a reader asks for them.
pub(crate) fn read_file<T: ElfReader>(path: &Path, reader: T) -> Option<T::Output> {
    read_elf(File::open(path).ok()?, reader)
}

fn read_elf<T: ElfReader>(file: File, reader: T) -> Option<T::Output> {
    let cache = ReadCache::new(file);
    reader.read(&object::File::parse(&cache).ok()?)
}

/// A function that reads an ELF file, wherever its bytes are.
pub(crate) trait ElfReader {
    type Output;

    fn read<'d, R: ReadRef<'d>>(self, file: &object::File<'d, R>) -> Option<Self::Output>;
}

struct UnwindReader<'l>(&'l Library);

impl ElfReader for UnwindReader<'_> {
    type Output = UnwindSections;

    fn read<'d, R: ReadRef<'d>>(self, file: &object::File<'d, R>) -> Option<UnwindSections> {
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let (begin, bytes) = (section.address(), section.size());
            let addresses = begin..begin.checked_add(bytes)?;
            (bytes <= MAX_SECTION_BYTES).then_some(())?;
            Some(Section { addresses, bytes: section.data().ok()?.into() })
        };
        let (eh_frame, eh_frame_hdr) = (section(".eh_frame"), section(".eh_frame_hdr"));
        Some(UnwindSections { bias: self.0.bias(file)?, eh_frame, eh_frame_hdr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c000-55d0d000 r--p 00000000 08:01 17                     /usr/bin/java
55d0d000-55d0e000 r-xp 00001000 08:01 17                     /usr/bin/java
7f0000000000-7f0000100000 rwxp 00000000 00:00 0 
7f0000200000-7f0000201000 r--p 00000000 08:01 18             /lib/a b.so (deleted)
7f0000201000-7f0000203000 r-xp 00001000 08:01 18             /lib/a b.so (deleted)
7f0000203000-7f0000204000 rw-p 00003000 08:01 18             /lib/a b.so (deleted)
7f0000204000-7f0000206000 r--p 00000000 08:01 19             /data/words
7ffc0000a000-7ffc0000c000 r-xp 00000000 00:00 0              [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]
";

    #[test]
    fn libraries_are_the_files_with_code() {
        let found = from_maps(MAPS);
        let names: Vec<_> = found.iter().map(|it| (it.name(), it.range.clone(), it.code_begin)).collect();
        let expected = [
            ("java", 0x55d0_c000..0x55d0_e000, (0x55d0_d000, 0x1000)),
            ("a b.so", 0x7f00_0020_0000..0x7f00_0020_4000, (0x7f00_0020_1000, 0x1000)),
            (VDSO, 0x7ffc_0000_a000..0x7ffc_0000_c000, (0x7ffc_0000_a000, 0)),
        ];
        assert_eq!(names, expected);
        assert_eq!(found[1].code.as_slice(), std::slice::from_ref(&(0x7f00_0020_1000..0x7f00_0020_3000)));
    }

    #[test]
    fn a_library_is_the_same_after_its_file_was_replaced() {
        let is_same = |maps: &str| from_maps(maps) == from_maps(MAPS);
        assert!(is_same(&MAPS.replace(DELETED, "")));
        assert!(!is_same(&MAPS.replace("08:01 18 ", "08:01 20 ")), "another file");
    }

    #[test]
    fn a_library_has_the_path_of_its_file() {
        let maps =
            "7f01-7f02 r-xp 0 08:01 1 /usr/lib/libjvm.so\n7f03-7f04 r-xp 0 08:01 2    /opt/a b/libvouch.so\n";
        let found = from_maps(maps).into_iter().find(|library| library.name() == "libvouch.so");
        assert_eq!(found.unwrap().path, "/opt/a b/libvouch.so");
    }

    #[test]
    fn a_torn_line_is_no_library() {
        for line in ["", "7f00", "7f00-7f01 r-xp", "x-y r-xp 0 0 0 /lib/a.so", "1-2 r-xp 0 0 0 heap"] {
            assert_eq!(from_maps(line), []);
        }
    }

    #[test]
    fn the_libraries_of_this_process_have_unwind_tables() {
        let libraries = loaded().unwrap();
        let here = (libraries_of_this_process as *const ()).addr();
        let own = libraries.iter().find(|library| library.range.contains(&here)).unwrap();
        let sections = own.unwind_sections().unwrap();
        assert!(sections.eh_frame.is_some_and(|it| !it.bytes.is_empty()) && sections.eh_frame_hdr.is_some());
        let vdso = libraries.iter().find(|library| library.path == VDSO).unwrap();
        assert!(vdso.unwind_sections().unwrap().eh_frame.is_some());
    }

    fn libraries_of_this_process() {}
}
