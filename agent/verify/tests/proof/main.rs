//! Class files, as another reader sees them: both in one program, since each of its own would be
//! linked anew.

mod classes;
mod instructions;
