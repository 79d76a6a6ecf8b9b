//! A profile of a few threads, and recordings made by hand, put together.

mod again;
mod common;
mod markers;
mod shown;
mod total;
mod tracks;
