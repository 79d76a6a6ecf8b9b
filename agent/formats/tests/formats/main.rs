//! The files that a recording is written to, from outside: all in one program, since each of its
//! own would be linked anew.

mod common;
mod contexts;
mod flame;
mod folded;
mod html;
mod marks;
mod refuted;
mod samples;
mod tables;
mod tracks;
mod writing;
