//! Finds the run of instructions that an instruction belongs to, by the code around it.

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use crate::machine::guard::guard;
use crate::machine::instruction::{Flow, Instruction, decode, end_of_call};
use crate::machine::loops::Loops;
use crate::machine::nmethod::{MAX_WINDOW, Neighbours, Nmethod};

/// The number of bytes that are read after the charged instruction, if its run has no end.
const OPEN_WINDOW: usize = 1024;
/// The maximal number of instructions that are followed in code out of line.
const MAX_STEPS: usize = 256;

/// Returns the PcDesc of the instruction that ends at `charged_end`, or `None` if it cannot be
/// known.
///
/// For an interrupted thread, `charged_end` is the pc, because the instruction before it took the
/// time. For a call it is the return address. The answer is exact if a run ends there. Otherwise
/// the machine code decides between the run before the instruction and the run after it.
pub fn local(nmethod: &impl Nmethod, charged_end: usize) -> Option<usize> {
    let index = nmethod.index_at(charged_end)?;
    let is_end = nmethod.end(index) == Some(charged_end);
    if is_end && falls_into(nmethod, index, charged_end) {
        return Some(index);
    }
    // If the instruction before never falls through, control came from elsewhere, and the next
    // instruction is charged.
    let index = index + usize::from(is_end);
    let after = nmethod.end(index).map(|_| index);
    Gap::read(nmethod, index, charged_end).map_or(after, |gap| gap.choose(nmethod, index).or(after))
}

/// Returns the PcDesc of the instruction that ends at `charged_end`, or `None` if it cannot be
/// known. It looks at the code around the instruction and at the loop that contains it.
pub fn owner(nmethod: &impl Nmethod, charged_end: usize, loops: Option<&Loops>) -> Option<usize> {
    let charged_end = whole_end(nmethod, charged_end);
    if let Some(guard) = guarded(nmethod, charged_end) {
        return Some(guard);
    }
    let index = local(nmethod, charged_end)?;
    let loops = loops.filter(|_| !nmethod.is_safepoint(index, charged_end));
    Some(loops.map_or(index, |loops| loops.correct(charged_end, index)))
}

/// Returns the end of the whole instruction that ends at `charged_end`. A call without a safepoint
/// is described after the `nop` that belongs to it.
pub fn whole_end(nmethod: &impl Nmethod, charged_end: usize) -> usize {
    let whole = || {
        let index = nmethod.index_at(charged_end).filter(|index| nmethod.end(*index) != Some(charged_end))?;
        let call = last(nmethod, index, charged_end)?;
        let mut after = [0; 4];
        nmethod.read(charged_end, &mut after)?;
        let end = end_of_call(&after, charged_end);
        let is_described = nmethod.index_at(end).is_some_and(|index| nmethod.end(index) == Some(end));
        (matches!(call.flow, Flow::Call(_)) && is_described).then_some(end)
    };
    if nmethod.has_reliable_notes() { whole().unwrap_or(charged_end) } else { charged_end }
}

/// Returns the PcDesc of the check that an instruction without a state is a part of.
pub fn guarded(nmethod: &impl Nmethod, charged_end: usize) -> Option<usize> {
    let index = nmethod.index_at(charged_end)?;
    if nmethod.end(index) == Some(charged_end) {
        return None;
    }
    guard(nmethod, begin_of(nmethod, index), charged_end)
}

/// Returns the PcDescs of the runs that an instruction may belong to. If a run ends with the
/// instruction, it is that run. Otherwise they are the neighbours in the same basic block.
pub fn sides(nmethod: &impl Nmethod, charged_end: usize) -> Neighbours {
    let Some(after) = nmethod.index_at(charged_end) else { return [None, None] };
    if nmethod.end(after) == Some(charged_end) {
        return [Some(after), None];
    }
    let gap = Gap::read(nmethod, after, charged_end);
    let [is_before, is_after] = gap.map_or([true, true], |gap| gap.sides(nmethod, after));
    [after.checked_sub(1).filter(|_| is_before), Some(after).filter(|_| is_after)]
}

/// Returns the address at which the run of a PcDesc begins: the end of the run before.
fn begin_of(nmethod: &impl Nmethod, index: usize) -> usize {
    let begin = nmethod.code().start;
    index.checked_sub(1).and_then(|before| nmethod.end(before)).unwrap_or(begin).max(begin)
}

/// Decodes the instructions from address `begin` to address `end`.
fn read(nmethod: &impl Nmethod, begin: usize, end: usize) -> Option<Vec<Instruction>> {
    let mut bytes = vec![0; end.checked_sub(begin).filter(|length| *length <= MAX_WINDOW)?];
    nmethod.read(begin, &mut bytes)?;
    Some(decode(&bytes, begin))
}

/// Returns the instruction that ends at `end` in the run of a PcDesc. The result is `None` if it
/// cannot be read.
fn last(nmethod: &impl Nmethod, index: usize, end: usize) -> Option<Instruction> {
    read(nmethod, begin_of(nmethod, index), end)?.last().copied()
}

/// True if the instruction that ends at `charged_end` may be part of a check of a receiver's class,
/// or if it cannot be read.
pub fn may_check_receiver(nmethod: &impl Nmethod, index: usize, charged_end: usize) -> bool {
    last(nmethod, index, charged_end).is_none_or(|charged| charged.may_check_receiver)
}

/// True if the next instruction is executed after `instruction`.
fn falls_through(nmethod: &impl Nmethod, instruction: Instruction) -> bool {
    instruction.falls_through(|target| nmethod.is_last_call(target))
}

/// True if control reaches an address in the run of a PcDesc from the instruction before it, or if
/// that instruction cannot be read.
fn falls_into(nmethod: &impl Nmethod, index: usize, address: usize) -> bool {
    last(nmethod, index, address).is_none_or(|before| falls_through(nmethod, before))
}

/// The code between two ends of runs, which contains the charged instruction.
struct Gap {
    begin: usize,
    end: usize,
    instructions: Vec<Instruction>,
    /// The index of the instruction after the charged one.
    next: usize,
}

impl Gap {
    fn read(nmethod: &impl Nmethod, index: usize, charged_end: usize) -> Option<Self> {
        let code = nmethod.code();
        let begin = begin_of(nmethod, index);
        let end = nmethod.end(index).unwrap_or_else(|| code.end.min(charged_end.saturating_add(OPEN_WINDOW)));
        let instructions = read(nmethod, begin, end)?;
        let next = instructions.iter().position(|instruction| instruction.start == charged_end)?;
        Some(Self { begin, end, instructions, next })
    }

    /// Returns for the run before the charged instruction and for the run after it whether they may
    /// be in the same basic block.
    fn sides(&self, nmethod: &impl Nmethod, index: usize) -> [bool; 2] {
        let Some(charged) = self.next.checked_sub(1) else { return [true, true] };
        let until = self.instructions.len() - usize::from(nmethod.end(index).is_some());
        let ends =
            |part: Option<&[Instruction]>| part.is_none_or(|part| part.iter().any(|it| it.flow.ends_block()));
        let is_of_before = !ends(self.instructions.get(..charged));
        let is_of_after = !ends(self.instructions.get(charged..until));
        if is_of_before == is_of_after { [true, true] } else { [is_of_before, is_of_after] }
    }

    fn choose(&self, nmethod: &impl Nmethod, index: usize) -> Option<usize> {
        let end = nmethod.end(index);
        let charged = self.next.checked_sub(1).filter(|at| falls_through(nmethod, self.instructions[*at]));
        let from = charged.unwrap_or(self.next);
        // The last instruction of the run after is the one that is described. It is in the same
        // block if no instruction before it ends a block.
        let until = self.instructions.len() - usize::from(end.is_some());
        let leaves = self.instructions.get(from..until)?.iter().any(|it| it.flow.ends_block());
        if !leaves {
            return end.map(|_| index);
        }
        let before = index.checked_sub(1).filter(|before| nmethod.end(*before).is_some());
        // The loop looks at the instructions from the run before to the charged one.
        let is_reached = charged
            .is_some_and(|charged| self.instructions[..charged].iter().all(|it| falls_through(nmethod, *it)));
        let falls_in = || before.is_none_or(|before| falls_into(nmethod, before, self.begin));
        if is_reached && falls_in() { before } else { self.follow(nmethod) }
    }

    /// Returns the PcDesc at the address to which code out of line returns, because the thread came
    /// from that code. The return is a jump. A branch counts only without a jump, since it may also
    /// lead to a slower path.
    fn follow(&self, nmethod: &impl Nmethod) -> Option<usize> {
        let mut at = self.next;
        let mut branch = None;
        for _ in 0..MAX_STEPS {
            let Some(instruction) = self.instructions.get(at) else { break };
            let is_outside = |target: &usize| !(self.begin..self.end).contains(target);
            match instruction.flow {
                Flow::Jump(Some(target)) if is_outside(&target) => {
                    return described(nmethod, target).or_else(|| described(nmethod, branch?));
                }
                Flow::Jump(target) => {
                    let inside = self.instructions.iter().position(|it| Some(it.start) == target);
                    let Some(inside) = inside else { break };
                    at = inside;
                }
                Flow::Stop => break,
                Flow::Branch(target) => {
                    branch = branch.or(Some(target).filter(is_outside));
                    at += 1;
                }
                Flow::Call(_) | Flow::Next => at += 1,
            }
        }
        described(nmethod, branch?)
    }
}

/// Returns the PcDesc of the run that contains an address in the code.
fn described(nmethod: &impl Nmethod, address: usize) -> Option<usize> {
    let found = nmethod.code().contains(&address).then(|| nmethod.index_at(address))??;
    nmethod.end(found).map(|_| found)
}
