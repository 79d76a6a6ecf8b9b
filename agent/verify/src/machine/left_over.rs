//! Finds the JVM states of instructions that C2 left over when it inlined a call late. Such a state
//! is wrong for its instructions.
//!
//! While C2 parses, each node gets the state of the bytecode that is parsed
//! (`Compile::default_node_notes`). After parsing, C2 removes that default. Late inlining sets it
//! again, to the state of the inlined call (`CallGenerator::do_late_inline_helper`), and does not
//! remove it. So all nodes that the optimiser makes afterwards have the call's state, which says
//! nothing about them.
//!
//! Such a state is that of an invoke, it occurs several times, and the inlined method has its own
//! states. A call that is an intrinsic has no such states, and the states of its instructions are
//! right.

use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use foldhash::HashMap;

use crate::machine::certainty::REPEATED;
use crate::machine::nmethod::{DebugPoint, Inlined, Nmethod};

/// How far a repeated state is right for its instructions.
#[derive(Debug, Clone, Copy)]
enum State {
    Right,
    Doubtful,
    LeftOver,
}

/// The states of a compiled method that are left over. The result is valid as long as the code
/// exists.
#[derive(Debug, Default)]
pub struct LeftOver {
    /// The indices of the PcDescs with states that are not left over, in order. `None` if no state
    /// is left over, as in most methods.
    kept: Option<Box<[usize]>>,
    /// The indices of those kept PcDescs with states that may be left over. If the notes of nodes
    /// are not reliable, the list is empty, and every state may be left over.
    doubtful: Box<[usize]>,
}

impl LeftOver {
    /// Finds the left-over states of a compiled method. If the notes of nodes are not reliable,
    /// every state is doubtful.
    pub fn find(nmethod: &mut impl Nmethod) -> Self {
        let all = 0..nmethod.count();
        if !nmethod.has_reliable_notes() {
            return Self::default();
        }
        let is_repeated = |index: &usize| nmethod.repetitions(*index) >= REPEATED;
        let repeated: Vec<usize> = all.clone().filter(is_repeated).collect();
        let (mut doubtful, mut left_over) = (Vec::new(), Vec::new());
        let mut points: Option<Vec<DebugPoint>> = None;
        // A state is judged once, because it is repeated.
        let mut states: HashMap<Rc<[Inlined]>, State> = HashMap::default();
        for index in repeated {
            let Some(point) = nmethod.point(index).filter(|point| !point.at_safepoint) else { continue };
            let state = states.get(&point.chain).copied().unwrap_or_else(|| {
                let state = if nmethod.is_invoke(point.chain[0]).unwrap_or(true) {
                    let points = points.get_or_insert_with(|| {
                        all.clone().filter_map(|index| nmethod.point(index)).collect()
                    });
                    let depth = point.chain.len();
                    let is_inlined =
                        |it: &DebugPoint| it.chain.len() > depth && it.chain.ends_with(&point.chain);
                    if points.iter().any(is_inlined) { State::LeftOver } else { State::Doubtful }
                } else {
                    State::Right
                };
                states.insert(point.chain, state);
                state
            });
            match state {
                State::Right => {}
                State::Doubtful => doubtful.push(index),
                State::LeftOver => left_over.push(index),
            }
        }
        let kept = all.filter(|index| left_over.binary_search(index).is_err());
        let kept = (!left_over.is_empty()).then(|| kept.collect());
        Self { kept, doubtful: doubtful.into() }
    }

    fn is_kept(&self, original: usize) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.binary_search(&original).is_ok())
    }
}

/// A view of a compiled method without the states that are left over. Their instructions count as
/// having no state.
#[derive(Debug)]
pub struct Described<'n, N> {
    nmethod: &'n mut N,
    left_over: &'n LeftOver,
}

impl<'n, N: Nmethod> Described<'n, N> {
    pub fn new(nmethod: &'n mut N, left_over: &'n LeftOver) -> Self {
        Self { nmethod, left_over }
    }

    /// Returns the index that a PcDesc has in the whole method.
    pub fn original(&self, index: usize) -> Option<usize> {
        match &self.left_over.kept {
            Some(kept) => kept.get(index).copied(),
            None => Some(index).filter(|index| *index < self.nmethod.count()),
        }
    }

    /// Returns the compiled method with all of its states.
    pub fn nmethod(&self) -> &N {
        self.nmethod
    }
}

impl<N: Nmethod> Nmethod for Described<'_, N> {
    fn code(&self) -> Range<usize> {
        self.nmethod.code()
    }

    fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        self.nmethod.read(at, into)
    }

    fn count(&self) -> usize {
        self.left_over.kept.as_ref().map_or_else(|| self.nmethod.count(), |kept| kept.len())
    }

    fn index_at(&self, address: usize) -> Option<usize> {
        let original = self.nmethod.index_at(address)?;
        let Some(kept) = &self.left_over.kept else { return Some(original) };
        let index = kept.partition_point(|kept| *kept < original);
        (index < kept.len()).then_some(index)
    }

    fn end(&self, index: usize) -> Option<usize> {
        self.nmethod.end(self.original(index)?)
    }

    fn point(&self, index: usize) -> Option<DebugPoint> {
        self.nmethod.point(self.original(index)?)
    }

    fn repetitions(&self, index: usize) -> usize {
        let is_doubtful = |index: &usize| {
            !self.has_reliable_notes() || self.left_over.doubtful.binary_search(index).is_ok()
        };
        self.original(index).filter(is_doubtful).map_or(1, |index| self.nmethod.repetitions(index))
    }

    fn bytecode_loops(&mut self, method: usize) -> Option<Vec<RangeInclusive<i32>>> {
        self.nmethod.bytecode_loops(method)
    }

    fn is_invoke(&mut self, inlined: Inlined) -> Option<bool> {
        self.nmethod.is_invoke(inlined)
    }

    fn is_last_call(&self, target: usize) -> bool {
        self.nmethod.is_last_call(target)
    }

    fn has_reliable_notes(&self) -> bool {
        self.nmethod.has_reliable_notes()
    }

    fn left_over_at(&self, charged_end: usize) -> Option<DebugPoint> {
        let original = self.nmethod.index_at(charged_end)?;
        if self.left_over.is_kept(original) { None } else { self.nmethod.point(original) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use vouch_sample::Certainty;

    use super::*;
    use crate::machine::testing::{CMP, INC, LOCK_ADD, Method, RET, chain};
    use crate::machine::{certainty, owner};

    const WORK: &[(usize, i32)] = &[(1, 26), (9, 0)];
    /// The state of a call in which a method was inlined.
    const CALL: &[(usize, i32)] = &[(2, 14), (9, 5)];
    const CALLED: &[(usize, i32)] = &[(3, 1), (2, 14), (9, 5)];
    /// The instruction mov r9d, [r11 + 12], which reads the length of an array.
    const LENGTH: &[u8] = &[0x45, 0x8b, 0x4b, 0x0c];

    /// Adds three runs of the state `WORK` to a method. An instruction with another state follows
    /// each run. Returns the end of the second such instruction.
    fn interleave(method: &mut Method, instruction: &[u8], state: &[(usize, i32)]) -> usize {
        let mut ends = Vec::new();
        for _ in 0..REPEATED {
            method.add(&[LOCK_ADD]);
            method.describe(WORK);
            ends.push(method.add(&[instruction]));
            method.describe(state);
        }
        ends[1]
    }

    /// Makes a method with runs of `WORK` and, between them, an instruction with the state of a
    /// call. The call is inlined elsewhere in the method.
    fn interleaved(instruction: &[u8]) -> (Method, usize) {
        let mut method = Method::with_invokes(Some(chain(&CALL[..1])));
        method.add(&[INC]);
        method.describe(CALLED);
        let end = interleave(&mut method, instruction, CALL);
        method.add(&[INC]);
        method.describe(WORK);
        method.add(&[RET]);
        method.finish();
        (method, end)
    }

    /// Returns the state that the instruction is found to have, and its certainty.
    fn found(mut method: Method, end: usize) -> (Vec<Inlined>, Certainty) {
        let left_over = LeftOver::find(&mut method);
        let described = Described::new(&mut method, &left_over);
        let index = owner(&described, end, None).unwrap();
        let certainty = certainty(&described, end, index, None);
        let original = described.original(index).unwrap();
        (method.point(original).unwrap().chain.to_vec(), certainty)
    }

    #[test]
    fn what_has_the_state_of_a_call_inlined_late_is_of_the_runs_around_it() {
        let (method, end) = interleaved(LENGTH);
        assert_eq!(found(method, end), (chain(WORK), Certainty::Exact));
    }

    #[test]
    fn a_check_of_the_receiver_may_be_of_the_call() {
        let (method, end) = interleaved(CMP);
        assert_eq!(found(method, end), (chain(WORK), Certainty::Approximate));
    }

    #[test]
    fn the_state_of_what_is_no_call_is_not_left_over() {
        let (mut method, end) = interleaved(LENGTH);
        method.invokes = Some(Vec::new());
        assert_eq!(found(method, end), (chain(CALL), Certainty::Exact));
    }

    #[test]
    fn the_state_of_a_call_without_an_inlined_method_is_doubtful() {
        let intrinsic = &[(4, 3), (9, 5)];
        let mut again = Method::with_invokes(Some(chain(&intrinsic[..1])));
        let end = interleave(&mut again, LENGTH, intrinsic);
        again.finish();
        assert_eq!(found(again, end), (chain(intrinsic), Certainty::Approximate));
    }

    #[test]
    fn where_notes_are_not_reliable_nothing_is_left_out() {
        let (mut method, end) = interleaved(LENGTH);
        method.invokes = None;
        assert_eq!(found(method, end), (chain(CALL), Certainty::Approximate));
    }

    #[test]
    fn safepoints_are_never_left_over() {
        let (mut method, _) = interleaved(LENGTH);
        let mut call = || {
            method.add(&[INC]);
            let safepoint = method.safepoint(CALL);
            method.add(&[INC]);
            method.describe(WORK);
            safepoint
        };
        let safepoints: Vec<usize> = (0..REPEATED).map(|_| call()).collect();
        method.finish();
        let left_over = LeftOver::find(&mut method);
        let kept = left_over.kept.as_ref().unwrap();
        assert!(safepoints.iter().all(|safepoint| kept.contains(safepoint)));
        assert_eq!(kept.len(), method.count() - REPEATED);
        let described = Described::new(&mut method, &left_over);
        for index in 0..described.count() {
            assert_eq!(described.original(index), Some(kept[index]));
        }
    }
}
