//! The registers of an interrupted thread, by their use.

/// The registers in which the interpreter keeps its state. Their contents change while a method is
/// entered or left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterpreterRegisters {
    /// The bcp. While a method is entered it is the caller's stack pointer, and while one is left
    /// it is the return address.
    pub bcp: usize,
    /// The `Method` that is entered. While a method is left it is the caller's stack pointer.
    pub method: usize,
    /// The return address of the method that is entered, while it is not on the stack. On
    /// processors with a link register it is that register, in all code.
    pub return_address: usize,
}

/// The registers at which a thread was interrupted. All are 0 if they are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Registers {
    pub pc: usize,
    pub sp: usize,
    pub fp: usize,
}
