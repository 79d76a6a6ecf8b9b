//! A recording written and read again: whole, cut at every byte, damaged anywhere.

mod common;
mod damage;
mod files;
mod whole;
