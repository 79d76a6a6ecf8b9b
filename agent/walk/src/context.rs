//! What of an interrupted context depends on the processor: its registers, and how a walk is left from a fault.
//!
//! A file for each architecture, all with the same functions. Nothing else of the agent may know a register.

#[cfg_attr(target_arch = "x86_64", path = "context/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "context/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "context/other.rs")]
mod processor;

pub use processor::{
    ADDRESS_BITS, CALL_PUSHES, GUARDS, damage, fault, guarded, interpreting, is_below, is_safe_fetch, leave,
    link, registers, repair,
};

/// What the interpreter keeps in registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interpreting {
    /// Where it is in the bytecode; while a method is being entered, its caller's stack pointer; while one is being left, where to.
    pub bytecode: usize,
    /// The method that is being entered, and where that returns to, while it is not on the stack; while one is being left, its
    /// caller's stack pointer. Where a call pushes nothing, it is that register, in all code.
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
