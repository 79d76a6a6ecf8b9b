//! Finds the call instruction before a return address, and what it calls.

use std::ops::Range;

use iced_x86::{
    Decoder, DecoderError, DecoderOptions, FastFormatter, FlowControl, Instruction, Mnemonic, OpKind,
};

use super::code::NativeCode;

/// The most bytes of a function that are decoded up to a return address, or for its jumps.
pub const MAX_FUNCTION_BYTES: usize = 256 << 10;
/// The most bytes of an instruction.
const MAX_INSTRUCTION_BYTES: usize = 15;

/// What a call instruction calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// This address.
    Direct(usize),
    /// The function that the word at this address points to.
    Slot(usize),
    Indirect,
}

impl Call {
    fn read(instruction: &Instruction) -> Option<Self> {
        match instruction.flow_control() {
            FlowControl::Call => near_target(instruction).map(Self::Direct),
            FlowControl::IndirectCall => Some(slot(instruction).map_or(Self::Indirect, Self::Slot)),
            _ => None,
        }
    }
}

/// Returns where a direct call or jump leads.
pub fn near_target(instruction: &Instruction) -> Option<usize> {
    let is_near = instruction.op0_kind() == OpKind::NearBranch64;
    is_near.then(|| usize::try_from(instruction.near_branch_target()).ok()).flatten()
}

/// Returns the address of the word that an indirect call or jump reads, if it is fixed.
pub fn slot(instruction: &Instruction) -> Option<usize> {
    let is_fixed = instruction.op0_kind() == OpKind::Memory && instruction.is_ip_rel_memory_operand();
    is_fixed.then(|| usize::try_from(instruction.ip_rel_memory_address()).ok()).flatten()
}

/// Copies code, unless a byte of it is not readable.
pub fn bytes(range: Range<usize>, code: &impl NativeCode) -> Option<Vec<u8>> {
    let mut bytes = vec![0; range.len()];
    (code.read(range.start, &mut bytes) == bytes.len()).then_some(bytes)
}

pub fn decoder(bytes: &[u8], address: usize) -> Decoder<'_> {
    Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE)
}

/// What may be called before an address.
pub enum Calls {
    /// One of these: just one if the instructions of the function are clear.
    Known(Vec<Call>),
    /// A call ends at the address, and the function's instructions do not have it. Data among them
    /// can hide it.
    Hidden,
    None,
}

/// Finds the calls that may end at an address. The result is `None` if the code is not readable.
pub fn calls_before(return_address: usize, code: &mut impl NativeCode) -> Option<Calls> {
    let call = match before(return_address, code)? {
        Before::Instruction(instruction) => Call::read(&instruction),
        Before::Inside => None,
        Before::Unclear => {
            let calls: Vec<Call> = guesses(return_address, code)?.iter().filter_map(Call::read).collect();
            return Some(if calls.is_empty() { Calls::None } else { Calls::Known(calls) });
        }
    };
    if let Some(call) = call {
        return Some(Calls::Known(vec![call]));
    }
    let is_hidden = guesses(return_address, code)?.iter().any(|it| Call::read(it).is_some());
    Some(if is_hidden { Calls::Hidden } else { Calls::None })
}

/// What is before an address.
enum Before {
    Instruction(Instruction),
    /// The address is inside an instruction.
    Inside,
    /// The function has bytes that are no instructions, or too many bytes.
    Unclear,
}

/// Decodes the function up to an address. The function may end there, so it is that of the byte
/// before.
fn before(address: usize, code: &mut impl NativeCode) -> Option<Before> {
    let function = code.function(address.checked_sub(1)?)?;
    if address - function.start > MAX_FUNCTION_BYTES {
        return Some(Before::Unclear);
    }
    let bytes = bytes(function.start..address, code)?;
    let mut decoder = decoder(&bytes, function.start);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            let is_cut = decoder.last_error() == DecoderError::NoMoreBytes;
            return Some(if is_cut { Before::Inside } else { Before::Unclear });
        }
    }
    Some(Before::Instruction(instruction))
}

/// Returns the instructions of a function that end at an address, whatever is before them.
fn guesses(address: usize, code: &mut impl NativeCode) -> Option<Vec<Instruction>> {
    let function = code.function(address.checked_sub(1)?)?;
    let from = function.start.max(address.saturating_sub(MAX_INSTRUCTION_BYTES));
    let bytes = bytes(from..address, code)?;
    let found = (0..bytes.len()).filter_map(|from| {
        let rest = &bytes[from..];
        let instruction = decoder(rest, address - rest.len()).decode();
        (!instruction.is_invalid() && instruction.len() == rest.len()).then_some(instruction)
    });
    Some(found.collect())
}

/// Returns the address of the word by which a stub of the procedure linkage table jumps, or `None`
/// if there is another function at this address.
pub fn stub_slot(address: usize, code: &impl NativeCode) -> Option<usize> {
    /// A stub has `endbr64`, and a jump with a prefix.
    const STUB_BYTES: usize = 16;
    let mut bytes = [0; STUB_BYTES];
    let read = code.read(address, &mut bytes);
    let mut decoder = decoder(&bytes[..read], address);
    let first = decoder.decode();
    let jump = if first.mnemonic() == Mnemonic::Endbr64 { decoder.decode() } else { first };
    (jump.flow_control() == FlowControl::IndirectBranch).then(|| slot(&jump)).flatten()
}

/// Returns the text of the instruction that ends at an address, or its bytes if none ends there.
pub fn text_before(address: usize, code: &mut impl NativeCode) -> Option<String> {
    let instruction = match before(address, code)? {
        Before::Instruction(instruction) => Some(instruction),
        Before::Inside => None,
        Before::Unclear => guesses(address, code)?.into_iter().find(|it| Call::read(it).is_some()),
    };
    let Some(instruction) = instruction else {
        let bytes = bytes(address.checked_sub(8)?..address, code)?;
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return Some(bytes.join(" "));
    };
    let mut text = String::new();
    FastFormatter::new().format(&instruction, &mut text);
    Some(text)
}
