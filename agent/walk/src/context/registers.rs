//! The registers of an interrupted thread, by their use.

/// What the interpreter keeps in registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interpreting {
    /// Where it is in the bytecode; while a method is being entered, its caller's stack pointer;
    /// while one is being left, where to.
    pub bytecode: usize,
    /// The method that is being entered, and where that returns to, while it is not on the stack;
    /// while one is being left, its caller's stack pointer. Where a call pushes nothing, it is that
    /// register, in all code.
    pub method: usize,
    pub returns: usize,
}

/// Where a thread was interrupted; all 0 where that cannot be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Registers {
    pub pc: usize,
    pub sp: usize,
    pub fp: usize,
}
