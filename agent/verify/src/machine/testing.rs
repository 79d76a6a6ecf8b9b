//! A builder of compiled methods for tests: instructions of x86-64, and PcDescs between them.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use crate::machine::nmethod::{DebugPoint, Inlined, Nmethod};

pub const BEGIN: usize = 0x1000;

pub const INC: &[u8] = &[0xff, 0xc7];
pub const CMP: &[u8] = &[0x44, 0x39, 0xc7];
pub const LOCK_ADD: &[u8] = &[0xf0, 0x83, 0x44, 0x24, 0xc0, 0];
pub const LOAD_POLL: &[u8] = &[0x4d, 0x8b, 0x97, 0x48, 3, 0, 0];
pub const TEST_POLL: &[u8] = &[0x41, 0x85, 0x02];
pub const NOP: &[u8] = &[0x90];
pub const RET: &[u8] = &[0xc3];

/// A compiled method of a test.
#[derive(Debug, Default)]
pub struct Method {
    code: Vec<u8>,
    points: Vec<(usize, Option<DebugPoint>)>,
    /// The loops in the bytecode of each method, by the method's number.
    pub loops: HashMap<usize, Vec<RangeInclusive<i32>>>,
    /// The numbers of the methods with unknown bytecode.
    pub unknown: Vec<usize>,
    /// The addresses of calls that do not return.
    pub traps: Vec<usize>,
    /// The bytecodes that are invokes. It is `None` if the notes of C2's nodes are not reliable.
    pub invokes: Option<Vec<Inlined>>,
}

/// Makes a list of inlined methods and their bcis, innermost first.
pub fn chain(chain: &[(usize, i32)]) -> Vec<Inlined> {
    chain.iter().map(|(method, bci)| Inlined { method: *method, bci: *bci }).collect()
}

impl Method {
    /// Makes a method with these invokes among its bytecodes and reliable notes. `None` makes a
    /// method without reliable notes.
    pub fn with_invokes(invokes: Option<Vec<Inlined>>) -> Self {
        Self { invokes, ..Self::default() }
    }

    /// Adds instructions, and returns the address after them.
    pub fn add(&mut self, instructions: &[&[u8]]) -> usize {
        self.code.extend(instructions.concat());
        self.here()
    }

    /// Returns the address of the instruction that is added next.
    pub fn here(&self) -> usize {
        BEGIN + self.code.len()
    }

    /// Ends a run of instructions here with a PcDesc for these methods, and returns its index.
    pub fn describe(&mut self, methods: &[(usize, i32)]) -> usize {
        self.point(Some(DebugPoint { chain: chain(methods).into(), at_safepoint: false }))
    }

    /// Adds a safepoint here with a PcDesc for these methods, and returns its index.
    pub fn safepoint(&mut self, methods: &[(usize, i32)]) -> usize {
        self.point(Some(DebugPoint { chain: chain(methods).into(), at_safepoint: true }))
    }

    /// Adds the last PcDesc, which describes nothing.
    pub fn finish(&mut self) {
        self.point(None);
    }

    fn point(&mut self, point: Option<DebugPoint>) -> usize {
        self.points.push((self.here(), point));
        self.points.len() - 1
    }

    /// Adds a `jl`, `jmp` or `call`, by its opcode, that leads to an address.
    pub fn jump(&mut self, opcode: &[u8], target: usize) -> usize {
        let end = self.here() + opcode.len() + 4;
        let distance = i32::try_from(target.cast_signed() - end.cast_signed()).unwrap();
        self.add(&[opcode, &distance.to_le_bytes()])
    }

    /// Changes the target of the jump that ends at an address.
    pub fn patch(&mut self, end: usize, target: usize) {
        let distance = i32::try_from(target.cast_signed() - end.cast_signed()).unwrap();
        self.code[end - BEGIN - 4..end - BEGIN].copy_from_slice(&distance.to_le_bytes());
    }
}

pub const JL: &[u8] = &[0x0f, 0x8c];
pub const JMP: &[u8] = &[0xe9];
pub const CALL: &[u8] = &[0xe8];

impl Nmethod for Method {
    fn code(&self) -> Range<usize> {
        BEGIN..self.here()
    }

    fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let begin = at.checked_sub(BEGIN)?;
        into.copy_from_slice(self.code.get(begin..begin.checked_add(into.len())?)?);
        Some(())
    }

    fn count(&self) -> usize {
        self.points.len()
    }

    fn index_at(&self, address: usize) -> Option<usize> {
        self.points.iter().position(|(end, _)| *end >= address)
    }

    fn end(&self, index: usize) -> Option<usize> {
        let (end, point) = self.points.get(index)?;
        point.as_ref().map(|_| *end)
    }

    fn point(&self, index: usize) -> Option<DebugPoint> {
        self.points.get(index)?.1.clone()
    }

    fn bytecode_loops(&mut self, method: usize) -> Option<Vec<RangeInclusive<i32>>> {
        (!self.unknown.contains(&method)).then(|| self.loops.get(&method).cloned().unwrap_or_default())
    }

    fn repetitions(&self, index: usize) -> usize {
        let own = self.point(index);
        let same: Vec<usize> = (0..self.count()).filter(|other| self.point(*other) == own).collect();
        same.windows(2).filter(|pair| pair[1] - pair[0] > 1).count() + 1
    }

    fn has_reliable_notes(&self) -> bool {
        self.invokes.is_some()
    }

    fn is_invoke(&mut self, inlined: Inlined) -> Option<bool> {
        self.invokes.as_ref().map(|invokes| invokes.contains(&inlined))
    }

    fn is_last_call(&self, target: usize) -> bool {
        self.traps.contains(&target)
    }
}
