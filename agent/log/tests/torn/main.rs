//! Tests that a recording can be read again: whole, cut at every byte, or damaged anywhere.

mod common;
mod damage;
mod files;
mod whole;
