//! Types for the registers of an interrupted thread, named by their use instead of by the
//! processor.

/// The registers in which HotSpot's interpreter keeps its state. Their contents change while a
/// method is entered or left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterpreterRegisters {
    /// The bytecode pointer (bcp) of the interpreter. While a method is entered it is the caller's
    /// stack pointer, and while a method returns it is the return address.
    pub bcp: usize,
    /// The `Method` that the interpreter is entering. While a method returns this register is the
    /// caller's stack pointer.
    pub method: usize,
    /// The return address of the method that is being entered, while that address is not on the
    /// stack. On processors with a link register it is that register, in all code.
    pub return_address: usize,
}

/// The pc, stack pointer and frame pointer at which a thread was interrupted. All are 0 if they are
/// unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Registers {
    pub pc: usize,
    pub sp: usize,
    pub fp: usize,
}
