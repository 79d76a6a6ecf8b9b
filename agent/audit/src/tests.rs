//! Recordings made by hand of a program made by hand: true stacks, wrong ones, and ones that nobody
//! can judge.

mod cpu_gaps;
mod damaged_input;
mod fates;
mod names_files;
mod profile;
mod program;
mod versions;
