//! Profiles of several processes put together, and what a reader of the result relies on.

mod common;
mod refused;
mod samples;
mod tables;
mod tracks;
