//! Finds the compiled code at an address.
//!
//! HotSpot's memory says it, so the JVM does not have to report each method that is compiled. If
//! this JVM lacks a name that is needed, the table of reported code ([`compiled`]) says it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use vouch_collect::compiled::{self, CompiledFrame, KnownCode, PcKind};
use vouch_hotspot::HotSpot;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_hotspot::nmethods::{CachedMemory, CodeMemory, NmethodLayout, code_heaps};
use vouch_sample::MethodId;
use vouch_unwind::code_cache::CodeCache;
use vouch_unwind::hotspot::HotspotWalker;

/// Where compiled code is looked up.
#[derive(Debug, Default)]
pub enum CompiledCode {
    /// In the table of the code that the JVM reported.
    #[default]
    Reported,
    /// In the JVM's memory.
    Read(Box<Reader>),
}

/// Reads nmethods.
#[derive(Debug)]
pub struct Reader {
    walker: &'static HotspotWalker,
    code_cache: CodeCache,
    nmethods: NmethodLayout,
    /// The committed memory of the code cache when it was last read.
    heaps: RefCell<Vec<Range<usize>>>,
}

impl CompiledCode {
    /// Finds how compiled code is looked up in this JVM.
    pub fn find(hotspot: &HotSpot, layouts: &JvmLayouts) -> Self {
        if compiled::is_reported() {
            Self::Reported
        } else {
            Reader::find(hotspot, layouts).map_or(Self::Reported, |reader| Self::Read(Box::new(reader)))
        }
    }

    /// True if compiled code is read from the JVM's memory.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    /// Returns the code that contains an address.
    pub fn code_at(&self, pc: usize) -> Option<KnownCode> {
        match self {
            Self::Reported => compiled::code_at(pc),
            Self::Read(reader) => reader.with(pc, |reader, memory, nmethod| {
                // A JVM that moves an nmethod may let it keep its number.
                let place = u64::from(u32::try_from(nmethod & 0xffff_ffff).unwrap_or(0));
                let serial = reader.nmethods.number(nmethod, memory)? << 32 | place;
                Some(KnownCode { serial, is_older: false })
            }),
        }
    }

    /// Returns the compiled method that has its code at an address.
    pub fn method_at(&self, pc: usize) -> Option<MethodId> {
        match self {
            Self::Reported => compiled::method_at(pc),
            Self::Read(reader) => {
                reader.with(pc, |reader, memory, nmethod| reader.walker.method_of(memory, nmethod))
            }
        }
    }

    /// Finds the compiled frame at an address.
    pub fn frame_at(&self, pc: usize, kind: PcKind) -> Option<CompiledFrame> {
        match self {
            Self::Reported => compiled::frame_at(pc, kind),
            Self::Read(reader) => reader.with(pc, |Reader { walker, .. }, memory, nmethod| {
                let frames = walker.frames_at(memory, nmethod, kind.debug_point(pc)?)?;
                Some(CompiledFrame { method: walker.method_of(memory, nmethod)?, frames })
            }),
        }
    }
}

impl Reader {
    /// Returns `None` if this JVM lacks a name that is needed.
    pub fn find(hotspot: &HotSpot, layouts: &JvmLayouts) -> Option<Self> {
        let (walker, code) = (*layouts.walker.as_ref().ok()?, layouts.code.as_ref()?);
        let nmethods = NmethodLayout::find(hotspot, code).filter(NmethodLayout::has_numbers)?;
        Some(Self { walker, code_cache: code.code_cache?, nmethods, heaps: RefCell::default() })
    }

    /// Calls `read` with the address of the nmethod that contains `pc`, and with a view of memory
    /// for one lookup.
    fn with<T>(&self, pc: usize, read: impl FnOnce(&Self, &CodeMemory<'_>, usize) -> Option<T>) -> Option<T> {
        let is_guarded = !self.walker.unguarded.load(Relaxed);
        let is_known = || self.heaps.borrow().iter().any(|heap| heap.contains(&pc));
        if !is_known() {
            self.heaps.replace(code_heaps(&self.code_cache, &CachedMemory::new(is_guarded)).collect());
            if !is_known() {
                return None;
            }
        }
        let heaps = self.heaps.borrow();
        let memory = CodeMemory::new(&heaps, is_guarded);
        let nmethod = self.walker.nmethod_at(&memory, pc)?;
        read(self, &memory, nmethod)
    }
}
