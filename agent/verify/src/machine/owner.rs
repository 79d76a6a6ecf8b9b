//! The loop of the bytecode that a loop in the machine code is made of.

use std::ops::RangeInclusive;

use crate::machine::nmethod::{Inlined, Nmethod};

/// The loop in the bytecode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// How the loop's method was called, outermost first.
    callers: Vec<Inlined>,
    method: usize,
    bcis: RangeInclusive<i32>,
}

impl Owner {
    /// The loop that a poll ends; `None` if there is no backward branch at its bci.
    pub fn ended_by(chain: &[Inlined], nmethod: &mut impl Nmethod) -> Option<Self> {
        let (innermost, callers) = chain.split_first()?;
        let ends_here = |bcis: &RangeInclusive<i32>| *bcis.end() == innermost.bci;
        let loops = nmethod.bytecode_loops(innermost.method)?;
        // A `continue` may go back to the same bci: the longest is the loop.
        let bcis = loops.into_iter().filter(ends_here).min_by_key(|bcis| *bcis.start())?;
        Some(Self { callers: callers.iter().rev().copied().collect(), method: innermost.method, bcis })
    }

    /// The outermost loop of the bytecode around what a safepoint describes. `None` if no loop is
    /// around it, or if the bytecode of one of its methods is not known.
    pub fn around(chain: &[Inlined], nmethod: &mut impl Nmethod) -> Option<Self> {
        let mut callers = Vec::new();
        for inlined in chain.iter().rev() {
            let loops = nmethod.bytecode_loops(inlined.method)?;
            let around = loops.into_iter().filter(|bcis| bcis.contains(&inlined.bci));
            let widest =
                around.reduce(|one, other| *one.start().min(other.start())..=*one.end().max(other.end()));
            if let Some(bcis) = widest {
                return Some(Self { callers, method: inlined.method, bcis });
            }
            callers.push(*inlined);
        }
        None
    }

    /// The owner of a loop that has both safepoints; `None` if they are not of one method.
    fn with(self, other: &Self) -> Option<Self> {
        let is_same = self.method == other.method && self.callers == other.callers;
        let start = *self.bcis.start().min(other.bcis.start());
        let end = *self.bcis.end().max(other.bcis.end());
        is_same.then_some(Self { bcis: start..=end, ..self })
    }

    /// True if an instruction of this state may be in the loop.
    pub fn fits(&self, chain: &[Inlined]) -> bool {
        let mut outermost_first = chain.iter().rev();
        let same_callers = self.callers.iter().all(|caller| outermost_first.next() == Some(caller));
        let own = outermost_first.next();
        same_callers && own.is_some_and(|own| own.method == self.method && self.bcis.contains(&own.bci))
    }
}

/// The owner that all of these safepoints name, and the first of their PcDescs.
pub(crate) fn joined<'o>(mut safepoints: impl Iterator<Item = (usize, &'o Owner)>) -> Option<(usize, Owner)> {
    let (index, first) = safepoints.next()?;
    let owner = safepoints.try_fold(first.clone(), |owner, (_, other)| owner.with(other))?;
    Some((index, owner))
}
