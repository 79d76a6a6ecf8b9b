//! A profile of a few threads, and recordings made by hand, put together.

mod common;
mod markers;
mod repeated;
mod shown;
mod total;
mod tracks;
