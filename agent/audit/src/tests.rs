//! Tests with hand-made recordings of a hand-made program: true stacks, wrong stacks, and stacks
//! that cannot be judged.

mod cpu_gaps;
mod damaged_input;
mod fates;
mod names_files;
mod profile;
mod program;
mod versions;
