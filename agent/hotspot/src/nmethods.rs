//! Reads from nmethods what JVMTI does not report: the compilation level, whether the code is an
//! OSR compilation, and whether it is not entrant any more.
//!
//! HotSpot may free an nmethod while it is read, and put other code at its address. Memory that is
//! read once is read through the kernel. States are read directly: thousands of them, four times a
//! second, would take 1 % of a core through the kernel.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use foldhash::HashMap;
use vouch_signal::slots::own_walking;
use vouch_unwind::code_cache::{BlobKind, CodeCache};
use vouch_unwind::guard::copy;
use vouch_unwind::kernel::peek;
use vouch_unwind::memory::Memory;

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::{CodeLayout, VmStructs, read_word};

/// A view of memory that reads each block of 512 bytes once. It is meant for one lookup with many
/// reads close to each other: a block that was read is never read again.
#[derive(Debug, Default)]
pub struct CachedMemory {
    /// The calling thread's slot of the guard, which allows direct reads of memory that may be
    /// unmapped. `None` to read through the kernel, which takes a hundred times as long.
    guard_slot: Option<&'static AtomicUsize>,
    /// Keeps this view of memory on the thread that owns `guard_slot`.
    is_not_send: PhantomData<*const ()>,
    cache: RefCell<Cache>,
    /// The index of the memory block that was used last.
    last: Cell<usize>,
}

/// The blocks of memory that a [`CachedMemory`] has read.
#[derive(Debug, Default)]
struct Cache {
    /// Each block that was read, with its address.
    blocks: Vec<(usize, Block)>,
    /// The index of each block after the first [`SEARCHED`], by its address. Most lookups read
    /// fewer blocks, and so make no table.
    indices: HashMap<usize, usize>,
}

/// The number of blocks that are searched one by one.
const SEARCHED: usize = 8;

/// An aligned block of 512 bytes, so that no block crosses a page boundary.
type Block = [usize; 64];

impl Cache {
    /// Returns the index of the block that begins at this address, if it was read.
    fn index_of(&self, begin: usize) -> Option<usize> {
        let mut first = self.blocks.iter().take(SEARCHED);
        first.position(|(known, _)| *known == begin).or_else(|| self.indices.get(&begin).copied())
    }

    fn add(&mut self, begin: usize, block: &Block) {
        if self.blocks.len() >= SEARCHED {
            self.indices.insert(begin, self.blocks.len());
        }
        self.blocks.push((begin, *block));
    }
}

impl CachedMemory {
    /// Makes a view of memory that reads under the guard if walks are guarded.
    pub fn new(is_guarded: bool) -> Self {
        Self { guard_slot: is_guarded.then(own_walking).flatten(), ..Self::default() }
    }

    fn read_block(&self, begin: usize) -> Option<Block> {
        let Some(guard_slot) = self.guard_slot else { return peek(begin) };
        let mut block = [0; _];
        // SAFETY: the slot is the calling thread's: it was looked up there, and `CachedMemory`
        // cannot be sent to another thread. `new` sets it only while walks are guarded.
        unsafe { copy(guard_slot, begin, &mut block) }.then_some(block)
    }
}

impl Memory for CachedMemory {
    fn word(&self, at: usize) -> Option<usize> {
        let begin = at - at % size_of::<Block>();
        let cache = &mut *self.cache.borrow_mut();
        if cache.blocks.get(self.last.get()).is_none_or(|(last, _)| *last != begin) {
            let known = cache.index_of(begin);
            if known.is_none() {
                cache.add(begin, &self.read_block(begin)?);
            }
            self.last.set(known.unwrap_or(cache.blocks.len() - 1));
        }
        let (_, block) = cache.blocks.get(self.last.get())?;
        block.get((at - begin) / size_of::<usize>()).copied()
    }
}

/// A view of memory that reads the code cache directly and all other memory through
/// [`CachedMemory`]. Like a [`CachedMemory`], it is meant for one lookup.
#[derive(Debug)]
pub struct CodeMemory<'h> {
    heaps: &'h [Range<usize>],
    other: CachedMemory,
}

impl<'h> CodeMemory<'h> {
    /// Makes a view of memory with the code heaps from [`code_heaps`]. It reads other memory under
    /// the guard if walks are guarded.
    pub fn new(heaps: &'h [Range<usize>], is_guarded: bool) -> Self {
        Self { heaps, other: CachedMemory::new(is_guarded) }
    }
}

impl Memory for CodeMemory<'_> {
    fn word(&self, at: usize) -> Option<usize> {
        let is_in_heap = self.heaps.iter().any(|heap| heap.contains(&at));
        if !is_in_heap || !at.is_multiple_of(size_of::<usize>()) {
            return self.other.word(at);
        }
        // SAFETY: an aligned word of a code heap, as in `are_not_entrant`. HotSpot may write it at
        // any time, which an atomic read allows.
        Some(unsafe { AtomicUsize::from_ptr(at as *mut usize) }.load(Relaxed))
    }
}

/// Returns the committed memory of each code heap. HotSpot may commit more later, and uncommits
/// none.
pub fn code_heaps<M: Memory>(code_cache: &CodeCache, memory: &M) -> impl Iterator<Item = Range<usize>> {
    let CodeCache { heaps, low, high, .. } = *code_cache;
    let field = |heap: usize, offset: usize| memory.word(heap.checked_add(offset)?);
    heaps
        .into_iter()
        .take_while(|heap| *heap != 0)
        .filter_map(move |heap| Some(field(heap, low)?..field(heap, high)?))
}

/// The offsets in the code cache and in an nmethod.
#[derive(Debug, Clone)]
pub struct NmethodLayout {
    code_cache: CodeCache,
    comp_level: usize,
    entry_bci: usize,
    /// `None` if this JVM does not publish it.
    compile_id: Option<usize>,
}

/// The properties of the compilation that made an nmethod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compilation {
    /// The compilation level: 1 to 3 for C1, 4 for C2, 0 for the wrapper of a native method.
    pub tier: u8,
    /// True for an on-stack replacement (OSR) compilation, which is entered in a loop.
    pub is_osr: bool,
    /// The address of the byte with the nmethod's state, or 0 if unknown.
    pub state_address: usize,
}

impl NmethodLayout {
    /// Reads the offsets of nmethods from VMStructs. `None` if this JVM does not publish one.
    pub fn find(hotspot: &HotSpot, code: &CodeLayout) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot)?;
        Some(Self {
            code_cache: code.code_cache?,
            comp_level: vm_structs.offset(&fields::NMETHOD_COMP_LEVEL)?,
            entry_bci: vm_structs.offset(&fields::NMETHOD_ENTRY_BCI)?,
            compile_id: vm_structs.offset(&fields::NMETHOD_COMPILE_ID),
        })
    }

    /// Reads the compilation of the nmethod that contains `pc`. `None` if no nmethod contains it
    /// now.
    pub fn compilation(&self, pc: usize, memory: &impl Memory) -> Option<Compilation> {
        let (nmethod, kind) = self.code_cache.find(pc, memory)?;
        if kind == BlobKind::Other {
            return None;
        }
        // The level is one byte in newer JDKs, with another field after it.
        let tier = memory.byte(nmethod.checked_add(self.comp_level)?)?;
        let is_osr = memory.int(nmethod.checked_add(self.entry_bci)?)? >= 0;
        Some(Compilation { tier, is_osr, state_address: nmethod.checked_add(self.code_cache.state)? })
    }

    /// Returns true if this JVM publishes the number of a compilation.
    pub fn has_numbers(&self) -> bool {
        self.compile_id.is_some()
    }

    /// Reads the number of the compilation that made an nmethod. The JVM counts its compilations,
    /// so no other compilation has the number.
    pub fn number(&self, nmethod: usize, memory: &impl Memory) -> Option<u64> {
        let id = memory.int(nmethod.checked_add(self.compile_id?)?)?;
        Some(id.cast_unsigned().into())
    }

    /// Returns for each address of a state byte whether its nmethod is not entrant: no thread
    /// enters it any more, but threads may still run in it. (An nmethod of an unloaded class is
    /// dead at once.)
    pub fn are_not_entrant(&self, state_addresses: &[usize]) -> Vec<bool> {
        let heaps: Vec<Range<usize>> = code_heaps(&self.code_cache, &read_word).collect();
        let state = |at: usize| {
            let inside = heaps.iter().any(|heap| heap.contains(&at));
            // SAFETY: the byte is in the committed memory of a code heap. HotSpot never uncommits
            // it, even if it frees the nmethod. HotSpot may write the byte at any time, which an
            // atomic read allows.
            inside.then(|| unsafe { AtomicU8::from_ptr(at as *mut u8) }.load(Relaxed))
        };
        let is_not_entrant = |state: u8| state > 0 && state < self.code_cache.first_dead_state;
        state_addresses.iter().map(|at| state(*at).is_some_and(is_not_entrant)).collect()
    }
}
