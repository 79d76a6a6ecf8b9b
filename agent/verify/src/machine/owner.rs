//! Finds the loop of the bytecode from which a loop in the machine code was compiled.

use std::ops::RangeInclusive;

use crate::machine::nmethod::{Inlined, Nmethod};

/// The owner of a loop in the machine code: the loop of the bytecode from which it was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The calls that led to the loop's method, outermost first.
    callers: Vec<Inlined>,
    method: usize,
    bcis: RangeInclusive<i32>,
}

impl Owner {
    /// Returns the loop of the bytecode that a poll ends. The result is `None` if there is no
    /// backward branch at the poll's bci.
    pub fn ended_by(chain: &[Inlined], nmethod: &mut impl Nmethod) -> Option<Self> {
        let (innermost, callers) = chain.split_first()?;
        let ends_here = |bcis: &RangeInclusive<i32>| *bcis.end() == innermost.bci;
        let loops = nmethod.bytecode_loops(innermost.method)?;
        // A `continue` may go back to the same bci. The longest range is the loop.
        let bcis = loops.into_iter().filter(ends_here).min_by_key(|bcis| *bcis.start())?;
        Some(Self { callers: callers.iter().rev().copied().collect(), method: innermost.method, bcis })
    }

    /// Returns the outermost loop of the bytecode around a safepoint with this state. The result is
    /// `None` if no loop is around it, or if the bytecode of one of its methods is not known.
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

    /// Combines two loops of the bytecode that safepoints of one machine loop name. The result is
    /// `None` if they are not in one method.
    fn with(self, other: &Self) -> Option<Self> {
        let is_same = self.method == other.method && self.callers == other.callers;
        let start = *self.bcis.start().min(other.bcis.start());
        let end = *self.bcis.end().max(other.bcis.end());
        is_same.then_some(Self { bcis: start..=end, ..self })
    }

    /// True if an instruction with this state may be in the owner's loop.
    pub fn fits(&self, chain: &[Inlined]) -> bool {
        let mut outermost_first = chain.iter().rev();
        let same_callers = self.callers.iter().all(|caller| outermost_first.next() == Some(caller));
        let own = outermost_first.next();
        same_callers && own.is_some_and(|own| own.method == self.method && self.bcis.contains(&own.bci))
    }
}

/// Returns the loop of the bytecode in which all of these safepoints are, and the first of their
/// PcDescs.
pub(crate) fn joined<'o>(mut safepoints: impl Iterator<Item = (usize, &'o Owner)>) -> Option<(usize, Owner)> {
    let (index, first) = safepoints.next()?;
    let owner = safepoints.try_fold(first.clone(), |owner, (_, other)| owner.with(other))?;
    Some((index, owner))
}
