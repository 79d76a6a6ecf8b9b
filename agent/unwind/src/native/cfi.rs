//! Reads a library's unwind table (`.eh_frame`, call frame information) into a [`RuleTable`].
//!
//! It runs in normal context, up to 86 ms for the largest JVM. It must not trust a file: what it
//! cannot read has no rule, and addresses outside of the library are left out.

extern crate std;

use core::ops::Range;
use std::collections::HashMap;
use std::vec::Vec;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, EhFrame, EndianSlice, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow, X86_64,
};

use crate::native::libraries::UnwindSections;
use crate::native::rule_table::{Base, MAX_FRAME_WORDS, Rule, RuleTable};

type Slice<'d> = EndianSlice<'d, LittleEndian>;

const WORD: i64 = 8;

/// How many functions are read between two calls of `pause`. They take some 0.2 ms.
const FUNCTIONS_PER_PAUSE: usize = 256;

/// Makes the table of a library that is at these addresses. The result is `None` if it has no
/// rules. Other processors than x86-64 have rules of another form. `pause` is called again and
/// again, so that the thread can do other work meanwhile.
pub fn rule_table(
    sections: &UnwindSections,
    range: &Range<usize>,
    pause: &mut dyn FnMut(),
) -> Option<RuleTable> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let eh_frame = sections.eh_frame.as_ref()?;
    let section = EhFrame::new(&eh_frame.bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.addresses.start);
    let mut headers: HashMap<usize, CommonInformationEntry<Slice<'_>>> = HashMap::new();
    let mut context = UnwindContext::new();
    let mut changes: Vec<Change> = Vec::new();
    let mut entries = section.entries(&bases);
    let mut count = 0_usize;
    while let Ok(Some(entry)) = entries.next() {
        count += 1;
        if count.is_multiple_of(FUNCTIONS_PER_PAUSE) {
            pause();
        }
        let CieOrFde::Fde(partial) = entry else { continue };
        let function = partial.parse(|section, bases, offset| {
            if let Some(header) = headers.get(&offset.0) {
                return Ok(header.clone());
            }
            let header = section.cie_from_offset(bases, offset)?;
            headers.insert(offset.0, header.clone());
            Ok(header)
        });
        let Ok(function) = function else { continue };
        let in_memory = |address: u64| {
            let address = usize::try_from(address.wrapping_add(sections.bias)).ok()?;
            (range.start <= address && address <= range.end).then_some(address)
        };
        let (begin, end) = (in_memory(function.initial_address()), in_memory(function.end_address()));
        let (Some(begin), Some(end)) = (begin, end) else { continue };
        let Ok(mut rows) = function.rows(&section, &bases, &mut context) else { continue };
        let is_signal_frame = function.is_signal_trampoline();
        while let Ok(Some(row)) = rows.next_row() {
            let rule = if is_signal_frame { Rule::Other } else { rule(row) };
            let address = in_memory(row.start_address()).filter(|at| (begin..end).contains(at));
            changes.extend(address.map(|address| Change { address, begins: true, rule }));
        }
        changes.push(Change { address: end, begins: false, rule: Rule::Other });
    }
    // At an address the end of a function comes before the beginning of the next one.
    changes.sort_by_key(|change| (change.address, change.begins));
    let changes: Vec<_> = changes.iter().map(|change| (change.address, change.rule)).collect();
    RuleTable::from_changes(&changes)
}

struct Change {
    address: usize,
    /// False at the end of a function.
    begins: bool,
    rule: Rule,
}

fn rule(row: &UnwindTableRow<usize>) -> Rule {
    caller_rule(row).unwrap_or(Rule::Other)
}

fn caller_rule(row: &UnwindTableRow<usize>) -> Option<Rule> {
    let saved = |register| match row.register(register) {
        None | Some(RegisterRule::SameValue) => Some(None),
        Some(RegisterRule::Offset(offset)) => Some(Some(offset)),
        Some(_) => None,
    };
    if matches!(row.register(X86_64::RA), Some(RegisterRule::Undefined)) {
        return Some(Rule::ThreadStart);
    }
    let base = |register: Register| match register {
        X86_64::RSP => Some(Base::StackPointer),
        X86_64::RBP => Some(Base::FramePointer),
        _ => None,
    };
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let words = |bytes: i64| (bytes % WORD == 0).then_some(bytes / WORD);
    let frame_words = u16::try_from(words(*offset)?).ok().filter(|words| *words <= MAX_FRAME_WORDS)?;
    (saved(X86_64::RA)? == Some(-WORD)).then_some(())?;
    let saved_fp_words = match saved(X86_64::RBP)? {
        None => 0,
        Some(offset) => u8::try_from(words(offset)?.checked_neg()?).ok().filter(|words| *words > 0)?,
    };
    Some(Rule::Caller { base: base(*register)?, frame_words, saved_fp_words })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::native::libraries::{Library, Section, loaded};

    fn own() -> Library {
        let here = (own as *const ()).addr();
        loaded().unwrap().into_iter().find(|library| library.range.contains(&here)).unwrap()
    }

    /// The rule of an address in memory, read out of `.eh_frame` directly.
    fn expected(sections: &UnwindSections, address: usize) -> Option<Rule> {
        let eh_frame = sections.eh_frame.as_ref().unwrap();
        let section = EhFrame::new(&eh_frame.bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(eh_frame.addresses.start);
        let in_file = (address as u64).wrapping_sub(sections.bias);
        let mut context = UnwindContext::new();
        let row =
            section.unwind_info_for_address(&bases, &mut context, in_file, EhFrame::cie_from_offset).ok()?;
        Some(rule(row))
    }

    #[test]
    fn rules_are_those_of_the_unwind_table() {
        let own = own();
        let (sections, mut pauses) = (own.unwind_sections().unwrap(), 0);
        let table = rule_table(&sections, &own.range, &mut || pauses += 1).unwrap();
        let code = own.code[0].clone();
        let mut with_rule = 0;
        for address in code.clone().step_by(code.len() / 500 + 1) {
            let rule = table.rule(address);
            assert_eq!(rule, expected(&sections, address).unwrap_or(Rule::Other), "{address:#x}");
            with_rule += usize::from(rule != Rule::Other);
        }
        assert!(with_rule > 400 && pauses > 10, "{with_rule} {pauses}");
        let bytes = sections.eh_frame.unwrap().bytes.len();
        assert!(table.bytes() < 2 * bytes, "{} for {bytes}", table.bytes());
    }

    #[test]
    fn a_damaged_table_gives_no_rule_outside_of_its_library() {
        let own = own();
        let sections = own.unwind_sections().unwrap();
        let Section { addresses, bytes } = sections.eh_frame.clone().unwrap();
        for seed in 0..50_usize {
            let mut damaged = bytes.to_vec();
            let step = 64 + seed;
            damaged.iter_mut().skip(seed).step_by(step).for_each(|byte| *byte ^= 0x55);
            damaged.truncate(bytes.len() - seed);
            let eh_frame = Some(Section { addresses: addresses.clone(), bytes: damaged.into() });
            let damaged = UnwindSections { eh_frame, ..sections.clone() };
            if let Some(table) = rule_table(&damaged, &own.range, &mut || {}) {
                let outside = [own.range.start - 4_096, own.range.end + 4_096];
                assert_eq!(outside.map(|address| table.rule(address)), [Rule::Other; 2]);
            }
        }
    }
}
