//! The walker on a JVM that a test wrote, word by word: a thread's stack, a heap of code, methods.

extern crate std;

mod chunks;
mod unpacked;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::vec::Vec;

use vouch_sample::{Answer, Cut, ENTRY, MethodId, NATIVE, Reason};

use super::continuation::ContinuationLayout;
use super::frames::Frames;
use super::layout::{
    AnchorLayout, BlobLayout, CompiledLayout, EntryLayout, InterpreterLayout, Layout, MethodLayout, Number,
    Place, UnpackLayout, UpcallLayout, Verified,
};
use super::stack::{Interrupted, Known, walk};
use crate::blobs::Blobs;
use crate::context::{Interpreting, Registers};
use crate::recover::Ground;
use crate::walker::{Outset, RawFrame, Room, Told};

const WORD: usize = 8;
const HEAP: usize = 0x1000;
const MAP: usize = 0x2000;
const LOW: usize = 0x10_0000;
/// Each blob has a block of as many bytes, its code this far behind its beginning, and a frame of so many words.
const BLOCK: usize = 0x400;
const CODE: usize = 0x100;
const SIZE: usize = 6;
const METADATA: usize = 0x20_0000;
const ENV: usize = 0x30_0000;
const STACK: usize = 0x40_0000;
const BASE: usize = STACK + 0x1000;
const INTERPRETER: usize = 0x50_0000;
/// Its first code makes frames.
const ENTRIES: usize = INTERPRETER + 0x100;
/// And further on it is returned to.
const BACK: usize = INTERPRETER + 0x200;
/// Where Java returns to that the VM has called.
const RETURNS: usize = 0x60_0000;
const IN_JAVA: usize = 8;
/// What leads from a method to its id, in words: four parts, one behind the other.
const PART: usize = 0x100;

fn layout() -> Layout {
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
        unpack: Some(unpacked::UNPACK),
    }
}

/// A JVM with one thread.
struct Jvm {
    layout: Layout,
    continuations: Option<ContinuationLayout>,
    words: RefCell<BTreeMap<usize, usize>>,
    blobs: usize,
    methods: usize,
}

/// A method that was made: where it lies, and its id.
#[derive(Clone, Copy)]
struct Made {
    at: usize,
    id: usize,
}

impl Made {
    fn frame(self, bci: i32) -> RawFrame {
        RawFrame { bci, method: self.id }
    }

    /// Where this place in its bytecode lies.
    fn bytecode(self, bci: usize) -> usize {
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

    fn put(&self, at: usize, word: usize) {
        assert!(at.is_multiple_of(WORD));
        self.words.borrow_mut().insert(at, word);
    }

    fn put_bytes(&self, at: usize, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            let (word, shift) = ((at + index) & !7, ((at + index) & 7) * 8);
            let mut words = self.words.borrow_mut();
            let old = words.get(&word).copied().unwrap_or(0);
            words.insert(word, old & !(0xff << shift) | usize::from(*byte) << shift);
        }
    }

    /// Numbers of four bytes.
    fn put_numbers(&self, blob: usize, numbers: &[(usize, usize)]) {
        for (at, number) in numbers {
            self.put_bytes(blob + at, &u32::try_from(*number).unwrap().to_le_bytes());
        }
    }

    /// So many words of the stack from there on.
    fn push(&self, at: usize, words: &[usize]) {
        for (index, word) in words.iter().enumerate() {
            self.put(at + index * WORD, *word);
        }
    }

    fn method(&mut self, native: bool) -> Made {
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
    fn blob(&mut self, name: [u8; 8], size: usize, complete: usize) -> usize {
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

    /// A compiled method: its frame is made at 16, its code was given up to 0x70, the original pc in the second word of its frame.
    fn compiled(&mut self, method: Made, scopes: Scopes<'_>) -> usize {
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

    /// The frame that begins the thread, whose frame pointer is given: from there the VM has called, and there was no Java before.
    fn begin(&self, fp: usize) -> [usize; 2] {
        let holder = BASE - 0x100;
        self.put(fp - 6 * WORD, holder);
        self.push(holder + 8, &[0, 0, 0]);
        [fp, RETURNS]
    }

    fn interrupted(pc: usize, sp: usize, fp: usize) -> Interrupted {
        let nowhere = Interpreting { bytecode: 1, method: 3, returns: 5 };
        Interrupted { at: Registers { pc, sp, fp }, interpreting: nowhere, calls: false }
    }

    fn known(&self) -> Known<'_> {
        Known { layout: &self.layout, continuations: self.continuations.as_ref() }
    }

    fn walk(&self, at: Interrupted) -> (Answer, Vec<RawFrame>, Outset) {
        let (answer, frames, told) = self.walk_within(64, at);
        (answer, frames, told.outset)
    }

    fn walk_within(&self, depth: i32, at: Interrupted) -> (Answer, Vec<RawFrame>, Told) {
        let mut room = std::vec![RawFrame::EMPTY; usize::try_from(depth).unwrap()];
        // SAFETY: as large as it says.
        let mut frames = unsafe { Frames::of(Room { frames: room.as_mut_ptr(), depth }) };
        let memory = |at: usize| self.words.borrow().get(&at).copied();
        let walked = walk(&memory, self.known(), ENV, at, &mut frames);
        let (count, told) = frames.settle();
        room.truncate(walked.map_or(0, |()| count as usize));
        (walked.map(|()| count), room, told)
    }

    fn frames(&self, at: Interrupted) -> Vec<RawFrame> {
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

/// A thread of two compiled frames, of which the outer one has three methods in one, called by an interpreted one.
struct Thread {
    jvm: Jvm,
    leaf: Made,
    outer: [Made; 3],
    interpreted: Made,
    /// Their code.
    leaf_code: usize,
    outer_code: usize,
}

/// Where the frame of the leaf begins, and those of its callers.
const LEAF: usize = STACK + 0x100;
const OUTER: usize = LEAF + SIZE * WORD;
const SLOTS: usize = OUTER + SIZE * WORD + 0x80;
/// Where in the outer one's code the leaf returns to, and where in the interpreted one's bytecode that does.
const CALL: usize = 0x31;
const BCI: i32 = 400;

fn thread() -> Thread {
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
    fn callers(&self) -> Vec<RawFrame> {
        let [a, b, c] = self.outer;
        [a.frame(7), b.frame(BCI), c.frame(20_000), self.interpreted.frame(12)].to_vec()
    }

    fn with(&self, leaf: RawFrame) -> Vec<RawFrame> {
        [[leaf].to_vec(), self.callers()].concat()
    }

    fn at(&self, offset: usize, sp: usize) -> Interrupted {
        Jvm::interrupted(self.leaf_code + offset, sp, 0x99)
    }

    /// The interpreted one is on top: it has called nobody.
    fn interpreting(self) -> Self {
        self.jvm.put(SLOTS - 2 * WORD, 0);
        self
    }
}

/// Interrupted in the interpreter, with that in its registers.
fn interpreting(pc: usize, sp: usize, bytecode: usize, method: usize, returns: usize) -> Interrupted {
    let interpreting = Interpreting { bytecode, method, returns };
    Interrupted { at: Registers { pc, sp, fp: SLOTS }, interpreting, calls: false }
}

#[test]
fn frames_that_are_one_in_compiled_code_are_told_apart() {
    let thread = thread();
    let (answer, frames, outset) = thread.jvm.walk(thread.at(0x20, LEAF));
    // What is described where an instruction ends is of that instruction, not of the next one.
    assert_eq!((answer, frames), (Ok(5), thread.with(thread.leaf.frame(70))));
    assert_eq!(outset, Outset::default());
    assert_eq!(thread.jvm.frames(thread.at(0x1f, LEAF))[0], thread.leaf.frame(3));
}

#[test]
fn a_frame_that_is_being_made_or_taken_down_is_known_by_its_code() {
    let thread = thread();
    let entry = thread.leaf.frame(ENTRY);
    let back = OUTER - WORD;
    let put = |at: usize, code: &[u8]| thread.jvm.put_bytes(thread.leaf_code + at, code);
    // Behind the check of the receiver: push rbp; sub rsp, 32; and at the end add rsp, 32; pop rbp; a poll; ret.
    put(8, &[0x55, 0x48, 0x83, 0xec, 0x20]);
    put(0x40, &[0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 1, 2, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3]);
    let pushed = back - WORD;
    for (at, sp) in [(8, back), (9, pushed), (0x44, pushed), (0x45, back), (0x4c, back), (0x52, back)] {
        let (answer, frames, outset) = thread.jvm.walk(thread.at(at, sp));
        assert_eq!((answer, frames), (Ok(5), thread.with(entry)), "at {at:x}");
        assert_eq!(outset, Outset { pc: thread.outer_code + CALL - 1, before: true });
    }
    // The frame is all there while the stack pointer is not moved back.
    for at in [0xd, 0x10, 0x40] {
        assert_eq!(thread.jvm.walk(thread.at(at, LEAF)).2, Outset::default(), "at {at:x}");
    }
    // What is unknown may be anything.
    put(0xd, &[0xf4]);
    assert_eq!(thread.jvm.walk(thread.at(0xe, LEAF)).0, Err(Reason::UNKNOWN_JAVA));
    assert_eq!(thread.jvm.walk(thread.at(0xb, LEAF)).0, Err(Reason::UNKNOWN_JAVA), "amidst an instruction");
    // Nobody knows whether it is the right method.
    assert_eq!(thread.jvm.walk(thread.at(7, back)).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn a_frame_that_is_made_at_once_and_then_may_not_be_entered_is_known_by_its_code() {
    let thread = thread();
    let entry = thread.with(thread.leaf.frame(ENTRY));
    // sub rsp, 40; mov [rsp + 32], rbp; cmp dword [r15 + 8], 1; jne; add rsp, 40; leave; cmp qword [r15 + 8], 0; jne; ret.
    let code =
        [0x48, 0x81, 0xec, 40, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 32, 0x41, 0x81, 0x7f, 8, 1, 0, 0, 0, 0x75, 9];
    thread.jvm.put_bytes(thread.leaf_code + 8, &code);
    thread.jvm.put_numbers(thread.leaf_code - CODE, &[(20, 8 + code.len())]);
    // The caller's frame pointer is where it was, and then in the frame: the interpreted method can be told by it alone.
    thread.jvm.put(LEAF + 4 * WORD, 0x99);
    for (at, sp) in [(0, OUTER - WORD), (7, LEAF), (12, LEAF), (20, LEAF), (22, LEAF)] {
        let (answer, frames, _) = thread.jvm.walk(thread.at(8 + at, sp));
        assert!(answer.is_ok(), "at {at}");
        assert_eq!(frames[1..], entry[1..], "at {at}");
    }
    thread
        .jvm
        .put_bytes(thread.leaf_code + 0x40, &[0xc9, 0x49, 0x83, 0x7f, 8, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3]);
    for at in [0x41, 0x46, 0x4c] {
        assert_eq!(thread.jvm.frames(thread.at(at, OUTER - WORD)), entry, "at {at:x}");
    }
    // add rsp, 40; pop rbp; a jump.
    thread.jvm.put_bytes(thread.leaf_code + 0x40, &[0x48, 0x83, 0xc4, 40, 0x5d, 0xe9]);
    assert_eq!(thread.jvm.frames(thread.at(0x45, OUTER - WORD)), entry);
}

#[test]
fn what_ends_like_a_frame_that_is_taken_down_is_none() {
    let thread = thread();
    let within = |code: &[u8], at: usize| {
        thread.jvm.put_bytes(thread.leaf_code + 0x20 - at, code);
        thread.jvm.frames(thread.at(0x20, LEAF))
    };
    let whole = within(&[0x90; 8], 3);
    // mov rcx, r9, and a jump; or what a loop looks at the poll by.
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0xe9], 3), whole);
    assert_eq!(within(&[0x49, 0x8b, 0xc9, 0x4d, 0x8b, 0x57, 8], 3), whole);
    // mov eax, [rbp + 0x5d], likewise.
    assert_eq!(within(&[0x8b, 0x45, 0x5d, 0x85, 0x05], 3), whole);
}

#[test]
fn code_that_was_given_up_goes_on_where_its_frame_says() {
    let thread = thread();
    thread.jvm.put(OUTER - WORD, thread.outer_code + 0x70);
    let given_up = |original| {
        thread.jvm.put(OUTER + WORD, original);
        thread.jvm.walk(thread.at(0x20, LEAF))
    };
    assert_eq!(given_up(thread.outer_code + CALL).1, thread.with(thread.leaf.frame(70)));
    assert_eq!(given_up(thread.outer_code + CALL + 1).0, Err(Reason::NOT_WALKABLE_JAVA));
}

/// A recursion in compiled code through so many more frames than there are: the outer one, again and again.
fn recursion(rounds: usize) -> (Thread, usize) {
    let thread = thread();
    let begin = STACK + 0x400;
    let end = begin + rounds * SIZE * WORD;
    // The leaf's caller returns into itself, and the last round to where the outer one did.
    thread.jvm.push(OUTER, &[0; SIZE]);
    thread.jvm.put(LEAF + 4 * WORD, 0);
    let mut at = OUTER;
    for _ in 0..rounds {
        let next = at + SIZE * WORD;
        thread.jvm.push(next - 2 * WORD, &[0x99, thread.outer_code + CALL]);
        at = next;
    }
    let fp = end + 0x800;
    thread.jvm.push(at + (SIZE - 2) * WORD, &[fp, RETURNS]);
    thread.jvm.push(fp, &thread.jvm.begin(fp));
    (thread, at)
}

#[test]
fn who_calls_itself_is_met_again_and_what_its_frame_says_is_read_each_time() {
    let rounds = 5;
    let (thread, last) = recursion(rounds);
    let at = thread.at(0x20, LEAF);
    let round = thread.callers()[..3].to_vec();
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds + 1)].concat();
    assert_eq!(thread.jvm.frames(at), all);
    // Its code is given up, in one frame after the other: each says itself where it goes on.
    let original = thread.outer_code + 0x18;
    for given_up in (OUTER..=last).step_by(SIZE * WORD) {
        thread.jvm.put(given_up - WORD, thread.outer_code + 0x70);
        thread.jvm.put(given_up + WORD, if given_up == last { original } else { thread.outer_code + CALL });
    }
    let [.., outer] = thread.outer;
    let all = [[thread.leaf.frame(70)].to_vec(), round.repeat(rounds), [outer.frame(1)].to_vec()].concat();
    assert_eq!(thread.jvm.frames(at), all);
}

#[test]
fn of_a_recursion_for_which_there_is_no_room_both_ends_are_walked() {
    let (thread, _) = recursion(5);
    let at = thread.at(0x20, LEAF);
    let all = thread.jvm.frames(at);
    for depth in 1..all.len() {
        let (inner, outer) = (depth.div_ceil(2), depth / 2);
        let ends = [&all[..inner], &all[all.len() - outer..]].concat();
        let [kept, at_frame, frames] =
            [depth, inner, all.len() - depth].map(|count| u32::try_from(count).unwrap());
        let (answer, walked, told) = thread.jvm.walk_within(depth.try_into().unwrap(), at);
        assert_eq!((answer, walked, told.cut), (Ok(kept), ends, Some(Cut { at: at_frame, frames })));
    }
}

#[test]
fn a_caller_is_one_only_where_a_call_is_described() {
    let mut thread = thread();
    let native = thread.jvm.method(true);
    let wrapper = thread.jvm.blob(*b"native n", SIZE, 16);
    thread.jvm.put(wrapper - CODE + 32, native.at);
    for wrong in [thread.outer_code + CALL - 1, wrapper + 0x20, 0, 0x1234_5678, LOW + 15 * BLOCK, usize::MAX]
    {
        thread.jvm.put(OUTER - WORD, wrong);
        assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA), "{wrong:x}");
    }
    // One that was given up for good can be nobody's.
    thread.jvm.put(OUTER - WORD, thread.outer_code + CALL);
    thread.jvm.put_bytes(thread.outer_code - CODE + 12, &[3]);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NOT_WALKABLE_JAVA));
}

#[test]
fn the_interpreter_knows_best_itself_where_it_is() {
    let Thread { jvm, interpreted, .. } = thread().interpreting();
    let at = |pc, bytecode, sp| jvm.frames(interpreting(pc, sp, bytecode, 3, 5));
    let sp = SLOTS - 0x80;
    assert_eq!(at(ENTRIES + 4, interpreted.bytecode(55), sp), [interpreted.frame(55)]);
    // In between it has something else there: it has just come back.
    assert_eq!(at(ENTRIES + 4, interpreted.bytecode(100), sp), [interpreted.frame(12)]);
    assert_eq!(at(ENTRIES + 4, sp, sp), [interpreted.frame(12)]);
    // It is about to call somebody, or is called back: the slot that says so is written before, and emptied afterwards.
    jvm.put(SLOTS - 2 * WORD, sp);
    assert_eq!(at(ENTRIES + 4, sp, sp - WORD), [interpreted.frame(12)]);
    assert_eq!(at(BACK + 4, 1, sp), [interpreted.frame(12)]);
    jvm.put(SLOTS - 2 * WORD, 0);
    jvm.put(interpreted.at + 8, 0x100);
    assert_eq!(at(ENTRIES + 4, sp, sp), [interpreted.frame(NATIVE)]);
}

#[test]
fn a_method_that_the_interpreter_enters_has_its_caller_before_it_has_a_frame() {
    let Thread { mut jvm, interpreted, outer_code, .. } = thread();
    let called = jvm.method(false);
    let sp = SLOTS - 0x80;
    let enter = |jvm: &Jvm, top, returns| {
        jvm.put(sp, top);
        jvm.walk(interpreting(INTERPRETER + 4, sp, sp + 8, called.at, returns))
    };
    let both = [called.frame(ENTRY), interpreted.frame(12)];
    for (top, returns) in [(BACK + 8, 1), (1, BACK + 8), (1, BACK + 0x88)] {
        let (_, frames, outset) = enter(&jvm, top, returns);
        assert_eq!((frames, outset), (both.to_vec(), Outset { pc: top.max(returns) - 1, before: true }));
    }
    assert_eq!(enter(&jvm, 1, 1).0, Err(Reason::UNKNOWN_JAVA), "it returns nowhere");
    assert_eq!(enter(&jvm, ENTRIES + 8, 1).0, Err(Reason::UNKNOWN_JAVA), "nobody calls from there");
    // What is on top is an argument, and is never taken for an address of code.
    let seeming = METADATA + 0x8000;
    jvm.push(seeming - WORD, &[0xe8 << 24, 0]);
    for argument in [0x7777_0000, seeming, outer_code + CALL] {
        assert_eq!(enter(&jvm, argument, BACK + 8).1, both, "{argument:x}");
    }
    // So if the method calls itself.
    jvm.put(SLOTS - 3 * WORD, called.at);
    jvm.put(SLOTS - 8 * WORD, called.bytecode(9));
    assert_eq!(enter(&jvm, BACK + 8, 1).1, [called.frame(ENTRY), called.frame(9)]);
    // Its own frame is begun: first with its frame pointer, then with what is kept of its caller's stack.
    let begun = sp - 2 * WORD;
    jvm.push(begun, &[SLOTS, BACK + 8]);
    let at = |sp, bytecode| {
        let Interrupted { at, interpreting, calls } =
            interpreting(INTERPRETER + 4, sp, bytecode, called.at, BACK + 8);
        jvm.walk(Interrupted { at: Registers { fp: begun, ..at }, interpreting, calls }).1
    };
    let sender = sp;
    assert_eq!(at(begun, sender), [called.frame(ENTRY), called.frame(9)]);
    jvm.push(begun - 2 * WORD, &[0, sender]);
    assert_eq!(at(begun - 2 * WORD, called.bytecode(0)), [called.frame(ENTRY), called.frame(9)]);
    // Once the method is kept there it is the frame's.
    jvm.put(begun - 3 * WORD, called.at);
    assert_eq!(at(begun - 3 * WORD, called.bytecode(0)), [called.frame(0), called.frame(9)]);
}

#[test]
fn a_method_that_is_entered_where_its_caller_was_called_from_leaves_nobody_out() {
    // As in any recursion: all of them return to the same place of the interpreter.
    let Thread { mut jvm, interpreted, .. } = thread();
    let (called, outer) = (jvm.method(false), jvm.method(false));
    let further = SLOTS + 0x100;
    jvm.push(SLOTS, &[further, BACK + 8]);
    jvm.push(further, &jvm.begin(further + 0x100));
    jvm.put(further - WORD, further + 0x20);
    jvm.put(further - 2 * WORD, SLOTS + 0x20);
    jvm.put(further - 3 * WORD, outer.at);
    jvm.put(further - 8 * WORD, outer.bytecode(30));
    let sp = SLOTS - 0x80;
    for top in [BACK + 8, 1] {
        jvm.put(sp, top);
        let (_, frames, _) = jvm.walk(interpreting(INTERPRETER + 4, sp, sp + 8, called.at, BACK + 8));
        assert_eq!(frames, [called.frame(ENTRY), interpreted.frame(12), outer.frame(30)], "{top:x}");
    }
}

#[test]
fn a_method_that_the_interpreter_leaves_takes_no_caller_along() {
    // It was called by compiled code, which keeps the frame pointer of the interpreted method behind it.
    let thread = thread();
    let back = thread.leaf_code + 0x30;
    thread.jvm.put_bytes(back - 5, &[0xe8]);
    let pc = ENTRIES + 0x40;
    thread.jvm.put_bytes(pc - 1, &[0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5]);
    let expected = thread.with(thread.leaf.frame(70));
    let outset = Outset { pc: back - 1, before: false };
    let walk = |pc, sp, bytecode| thread.jvm.walk(interpreting(pc, sp, bytecode, LEAF, 5));
    // What it returns to is on top, and then in a register, which may still be read as a place in its caller's bytecode.
    thread.jvm.put(LEAF - 2 * WORD, back);
    for bytecode in [1, thread.interpreted.bytecode(20)] {
        assert_eq!(walk(pc, LEAF - 2 * WORD, bytecode), (Ok(5), expected.clone(), outset));
    }
    for (at, sp) in [(2, LEAF - WORD), (5, LEAF)] {
        assert_eq!(walk(pc + at, sp, back), (Ok(5), expected.clone(), outset), "at {at}");
    }
    assert_eq!(walk(pc + 5, LEAF, 0x7777_0000).0, Err(Reason::UNKNOWN_JAVA), "it returns nowhere");
}

#[test]
fn a_frame_of_the_interpreter_is_a_caller_only_where_it_has_called_from() {
    let thread = thread();
    let walk = |pc, last| {
        thread.jvm.put(SLOTS - 0x80 - WORD, pc);
        thread.jvm.put(SLOTS - 2 * WORD, last);
        thread.jvm.walk(thread.at(0x20, LEAF)).0
    };
    let sp = SLOTS - 0x80;
    assert_eq!(walk(BACK + 8, sp), Ok(5));
    // Arguments lie in between, and newer versions count in words.
    assert_eq!(walk(BACK + 0x88, sp + 5 * WORD), Ok(5));
    assert_eq!(walk(BACK + 8, (-16_isize).cast_unsigned()), Ok(5));
    for (pc, last) in [(BACK + 8, 0), (ENTRIES + 8, sp), (BACK + 8, SLOTS + 8), (BACK + 8, sp - 0x2000)] {
        assert_eq!(walk(pc, last), Err(Reason::NOT_WALKABLE_JAVA), "{pc:x} {last:x}");
    }
}

#[test]
fn a_thread_outside_of_java_is_walked_from_where_it_has_left() {
    let mut thread = thread();
    let native = thread.jvm.method(true);
    let wrapper = thread.jvm.blob(*b"native n", SIZE, 16);
    thread.jvm.put(wrapper - CODE + 32, native.at);
    let frame = LEAF - SIZE * WORD;
    thread.jvm.push(LEAF - 2 * WORD, &[0, thread.leaf_code + 0x30]);
    let expected = [[native.frame(NATIVE)].to_vec(), thread.with(thread.leaf.frame(70))].concat();
    for (pc, pushed) in [(wrapper + 0x20, 1), (0, wrapper + 0x20)] {
        thread.jvm.put(frame - WORD, pushed);
        thread.jvm.push(ENV + 24, &[4, frame, pc, 0]);
        let away = Jvm::interrupted(0x7fff_0000, STACK + 8, 0);
        assert_eq!(thread.jvm.frames(away), expected);
    }
    // It has said nothing, and is not in Java; or it says that it is, and nobody knows the code.
    thread.jvm.push(ENV + 24, &[4, 0, 0, 0]);
    assert_eq!(thread.jvm.walk(thread.at(0x20, LEAF)).0, Err(Reason::NO_JAVA_FRAME));
    thread.jvm.push(ENV + 24, &[IN_JAVA, 0, 0, 0]);
    assert_eq!(thread.jvm.walk(Jvm::interrupted(0x7fff_0000, LEAF, 0)).0, Err(Reason::UNKNOWN_JAVA));
    // What is no part of its stack is not read.
    assert_eq!(thread.jvm.walk(thread.at(0x20, BASE)).0, Err(Reason::UNKNOWN_JAVA));
}

#[test]
fn what_java_called_through_the_vm_or_a_foreign_function_goes_on_behind_that() {
    let mut thread = thread();
    let stub = thread.jvm.blob(*b"upcall\0\0", 20, 0);
    thread.jvm.put_bytes(stub - CODE + 72, &[11]);
    thread.jvm.put_bytes(stub - CODE + 76, &0x40_i32.to_le_bytes());
    let expected = thread.with(thread.leaf.frame(70));
    // The VM was called by the leaf, and has called an interpreted method.
    let (inner, first) = (STACK + 0x80, STACK + 0xd8);
    thread.jvm.put(inner - 3 * WORD, thread.interpreted.at);
    thread.jvm.put(inner - 8 * WORD, thread.interpreted.bytecode(5));
    thread.jvm.push(inner - 2 * WORD, &[0, inner + 16, first, RETURNS]);
    let holder = STACK + 0xe0;
    thread.jvm.put(first - 6 * WORD, holder);
    thread.jvm.push(holder + 8, &[LEAF, thread.leaf_code + 0x30, 0]);
    let at = Jvm::interrupted(ENTRIES + 4, STACK + 8, inner);
    let both = |jvm: &Jvm| {
        let inner = [thread.interpreted.frame(5)].to_vec();
        assert_eq!(jvm.frames(at), [inner, expected.clone()].concat());
    };
    both(&thread.jvm);
    // And the same by a foreign function: the anchor is in the frame of the stub.
    thread.jvm.put(inner + WORD, stub + 0x20);
    thread.jvm.push(inner + 16 + 0x40, &[LEAF, thread.leaf_code + 0x30, 0]);
    both(&thread.jvm);
}

#[test]
fn code_of_the_jvms_own_has_a_frame_of_its_size_or_one_that_its_code_shows() {
    let mut thread = thread();
    let (runtime, stub) = (thread.jvm.blob(*b"runtime\0", SIZE, 16), thread.jvm.blob(*b"stubs\0\0\0", 0, 0));
    let link = thread.jvm.blob(*b"native n", 0, 0x80);
    let intrinsic = thread.jvm.method(true);
    thread.jvm.put(link - CODE + 32, intrinsic.at);
    let expected = thread.with(thread.leaf.frame(70));
    let back = thread.leaf_code + 0x30;
    thread.jvm.put_bytes(back - 5, &[0xe8]);
    let outset = Outset { pc: back - 1, before: false };
    // The frame pointer that was saved is nobody's.
    thread.jvm.push(LEAF - 2 * WORD, &[0x99, back]);
    let at = |pc, sp| thread.jvm.walk(Jvm::interrupted(pc, sp, 0x99));
    thread.jvm.put_bytes(runtime, &[0x55, 0x48, 0x8b, 0xec]);
    thread.jvm.put_bytes(runtime + 0x30, &[0xc3]);
    assert_eq!(at(runtime + 4, LEAF - 2 * WORD), (Ok(5), expected.clone(), outset));
    assert_eq!(at(runtime + 0x30, LEAF - WORD), (Ok(5), expected.clone(), outset));
    assert_eq!(
        at(runtime + 0x20, LEAF - SIZE * WORD).0,
        Err(Reason::UNKNOWN_JAVA),
        "it moves its stack pointer"
    );
    assert_eq!(at(runtime, LEAF - WORD), (Ok(5), expected.clone(), outset));
    thread.jvm.put_bytes(stub + 0x20, &[0x55, 0x48, 0x89, 0xe5]);
    assert_eq!(at(stub + 0x20, LEAF - WORD), (Ok(5), expected.clone(), outset));
    assert_eq!(at(stub + 0x21, LEAF - 2 * WORD), (Ok(5), expected.clone(), outset));
    assert_eq!(at(stub + 0x28, LEAF - WORD).0, Err(Reason::UNKNOWN_JAVA), "somewhere in the midst");
    // What links a method handle has no frame, and is nobody's.
    assert_eq!(at(link + 0x20, LEAF - WORD), (Ok(5), expected.clone(), outset));
    // Of a call of such code nothing may be described where it returns to: there it is what comes next.
    let silent = thread.leaf_code + 0x28;
    thread.jvm.put(LEAF - WORD, silent);
    assert_eq!(at(runtime, LEAF - WORD).0, Err(Reason::NOT_WALKABLE_JAVA), "behind no call");
    thread.jvm.put_bytes(silent - 5, &[0xe8]);
    assert_eq!(at(runtime, LEAF - WORD).1, expected);
    // So for who is told to have called.
    let called = Jvm::interrupted(silent - 1, LEAF, 0x99);
    assert_eq!(thread.jvm.frames(Interrupted { calls: true, ..called }), expected);
}

#[test]
fn a_method_whose_class_was_redefined_has_no_id_and_never_another_ones() {
    let thread = thread();
    let id = |word: usize, value| {
        thread.jvm.put(thread.leaf.at + word, value);
        thread.jvm.frames(thread.at(0x20, LEAF))[0].method
    };
    let own = thread.leaf.id;
    // Another method has it; its number is beyond the ids; there are none.
    assert_eq!(id(5 * PART, thread.interpreted.at), MethodId::UNNUMBERED.0);
    // One of its own class, and with its number, has taken its place.
    let class = thread.jvm.words.borrow()[&(thread.interpreted.at + 2 * PART)];
    thread.jvm.put(thread.interpreted.at + 2 * PART, thread.leaf.at + 3 * PART);
    assert_eq!(id(5 * PART, thread.interpreted.at), own);
    thread.jvm.put(thread.interpreted.at + PART + 8, 0);
    assert_eq!(id(5 * PART, thread.interpreted.at), MethodId::UNNUMBERED.0);
    thread.jvm.put(thread.interpreted.at + PART + 8, 1);
    thread.jvm.put(thread.interpreted.at + 2 * PART, class);
    assert_eq!(id(5 * PART, thread.leaf.at), own);
    assert_eq!(id(PART + 8, 2), MethodId::UNNUMBERED.0);
    assert_eq!(id(PART + 8, 1), own);
    assert_eq!(id(3 * PART, 0), MethodId::UNNUMBERED.0);
}

#[test]
fn what_is_no_methods_id_is_told_apart_from_what_is_one() {
    let thread = thread();
    let (jvm, layout) = (&thread.jvm, thread.jvm.layout.method);
    let memory = |at: usize| jvm.words.borrow().get(&at).copied();
    let is_id = |id| super::method::is_id(&memory, &layout, id);
    assert!(is_id(thread.leaf.id) && is_id(thread.interpreted.id));
    // What an id leads to, a piece of it, what is no address, nothing.
    for none in [thread.leaf.at, thread.leaf.at + PART, 0x25, thread.leaf.id + 8, 0] {
        assert!(!is_id(none), "{none:#x}");
    }
    // Another method's, which has one of its own.
    jvm.put(thread.leaf.id + 0x10_0000, thread.leaf.at);
    assert!(!is_id(thread.leaf.id + 0x10_0000));
    // Where an id is a number, the JVM finds out.
    assert!(super::method::is_id(&memory, &MethodLayout { leads_back: false, ..layout }, 0x25));
}

#[test]
fn whatever_stands_there_it_comes_to_an_end_and_stays_within_its_room() {
    let mut random: u64 = told("VOUCH_WALK_SEED").unwrap_or(7);
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 20).unwrap()
    };
    let (mut ended, mut walked) = (0, 0);
    // As many as the environment says, for a run at night.
    for _ in 0..told("VOUCH_WALK_ROUNDS").unwrap_or(4_000) {
        let thread = thread();
        let places: Vec<usize> = thread.jvm.words.borrow().keys().copied().collect();
        for _ in 0..next() % 12 {
            let (at, other) = (places[next() % places.len()], places[next() % places.len()]);
            let word = thread.jvm.words.borrow()[&other];
            let value = match next() % 6 {
                0 => next() << (next() % 40),
                1 => other,
                2 => word,
                3 => word.wrapping_add(next() % 64).wrapping_sub(32),
                4 => word ^ 1 << (next() % 64),
                _ => thread.outer_code + next() % 0x80,
            };
            thread.jvm.put(at, value);
        }
        let near = |value: usize, by: usize| value.wrapping_add(by % 128).wrapping_sub(64);
        let code = thread.leaf_code;
        let pc = [code + 0x10 + next() % 0x20, code + next() % 0x80, INTERPRETER + next() % 0x300, next()]
            [next() % 4];
        let (sp, fp) =
            if next() % 2 == 0 { (LEAF, SLOTS) } else { (near(LEAF, next()), near(SLOTS, next())) };
        let at = Registers { pc, sp, fp };
        let interpreting =
            Interpreting { bytecode: near(SLOTS, next()), method: thread.leaf.at, returns: next() };
        let calls = next() % 4 == 0;
        match thread.jvm.walk(Interrupted { at, interpreting, calls }) {
            (Ok(count), ..) => {
                walked += 1;
                assert!(count > 0 && count <= 64);
            }
            (Err(_), ..) => ended += 1,
        }
    }
    assert!(walked > 100 && ended > 100, "{walked} stacks and {ended} ends say little");
}

fn told<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
