//! The trait for a compiled method's code and debug information.

use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

/// The maximal number of bytes of code that are read at once.
pub const MAX_WINDOW: usize = 4096;

/// The PcDesc of the run before an instruction, and that of the run after it. Either may be
/// missing.
pub type Neighbours = [Option<usize>; 2];

/// An inlined method, and a location in its bytecode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// A number that identifies the inlined method.
    pub method: usize,
    pub bci: i32,
}

/// The JVM state that a PcDesc describes: the inlined methods, and where each of them is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugPoint {
    /// The inlined methods, innermost first. It is never empty. Many PcDescs share one chain.
    pub chain: Rc<[Inlined]>,
    /// True if the PcDesc describes a safepoint. The JVM itself depends on such a state, so it is
    /// right.
    pub at_safepoint: bool,
}

impl DebugPoint {
    /// True if two states name the same methods. Their bcis may differ.
    #[must_use]
    pub fn has_methods_of(&self, other: &Self) -> bool {
        let same = |(one, other): (&Inlined, &Inlined)| one.method == other.method;
        self.chain.len() == other.chain.len() && self.chain.iter().zip(other.chain.iter()).all(same)
    }
}

/// A compiled method's code and debug information.
pub trait Nmethod {
    /// Returns the range of addresses of the code.
    fn code(&self) -> Range<usize>;

    /// Fills `into` with the code from the address `at` on. The result is `None` if not all of it
    /// can be read.
    fn read(&self, at: usize, into: &mut [u8]) -> Option<()>;

    /// Returns the number of PcDescs of the compiled method.
    fn count(&self) -> usize;

    /// Returns the index of the PcDesc of the first run that ends at this address or later.
    fn index_at(&self, address: usize) -> Option<usize>;

    /// Returns the address at which the run of a PcDesc ends. It is `None` if the PcDesc describes
    /// nothing, like the first and the last one.
    fn end(&self, index: usize) -> Option<usize>;

    /// Returns the state that a PcDesc describes.
    fn point(&self, index: usize) -> Option<DebugPoint>;

    /// True if a PcDesc describes a safepoint at this address.
    fn is_safepoint(&self, index: usize, address: usize) -> bool {
        self.end(index) == Some(address) && self.point(index).is_some_and(|point| point.at_safepoint)
    }

    /// Returns the number of separate runs of instructions that have the state of a PcDesc.
    /// Repetitions that do not make the state doubtful are not counted.
    fn repetitions(&self, index: usize) -> usize;

    /// True if each state that C2 wrote is that of the instruction's own node, or left over from
    /// late inlining. JDKs before 21 forget to move the nodes' states when they number nodes anew
    /// (JDK-8201516). There a state may be that of any node.
    fn has_reliable_notes(&self) -> bool;

    /// True if there is an invoke at this bytecode. It is `None` if the bytecode is unknown.
    fn is_invoke(&mut self, inlined: Inlined) -> Option<bool>;

    /// Returns the left-over state at the instruction that ends at `_charged_end`, or `None` if
    /// there is no such state.
    fn left_over_at(&self, _charged_end: usize) -> Option<DebugPoint> {
        None
    }

    /// Returns the loops of a method's bytecode: ranges from the target of each backward branch to
    /// the branch. The result is `None` if the bytecode is unknown.
    fn bytecode_loops(&mut self, method: usize) -> Option<Vec<RangeInclusive<i32>>>;

    /// True if a call of this address never returns, such as one of the uncommon trap.
    fn is_last_call(&self, target: usize) -> bool;
}
