//! Checks that the JVM itself relies on.
//!
//! Where a check fails that C2 has made instead of a slower way, the code calls the uncommon trap,
//! and the interpreter goes on at the bytecode that the call describes. So up to the check's branch
//! nothing that comes after that bytecode has been executed: the check is of that state. C2 makes
//! many checks without their own state.

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use crate::machine::instruction::{self, Flow};
use crate::machine::nmethod::{MAX_WINDOW, Nmethod};

/// How much is read from an instruction to the branch of its check, and from there to the call, in
/// bytes.
const MAX_CHECK: usize = 64;
const MAX_TRAP: usize = 256;

/// The PcDesc of the uncommon trap that is called where a check fails, if the instruction that ends
/// at `charged_end` is a part of that check. An instruction begins at `start`, before it.
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

/// So much code from an address on, or as much as there is.
fn read(nmethod: &impl Nmethod, start: usize, length: usize) -> Option<Vec<u8>> {
    let code = nmethod.code();
    let end = code.end.min(start.checked_add(length)?);
    let mut bytes = vec![0; code.contains(&start).then(|| end - start)?];
    nmethod.read(start, &mut bytes)?;
    Some(bytes)
}
