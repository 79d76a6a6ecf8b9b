//! Finds where a function jumps to: tail calls, and parts that the compiler has split off.

use std::ops::Range;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::call::{MAX_FUNCTION_BYTES, bytes, decoder, near_target, slot};
use super::code::NativeCode;
use super::verdict::Plausible;

/// How many instructions before an indirect jump may load its register from a table.
const TABLE_INSTRUCTIONS: usize = 6;

/// Where a function leads to without a call.
#[derive(Debug, Default)]
pub struct Exits {
    /// The addresses outside of the function to which it jumps, sorted.
    pub jumps: Vec<usize>,
    /// Why it may lead elsewhere, too.
    pub unclear: Option<Plausible>,
}

impl Exits {
    /// Reads the jumps of a function.
    pub fn read(function: Range<usize>, code: &impl NativeCode) -> Self {
        let unknown = Self { unclear: Some(Plausible::UnknownCode), ..Self::default() };
        if function.len() > MAX_FUNCTION_BYTES {
            return unknown;
        }
        let Some(bytes) = bytes(function.clone(), code) else { return unknown };
        let mut exits = Self::default();
        let mut last: Vec<Instruction> = Vec::new();
        for instruction in &mut decoder(&bytes, function.start) {
            if instruction.is_invalid() {
                // Padding may end with a part of an instruction.
                exits.unclear = Some(Plausible::UnknownCode);
                break;
            }
            exits.add(&instruction, &last, &function, code);
            if !is_padding(&instruction) {
                if last.len() == TABLE_INSTRUCTIONS {
                    last.remove(0);
                }
                last.push(instruction);
            }
        }
        let falls_through = |it: &Instruction| {
            matches!(it.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch)
        };
        if last.last().is_some_and(falls_through) && exits.unclear != Some(Plausible::UnknownCode) {
            exits.jumps.push(function.end);
        }
        exits.jumps.retain(|jump| !function.contains(jump));
        exits.jumps.sort_unstable();
        exits.jumps.dedup();
        exits.jumps.shrink_to_fit();
        exits
    }

    fn add(
        &mut self,
        instruction: &Instruction,
        before: &[Instruction],
        function: &Range<usize>,
        code: &impl NativeCode,
    ) {
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                self.jumps.extend(near_target(instruction));
            }
            FlowControl::IndirectBranch if !is_switch(instruction, before, function, code) => {
                // A variable may have had another value.
                self.jumps.extend(slot(instruction).and_then(|slot| code.word(slot)));
                self.unclear = Some(Plausible::IndirectTailCall);
            }
            FlowControl::Return if before.last().is_some_and(sets_return_address) => {
                self.unclear = Some(Plausible::IndirectTailCall);
            }
            _ => {}
        }
    }
}

fn is_padding(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}

/// True if the `ret` after this instruction jumps to what the instruction has written. Compilers
/// write indirect jumps so, against attacks by speculative execution (retpolines).
fn sets_return_address(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Push => true,
        Mnemonic::Mov => {
            instruction.op0_kind() == OpKind::Memory
                && instruction.memory_base() == Register::RSP
                && instruction.memory_displacement64() == 0
        }
        _ => false,
    }
}

/// True if a jump is that of a `switch`, which stays in its function: compilers mark it by
/// `notrack`, add an offset from a table, or read the address from a table.
fn is_switch(
    jump: &Instruction,
    before: &[Instruction],
    function: &Range<usize>,
    code: &impl NativeCode,
) -> bool {
    if jump.segment_prefix() == Register::DS {
        return true;
    }
    // Functions may be called by a table of pointers, too, so the table's first entry decides.
    let reads_own_address = |it: &Instruction| {
        it.memory_index() != Register::None
            && it.memory_base() == Register::None
            && usize::try_from(it.memory_displacement64())
                .ok()
                .and_then(|table| code.word(table))
                .is_some_and(|entry| function.contains(&entry))
    };
    if jump.op0_kind() == OpKind::Memory {
        return reads_own_address(jump);
    }
    let register = jump.op0_register();
    let writes = |it: &&Instruction| it.op0_kind() == OpKind::Register && it.op0_register() == register;
    before.iter().rev().find(writes).is_some_and(|it| match it.mnemonic() {
        Mnemonic::Add => it.op1_kind() == OpKind::Register,
        Mnemonic::Mov => it.op1_kind() == OpKind::Memory && reads_own_address(it),
        _ => false,
    })
}
