//! What this module asks of a compiled method.

use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

/// The longest stretch of code that is read at once, in bytes.
pub const MAX_WINDOW: usize = 4096;

/// The PcDesc of the run before an instruction, and that of the run after it.
pub type Neighbours = [Option<usize>; 2];

/// A method that was inlined, and where in its bytecode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// Any number that stands for the method.
    pub method: usize,
    pub bci: i32,
}

/// What a PcDesc says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugPoint {
    /// Innermost first, never empty. Many PcDescs share one.
    pub chain: Rc<[Inlined]>,
    /// It describes a safepoint: the JVM itself depends on it, so it is right.
    pub at_safepoint: bool,
}

impl DebugPoint {
    /// True if both name the same methods, at whatever bytecodes.
    #[must_use]
    pub fn has_methods_of(&self, other: &Self) -> bool {
        let same = |(one, other): (&Inlined, &Inlined)| one.method == other.method;
        self.chain.len() == other.chain.len() && self.chain.iter().zip(other.chain.iter()).all(same)
    }
}

/// A compiled method's code and debug information.
pub trait Nmethod {
    /// The addresses of its code.
    fn code(&self) -> Range<usize>;

    /// Copies code from an address on; `None` if so much cannot be read.
    fn read(&self, at: usize, into: &mut [u8]) -> Option<()>;

    /// How many PcDescs there are.
    fn count(&self) -> usize;

    /// The index of the PcDesc of the first run that ends at this address or later.
    fn index_at(&self, address: usize) -> Option<usize>;

    /// Where the run of a PcDesc ends; `None` if it describes nothing, like the first and the last
    /// one.
    fn end(&self, index: usize) -> Option<usize>;

    /// What a PcDesc says.
    fn point(&self, index: usize) -> Option<DebugPoint>;

    /// True if a PcDesc describes a safepoint at this address.
    fn is_safepoint(&self, index: usize, address: usize) -> bool {
        self.end(index) == Some(address) && self.point(index).is_some_and(|point| point.at_safepoint)
    }

    /// How many separate runs have the state that a PcDesc describes, as far as that makes the
    /// state doubtful.
    fn repetitions(&self, index: usize) -> usize;

    /// True if a state that C2 wrote is that of the instruction's own node, or left over from late
    /// inlining. JDKs before 21 forget to move the nodes' states when they number nodes anew
    /// (JDK-8201516): there a state may be that of any node.
    fn has_reliable_notes(&self) -> bool;

    /// True if there is an invoke at this bytecode; `None` if it is not known.
    fn is_invoke(&mut self, inlined: Inlined) -> Option<bool>;

    /// The state that is left over at the instruction that ends there; `None` if none is.
    fn left_over_at(&self, _charged_end: usize) -> Option<DebugPoint> {
        None
    }

    /// The loops of a method's bytecode: from the target of each backward branch to the branch.
    /// `None` if its bytecode is not known.
    fn bytecode_loops(&mut self, method: usize) -> Option<Vec<RangeInclusive<i32>>>;

    /// True if a call of this address never returns, such as one of the uncommon trap.
    fn is_last_call(&self, target: usize) -> bool;
}
