//! Whose loop an instruction is in.
//!
//! The optimising compiler gives a state that is left over from parsing to many of the nodes that it makes or copies later.
//! So instructions in the midst of one method's loop can be described as another's. A safepoint poll is described for the JVM's
//! own sake, and so rightly: at the loop's end it names the loop's method. What a loop executes again and again is of
//! that method, between the two ends of that loop in its bytecode, or of what it calls there.

use std::ops::RangeInclusive;

use crate::flow::{ControlFlow, Loop};
use crate::instruction::{Instruction, decode};
use crate::local::Neighbours;
use crate::nmethod::{DebugPoint, Inlined, Nmethod};

/// Larger methods are not analysed, in bytes of code.
const MAX_CODE: usize = 1 << 18;

/// The loops of a compiled method whose owner is known.
#[derive(Debug)]
pub struct Loops {
    flow: ControlFlow,
    /// By the number of a loop.
    owned: Vec<Option<Owned>>,
    /// All descriptions in the loop name the same methods; by its number, too.
    uniform: Vec<bool>,
}

/// A loop that a poll names.
#[derive(Debug)]
struct Owned {
    /// The PcDescs in it that fit its owner, in order; the poll's own if none does.
    fitting: Vec<usize>,
}

/// The loop in the bytecode.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    /// How the loop's method was called, outermost first.
    callers: Vec<Inlined>,
    method: usize,
    bcis: RangeInclusive<i32>,
}

impl Owner {
    /// The loop that a poll ends; `None` if there is no backward branch at its bci.
    fn of_poll(chain: &[Inlined], nmethod: &mut impl Nmethod) -> Option<Self> {
        let (innermost, callers) = chain.split_first()?;
        let ends_here = |bcis: &RangeInclusive<i32>| *bcis.end() == innermost.bci;
        let loops = nmethod.bytecode_loops(innermost.method);
        // A `continue` may go back to the same place: the longest is the loop.
        let bcis = loops.into_iter().filter(ends_here).min_by_key(|bcis| *bcis.start())?;
        Some(Self { callers: callers.iter().rev().copied().collect(), method: innermost.method, bcis })
    }

    /// The owner of a loop that has both polls; `None` if they are not of one method.
    fn with(self, other: &Self) -> Option<Self> {
        let is_same = self.method == other.method && self.callers == other.callers;
        let start = *self.bcis.start().min(other.bcis.start());
        let end = *self.bcis.end().max(other.bcis.end());
        is_same.then_some(Self { bcis: start..=end, ..self })
    }

    /// True if an instruction of this state may be in the loop.
    fn fits(&self, chain: &[Inlined]) -> bool {
        let mut outermost_first = chain.iter().rev();
        let same_callers = self.callers.iter().all(|caller| outermost_first.next() == Some(caller));
        let own = outermost_first.next();
        same_callers && own.is_some_and(|own| own.method == self.method && self.bcis.contains(&own.bci))
    }
}

impl Loops {
    /// Reads all of a method's code; `None` if that cannot be.
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
        // The block of each described instruction, which ends where its PcDesc says.
        let block = |point: &Point| point.as_ref().and_then(|(end, _)| flow.block_at(end.wrapping_sub(1)));
        let blocks: Vec<Option<usize>> = points.iter().map(block).collect();
        let uniform = flow.loops.iter().map(|body| is_uniform(body, &points, &blocks)).collect();
        let owned = owned(nmethod, &flow, &instructions, (&points, &blocks));
        Some(Self { flow, owned, uniform })
    }

    /// The PcDesc of an instruction in a loop, by the one that is found without regard to that; `charged_end` is where the instruction
    /// ends.
    pub fn correct(&self, charged_end: usize, found: usize) -> usize {
        match self.fitting(charged_end, found) {
            Some([_, Some(next)]) if next == found => found,
            Some([Some(before), Some(next)]) if next - found < found - before => next,
            Some([Some(before), _]) => before,
            Some([None, Some(next)]) => next,
            Some([None, None]) | None => found,
        }
    }

    /// True if two instructions, by their addresses, are in one basic block.
    pub(crate) fn is_one_block(&self, one: usize, other: usize) -> bool {
        self.flow.block_at(one).is_some_and(|block| self.flow.block_at(other) == Some(block))
    }

    /// Whether all descriptions in the innermost loop around an instruction name the same methods; `None` if it is in no loop.
    pub(crate) fn is_uniform(&self, charged_end: usize) -> Option<bool> {
        let block = charged_end.checked_sub(1).and_then(|at| self.flow.block_at(at))?;
        self.flow.innermost(block).map(|number| self.uniform[number])
    }

    /// Of the loop around an instruction, the PcDescs that fit its owner: the last one before `found`, and the next one from there on.
    /// `None` if the instruction is in no loop with a known owner.
    pub(crate) fn fitting(&self, charged_end: usize, found: usize) -> Option<Neighbours> {
        let block = self.flow.block_at(charged_end.checked_sub(1)?)?;
        let mut around = self.flow.loops.iter().zip(&self.owned).filter(|(it, _)| it.contains(block));
        let Owned { fitting } = around.find_map(|(_, owned)| owned.as_ref())?;
        let after = fitting.partition_point(|index| *index < found);
        let before = after.checked_sub(1).map(|before| fitting[before]);
        Some([before, fitting.get(after).copied()])
    }
}

/// A poll's block, its PcDesc, and the loop that it ends.
type Poll = (usize, usize, Owner);

/// The first of these polls and the owner that all of them name.
fn joined<'p>(mut polls: impl Iterator<Item = &'p Poll>) -> Option<(usize, Owner)> {
    let (_, index, first) = polls.next()?;
    let owner = polls.try_fold(first.clone(), |owner, (.., other)| owner.with(other))?;
    Some((*index, owner))
}

/// What a PcDesc says, and where it ends; `None` if it describes nothing.
type Point = Option<(usize, DebugPoint)>;

/// True if all descriptions in a loop name the same methods, and there are some.
fn is_uniform(body: &Loop, points: &[Point], blocks: &[Option<usize>]) -> bool {
    let inside =
        points.iter().zip(blocks).filter(|(_, block)| block.is_some_and(|block| body.contains(block)));
    let mut points = inside.filter_map(|(point, _)| point.as_ref().map(|(_, point)| point));
    points.next().is_some_and(|first| points.all(|point| point.has_methods_of(first)))
}

/// The owners of loops.
fn owned(
    nmethod: &mut impl Nmethod,
    flow: &ControlFlow,
    instructions: &[Instruction],
    (points, blocks): (&[Point], &[Option<usize>]),
) -> Vec<Option<Owned>> {
    // A poll is described where it begins.
    let is_poll = |address: usize| {
        let at = instructions.binary_search_by_key(&address, |it| it.start);
        at.is_ok_and(|at| instructions[at].is_poll)
    };
    let mut polls: Vec<Poll> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let Some((end, point)) = point else { continue };
        if point.at_safepoint
            && is_poll(*end)
            && let Some(block) = flow.block_at(*end)
            && let Some(owner) = Owner::of_poll(&point.chain, nmethod)
        {
            polls.push((block, index, owner));
        }
    }
    let owner = |number: usize, body: &Loop| {
        let own = polls.iter().filter(|(block, ..)| flow.innermost(*block) == Some(number));
        // A counted loop is cut into strips, and the poll stands behind each strip.
        let is_exit = |block: usize| {
            let left = body.0.iter().any(|inside| flow.blocks[*inside].successors.contains(&block));
            let around = flow.innermost(block);
            left && !body.contains(block) && around.is_none_or(|around| flow.encloses(around, number))
        };
        joined(own).or_else(|| joined(polls.iter().filter(|(block, ..)| is_exit(*block))))
    };
    let all = flow.loops.iter().enumerate();
    all.map(|(number, body)| {
        let (poll, owner) = owner(number, body)?;
        let fits = |index: &usize| {
            let is_inside = blocks[*index].is_some_and(|block| body.contains(block));
            is_inside && points[*index].as_ref().is_some_and(|(_, point)| owner.fits(&point.chain))
        };
        let mut fitting: Vec<usize> = (0..points.len()).filter(fits).collect();
        if fitting.is_empty() {
            fitting.push(poll);
        }
        Some(Owned { fitting })
    })
    .collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::testing::{CALL, CMP, INC, JL, JMP, LOAD_POLL, LOCK_ADD, Method, NOP, RET, TEST_POLL};
    use proptest::prelude::*;

    const WORK: usize = 1;
    const OTHER: usize = 2;
    const TASK: usize = 9;

    /// A loop in a method that is inlined into a task: first described as its own, then as another's; and the poll at its end.
    struct Looping {
        method: Method,
        own: usize,
        other: usize,
        /// Behind an instruction of each.
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
            assert_eq!(corrected(it), [own; 2], "behind the loop: {behind}");
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
    fn a_loop_that_two_methods_poll_in_is_nobodys() {
        let mut it = looping(&[(WORK, 32), (TASK, 0)], false);
        // It goes on in front of its end, with another poll.
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

    #[test]
    fn a_call_that_does_not_return_does_not_lead_into_a_loop() {
        let mut it = looping(&[(WORK, 32), (TASK, 0)], false);
        let trap = 0x20_0000;
        let build = |traps: Vec<usize>| {
            // The trap's call stands in front of the loop's second half, as C2 places it.
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
                if let Some(found) = crate::local(&method, end) {
                    prop_assert!(loops.correct(end, found) < method.count());
                }
            }
        }
    }
}
