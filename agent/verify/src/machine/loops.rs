//! Finds the method that has the loop around an instruction.
//!
//! The optimising compiler gives many of the nodes that it makes or copies later a state that is
//! left over from parsing. So instructions in one method's loop may be described as another
//! method's. A safepoint poll has the right state, because the JVM itself needs it: at the loop's
//! end it names the loop's method. The code that a loop repeats belongs to that method, between the
//! two ends of that loop in its bytecode. Or it belongs to a method that is called there.
//!
//! A short loop has no poll. A call in it has the right state, too, and it is in a loop of one of
//! the methods that the state names. It is unknown in which one. But code outside of the outermost
//! of these loops is not in this loop. Polls that name no loop also count here.

use crate::machine::flow::{ControlFlow, Loop};
use crate::machine::instruction::{Flow, Instruction, decode};
use crate::machine::nmethod::{DebugPoint, Inlined, Neighbours, Nmethod};
use crate::machine::owner::{Owner, joined};

/// The maximal size of a method's code that is analysed, in bytes.
const MAX_CODE: usize = 1 << 18;

/// The loops in a compiled method's machine code. A loop's owner is the loop of the bytecode from
/// which it was compiled, if that is known.
#[derive(Debug)]
pub struct Loops {
    flow: ControlFlow,
    /// What is known of each loop, by the loop's index. It is `None` for a loop without a known
    /// owner.
    owned: Vec<Option<Owned>>,
    /// True for each loop in which all PcDescs that fit its owner name the same methods, by the
    /// loop's index.
    uniform: Vec<bool>,
}

/// The PcDescs around an instruction that fit the owner of the loop around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fitting {
    pub neighbours: Neighbours,
    /// True if a poll names the loop's owner. A call names only the methods that it is inlined
    /// into.
    pub by_poll: bool,
}

/// A loop with an owner: a loop of the bytecode that a poll or a call in it names.
#[derive(Debug)]
struct Owned {
    /// The indices of the PcDescs in the loop that fit its owner, in order. If none fits, the only
    /// index is the safepoint's.
    fitting: Vec<usize>,
    /// True if a poll names the loop's owner, and false if a call does.
    by_poll: bool,
}

/// A safepoint: a poll, or a call, during which the thread can be stopped.
struct Safepoint<'p> {
    block: usize,
    /// The index of the PcDesc that describes the safepoint.
    index: usize,
    chain: &'p [Inlined],
    is_call: bool,
    /// The loop of the bytecode that the poll ends, or `None` for a call or another poll.
    ended: Option<Owner>,
}

impl Loops {
    /// Finds the loops of a method, for which it reads all of its code. The result is `None` if the
    /// code is too large or cannot be read.
    pub fn new(nmethod: &mut impl Nmethod) -> Option<Self> {
        let code = nmethod.code();
        let mut bytes = vec![0; code.end.checked_sub(code.start).filter(|length| *length <= MAX_CODE)?];
        nmethod.read(code.start, &mut bytes)?;
        let instructions = decode(&bytes, code.start);
        let flow = ControlFlow::new(&instructions, |target| nmethod.is_last_call(target));
        if flow.loops.is_empty() {
            return Some(Self { flow, owned: Vec::new(), uniform: Vec::new() });
        }
        let points: Vec<Point> =
            (0..nmethod.count()).map(|index| Some((nmethod.end(index)?, nmethod.point(index)?))).collect();
        // A described instruction ends at the address that its PcDesc says.
        let block = |point: &Point| point.as_ref().and_then(|(end, _)| flow.block_at(end.wrapping_sub(1)));
        let blocks: Vec<Option<usize>> = points.iter().map(block).collect();
        let owned = owned(nmethod, &flow, &instructions, (&points, &blocks));
        let is_uniform = |(body, owned): (&Loop, &Option<Owned>)| match owned {
            Some(owned) => has_same_methods(owned.fitting.iter().filter_map(|index| points[*index].as_ref())),
            None => has_same_methods(inside(body, &points, &blocks)),
        };
        let uniform = flow.loops.iter().zip(&owned).map(is_uniform).collect();
        Some(Self { flow, owned, uniform })
    }

    /// Returns the PcDesc of the instruction that ends at `charged_end`, with regard to its loop.
    /// `found` is the PcDesc that was found without regard to the loop.
    pub fn correct(&self, charged_end: usize, found: usize) -> usize {
        match self.fitting(charged_end, found).map(|fitting| fitting.neighbours) {
            Some([_, Some(next)]) if next == found => found,
            Some([Some(before), Some(next)]) if next - found < found - before => next,
            Some([Some(before), _]) => before,
            Some([None, Some(next)]) => next,
            Some([None, None]) | None => found,
        }
    }

    /// True if the instructions at two addresses are in one basic block.
    pub(crate) fn is_one_block(&self, one: usize, other: usize) -> bool {
        self.flow.block_at(one).is_some_and(|block| self.flow.block_at(other) == Some(block))
    }

    /// Returns whether the methods of an instruction in a loop are known: a poll names the loop's
    /// method, or all PcDescs in the loop name the same methods. The result is `None` if the
    /// instruction is in no loop.
    pub(crate) fn is_known(&self, charged_end: usize) -> Option<bool> {
        let block = charged_end.checked_sub(1).and_then(|at| self.flow.block_at(at))?;
        let innermost = self.flow.innermost(block)?;
        let owner = self.owner_around(block);
        let is_owned = owner.is_some_and(|(number, owned)| owned.by_poll || self.uniform[number]);
        Some(is_owned || self.uniform[innermost])
    }

    /// Returns the PcDescs that fit the owner of the loop around an instruction: the last one
    /// before `found`, and the next one from there on. The result is `None` if the instruction is
    /// in no loop with a known owner.
    pub(crate) fn fitting(&self, charged_end: usize, found: usize) -> Option<Fitting> {
        let block = self.flow.block_at(charged_end.checked_sub(1)?)?;
        let (_, Owned { fitting, by_poll }) = self.owner_around(block)?;
        let after = fitting.partition_point(|index| *index < found);
        let before = after.checked_sub(1).map(|before| fitting[before]);
        Some(Fitting { neighbours: [before, fitting.get(after).copied()], by_poll: *by_poll })
    }

    /// Returns the innermost loop around a block for which it is known from which loop of the
    /// bytecode it was compiled.
    fn owner_around(&self, block: usize) -> Option<(usize, &Owned)> {
        let mut around = self.flow.loops.iter().enumerate().filter(|(_, body)| body.contains(block));
        around.find_map(|(number, _)| Some((number, self.owned[number].as_ref()?)))
    }
}

/// The end and the state of a PcDesc's run, or `None` if the PcDesc describes nothing.
type Point = Option<(usize, DebugPoint)>;

/// Yields the PcDescs that describe instructions in a loop.
fn inside<'p>(
    body: &Loop,
    points: &'p [Point],
    blocks: &[Option<usize>],
) -> impl Iterator<Item = &'p (usize, DebugPoint)> {
    let all = points.iter().zip(blocks);
    all.filter(|(_, block)| block.is_some_and(|block| body.contains(block)))
        .filter_map(|(point, _)| point.as_ref())
}

/// True if all of these PcDescs name the same methods, and there is at least one.
fn has_same_methods<'p>(mut points: impl Iterator<Item = &'p (usize, DebugPoint)>) -> bool {
    points.next().is_some_and(|(_, first)| points.all(|(_, point)| point.has_methods_of(first)))
}

/// Finds the owners of the loops, by the polls and calls in them.
fn owned(
    nmethod: &mut impl Nmethod,
    flow: &ControlFlow,
    instructions: &[Instruction],
    (points, blocks): (&[Point], &[Option<usize>]),
) -> Vec<Option<Owned>> {
    // The PcDesc of a poll is at the beginning of the instruction.
    let is_poll = |address: usize| {
        let at = instructions.binary_search_by_key(&address, |it| it.start);
        at.is_ok_and(|at| instructions[at].is_poll)
    };
    let is_call = |end: usize| {
        let at = instructions.binary_search_by_key(&end, |it| it.end);
        at.is_ok_and(|at| matches!(instructions[at].flow, Flow::Call(_)))
    };
    let mut safepoints: Vec<Safepoint<'_>> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let Some((end, point)) = point.as_ref().filter(|(_, point)| point.at_safepoint) else { continue };
        let (is_poll, is_call) = (is_poll(*end), is_call(*end));
        // The PcDesc of a call is at the end of the instruction.
        let block = if is_poll { flow.block_at(*end) } else { blocks[index] };
        let Some(block) = block.filter(|_| is_poll || is_call) else { continue };
        let chain = &*point.chain;
        let ended = if is_poll { Owner::ended_by(chain, nmethod) } else { None };
        safepoints.push(Safepoint { block, index, chain, is_call, ended });
    }
    let by_poll = |number: usize, body: &Loop| {
        let polls = || safepoints.iter().filter_map(|it| Some((it.block, (it.index, it.ended.as_ref()?))));
        let own = polls().filter(|(block, _)| flow.innermost(*block) == Some(number));
        // A counted loop is cut into strips, and the poll comes after each strip.
        let is_exit = |block: usize| {
            let left = body.0.iter().any(|inside| flow.blocks[*inside].successors.contains(&block));
            let around = flow.innermost(block);
            left && !body.contains(block) && around.is_none_or(|around| flow.encloses(around, number))
        };
        let exits = polls().filter(|(block, _)| is_exit(*block));
        joined(own.map(|(_, named)| named)).or_else(|| joined(exits.map(|(_, named)| named)))
    };
    let all = flow.loops.iter().enumerate();
    all.map(|(number, body)| {
        let polled = by_poll(number, body);
        let by_poll = polled.is_some();
        let (safepoint, owner) = polled.or_else(|| by_call(nmethod, body, &safepoints))?;
        let fits = |index: &usize| {
            let is_inside = blocks[*index].is_some_and(|block| body.contains(block));
            is_inside && points[*index].as_ref().is_some_and(|(_, point)| owner.fits(&point.chain))
        };
        let mut fitting: Vec<usize> = (0..points.len()).filter(fits).collect();
        if fitting.is_empty() {
            fitting.push(safepoint);
        }
        Some(Owned { fitting, by_poll })
    })
    .collect()
}

/// Returns the loop of the bytecode that contains all safepoints in a loop, and the first of their
/// PcDescs. The result is `None` if none of the safepoints is a call.
fn by_call(nmethod: &mut impl Nmethod, body: &Loop, safepoints: &[Safepoint<'_>]) -> Option<(usize, Owner)> {
    let inside = || safepoints.iter().filter(|it| body.contains(it.block));
    inside().find(|it| it.is_call)?;
    let around = inside().map(|it| Some((it.index, Owner::around(it.chain, nmethod)?)));
    let around = around.collect::<Option<Vec<_>>>()?;
    joined(around.iter().map(|(index, owner)| (*index, owner)))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::machine::testing::{
        CALL, CMP, INC, JL, JMP, LOAD_POLL, LOCK_ADD, Method, NOP, RET, TEST_POLL,
    };
    use proptest::prelude::*;

    const WORK: usize = 1;
    const OTHER: usize = 2;
    const TASK: usize = 9;

    /// A method of a test with a loop that is inlined into a task. The loop's first instruction has
    /// its own state, and its second one has the state of another method. A poll is at its end.
    struct Looping {
        method: Method,
        own: usize,
        other: usize,
        /// The addresses at which two instructions of the loop end: one has the loop's own state,
        /// and one has another method's.
        ends: [usize; 2],
    }

    fn looping(poll: &[(usize, i32)], behind: bool) -> Looping {
        let mut method = Method::default();
        method.loops.insert(WORK, vec![8..=32]);
        method.add(&[INC]);
        method.describe(&[(OTHER, 1), (TASK, 7)]);
        let begin = method.here();
        let first = method.add(&[LOCK_ADD]);
        let own = method.describe(&[(WORK, 26), (TASK, 0)]);
        let second = method.add(&[INC]);
        let other = method.describe(&[(OTHER, 12), (TASK, 7)]);
        if behind {
            method.add(&[CMP]);
            method.jump(JL, begin);
        }
        method.add(&[LOAD_POLL]);
        method.safepoint(poll);
        method.add(&[TEST_POLL, CMP]);
        if !behind {
            method.jump(JL, begin);
        }
        method.add(&[RET]);
        Looping { method, own, other, ends: [first, second] }
    }

    fn corrected(mut it: Looping) -> [usize; 2] {
        let loops = Loops::new(&mut it.method).unwrap();
        [loops.correct(it.ends[0], it.own), loops.correct(it.ends[1], it.other)]
    }

    #[test]
    fn what_a_loop_does_is_of_the_method_that_its_poll_names() {
        let poll = [(WORK, 32), (TASK, 0)];
        for behind in [false, true] {
            let it = looping(&poll, behind);
            let own = it.own;
            assert_eq!(corrected(it), [own; 2], "the poll comes after the loop: {behind}");
        }
    }

    #[test]
    fn a_state_outside_of_the_loop_in_its_bytecode_does_not_fit() {
        let mut it = looping(&[(WORK, 32), (TASK, 0)], false);
        it.method.loops.insert(WORK, vec![28..=32]);
        let poll = it.other + 1;
        assert_eq!(corrected(it), [poll; 2], "nothing fits but the poll itself");
    }

    #[test]
    fn where_no_loop_of_bytecode_ends_the_poll_says_nothing() {
        for poll in [[(WORK, 31), (TASK, 0)], [(OTHER, 32), (TASK, 7)]] {
            let it = looping(&poll, false);
            let found = [it.own, it.other];
            assert_eq!(corrected(it), found);
        }
    }

    #[test]
    fn a_loop_that_two_methods_poll_in_has_no_owner() {
        let mut it = looping(&[(WORK, 32), (TASK, 0)], false);
        // The loop also continues before its end, with another poll.
        let begin = it.ends[0] - LOCK_ADD.len();
        it.method.loops.insert(OTHER, vec![3..=5]);
        let found = [it.own, it.other];
        let end = it.method.here() - RET.len();
        let mut longer = it.method;
        let over = longer.jump(JMP, begin);
        longer.patch(over, begin);
        let second = longer.here();
        longer.add(&[LOAD_POLL]);
        longer.safepoint(&[(OTHER, 5), (TASK, 7)]);
        longer.add(&[TEST_POLL]);
        longer.jump(JMP, begin);
        longer.patch(end, second);
        assert_eq!(corrected(Looping { method: longer, ..it }), found);
    }

    /// Makes a method with a loop that calls and does not poll. Its first state is another
    /// method's, and its second is its own.
    fn calling() -> Looping {
        let mut method = Method::default();
        method.add(&[INC]);
        method.describe(&[(OTHER, 1), (TASK, 7)]);
        let begin = method.here();
        let second = method.add(&[INC]);
        let other = method.describe(&[(OTHER, 12), (TASK, 7)]);
        let first = method.add(&[LOCK_ADD]);
        let own = method.describe(&[(WORK, 26), (TASK, 0)]);
        method.jump(CALL, 0x20_0000);
        method.safepoint(&[(WORK, 30), (TASK, 0)]);
        method.add(&[CMP]);
        method.jump(JL, begin);
        method.add(&[RET]);
        Looping { method, own, other, ends: [first, second] }
    }

    #[test]
    fn a_loop_without_a_poll_is_in_the_outermost_loop_around_its_call() {
        for (work, task, is_moved) in [
            (vec![8..=32], vec![], true),
            (vec![8..=32, 28..=32], vec![], true),
            (vec![8..=32], vec![0..=3], true),
            // Code with another method's state may be in this loop.
            (vec![8..=32], vec![0..=9], false),
            (vec![], vec![], false),
        ] {
            let mut it = calling();
            it.method.loops.extend([(WORK, work.clone()), (TASK, task.clone())]);
            let expected = [it.own, if is_moved { it.own } else { it.other }];
            assert_eq!(corrected(it), expected, "{work:?} {task:?}");
        }
    }

    #[test]
    fn safepoints_that_name_no_loop_in_common_name_none() {
        let unknown = |it: &mut Looping| it.method.unknown.push(TASK);
        // A poll ends no loop, but is in a loop of another method.
        let polled = |it: &mut Looping| {
            it.method.loops.insert(OTHER, vec![10..=14]);
            let end = it.method.here() - RET.len();
            let begin = it.ends[1] - INC.len();
            let over = it.method.jump(JMP, begin);
            it.method.patch(over, begin);
            let second = it.method.here();
            it.method.add(&[LOAD_POLL]);
            it.method.safepoint(&[(OTHER, 12), (TASK, 7)]);
            it.method.add(&[TEST_POLL]);
            it.method.jump(JMP, begin);
            it.method.patch(end, second);
        };
        for change in [&unknown as &dyn Fn(&mut Looping), &polled] {
            let mut it = calling();
            it.method.loops.insert(WORK, vec![8..=32]);
            change(&mut it);
            let found = [it.own, it.other];
            assert_eq!(corrected(it), found);
        }
    }

    #[test]
    fn what_a_call_names_is_known_if_all_that_fits_it_names_the_same_methods() {
        // In the second case the task's loop contains both methods.
        for (task, expected) in [(0..=3, true), (0..=9, false)] {
            let mut it = calling();
            it.method.loops.extend([(WORK, vec![8..=32]), (TASK, vec![task])]);
            let loops = Loops::new(&mut it.method).unwrap();
            assert_eq!(loops.is_known(it.ends[0]), Some(expected));
            assert!(!loops.fitting(it.ends[0], it.own).unwrap().by_poll);
        }
    }

    #[test]
    fn a_call_that_does_not_return_does_not_lead_into_a_loop() {
        let mut it = looping(&[(WORK, 32), (TASK, 0)], false);
        let trap = 0x20_0000;
        let build = |traps: Vec<usize>| {
            // The trap's call is before the loop's second half, as C2 writes it.
            let mut method = Method::default();
            method.loops.insert(WORK, vec![8..=32]);
            let over = method.jump(JMP, 0);
            method.jump(CALL, trap);
            method.add(&[NOP]);
            let half = method.here();
            let own_end = method.add(&[LOCK_ADD]);
            let own = method.describe(&[(WORK, 26), (TASK, 0)]);
            let header = method.here();
            method.patch(over, header);
            let other_end = method.add(&[INC]);
            let other = method.describe(&[(OTHER, 12), (TASK, 7)]);
            method.add(&[LOAD_POLL]);
            method.safepoint(&[(WORK, 32), (TASK, 0)]);
            method.add(&[TEST_POLL]);
            method.jump(JL, half);
            method.add(&[RET]);
            method.traps = traps;
            Looping { method, own, other, ends: [own_end, other_end] }
        };
        let own = build(Vec::new()).own;
        assert_eq!(corrected(build(vec![trap])), [own; 2]);
        it.method.traps.clear();
        let found = [own, build(Vec::new()).other];
        assert_eq!(corrected(build(Vec::new())), found, "a call that returns leads into the midst of it");
    }

    proptest! {
        #[test]
        fn any_code_with_any_descriptions_comes_to_an_end(
            code in proptest::collection::vec(any::<u8>(), 1..400),
            points in proptest::collection::vec((0..400_usize, 0..4_usize, 0..40_i32, any::<bool>()), 0..20),
        ) {
            let mut points = points;
            points.sort_unstable();
            let mut method = Method::default();
            method.loops.insert(WORK, vec![0..=20, 5..=5]);
            let mut rest = code.as_slice();
            for (at, inlined, bci, is_safepoint) in points {
                let (now, later) = rest.split_at(at.min(rest.len()) / 2);
                method.add(&[now]);
                rest = later;
                if is_safepoint { method.safepoint(&[(inlined, bci)]) } else { method.describe(&[(inlined, bci)]) };
            }
            method.add(&[rest]);
            let loops = Loops::new(&mut method).unwrap();
            for end in method.code() {
                if let Some(found) = crate::machine::owner(&method, end, Some(&loops)) {
                    prop_assert!(found < method.count());
                }
            }
        }
    }
}
