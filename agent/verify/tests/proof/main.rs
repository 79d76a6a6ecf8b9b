//! Compares the reader of class files with another one, `noak`. The tests are one program, since
//! each program takes time to link.

mod classes;
mod instructions;
