//! The tests of the trust report. They are one program, because linking one program for each file
//! would take longer.

mod common;
mod contexts;
mod keys;
mod measures;
mod summary;
mod values;
