//! Checks of stacks that need no JVM.
//!
//! [`proof`] checks a stack against the bytecode of its methods. [`witness`] compares a walk with
//! the stack that GetStackTrace found. [`machine`] finds the inlined method that an instruction of
//! compiled code belongs to. [`native_calls`] checks calls of native code. The modules do not use
//! each other.
#![forbid(unsafe_code)]

pub mod machine;
pub mod native_calls;
pub mod proof;
pub mod witness;
