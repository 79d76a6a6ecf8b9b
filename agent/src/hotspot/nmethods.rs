//! What HotSpot's code cache says of a method's compiled code beyond what JVMTI tells: which of the compilers made it, whether it is entered
//! in the midst of a loop, and whether it has been given up.
//!
//! Code may go while it is looked at, and other code come into its place. What is read once is read through the kernel; what is read of
//! thousands four times a second is not, which would take a hundredth of a core.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use vouch_walk::blobs::{Blob, Blobs};
use vouch_walk::kernel::peek;
use vouch_walk::memory::Memory;

use super::HotSpot;
use super::vmstructs::{CodeLayout, Table, read};

/// Memory that is asked for many words close to each other: each block is read once. For one question: what was read does not change any more.
#[derive(Debug, Default)]
struct Blocks(RefCell<Vec<(usize, Block)>>);

/// No page cuts it.
type Block = [usize; 64];

impl Memory for Blocks {
    fn word(&self, at: usize) -> Option<usize> {
        let begin = at - at % size_of::<Block>();
        let mut blocks = self.0.borrow_mut();
        if !blocks.iter().any(|(known, _)| *known == begin) {
            blocks.push((begin, peek(begin)?));
        }
        let (_, block) = blocks.iter().find(|(known, _)| *known == begin)?;
        block.get((at - begin) / size_of::<usize>()).copied()
    }
}

/// Where such things lie.
#[derive(Debug, Clone)]
pub struct Nmethods {
    blobs: Blobs,
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
    /// `None` if this JVM does not tell.
    pub fn of(hotspot: &HotSpot, code: &CodeLayout) -> Option<Self> {
        let table = Table::of(hotspot)?;
        let of = |name| table.offset("nmethod", name);
        Some(Self { blobs: code.blobs?, level: of("_comp_level")?, entry: of("_entry_bci")? })
    }

    /// The code around an address; `None` if there is none now.
    pub fn made(&self, pc: usize) -> Option<Made> {
        let memory = Blocks::default();
        let (nmethod, kind) = self.blobs.find(pc, &memory)?;
        if kind == Blob::Other {
            return None;
        }
        // The level has become a byte, and what follows it is another's.
        let tier = memory.byte(nmethod.checked_add(self.level)?)?;
        let in_loop = memory.int(nmethod.checked_add(self.entry)?)? >= 0;
        Some(Made { tier, in_loop, state: nmethod.checked_add(self.blobs.state)? })
    }

    /// Which of these states are of code that threads no more enter, and may still be in. (What died with its class is dead at once.)
    pub fn given_up(&self, states: &[usize]) -> Vec<bool> {
        let heaps: Vec<Range<usize>> = self.heaps().collect();
        let state = |at: usize| {
            let inside = heaps.iter().any(|heap| heap.contains(&at));
            // SAFETY: it lies in a heap of the code cache, between the ends of the memory that the JVM has taken for it. HotSpot has no way to give
            // any of that back while it runs, whatever becomes of the code in it. It writes the byte at any time, which an atomic read allows.
            inside.then(|| unsafe { AtomicU8::from_ptr(at as *mut u8) }.load(Relaxed))
        };
        let given_up = |state: u8| state > 0 && state < self.blobs.dead;
        states.iter().map(|at| state(*at).is_some_and(given_up)).collect()
    }

    /// The memory of the code cache.
    fn heaps(&self) -> impl Iterator<Item = Range<usize>> {
        let Blobs { heaps, low, high, .. } = self.blobs;
        let field = |heap: usize, offset: usize| read(heap.checked_add(offset)?);
        heaps
            .into_iter()
            .take_while(|heap| *heap != 0)
            .filter_map(move |heap| Some(field(heap, low)?..field(heap, high)?))
    }
}
