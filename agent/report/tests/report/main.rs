//! The tests of the trust report. They are one program, because linking one for each file would
//! take longer.

mod common;
mod contexts;
mod figures;
mod keys;
mod summary;
