//! Tests that join profiles of several processes.

mod common;
mod refused;
mod samples;
mod tables;
mod tracks;
