//! Checks of stacks that need no JVM.
//!
//! [`proof`] checks a stack against the bytecode of its methods. [`witness`] compares a walk with
//! the stack that GetStackTrace found. [`machine`] finds the inlined method that an instruction of
//! compiled code belongs to. The three modules do not use each other.
#![forbid(unsafe_code)]

pub mod machine;
pub mod proof;
pub mod witness;
