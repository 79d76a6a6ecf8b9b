//! What HotSpot's code cache says of a method's compiled code beyond what JVMTI tells: which of the
//! compilers made it, whether it is entered in the midst of a loop, and whether it has been given
//! up.
//!
//! Code may go while it is looked at, and other code come into its place. What is read once is read
//! through the kernel; what is read of thousands four times a second is not, which would take a
//! hundredth of a core.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use foldhash::HashMap;
use vouch_signal::slots::own_walking;
use vouch_walk::code_cache::{BlobKind, CodeCache};
use vouch_walk::guard::copy;
use vouch_walk::kernel::peek;
use vouch_walk::memory::Memory;

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::{CodeLayout, Table, read};

/// Memory that is asked for many words close to each other: each block is read once. For one
/// question: what was read does not change any more.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The calling thread's slot for the guard, under which memory can be read that may be gone.
    /// `None`: read through the kernel, which takes a hundred times as long.
    place: Option<&'static AtomicUsize>,
    /// Keeps this on its thread, whose slot `place` is.
    stays: PhantomData<*const ()>,
    read: RefCell<Read>,
    /// The number of the block that was asked for last.
    last: Cell<usize>,
}

/// Blocks that were read.
#[derive(Debug, Default)]
struct Read {
    blocks: Vec<(usize, Block)>,
    /// The number of the block that begins at an address.
    numbers: HashMap<usize, usize>,
}

/// No page cuts it.
type Block = [usize; 64];

impl Blocks {
    fn block(&self, begin: usize) -> Option<Block> {
        let Some(place) = self.place else { return peek(begin) };
        let mut block = [0; _];
        // SAFETY: the slot is the calling thread's: it was looked up there, and `Blocks` cannot be
        // sent to another thread. `CodeMemory::new` sets it only while walks are guarded.
        unsafe { copy(place, begin, &mut block) }.then_some(block)
    }
}

impl Memory for Blocks {
    fn word(&self, at: usize) -> Option<usize> {
        let begin = at - at % size_of::<Block>();
        let Read { blocks, numbers } = &mut *self.read.borrow_mut();
        if blocks.get(self.last.get()).is_none_or(|(last, _)| *last != begin) {
            let known = numbers.get(&begin).copied();
            let number = known.unwrap_or(blocks.len());
            if known.is_none() {
                blocks.push((begin, self.block(begin)?));
                numbers.insert(begin, number);
            }
            self.last.set(number);
        }
        let (_, block) = blocks.get(self.last.get())?;
        block.get((at - begin) / size_of::<usize>()).copied()
    }
}

/// Reads the code cache directly and all other memory as [`Blocks`] does. For one question, like
/// those.
#[derive(Debug)]
pub struct CodeMemory<'h> {
    heaps: &'h [Range<usize>],
    rest: Blocks,
}

impl<'h> CodeMemory<'h> {
    /// Takes the code heaps from [`heaps`]; reads other memory under the guard if walks are
    /// guarded.
    pub fn new(heaps: &'h [Range<usize>], is_guarded: bool) -> Self {
        let place = is_guarded.then(own_walking).flatten();
        Self { heaps, rest: Blocks { place, ..Blocks::default() } }
    }
}

impl Memory for CodeMemory<'_> {
    fn word(&self, at: usize) -> Option<usize> {
        let is_in_heap = self.heaps.iter().any(|heap| heap.contains(&at));
        if !is_in_heap || !at.is_multiple_of(size_of::<usize>()) {
            return self.rest.word(at);
        }
        // SAFETY: a whole word of a heap of the code cache, as in `given_up`. HotSpot writes it at
        // any time, which an atomic read allows.
        Some(unsafe { AtomicUsize::from_ptr(at as *mut usize) }.load(Relaxed))
    }
}

/// The memory that the JVM has taken for its code cache so far. It may take more, and gives none
/// back.
pub fn heaps(blobs: &CodeCache) -> impl Iterator<Item = Range<usize>> {
    let CodeCache { heaps, low, high, .. } = *blobs;
    let field = |heap: usize, offset: usize| read(heap.checked_add(offset)?);
    heaps
        .into_iter()
        .take_while(|heap| *heap != 0)
        .filter_map(move |heap| Some(field(heap, low)?..field(heap, high)?))
}

/// Where such things lie.
#[derive(Debug, Clone)]
pub struct Nmethods {
    blobs: CodeCache,
    level: usize,
    entry: usize,
}

/// Of a method's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    /// 1 to 3 are the first compiler's, 4 is the second's; 0: a native method's wrapper.
    pub tier: u8,
    /// It is entered in a loop that ran already.
    pub in_loop: bool,
    /// Where it says what it is good for; 0 if it is not known.
    pub state: usize,
}

impl Nmethods {
    /// `None` if this JVM does not publish it.
    pub fn of(hotspot: &HotSpot, code: &CodeLayout) -> Option<Self> {
        let table = Table::of(hotspot)?;
        Some(Self {
            blobs: code.blobs?,
            level: table.offset(&fields::NMETHOD_COMP_LEVEL)?,
            entry: table.offset(&fields::NMETHOD_ENTRY_BCI)?,
        })
    }

    /// The code around an address, by the code cache's memory; `None` if there is none now.
    pub fn made(&self, pc: usize, memory: &impl Memory) -> Option<Made> {
        let (nmethod, kind) = self.blobs.find(pc, memory)?;
        if kind == BlobKind::Other {
            return None;
        }
        // The level has become a byte, and what follows it is another's.
        let tier = memory.byte(nmethod.checked_add(self.level)?)?;
        let in_loop = memory.int(nmethod.checked_add(self.entry)?)? >= 0;
        Some(Made { tier, in_loop, state: nmethod.checked_add(self.blobs.state)? })
    }

    /// Which of these states are of code that threads no more enter, and may still be in. (What
    /// died with its class is dead at once.)
    pub fn given_up(&self, states: &[usize]) -> Vec<bool> {
        let heaps: Vec<Range<usize>> = heaps(&self.blobs).collect();
        let state = |at: usize| {
            let inside = heaps.iter().any(|heap| heap.contains(&at));
            // SAFETY: the byte is in a heap of the code cache, within the memory that the JVM has
            // taken for it, which HotSpot never gives back while it runs, whatever becomes of the
            // code. HotSpot writes the byte at any time, which an atomic read allows.
            inside.then(|| unsafe { AtomicU8::from_ptr(at as *mut u8) }.load(Relaxed))
        };
        let given_up = |state: u8| state > 0 && state < self.blobs.first_dead_state;
        states.iter().map(|at| state(*at).is_some_and(given_up)).collect()
    }
}
