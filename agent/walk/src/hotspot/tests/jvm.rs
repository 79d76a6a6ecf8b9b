//! The JVM, its heap of code and its methods, and a thread of it with its stack.

extern crate std;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::vec::Vec;

use vouch_sample::Answer;

use super::super::continuation::ContinuationLayout;
use super::super::frames::Frames;
use super::super::layout::{
    AnchorLayout, BlobLayout, CompiledLayout, EntryLayout, InterpreterLayout, Layout, MethodLayout, Number,
    Place, UnpackLayout, UpcallLayout, Verified,
};
use super::super::walk::{Interrupted, Known, walk};
use crate::code_cache::Blobs;
use crate::context::{Interpreting, Registers};
use crate::jvm_layout::Ground;
use crate::walker::{Outset, RawFrame, Room, Told};

pub const WORD: usize = 8;
const HEAP: usize = 0x1000;
const MAP: usize = 0x2000;
pub const LOW: usize = 0x10_0000;
/// Each blob has a block of as many bytes, its code this far behind its beginning, and a frame of
/// so many words.
pub const BLOCK: usize = 0x400;
pub const CODE: usize = 0x100;
pub const SIZE: usize = 6;
pub const METADATA: usize = 0x20_0000;
pub const ENV: usize = 0x30_0000;
pub const STACK: usize = 0x40_0000;
pub const BASE: usize = STACK + 0x1000;
pub const INTERPRETER: usize = 0x50_0000;
/// Its first code makes frames.
pub const ENTRIES: usize = INTERPRETER + 0x100;
/// And further on it is returned to.
pub const BACK: usize = INTERPRETER + 0x200;
/// Where Java returns to that the VM has called.
pub const RETURNS: usize = 0x60_0000;
pub const IN_JAVA: usize = 8;
/// What leads from a method to its id, in words: four parts, one behind the other.
pub const PART: usize = 0x100;
/// What the frames of code that was given up are filled in from.
pub const UNPACK: UnpackLayout =
    UnpackLayout { head: 88, count: 8, caller: 16, first: 0x40, size: 24, method: 0, bci: 8 };

pub fn layout() -> Layout {
    let behind = |at| Place { pointer: None, behind: Some(Number::int(at)) };
    let anchor = AnchorLayout { sp: 0, pc: 8, fp: 16 };
    Layout {
        ground: Ground {
            env: 0,
            stack_base: 8,
            stack_size: 16,
            last_sp: 32,
            last_pc: 40,
            last_fp: 48,
            blobs: Blobs {
                heaps: [HEAP, 0, 0, 0, 0, 0, 0, 0],
                low: 0,
                high: 8,
                map: 16,
                segment: 24,
                used: 4,
                head: 8,
                name: 0,
                size: 8,
                state: 12,
                dead: 3,
            },
            interpreter: INTERPRETER..INTERPRETER + 0x1000,
        },
        state: 24,
        in_java: 8,
        blob: BlobLayout { frame_size: 16, complete: Number::int(20), code: behind(24) },
        compiled: CompiledLayout {
            method: 32,
            verified: Verified::BehindCode(Number { at: 28, bytes: 2 }),
            original: 40,
            pcs: behind(44),
            pcs_end: behind(48),
            scopes: behind(52),
            metadata: behind(56),
            given_up: [Some(behind(60)), None],
            zeroless: true,
        },
        method: MethodLayout {
            constant: 0,
            flags: 8,
            pool: 0,
            number: 8,
            code_size: 16,
            code: 24,
            class: 0,
            ids: 0,
            leads_back: true,
        },
        entry: EntryLayout { returns: RETURNS, holder: 6, anchor: 8 },
        anchor,
        interpreter: InterpreterLayout {
            bytecode: 8,
            entries: INTERPRETER..ENTRIES,
            returns: [BACK..BACK + 0x40, BACK + 0x80..BACK + 0xc0],
        },
        upcall: Some(UpcallLayout { kind: 72, upcall: 11, anchor: 76 }),
        unpack: Some(UNPACK),
    }
}

/// A JVM with one thread.
pub struct Jvm {
    pub layout: Layout,
    pub continuations: Option<ContinuationLayout>,
    pub words: RefCell<BTreeMap<usize, usize>>,
    blobs: usize,
    methods: usize,
}

/// A method that was made: where it lies, and its id.
#[derive(Clone, Copy)]
pub struct Made {
    pub at: usize,
    pub id: usize,
}

impl Made {
    pub fn frame(self, bci: i32) -> RawFrame {
        RawFrame { bci, method: self.id }
    }

    /// Where this place in its bytecode lies.
    pub fn bytecode(self, bci: usize) -> usize {
        self.at + PART + 24 + bci
    }
}

/// What a compiled method has: where in its code which scope is described.
type Scopes<'s> = &'s [(usize, &'s [(Made, i32)])];

impl Jvm {
    fn new() -> Self {
        let jvm =
            Self { layout: layout(), continuations: None, words: RefCell::default(), blobs: 0, methods: 0 };
        for (at, word) in [(0, LOW), (8, LOW + 16 * BLOCK), (16, MAP), (24, 10)] {
            jvm.put(HEAP + at, word);
        }
        // Nothing lies anywhere.
        jvm.put(MAP, usize::MAX);
        jvm.put(MAP + 8, usize::MAX);
        for (at, word) in [(8, BASE), (16, 0x1000), (24, IN_JAVA), (32, 0), (40, 0), (48, 0), (88, 0)] {
            jvm.put(ENV + at, word);
        }
        for at in (STACK..BASE).step_by(WORD) {
            jvm.put(at, 0);
        }
        jvm
    }

    pub fn put(&self, at: usize, word: usize) {
        assert!(at.is_multiple_of(WORD));
        self.words.borrow_mut().insert(at, word);
    }

    pub fn put_bytes(&self, at: usize, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            let (word, shift) = ((at + index) & !7, ((at + index) & 7) * 8);
            let mut words = self.words.borrow_mut();
            let old = words.get(&word).copied().unwrap_or(0);
            words.insert(word, old & !(0xff << shift) | usize::from(*byte) << shift);
        }
    }

    /// Numbers of four bytes.
    pub fn put_numbers(&self, blob: usize, numbers: &[(usize, usize)]) {
        for (at, number) in numbers {
            self.put_bytes(blob + at, &u32::try_from(*number).unwrap().to_le_bytes());
        }
    }

    /// So many words of the stack from there on.
    pub fn push(&self, at: usize, words: &[usize]) {
        for (index, word) in words.iter().enumerate() {
            self.put(at + index * WORD, *word);
        }
    }

    pub fn method(&mut self, native: bool) -> Made {
        let at = METADATA + self.methods * 8 * PART;
        self.methods += 1;
        let (constant, pool, class, ids, id) =
            (at + PART, at + 2 * PART, at + 3 * PART, at + 4 * PART, at + 5 * PART);
        for (at, word) in [
            (at, constant),
            (at + 8, if native { 0x101 } else { 1 }),
            (constant, pool),
            (constant + 8, 1),
            (constant + 16, 100),
            (pool, class),
            (class, ids),
            (ids, 2),
            (ids + 8, 0),
            (ids + 16, id),
            (id, at),
        ] {
            self.put(at, word);
        }
        Made { at, id }
    }

    /// A blob of this name; where its code begins.
    pub fn blob(&mut self, name: [u8; 8], size: usize, complete: usize) -> usize {
        let block = LOW + self.blobs * BLOCK;
        self.put_bytes(MAP + self.blobs, &[0]);
        self.blobs += 1;
        let (blob, text) = (block + 8, block + BLOCK - 16);
        self.push(block, &[0; BLOCK / WORD]);
        self.put_bytes(text, &name);
        self.put_bytes(block + 4, &[1]);
        self.put(blob, text);
        let numbers = [(8, BLOCK - 32), (12, 0), (16, size), (20, complete), (24, CODE)];
        self.put_numbers(blob, &numbers);
        self.put_bytes(blob + CODE, &[0x90; 0x80]);
        blob + CODE
    }

    /// A compiled method: its frame is made at 16, its code was given up to 0x70, the original pc
    /// in the second word of its frame.
    pub fn compiled(&mut self, method: Made, scopes: Scopes<'_>) -> usize {
        let code = self.blob(*b"nmethod\0", SIZE, 16);
        let blob = code - CODE;
        self.put(blob + 32, method.at);
        let (pcs, data, metadata) = (0x190, 0x200, 0x280);
        let mut text = std::vec![1_u8];
        let mut rows = std::vec![(-1, 0)];
        let mut known: Vec<usize> = Vec::new();
        for (pc, frames) in scopes {
            // The callers are written first, since those that they call lead there.
            let mut caller = 0;
            for (method, bci) in frames.iter().rev() {
                let place = known.iter().position(|at| *at == method.at).unwrap_or_else(|| {
                    known.push(method.at);
                    known.len() - 1
                });
                let at = text.len();
                for number in [caller, place + 1, usize::try_from(bci + 1).unwrap()] {
                    write_number(&mut text, number);
                }
                caller = at;
            }
            rows.push((i32::try_from(*pc).unwrap(), i32::try_from(caller).unwrap()));
        }
        rows.push((i32::MAX, 0));
        for (index, (pc, scope)) in rows.iter().enumerate() {
            let row: Vec<u8> = [*pc, *scope, 0, 0].iter().flat_map(|number| number.to_le_bytes()).collect();
            self.put_bytes(blob + pcs + index * 16, &row);
        }
        self.put_bytes(blob + data, &text);
        for (index, method) in known.iter().enumerate() {
            self.put(blob + metadata + index * WORD, *method);
        }
        let end = pcs + rows.len() * 16;
        let numbers = [(28, 8), (40, 8), (44, pcs), (48, end), (52, data), (56, metadata), (60, CODE + 0x70)];
        self.put_numbers(blob, &numbers);
        code
    }

    /// The frame that begins the thread, whose frame pointer is given: from there the VM has
    /// called, and there was no Java before.
    pub fn begin(&self, fp: usize) -> [usize; 2] {
        let holder = BASE - 0x100;
        self.put(fp - 6 * WORD, holder);
        self.push(holder + 8, &[0, 0, 0]);
        [fp, RETURNS]
    }

    pub fn interrupted(pc: usize, sp: usize, fp: usize) -> Interrupted {
        let nowhere = Interpreting { bytecode: 1, method: 3, returns: 5 };
        Interrupted { at: Registers { pc, sp, fp }, interpreting: nowhere, calls: false }
    }

    pub fn known(&self) -> Known<'_> {
        Known { layout: &self.layout, continuations: self.continuations.as_ref() }
    }

    pub fn walk(&self, at: Interrupted) -> (Answer, Vec<RawFrame>, Outset) {
        let (answer, frames, told) = self.walk_within(64, at);
        (answer, frames, told.outset)
    }

    pub fn walk_within(&self, depth: i32, at: Interrupted) -> (Answer, Vec<RawFrame>, Told) {
        let mut room = std::vec![RawFrame::EMPTY; usize::try_from(depth).unwrap()];
        // SAFETY: as large as it says.
        let mut frames = unsafe { Frames::of(Room { frames: room.as_mut_ptr(), depth }) };
        let memory = |at: usize| self.words.borrow().get(&at).copied();
        let walked = walk(&memory, self.known(), ENV, at, &mut frames);
        let (count, told) = frames.settle();
        room.truncate(walked.map_or(0, |()| count as usize));
        (walked.map(|()| count), room, told)
    }

    pub fn frames(&self, at: Interrupted) -> Vec<RawFrame> {
        let (answer, frames, _) = self.walk(at);
        assert!(answer.is_ok(), "{answer:?}");
        frames
    }
}

/// As a compiler without zeros writes it.
fn write_number(text: &mut Vec<u8>, number: usize) {
    let mut rest = number;
    loop {
        if rest < 191 {
            text.push(u8::try_from(rest + 1).unwrap());
            return;
        }
        text.push(u8::try_from(191 + (rest - 191) % 64 + 1).unwrap());
        rest = (rest - 191) / 64;
    }
}

/// A thread of two compiled frames, of which the outer one has three methods in one, called by an
/// interpreted one.
pub struct Thread {
    pub jvm: Jvm,
    pub leaf: Made,
    pub outer: [Made; 3],
    pub interpreted: Made,
    /// Their code.
    pub leaf_code: usize,
    pub outer_code: usize,
}

/// Where the frame of the leaf begins, and those of its callers.
pub const LEAF: usize = STACK + 0x100;
pub const OUTER: usize = LEAF + SIZE * WORD;
pub const SLOTS: usize = OUTER + SIZE * WORD + 0x80;
/// Where in the outer one's code the leaf returns to, and where in the interpreted one's bytecode
/// that does.
pub const CALL: usize = 0x31;
const BCI: i32 = 400;

pub fn thread() -> Thread {
    let mut jvm = Jvm::new();
    let (leaf, interpreted) = (jvm.method(false), jvm.method(false));
    let outer = [jvm.method(false), jvm.method(false), jvm.method(false)];
    let leaf_code = jvm.compiled(leaf, &[(0x20, &[(leaf, 3)]), (0x30, &[(leaf, 70)])]);
    let chain = [(outer[0], 7), (outer[1], BCI), (outer[2], 20_000)];
    let outer_code = jvm.compiled(outer[2], &[(0x18, &[(outer[2], 1)]), (CALL, &chain)]);
    // Frame pointers that were saved: nobody's, and the interpreted frame's.
    jvm.push(OUTER - 2 * WORD, &[0x77, outer_code + CALL]);
    jvm.push(SLOTS - 0x80 - 2 * WORD, &[SLOTS, BACK + 8]);
    jvm.put(SLOTS - 8 * WORD, interpreted.bytecode(12));
    jvm.put(SLOTS - 2 * WORD, SLOTS - 0x80);
    jvm.put(SLOTS - 3 * WORD, interpreted.at);
    let first = SLOTS + 0x200;
    jvm.push(SLOTS, &jvm.begin(first));
    jvm.put(SLOTS - WORD, SLOTS + 0x20);
    Thread { jvm, leaf, outer, interpreted, leaf_code, outer_code }
}

impl Thread {
    /// What the leaf's callers are.
    pub fn callers(&self) -> Vec<RawFrame> {
        let [a, b, c] = self.outer;
        [a.frame(7), b.frame(BCI), c.frame(20_000), self.interpreted.frame(12)].to_vec()
    }

    pub fn with(&self, leaf: RawFrame) -> Vec<RawFrame> {
        [[leaf].to_vec(), self.callers()].concat()
    }

    pub fn at(&self, offset: usize, sp: usize) -> Interrupted {
        Jvm::interrupted(self.leaf_code + offset, sp, 0x99)
    }

    /// The interpreted one is on top: it has called nobody.
    pub fn interpreting(self) -> Self {
        self.jvm.put(SLOTS - 2 * WORD, 0);
        self
    }
}

/// Interrupted in the interpreter, with that in its registers.
pub fn interpreting(pc: usize, sp: usize, bytecode: usize, method: usize, returns: usize) -> Interrupted {
    let interpreting = Interpreting { bytecode, method, returns };
    Interrupted { at: Registers { pc, sp, fp: SLOTS }, interpreting, calls: false }
}
