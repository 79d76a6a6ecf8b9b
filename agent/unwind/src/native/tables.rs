//! The unwind tables of the libraries that are loaded, and one step of a walk by them.
//!
//! A step takes its rule from the library's [`RuleTable`], or from framehop, which reads
//! `.eh_frame`: for rules of another form, and in libraries with few steps so far. Tables are made
//! in normal context. A step runs in a signal handler: it must not allocate or lock.

extern crate std;

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::borrow::ToOwned;
use std::collections::HashMap;
use std::sync::Arc;
use std::vec::Vec;

use crate::context::Registers;
use crate::memory::{LiveMemory, Memory};
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind,
    UnwindRegsNative, Unwinder, UnwinderNative,
};

use crate::native::cfi;
use crate::native::libraries::{Library, Section, UnwindSections};
use crate::native::rule_table::{RuleTable, Step};

type Framehop = UnwinderNative<Arc<[u8]>, MustNotAllocateDuringUnwind>;
/// What framehop needs besides for a step. Only one walk may use it at a time.
pub(crate) type Cache = CacheNative<MustNotAllocateDuringUnwind>;

/// A library's rules are read when framehop has done one step in it for this number of bytes of
/// `.eh_frame`. Reading them takes up to 16 times as long then as these steps have taken.
const BYTES_PER_STEP: usize = 1_024;

/// The addresses of code in a library, and how it is walked.
pub(crate) struct Code {
    range: Range<usize>,
    rules: Option<Arc<RuleTable>>,
    /// How many steps framehop has done in the library.
    framehop_steps: Arc<AtomicU32>,
}

/// What a walk needs of the libraries that are loaded.
pub struct Tables {
    framehop: Framehop,
    /// Sorted by address.
    code: Vec<Code>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tables").field("code", &self.code.len()).finish_non_exhaustive()
    }
}

/// What was read of a library.
#[derive(Default)]
struct LibraryTables {
    /// Only until the rules are read.
    sections: Option<UnwindSections>,
    module: Option<Module<Arc<[u8]>>>,
    rules: Option<Arc<RuleTable>>,
    framehop_steps: Arc<AtomicU32>,
}

impl LibraryTables {
    fn read(library: &Library) -> Self {
        let sections = library.unwind_sections();
        let module = sections.clone().map(|sections| module(library, sections));
        Self { sections, module, ..Self::default() }
    }

    /// Takes the sections if the library has had enough steps for its rules to be read.
    fn take_sections(&mut self) -> Option<UnwindSections> {
        let bytes = |sections: &UnwindSections| sections.eh_frame.as_ref().map_or(0, |it| it.bytes.len());
        let steps = usize::try_from(self.framehop_steps.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        self.sections.take_if(|sections| steps >= bytes(sections) / BYTES_PER_STEP)
    }
}

/// A library with rules that are to be read.
#[derive(Debug)]
pub struct UnreadRules {
    library: Library,
    sections: UnwindSections,
}

impl UnreadRules {
    /// Reads the rules, which takes up to 86 ms. It calls `pause` again and again meanwhile.
    pub fn read(self, pause: &mut dyn FnMut()) -> ReadRules {
        let rules = cfi::rule_table(&self.sections, &self.library.range, pause);
        ReadRules { library: self.library, rules: rules.map(Arc::new) }
    }
}

/// The rules of a library.
#[derive(Debug)]
pub struct ReadRules {
    library: Library,
    rules: Option<Arc<RuleTable>>,
}

/// Makes tables, and keeps what was read of libraries that stay loaded.
#[derive(Default)]
pub struct TableMaker {
    libraries: Vec<Library>,
    known: HashMap<Library, LibraryTables>,
}

impl fmt::Debug for TableMaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TableMaker").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl TableMaker {
    /// Sets the libraries that are loaded now.
    pub fn set_libraries(&mut self, libraries: Vec<Library>) {
        self.known.retain(|library, _| libraries.contains(library));
        for library in &libraries {
            if !self.known.contains_key(library) {
                self.known.insert(library.clone(), LibraryTables::read(library));
            }
        }
        self.libraries = libraries;
    }

    /// Returns a library in which walks have done many steps without its rules. Each is returned
    /// once.
    pub fn next_unread(&mut self) -> Option<UnreadRules> {
        self.known.iter_mut().find_map(|(library, tables)| {
            Some(UnreadRules { sections: tables.take_sections()?, library: library.clone() })
        })
    }

    /// Sets the rules of a library, unless it has gone. Returns true if the library has rules.
    pub fn set_rules(&mut self, read: ReadRules) -> bool {
        let Some(tables) = self.known.get_mut(&read.library) else { return false };
        tables.rules = read.rules;
        tables.rules.is_some()
    }

    /// Sets the number of steps of each library, and returns how many there were in all.
    #[cfg(test)]
    pub(crate) fn set_framehop_steps(&self, steps: u32) -> u32 {
        self.known.values().map(|tables| tables.framehop_steps.swap(steps, Ordering::Relaxed)).sum()
    }

    /// Makes the tables. A library without unwind tables is walked by frame pointers.
    pub fn make(&self) -> Tables {
        let mut framehop = Framehop::new();
        let mut code: Vec<Code> = Vec::new();
        for library in &self.libraries {
            let Some(tables) = self.known.get(library) else { continue };
            code.extend(library.code.iter().map(|range| Code {
                range: range.clone(),
                rules: tables.rules.clone(),
                framehop_steps: tables.framehop_steps.clone(),
            }));
            if let Some(module) = &tables.module {
                framehop.add_module(module.clone());
            }
        }
        code.sort_by_key(|code| code.range.start);
        Tables { framehop, code }
    }
}

impl Tables {
    pub(crate) fn code_at(&self, address: usize) -> Option<&Code> {
        let after = self.code.partition_point(|code| code.range.start <= address);
        after
            .checked_sub(1)
            .and_then(|index| self.code.get(index))
            .filter(|code| code.range.contains(&address))
    }

    /// Finds the caller of the function in which these registers are. `address` is the pc, or for
    /// a caller an address in its call instruction.
    pub(crate) fn step(
        &self,
        code: &Code,
        address: FrameAddress,
        registers: &mut UnwindRegsNative,
        cache: &mut Cache,
        memory: &LiveMemory,
    ) -> NativeStep {
        let pc = usize::try_from(address.address_for_lookup()).unwrap_or(0);
        let by_rules = code.rules.as_ref().map(|rules| rules.step(pc, plain(registers), memory));
        match by_rules {
            Some(Step::Caller(caller)) => {
                set_caller_registers(registers, caller);
                return NativeStep::Caller(FrameAddress::from_return_address(caller.pc as u64));
            }
            Some(Step::ThreadStart) => return NativeStep::ThreadStart,
            Some(Step::Broken) => return NativeStep::Broken,
            Some(Step::Unknown) | None => {}
        }
        code.framehop_steps.fetch_add(1, Ordering::Relaxed);
        let mut read = |address: u64| {
            let word = usize::try_from(address).ok().and_then(|address| memory.word(address));
            word.map(|word| word as u64).ok_or(())
        };
        match self.framehop.unwind_frame(address, registers, cache, &mut read) {
            Ok(Some(caller)) => NativeStep::Caller(FrameAddress::from_return_address(caller)),
            Ok(None) => NativeStep::ThreadStart,
            Err(_) => NativeStep::Broken,
        }
    }
}

/// Where a step leads.
pub(crate) enum NativeStep {
    /// The caller, or `None` if its address cannot be one.
    Caller(Option<FrameAddress>),
    ThreadStart,
    Broken,
}

fn module(library: &Library, sections: UnwindSections) -> Module<Arc<[u8]>> {
    let UnwindSections { bias, eh_frame, eh_frame_hdr } = sections;
    let split = |section: Option<Section>| section.map(|it| (it.addresses, it.bytes)).unzip();
    let (eh_frame_svma, eh_frame) = split(eh_frame);
    let (eh_frame_hdr_svma, eh_frame_hdr) = split(eh_frame_hdr);
    let info = ExplicitModuleSectionInfo {
        eh_frame_svma,
        eh_frame,
        eh_frame_hdr_svma,
        eh_frame_hdr,
        ..ExplicitModuleSectionInfo::default()
    };
    let range = library.range.start as u64..library.range.end as u64;
    Module::new(library.name().to_owned(), range, bias, info)
}

/// Returns the registers of a walk that all processors have.
#[cfg(target_arch = "x86_64")]
fn plain(registers: &UnwindRegsNative) -> Registers {
    plain_registers([registers.ip(), registers.sp(), registers.bp()])
}

/// Returns the registers of a walk that all processors have.
#[cfg(target_arch = "aarch64")]
fn plain(registers: &UnwindRegsNative) -> Registers {
    plain_registers([registers.lr(), registers.sp(), registers.fp()])
}

fn plain_registers(registers: [u64; 3]) -> Registers {
    let [pc, sp, fp] = registers.map(|value| usize::try_from(value).unwrap_or(0));
    Registers { pc, sp, fp }
}

/// Sets the registers of a walk to those of the caller.
#[cfg(target_arch = "x86_64")]
fn set_caller_registers(registers: &mut UnwindRegsNative, caller: Registers) {
    registers.set_ip(caller.pc as u64);
    registers.set_sp(caller.sp as u64);
    registers.set_bp(caller.fp as u64);
}

/// Sets the registers of a walk to those of the caller.
#[cfg(target_arch = "aarch64")]
fn set_caller_registers(registers: &mut UnwindRegsNative, caller: Registers) {
    registers.set_lr(caller.pc as u64);
    registers.set_sp(caller.sp as u64);
    registers.set_fp(caller.fp as u64);
}
