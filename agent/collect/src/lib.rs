//! The stages from the ring to the recording: the thread, the names and the verdict of each
//! sample.
//!
//! The stages ask the JVM through the trait in [`jvm`], so that tests run them without one. They
//! must never call JNI or JVMTI.
#![forbid(unsafe_code)]

pub mod jvm;
pub mod method;
pub mod method_table;
pub mod prove;
pub mod readable;
