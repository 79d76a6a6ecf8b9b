//! The trust report: its keys are a contract, its fates add up, and its summary fits in eight
//! lines. All in one program, since each of its own would be linked anew.

mod common;
mod contexts;
mod figures;
mod keys;
mod summary;
