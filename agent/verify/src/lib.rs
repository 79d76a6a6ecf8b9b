//! How far a stack can be believed, decided without a JVM.
//!
//! [`proof`] asks the bytecode whether a stack is possible. [`witness`] compares a walk with
//! GetStackTrace's. [`machine`] finds which inlined method an instruction of compiled code belongs
//! to. None of the three knows another.
#![forbid(unsafe_code)]

pub mod machine;
pub mod proof;
pub mod witness;
