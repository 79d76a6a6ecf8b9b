//! Tests that merge hand-made recordings into a profile of a few threads.

mod common;
mod markers;
mod repeated;
mod shown;
mod total;
mod tracks;
