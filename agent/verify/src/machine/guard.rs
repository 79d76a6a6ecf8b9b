//! Finds the checks in compiled code after which the code may be deoptimised. The JVM itself relies
//! on their states.
//!
//! C2 compiles a check instead of a slower path. If the check fails, the code calls the uncommon
//! trap, and the interpreter continues at the bytecode that this call's PcDesc describes. So
//! nothing after that bytecode has been executed before the check's branch, and the check has the
//! state of that call. C2 makes many checks without a separate state.

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use crate::machine::instruction::{self, Flow};
use crate::machine::nmethod::{MAX_WINDOW, Nmethod};

/// The maximal number of bytes that are read from an instruction to the branch of its check.
/// `MAX_TRAP` is that from the branch's target to the call of the trap.
const MAX_CHECK: usize = 64;
const MAX_TRAP: usize = 256;

/// Returns the PcDesc of the uncommon trap that a check calls when it fails. The instruction that
/// ends at `charged_end` must be a part of that check. `start` is the beginning of an earlier
/// instruction.
pub fn guard(nmethod: &impl Nmethod, start: usize, charged_end: usize) -> Option<usize> {
    let length = charged_end.checked_sub(start).filter(|length| *length <= MAX_WINDOW)?;
    let check = read(nmethod, start, length + MAX_CHECK)?;
    let target = instruction::guarded_by(&check, start, charged_end)?;
    let code = read(nmethod, target, MAX_TRAP)?;
    let instructions = instruction::decode(&code, target);
    let end = instructions.iter().find(|it| it.flow != Flow::Next)?;
    let Flow::Call(Some(called)) = end.flow else { return None };
    let index = nmethod.index_at(end.end)?;
    (nmethod.is_last_call(called) && nmethod.is_safepoint(index, end.end)).then_some(index)
}

/// Reads `length` bytes of the code, or fewer at its end.
fn read(nmethod: &impl Nmethod, start: usize, length: usize) -> Option<Vec<u8>> {
    let code = nmethod.code();
    let end = code.end.min(start.checked_add(length)?);
    let mut bytes = vec![0; code.contains(&start).then(|| end - start)?];
    nmethod.read(start, &mut bytes)?;
    Some(bytes)
}
