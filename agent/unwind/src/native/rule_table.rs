//! The registers of the caller, for each address of a library: a compact form of its unwind table.
//!
//! Reading a rule out of `.eh_frame` takes some 3 µs, because a search, two headers and a program
//! of instructions come first. Here it is a row in a block of 256 bytes of code, so it takes two
//! reads of memory. A table is made in normal context, see [`super::cfi`]. A step runs in a signal
//! handler: it must not allocate or lock.
//!
//! The form has the rules that compilers generate on x86-64: the caller's stack pointer is a sum of
//! the stack pointer or the frame pointer, the return address is below it, and the frame pointer
//! may be saved below that. Any other rule is [`Rule::Other`].

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Registers;
use crate::memory::Memory;

const WORD: usize = size_of::<usize>();
/// The number of bytes of code in a block, as a power of two. A row has 8 bits for an offset in it.
const BLOCK_BITS: u32 = 8;
const BLOCK: usize = 1 << BLOCK_BITS;

/// The register to which the size of the frame is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    StackPointer,
    FramePointer,
}

/// How the registers of the caller are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// No function is known here, or its rule has another form.
    Other,
    /// The function is the first one of its thread.
    ThreadStart,
    Caller {
        base: Base,
        /// What to add to the base for the caller's stack pointer, in words.
        frame_words: u16,
        /// How many words below that the frame pointer is saved. With 0 it is in its register.
        saved_fp_words: u8,
    },
}

/// The maximal size of a frame in words that a row can express: 64 KB.
pub const MAX_FRAME_WORDS: u16 = (1 << 13) - 1;

/// A rule, and where in its block it begins: 8 bits of offset, 2 of kind, 13 for the size of the
/// frame, and 8 for the saved frame pointer.
#[derive(Debug, Clone, Copy)]
struct Row(u32);

impl Row {
    const KIND: u32 = 8;
    const FRAME: u32 = 10;
    const SAVED: u32 = 23;

    fn new(offset: u8, rule: Rule) -> Self {
        let (kind, frame, saved) = match rule {
            Rule::Other => (0, 0, 0),
            Rule::ThreadStart => (1, 0, 0),
            Rule::Caller { base, frame_words, saved_fp_words } => {
                let kind = if base == Base::StackPointer { 2 } else { 3 };
                (kind, frame_words & MAX_FRAME_WORDS, saved_fp_words)
            }
        };
        let offset = u32::from(offset);
        Self(offset | kind << Self::KIND | u32::from(frame) << Self::FRAME | u32::from(saved) << Self::SAVED)
    }

    const fn offset(self) -> usize {
        (self.0 & 0xff) as usize
    }

    const fn rule(self) -> Rule {
        let base = match self.0 >> Self::KIND & 3 {
            0 => return Rule::Other,
            1 => return Rule::ThreadStart,
            2 => Base::StackPointer,
            _ => Base::FramePointer,
        };
        let [frame_low, frame_high, ..] = (self.0 >> Self::FRAME).to_le_bytes();
        let [saved_fp_words, ..] = (self.0 >> Self::SAVED).to_le_bytes();
        let frame_words = u16::from_le_bytes([frame_low, frame_high]) & MAX_FRAME_WORDS;
        Rule::Caller { base, frame_words, saved_fp_words }
    }
}

/// What a step found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The registers of the caller.
    Caller(Registers),
    /// There is no caller: this is the thread's first function.
    ThreadStart,
    /// The stack is not as the rule says.
    Broken,
    /// The table has no rule for this address.
    Unknown,
}

/// The rules of a library.
#[derive(Debug)]
pub struct RuleTable {
    /// The address of the first block.
    begin: usize,
    /// The index of the first row of each block, and the number of rows.
    blocks: Box<[u32]>,
    rows: Box<[Row]>,
}

impl RuleTable {
    /// Makes a table out of the addresses at which the rule changes, in their order. The last one
    /// counts if there are several at an address. After the last change no rule is known. The
    /// result is `None` without changes, or if there are too many.
    pub fn from_changes(changes: &[(usize, Rule)]) -> Option<Self> {
        let (begin, end) = (changes.first()?.0 & !(BLOCK - 1), changes.last()?.0);
        let mut blocks = Vec::with_capacity((end - begin) / BLOCK + 2);
        let mut rows: Vec<Row> = Vec::with_capacity(changes.len() + (end - begin) / BLOCK);
        let (mut rule, mut next) = (Rule::Other, 0);
        for block in (begin..end).step_by(BLOCK) {
            let first = rows.len();
            blocks.push(u32::try_from(first).ok()?);
            rows.push(Row::new(0, rule));
            while let Some((address, new)) = changes.get(next).filter(|(at, _)| at - block < BLOCK) {
                next += 1;
                let offset = u8::try_from(address - block).ok()?;
                if rows.last()?.offset() == usize::from(offset) {
                    rows.pop();
                }
                // A row is needed only for another rule than before.
                if rows.len() == first || rows.last()?.rule() != *new {
                    rows.push(Row::new(offset, *new));
                }
                rule = *new;
            }
        }
        blocks.push(u32::try_from(rows.len()).ok()?);
        Some(Self { begin, blocks: blocks.into(), rows: rows.into() })
    }

    /// Returns the rule at an address.
    pub fn rule(&self, address: usize) -> Rule {
        let offset = address.wrapping_sub(self.begin);
        let block = offset >> BLOCK_BITS;
        let [Some(first), Some(end)] = [block, block.wrapping_add(1)].map(|at| self.blocks.get(at)) else {
            return Rule::Other;
        };
        let rows = self.rows.get(*first as usize..*end as usize).unwrap_or_default();
        let in_block = offset & (BLOCK - 1);
        let before = rows.iter().take_while(|row| row.offset() <= in_block).last();
        before.map_or(Rule::Other, |row| row.rule())
    }

    /// Finds the caller of the function that contains `address`. This is the program counter, or
    /// for a caller an address in its call instruction. `at` has the registers of the function.
    pub fn step(&self, address: usize, at: Registers, memory: &impl Memory) -> Step {
        let (base, frame_words, saved_fp_words) = match self.rule(address) {
            Rule::Other => return Step::Unknown,
            Rule::ThreadStart => return Step::ThreadStart,
            Rule::Caller { base, frame_words, saved_fp_words } => (base, frame_words, saved_fp_words),
        };
        let base = if base == Base::StackPointer { at.sp } else { at.fp };
        let sp = base.wrapping_add(usize::from(frame_words).wrapping_mul(WORD));
        // Each caller is further up, so a walk ends.
        if sp <= at.sp {
            return Step::Broken;
        }
        let word = |below: usize| memory.word(sp.wrapping_sub(below.wrapping_mul(WORD)));
        let fp = if saved_fp_words == 0 { Some(at.fp) } else { word(saved_fp_words.into()) };
        match (word(1), fp) {
            (Some(0), _) => Step::ThreadStart,
            (Some(pc), Some(fp)) => Step::Caller(Registers { pc, sp, fp }),
            _ => Step::Broken,
        }
    }

    /// The memory of the table, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn caller(base: Base, frame_words: u16, saved_fp_words: u8) -> Rule {
        Rule::Caller { base, frame_words, saved_fp_words }
    }

    const PUSHED: Rule = caller(Base::StackPointer, 2, 2);
    const FRAME: Rule = caller(Base::FramePointer, 2, 2);

    #[test]
    fn a_row_has_its_rule_and_offset() {
        let rules = [
            Rule::Other,
            Rule::ThreadStart,
            PUSHED,
            FRAME,
            caller(Base::StackPointer, 1, 0),
            caller(Base::FramePointer, MAX_FRAME_WORDS, 2),
            caller(Base::FramePointer, 1, u8::MAX),
        ];
        for rule in rules {
            for offset in [0, 7, u8::MAX] {
                let row = Row::new(offset, rule);
                assert_eq!((row.offset(), row.rule()), (offset.into(), rule));
            }
        }
    }

    #[test]
    fn a_rule_holds_until_the_next_change() {
        let start = caller(Base::StackPointer, 1, 0);
        let changes = [
            (0x1010, start),
            (0x1011, PUSHED),
            (0x1014, FRAME),
            (0x1180, start),
            (0x1180, PUSHED),
            (0x1500, Rule::Other),
            (0x1500, Rule::ThreadStart),
            (0x1501, Rule::Other),
        ];
        let table = RuleTable::from_changes(&changes).unwrap();
        let expected = |address| {
            changes.iter().rev().find(|(at, _)| *at <= address).map_or(Rule::Other, |(_, rule)| *rule)
        };
        for address in 0xf00..0x1700 {
            assert_eq!(table.rule(address), expected(address), "{address:#x}");
        }
        assert_eq!([table.rule(0), table.rule(usize::MAX)], [Rule::Other; 2]);
        assert!(RuleTable::from_changes(&[]).is_none());
    }

    #[test]
    fn a_step_reads_the_registers_of_the_caller() {
        let changes = [(0x1000, PUSHED), (0x1001, FRAME), (0x1002, Rule::ThreadStart), (0x1003, Rule::Other)];
        let table = RuleTable::from_changes(&changes).unwrap();
        let memory =
            |at: usize| [(0x8010, 0x7fff), (0x8018, 0x1234)].iter().find(|it| it.0 == at).map(|it| it.1);
        let at = Registers { pc: 0x1000, sp: 0x8010, fp: 0x8010 };
        let caller = Step::Caller(Registers { pc: 0x1234, sp: 0x8020, fp: 0x7fff });
        assert_eq!(table.step(0x1000, at, &memory), caller);
        assert_eq!(table.step(0x1001, Registers { sp: 0x8000, ..at }, &memory), caller);
        assert_eq!(
            table.step(0x1001, Registers { sp: 0x8020, ..at }, &memory),
            Step::Broken,
            "not further up"
        );
        assert_eq!(table.step(0x1000, Registers { sp: 0x8020, ..at }, &memory), Step::Broken, "no memory");
        assert_eq!(table.step(0x1002, at, &memory), Step::ThreadStart);
        assert_eq!(table.step(0x1003, at, &memory), Step::Unknown);
        assert_eq!(table.step(0x1000, at, &|_| Some(0)), Step::ThreadStart, "a return address of 0");
    }
}
