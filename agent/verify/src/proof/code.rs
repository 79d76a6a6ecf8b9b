//! The bytecode of a method, and the instructions in it.

use std::ops::RangeInclusive;

use crate::proof::opcode::{self, Operands, is_invoke};

/// The bytes of a method's code, as in a class file.
#[derive(Debug, Clone, Default)]
pub struct Code(Box<[u8]>);

/// An instruction of bytecode, and its index in the method (bci).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction<'c> {
    pub bci: usize,
    pub opcode: u8,
    /// The bytes of the instruction: its opcode and its operands.
    pub bytes: &'c [u8],
}

/// The part of a method's code that a bci points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At<'c> {
    /// An instruction of the method begins at the bci.
    Instruction(Instruction<'c>),
    /// The bci is after the first byte of an instruction and before the next instruction.
    Inside,
    /// The bci is after the last byte of the code.
    PastEnd,
}

impl Code {
    /// Wraps the bytes of a method's code. They may be damaged.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// Yields the instructions from the first to the last. It ends early at bytes that are no
    /// instruction.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        let mut bci = 0;
        std::iter::from_fn(move || {
            let length = opcode::length(&self.0, bci)?;
            let bytes = self.0.get(bci..bci + length)?;
            let instruction = Instruction { bci, opcode: *bytes.first()?, bytes };
            bci += length;
            Some(instruction)
        })
    }

    /// Finds the part of the code at a bci. The search begins at the first instruction, since only
    /// its opcode says how long an instruction is.
    pub fn at(&self, bci: usize) -> At<'_> {
        if bci >= self.0.len() {
            return At::PastEnd;
        }
        match self.instructions().find(|instruction| instruction.bci + instruction.bytes.len() > bci) {
            Some(instruction) if instruction.bci == bci => At::Instruction(instruction),
            _ => At::Inside,
        }
    }

    /// Returns the loops in the code: a range of bcis from the target of each backward branch to
    /// the branch.
    pub fn loops(&self) -> Vec<RangeInclusive<i32>> {
        let backward = self.instructions().flat_map(|instruction| {
            let bci = i32::try_from(instruction.bci).ok();
            let distances = instruction.jumps().filter(|distance| *distance <= 0);
            distances.filter_map(move |distance| Some(bci?.checked_add(distance)?..=bci?))
        });
        backward.collect()
    }

    /// True if the instruction at a bci calls a method.
    pub fn is_invoke(&self, bci: i32) -> bool {
        let at = usize::try_from(bci).map(|bci| self.at(bci));
        matches!(at, Ok(At::Instruction(it)) if is_invoke(it.opcode))
    }

    /// Returns the size of the method's bytecode in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

impl Instruction<'_> {
    /// Returns the distances in bytes that the instruction may jump. A switch has several, the
    /// default one first.
    fn jumps(self) -> impl Iterator<Item = i32> {
        let switch = (self.bci / 4 + 1) * 4 - self.bci;
        let cases = switch + 12;
        let none = self.bytes.len();
        let (first, others, step) = match opcode::operands(self.opcode) {
            Some(Operands::Jump | Operands::FarJump) => (1, none, 1),
            Some(Operands::TableSwitch) => (switch, cases, 4),
            // The number of each case is before its jump.
            Some(Operands::LookupSwitch) => (switch, cases, 8),
            _ => (none, none, 1),
        };
        let is_short = opcode::operands(self.opcode) == Some(Operands::Jump);
        let distance = move |at: usize| {
            if is_short {
                return Some(i16::from_be_bytes(self.bytes.get(at..at + 2)?.try_into().ok()?).into());
            }
            Some(i32::from_be_bytes(self.bytes.get(at..at + 4)?.try_into().ok()?))
        };
        std::iter::once(first).chain((others..none).step_by(step)).filter_map(distance)
    }

    /// Returns the index into the constant pool that the instruction has, or `None` if it has none.
    pub fn constant(&self) -> Option<u16> {
        match opcode::operands(self.opcode)? {
            Operands::SmallConstant => self.bytes.get(1).copied().map(u16::from),
            Operands::Constant(_) => Some(u16::from_be_bytes(self.bytes.get(1..3)?.try_into().ok()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bci_is_an_instruction_or_inside_one_or_past_the_end() {
        // sipush 1; invokestatic #7; ldc #9; return
        let code = Code::new(vec![17, 0, 1, 184, 0, 7, 18, 9, 177]);
        let opcode = |bci| match code.at(bci) {
            At::Instruction(instruction) => Some((instruction.opcode, instruction.constant())),
            _ => None,
        };
        assert_eq!(opcode(0), Some((17, None)));
        assert_eq!(opcode(3), Some((184, Some(7))));
        assert_eq!(opcode(6), Some((18, Some(9))));
        assert_eq!(opcode(8), Some((177, None)));
        assert_eq!((code.at(1), code.at(5), code.at(7)), (At::Inside, At::Inside, At::Inside));
        assert_eq!((code.at(9), code.at(usize::MAX)), (At::PastEnd, At::PastEnd));
        assert_eq!(Code::default().at(0), At::PastEnd);
    }

    #[test]
    fn an_invoke_is_found_only_at_its_first_byte() {
        // sipush 1; invokestatic #7; invokedynamic #9; return
        let code = Code::new(vec![17, 0, 1, 184, 0, 7, 186, 0, 9, 0, 0, 177]);
        let invokes = (-1..13).filter(|bci| code.is_invoke(*bci));
        assert_eq!(invokes.collect::<Vec<_>>(), [3, 6]);
    }

    #[test]
    fn a_loop_goes_from_a_backward_branch_s_target_to_the_branch() {
        // nop; iload_0; ifeq +3; goto -5; goto_w -9; goto +3; return
        let code = vec![0, 26, 153, 0, 3, 167, 255, 252, 200, 255, 255, 255, 248, 167, 0, 3, 177];
        assert_eq!(Code::new(code).loops(), [1..=5, 0..=8]);
    }

    #[test]
    fn a_switch_that_goes_back_ends_a_loop() {
        let switch = |opcode: u8, words: &[i32]| {
            // nop; nop; iload_0; the switch with no padding; return
            let bytes = words.iter().flat_map(|word| word.to_be_bytes());
            Code::new([0, 0, 26, opcode].into_iter().chain(bytes).chain([177]).collect())
        };
        // The default goes on, the first case goes back to 1, and the second one goes on.
        assert_eq!(switch(170, &[21, 7, 8, -2, 21]).loops(), [1..=3]);
        assert_eq!(switch(171, &[25, 2, -9, -3, -2, 25]).loops(), [0..=3]);
        // The default goes back.
        assert_eq!(switch(171, &[-1, 0]).loops(), [2..=3]);
        assert_eq!(switch(170, &[21, 7, 8, 21, 21]).loops(), []);
    }
}
