//! Decodes machine instructions, as far as control flow needs them.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// Where the control flow goes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// The processor continues at this address or at the next instruction.
    Branch(usize),
    /// The processor continues at this address, or anywhere if the target is unknown.
    Jump(Option<usize>),
    /// The processor calls this address, if it is known, and continues at the next instruction.
    Call(Option<usize>),
    /// The processor continues nowhere in this method, such as after a return.
    Stop,
}

impl Flow {
    /// True if this instruction ends a basic block.
    pub fn ends_block(self) -> bool {
        matches!(self, Self::Branch(_) | Self::Jump(_) | Self::Stop)
    }
}

/// A machine instruction: its addresses, its control flow and some properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub start: usize,
    pub end: usize,
    pub flow: Flow,
    /// True if the instruction does nothing.
    pub is_padding: bool,
    /// True if the instruction may be a safepoint poll: it reads memory and drops the result.
    pub is_poll: bool,
    /// True if the instruction may check the receiver's class at a call, before the called method
    /// begins.
    pub may_check_receiver: bool,
}

impl Instruction {
    /// True if the next instruction is executed after this one. `is_last_call` returns whether a
    /// call of an address never returns.
    pub fn falls_through(self, is_last_call: impl Fn(usize) -> bool) -> bool {
        match self.flow {
            Flow::Call(Some(target)) => !is_last_call(target),
            Flow::Jump(_) | Flow::Stop => false,
            Flow::Next | Flow::Branch(_) | Flow::Call(None) => true,
        }
    }
}

/// Decodes bytes to instructions, up to the first bytes that are no instruction.
pub fn decode(bytes: &[u8], address: usize) -> Vec<Instruction> {
    if cfg!(target_arch = "aarch64") { aarch64(bytes, address) } else { x86_64(bytes, address) }
}

pub fn x86_64(bytes: &[u8], address: usize) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE);
    let mut found = Vec::with_capacity(bytes.len() / 4);
    let mut instruction = iced_x86::Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            break;
        }
        let target = || {
            let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
            is_near.then(|| usize::try_from(instruction.near_branch_target()).ok()).flatten()
        };
        let flow = match instruction.flow_control() {
            FlowControl::ConditionalBranch => target().map_or(Flow::Next, Flow::Branch),
            FlowControl::UnconditionalBranch => Flow::Jump(target()),
            FlowControl::IndirectBranch => Flow::Jump(None),
            FlowControl::Call => Flow::Call(target()),
            FlowControl::IndirectCall => Flow::Call(None),
            FlowControl::Return | FlowControl::Exception => Flow::Stop,
            _ => Flow::Next,
        };
        let mnemonic = instruction.mnemonic();
        found.push(Instruction {
            start: usize::try_from(instruction.ip()).unwrap_or(0),
            end: usize::try_from(instruction.next_ip()).unwrap_or(0),
            flow,
            is_padding: mnemonic == Mnemonic::Nop,
            is_poll: mnemonic == Mnemonic::Test && instruction.op0_kind() == OpKind::Memory,
            may_check_receiver: may_check_receiver(&instruction),
        });
    }
    found
}

/// Returns the target of a check's branch, if the instruction that ends at `charged_end` is a part
/// of that check. Its parts are the branch, the comparison, and the instructions that load the
/// compared class. The result is `None` for any other instruction. An instruction begins at
/// `address`, the first byte.
pub fn guarded_by(bytes: &[u8], address: usize, charged_end: usize) -> Option<usize> {
    if cfg!(target_arch = "aarch64") { None } else { guarded_by_x86_64(bytes, address, charged_end) }
}

fn guarded_by_x86_64(bytes: &[u8], address: usize, charged_end: usize) -> Option<usize> {
    let decoder = Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE);
    let instructions: Vec<iced_x86::Instruction> = decoder.into_iter().collect();
    let charged = instructions.iter().position(|it| it.next_ip() == charged_end as u64)?;
    (0..=charged).find_map(|first| check_from(instructions.get(first..)?, charged - first))
}

/// Returns the target of a check's branch, if the check begins with the first of these instructions
/// and has the charged one. The parts of a check are executed one after the other, and no other
/// instruction reads their results.
fn check_from(instructions: &[iced_x86::Instruction], charged: usize) -> Option<usize> {
    // Most instructions begin no check. What the others read and write takes long to find.
    let first = instructions.first()?;
    let is_branch = first.flow_control() == FlowControl::ConditionalBranch;
    if !(is_branch && charged == 0 || is_comparison(first) || loads_class(first)) {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    // These registers have values that depend on the class.
    let mut found: Vec<Register> = Vec::new();
    let (mut is_part, mut is_compared) = (false, false);
    for (index, it) in instructions.iter().enumerate() {
        if it.flow_control() == FlowControl::ConditionalBranch {
            // A branch without a comparison is a check, too.
            let is_whole = is_part && is_compared || index == charged && index == 0;
            return is_whole.then(|| usize::try_from(it.near_branch_target()).ok()).flatten();
        }
        let info = factory.info(it);
        let registers = |is_wanted: fn(OpAccess) -> bool| {
            let used = info.used_registers().iter().filter(move |used| is_wanted(used.access()));
            used.map(|used| used.register().full_register())
        };
        let reads = |access| {
            matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            )
        };
        let writes = |access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let depends = registers(reads).any(|register| found.contains(&register));
        let is_memory_written = info.used_memory().iter().any(|used| writes(used.access()));
        let is_next = match index {
            0 => is_comparison(it) || !is_memory_written && loads_class(it),
            _ => depends,
        };
        if it.flow_control() != FlowControl::Next || is_compared && it.rflags_modified() != 0 {
            return None;
        }
        let written: Vec<Register> = registers(writes).collect();
        found.retain(|register| !written.contains(register));
        if is_next {
            // Only the comparison may use the loaded class.
            if is_memory_written || is_compared {
                return None;
            }
            is_compared = is_comparison(it);
            is_part |= index == charged;
            if !is_compared {
                found.extend(written);
            }
        }
        if found.is_empty() && !is_compared {
            return None;
        }
    }
    None
}

fn is_comparison(instruction: &iced_x86::Instruction) -> bool {
    [Mnemonic::Cmp, Mnemonic::Test].contains(&instruction.mnemonic())
}

/// True if the only memory that a `mov` can read is the klass field of an object's header.
fn loads_class(instruction: &iced_x86::Instruction) -> bool {
    // A 64-bit constant is no memory, although the decoder keeps its upper half as a displacement.
    if instruction.mnemonic() != Mnemonic::Mov || instruction.op1_kind() != iced_x86::OpKind::Memory {
        return false;
    }
    let is_other = [Register::RSP, Register::R15].contains(&instruction.memory_base());
    instruction.memory_index() == Register::None && instruction.memory_displacement64() == CLASS && !is_other
}

/// The offset of the klass field in an object's header.
const CLASS: u64 = 8;

/// Returns the end of a call, including the `nop` after it. `bytes` come after the call, which ends
/// at `address`. HotSpot puts a `nop` with space for a number after its calls.
pub fn end_of_call(bytes: &[u8], address: usize) -> usize {
    const POST_CALL_NOP: &[u8] = &[0x0f, 0x1f, 0x84, 0];
    const LENGTH: usize = 8;
    let is_nop = cfg!(target_arch = "x86_64") && bytes.starts_with(POST_CALL_NOP);
    if is_nop { address + LENGTH } else { address }
}

/// True if an instruction may check a receiver's class. Such an instruction reads the object's
/// header or the stack, and writes no memory.
fn may_check_receiver(instruction: &iced_x86::Instruction) -> bool {
    let is_memory = |operand| instruction.op_kind(operand) == OpKind::Memory;
    let reads = match instruction.mnemonic() {
        Mnemonic::Lea | Mnemonic::Nop => return true,
        Mnemonic::Cmp | Mnemonic::Test => true,
        _ => !is_memory(0),
    };
    let is_header = instruction.memory_index() == Register::None
        && (instruction.memory_displacement64() <= CLASS || instruction.memory_base() == Register::RSP);
    !(0..instruction.op_count()).any(is_memory) || reads && is_header
}

/// Decodes instructions of aarch64. Each has four bytes.
pub fn aarch64(bytes: &[u8], address: usize) -> Vec<Instruction> {
    let words = bytes.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes));
    let starts = (address..).step_by(4);
    starts
        .zip(words)
        .map(|(start, word)| {
            // A signed distance in words: `bits` bits of the instruction, from bit `low` up.
            let target = |low: u32, bits: u32| {
                let distance = (word << (32 - low - bits)).cast_signed() >> (32 - bits);
                start.wrapping_add_signed(isize::try_from(distance).unwrap_or(0) * 4)
            };
            let flow = match word {
                _ if word >> 26 == 0b00_0101 => Flow::Jump(Some(target(0, 26))),
                _ if word >> 26 == 0b10_0101 => Flow::Call(Some(target(0, 26))),
                // b.cond, cbz and cbnz; tbz and tbnz.
                _ if word >> 24 == 0x54 || word >> 25 & 0x3f == 0b01_1010 => Flow::Branch(target(5, 19)),
                _ if word >> 25 & 0x3f == 0b01_1011 => Flow::Branch(target(5, 14)),
                _ if word & 0xffff_fc1f == 0xd61f_0000 => Flow::Jump(None),
                _ if word & 0xffff_fc1f == 0xd63f_0000 => Flow::Call(None),
                // ret; udf and brk.
                _ if word & 0xffff_fc1f == 0xd65f_0000 => Flow::Stop,
                _ if word >> 16 == 0 || word & 0xffe0_001f == 0xd420_0000 => Flow::Stop,
                _ => Flow::Next,
            };
            Instruction {
                start,
                end: start + 4,
                flow,
                is_padding: word == 0xd503_201f,
                // ldr wzr, [register].
                is_poll: word & 0xffff_fc1f == 0xb940_001f,
                // Instructions are not decoded far enough to exclude this.
                may_check_receiver: true,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_flow_of_x86_64() {
        // test rax,[r11] poll as C2 writes it; jl -5; jmp +2; nop; call +0; ret; ud2
        let code =
            [0x41, 0x85, 0x03, 0x7c, 0xfb, 0xeb, 0x02, 0x90, 0xe8, 0, 0, 0, 0, 0xc3, 0xff, 0xe0, 0x0f, 0x0b];
        let found = x86_64(&code, 0x1000);
        let flows: Vec<Flow> = found.iter().map(|instruction| instruction.flow).collect();
        assert_eq!(
            flows,
            [
                Flow::Next,
                Flow::Branch(0x1000),
                Flow::Jump(Some(0x1009)),
                Flow::Next,
                Flow::Call(Some(0x100d)),
                Flow::Stop,
                Flow::Jump(None),
                Flow::Stop
            ]
        );
        assert!(found[0].is_poll && !found[1].is_poll && found[3].is_padding && !found[0].is_padding);
        assert_eq!((found[1].start, found[1].end), (0x1003, 0x1005));
    }

    #[test]
    fn control_flow_of_aarch64() {
        let words = [
            0xb940_011f_u32, // ldr wzr, [x8]
            0x54ff_ffe1,     // b.ne -4
            0x1400_0002,     // b +8
            0xd503_201f,     // nop
            0x9400_0001,     // bl +4
            0x3400_0040,     // cbz w0, +8
            0x3707_ffe0,     // tbnz w0, 0, -4
            0xd61f_0100,     // br x8
            0xd65f_03c0,     // ret
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = aarch64(&bytes, 0x1000);
        let flows: Vec<Flow> = found.iter().map(|instruction| instruction.flow).collect();
        assert_eq!(
            flows,
            [
                Flow::Next,
                Flow::Branch(0x1000),
                Flow::Jump(Some(0x1010)),
                Flow::Next,
                Flow::Call(Some(0x1014)),
                Flow::Branch(0x101c),
                Flow::Branch(0x1014),
                Flow::Jump(None),
                Flow::Stop
            ]
        );
        assert!(found[0].is_poll && found[3].is_padding && !found[2].is_poll);
    }
}
