//! Tests of the files that a recording is written to. They are one program, since each program
//! takes time to link.

mod common;
mod contexts;
mod flame;
mod folded;
mod html;
mod markers;
mod otlp;
mod pprof;
mod refuted;
mod samples;
mod tables;
mod tracks;
mod writing;
