//! Recordings made by hand of a program made by hand: true stacks, wrong ones, and ones that nobody
//! can judge.

mod fates;
mod gaps;
mod names;
mod profile;
mod program;
mod total;
mod versions;
