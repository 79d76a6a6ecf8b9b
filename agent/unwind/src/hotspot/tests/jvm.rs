//! A JVM that the walker's tests build in memory: its code heap, its methods, and a thread with its
//! stack.

extern crate std;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::vec::Vec;

use vouch_sample::Answer;

use super::super::continuation::ContinuationLayout;
use super::super::frames::Frames;
use super::super::layout::{
    AnchorLayout, BlobAddress, BlobField, BlobLayout, CallStubLayout, CompiledLayout, InterpreterLayout,
    Layout, MethodLayout, UpcallLayout, VerifiedEntry, VframeArrayLayout,
};
use super::super::walk::{Interrupted, Layouts, walk};
use crate::code_cache::CodeCache;
use crate::context::{InterpreterRegisters, Registers};
use crate::jvm_layout::JvmLayout;
use crate::walker::{RawFrame, ResumePoint, Room, StackInfo};

pub const WORD: usize = 8;
const HEAP: usize = 0x1000;
const MAP: usize = 0x2000;
pub const LOW: usize = 0x10_0000;
/// The size of a heap block in the test JVM, in bytes.
pub const BLOCK: usize = 0x400;
/// The offset of the code in a blob of the test JVM.
pub const CODE: usize = 0x100;
/// The size of a compiled frame in the test JVM, in words.
pub const SIZE: usize = 6;
pub const METADATA: usize = 0x20_0000;
pub const ENV: usize = 0x30_0000;
pub const STACK: usize = 0x40_0000;
pub const BASE: usize = STACK + 0x1000;
pub const INTERPRETER: usize = 0x50_0000;
/// The address at which the interpreter's method entry points end.
pub const ENTRIES: usize = INTERPRETER + 0x100;
/// The address of the interpreter's first return entry.
pub const BACK: usize = INTERPRETER + 0x200;
/// The return address of the test JVM's call stub.
pub const RETURNS: usize = 0x60_0000;
pub const IN_JAVA: usize = 8;
/// The distance between a Method, its ConstMethod, and the other structures that lead to a
/// jmethodID.
pub const PART: usize = 0x100;
/// The layout of the test JVM's vframeArray.
pub const UNPACK: VframeArrayLayout = VframeArrayLayout {
    head: 88,
    frames: 8,
    caller_sp: 16,
    elements: 0x40,
    element_size: 24,
    method: 0,
    bci: 8,
};

pub fn layout() -> Layout {
    let offset = |at| BlobAddress { pointer: None, offset: Some(BlobField::int(at)) };
    let anchor = AnchorLayout { sp: 0, pc: 8, fp: 16 };
    Layout {
        jvm: JvmLayout {
            env: 0,
            stack_base: 8,
            stack_size: 16,
            last_sp: 32,
            last_pc: 40,
            last_fp: 48,
            code_cache: CodeCache {
                heaps: [HEAP, 0, 0, 0, 0, 0, 0, 0],
                low: 0,
                high: 8,
                segmap: 16,
                log2_segment_size: 24,
                used: 4,
                header_size: 8,
                name: 0,
                size: 8,
                state: 12,
                first_dead_state: 3,
            },
            interpreter: INTERPRETER..INTERPRETER + 0x1000,
        },
        state: 24,
        in_java: 8,
        pending_monitor: None,
        blob: BlobLayout { frame_size: 16, frame_complete: BlobField::int(20), code_begin: offset(24) },
        compiled: CompiledLayout {
            method: 32,
            verified_entry: VerifiedEntry::Offset(BlobField { offset: 28, bytes: 2 }),
            orig_pc_offset: 40,
            scopes_pcs: offset(44),
            scopes_pcs_end: offset(48),
            scopes_data: offset(52),
            metadata: offset(56),
            deopt_handlers: [Some(offset(60)), None],
            unsigned5_excludes_zero: true,
        },
        method: MethodLayout {
            const_method: 0,
            access_flags: 8,
            constants: 0,
            idnum: 8,
            code_size: 16,
            bytecodes: 24,
            pool_holder: 0,
            jmethod_ids: 0,
            ids_are_pointers: true,
        },
        call_stub: CallStubLayout { return_address: RETURNS, wrapper_slot: 6, anchor: 8 },
        anchor,
        interpreter: InterpreterLayout {
            bcp_slot: 8,
            method_entries: INTERPRETER..ENTRIES,
            return_entries: [BACK..BACK + 0x40, BACK + 0x80..BACK + 0xc0],
        },
        upcall: Some(UpcallLayout { kind_offset: 72, upcall_kind: 11, frame_data_offset: 76 }),
        vframe_array: Some(UNPACK),
    }
}

/// A JVM in memory with one thread, for tests of the walker.
pub struct Jvm {
    pub layout: Layout,
    pub continuations: Option<ContinuationLayout>,
    pub words: RefCell<BTreeMap<usize, usize>>,
    blobs: usize,
    methods: usize,
}

/// A method of the test JVM: its address and its jmethodID.
#[derive(Clone, Copy)]
pub struct Made {
    pub at: usize,
    pub id: usize,
}

impl Made {
    pub fn frame(self, bci: i32) -> RawFrame {
        RawFrame { bci, method: self.id }
    }

    /// Returns the address of the method's bytecode with this index.
    pub fn bytecode(self, bci: usize) -> usize {
        self.at + PART + 24 + bci
    }
}

/// The PcDescs of a compiled method: pc offsets, each with its frames, innermost first.
type Scopes<'s> = &'s [(usize, &'s [(Made, i32)])];

impl Jvm {
    fn new() -> Self {
        let jvm =
            Self { layout: layout(), continuations: None, words: RefCell::default(), blobs: 0, methods: 0 };
        for (at, word) in [(0, LOW), (8, LOW + 16 * BLOCK), (16, MAP), (24, 10)] {
            jvm.put(HEAP + at, word);
        }
        // All segments are free.
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

    /// Writes u32 fields of a blob or an object.
    pub fn put_numbers(&self, blob: usize, numbers: &[(usize, usize)]) {
        for (at, number) in numbers {
            self.put_bytes(blob + at, &u32::try_from(*number).unwrap().to_le_bytes());
        }
    }

    /// Writes consecutive words, beginning at an address.
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

    /// Creates a code blob with this name, and returns the address of its code.
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

    /// Creates a compiled method. Its frame is complete at offset 16, its deopt handler is at 0x70,
    /// and its original pc is in the second word of the frame.
    pub fn compiled(&mut self, method: Made, scopes: Scopes<'_>) -> usize {
        let code = self.blob(*b"nmethod\0", SIZE, 16);
        let blob = code - CODE;
        self.put(blob + 32, method.at);
        let (pcs, data, metadata) = (0x190, 0x200, 0x280);
        let mut text = std::vec![1_u8];
        let mut rows = std::vec![(-1, 0)];
        let mut known: Vec<usize> = Vec::new();
        for (pc, frames) in scopes {
            // The callers are written first, because each scope refers to its caller.
            let mut caller = 0;
            for (method, bci) in frames.iter().rev() {
                let index = known.iter().position(|at| *at == method.at).unwrap_or_else(|| {
                    known.push(method.at);
                    known.len() - 1
                });
                let at = text.len();
                for number in [caller, index + 1, usize::try_from(bci + 1).unwrap()] {
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

    /// Writes the frame of the call stub with this frame pointer. The stub's anchor is clear, so
    /// this is the thread's first frame.
    pub fn begin(&self, fp: usize) -> [usize; 2] {
        let holder = BASE - 0x100;
        self.put(fp - 6 * WORD, holder);
        self.push(holder + 8, &[0, 0, 0]);
        [fp, RETURNS]
    }

    pub fn interrupted(pc: usize, sp: usize, fp: usize) -> Interrupted {
        let nowhere = InterpreterRegisters { bcp: 1, method: 3, return_address: 5 };
        Interrupted { at: Registers { pc, sp, fp }, interpreting: nowhere, is_caller: false }
    }

    pub fn layouts(&self) -> Layouts<'_> {
        Layouts { layout: &self.layout, continuations: self.continuations.as_ref() }
    }

    pub fn walk(&self, at: Interrupted) -> (Answer, Vec<RawFrame>, ResumePoint) {
        let (answer, frames, info) = self.walk_within(64, at);
        (answer, frames, info.resume_point)
    }

    pub fn walk_within(&self, depth: i32, at: Interrupted) -> (Answer, Vec<RawFrame>, StackInfo) {
        let mut room = std::vec![RawFrame::EMPTY; usize::try_from(depth).unwrap()];
        // SAFETY: the buffer is as large as `depth` says.
        let mut frames = unsafe { Frames::new(Room { frames: room.as_mut_ptr(), depth }) };
        let memory = |at: usize| self.words.borrow().get(&at).copied();
        let walked = walk(&memory, self.layouts(), ENV, at, &mut frames);
        let (count, info) = frames.finish();
        room.truncate(walked.map_or(0, |()| count as usize));
        (walked.map(|()| count), room, info)
    }

    pub fn frames(&self, at: Interrupted) -> Vec<RawFrame> {
        let (answer, frames, _) = self.walk(at);
        assert!(answer.is_ok(), "{answer:?}");
        frames
    }
}

/// Writes an UNSIGNED5 number without zero bytes.
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

/// A test thread with two compiled frames and an interpreted frame, which called them. The outer
/// compiled frame has two inlined methods.
pub struct Thread {
    pub jvm: Jvm,
    pub leaf: Made,
    pub outer: [Made; 3],
    pub interpreted: Made,
    /// The address of the code of the leaf's compiled method.
    pub leaf_code: usize,
    pub outer_code: usize,
}

/// The stack pointer of the leaf's compiled frame.
pub const LEAF: usize = STACK + 0x100;
/// The stack pointer of the outer compiled frame.
pub const OUTER: usize = LEAF + SIZE * WORD;
/// The frame pointer of the interpreted frame.
pub const SLOTS: usize = OUTER + SIZE * WORD + 0x80;
/// Offset of the leaf's return address in the outer method's code.
pub const CALL: usize = 0x31;
/// The bci of the middle method at the call that the offset `CALL` belongs to.
const BCI: i32 = 400;

pub fn thread() -> Thread {
    let mut jvm = Jvm::new();
    let (leaf, interpreted) = (jvm.method(false), jvm.method(false));
    let outer = [jvm.method(false), jvm.method(false), jvm.method(false)];
    let leaf_code = jvm.compiled(leaf, &[(0x20, &[(leaf, 3)]), (0x30, &[(leaf, 70)])]);
    let chain = [(outer[0], 7), (outer[1], BCI), (outer[2], 20_000)];
    let outer_code = jvm.compiled(outer[2], &[(0x18, &[(outer[2], 1)]), (CALL, &chain)]);
    // The saved frame pointers: one leads to no frame, and one to the interpreted frame.
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
    /// Returns the frames of the leaf's callers, as walkers write them.
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

    /// Clears the last stack pointer of the interpreted frame, so that this frame is the topmost.
    pub fn interpreting(self) -> Self {
        self.jvm.put(SLOTS - 2 * WORD, 0);
        self
    }
}

/// Returns the registers of a thread that was interrupted in the interpreter.
pub fn interpreting(pc: usize, sp: usize, bytecode: usize, method: usize, returns: usize) -> Interrupted {
    let interpreting = InterpreterRegisters { bcp: bytecode, method, return_address: returns };
    Interrupted { at: Registers { pc, sp, fp: SLOTS }, interpreting, is_caller: false }
}
