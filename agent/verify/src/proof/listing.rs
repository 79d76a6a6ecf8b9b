//! Writes bytecode as text, like javap.

use vouch_sample::Bci;

use crate::proof::code::Instruction;
use crate::proof::method::{Body, Method};
use crate::proof::opcode;
use crate::proof::pool::Constant;

/// Writes an instruction and what its constant names: `invokevirtual java/util/List.size:()I`.
pub(crate) fn instruction(method: &Method, instruction: Instruction<'_>) -> String {
    let name = opcode::name(instruction.opcode);
    let Some(number) = instruction.constant() else { return name.to_owned() };
    let pool = method.class.pool();
    let named = match pool.get(number) {
        Some(Constant::Member(member)) => format!("{}.{}:{}", member.class, member.name, member.descriptor),
        Some(Constant::Dynamic(site)) => format!("{}:{}", site.name, site.descriptor),
        Some(Constant::Class(class)) => class.to_owned(),
        Some(Constant::MethodHandle) => "a method handle".to_owned(),
        Some(Constant::MethodType) => "a method type".to_owned(),
        Some(Constant::Other | Constant::Text(_)) => match pool.string(number) {
            Some(text) => format!("{text:?}"),
            None => format!("#{number}"),
        },
        None => format!("#{number}"),
    };
    format!("{name} {named}")
}

/// Writes the instruction at a bci, with `around` instructions before it and as many after it, one
/// on each line. The line of the bci begins with `→`.
pub fn listing(method: &Method, bci: Bci, around: usize) -> Vec<String> {
    let Body::Code(code) = &method.body else { return Vec::new() };
    let all: Vec<Instruction<'_>> = code.instructions().collect();
    let index = usize::try_from(bci).unwrap_or(0);
    let after = all.partition_point(|instruction| instruction.bci <= index);
    let first = after.saturating_sub(around.saturating_add(1));
    let last = after.saturating_add(around).min(all.len());
    let line = |each: &Instruction<'_>| {
        let mark = if i64::try_from(each.bci) == Ok(i64::from(bci)) { '→' } else { ' ' };
        format!("{mark} {:>5}: {}", each.bci, instruction(method, *each))
    };
    let mut lines: Vec<String> = all[first..last].iter().map(line).collect();
    let begins =
        all.get(after.wrapping_sub(1)).is_some_and(|each| i64::try_from(each.bci) == Ok(i64::from(bci)));
    if !begins && bci >= 0 {
        lines.insert(
            after - first,
            format!("→ {bci:>5}: (no instruction begins here; the code has {} bytes)", code.bytes()),
        );
    }
    lines
}
