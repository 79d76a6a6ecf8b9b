//! Judges how the threads began.

pub mod roots;
