//! The JVM's options as it keeps them itself: those of the command line, of argument files and of
//! the environment, in the order in which it took them.
//!
//! It must never be asked before the JVM has parsed them: an agent is loaded later.

use std::ffi::{CStr, c_char};

use crate::HotSpot;
use crate::fields::{self, StaticField};
use crate::vmstructs::{Table, read, read_half};

/// So many nobody gives a JVM.
const MOST: u32 = 10_000;

/// What stands in a file of flags comes first, and a class path is not among them. `None`: this
/// JVM's are not where they are expected.
pub fn of(hotspot: &HotSpot) -> Option<Vec<String>> {
    let table = Table::of(hotspot)?;
    let flags = list(&table, &fields::JVM_FLAGS_ARRAY, &fields::NUM_JVM_FLAGS)?;
    let mut all: Vec<String> = flags.iter().map(|flag| format!("-XX:{flag}")).collect();
    all.extend(list(&table, &fields::JVM_ARGS_ARRAY, &fields::NUM_JVM_ARGS)?);
    Some(all)
}

fn list(table: &Table, array: &StaticField, count: &StaticField) -> Option<Vec<String>> {
    let count = read_half(table.address(count)?).filter(|count| *count <= MOST)?;
    let array = read(table.address(array)?)?;
    (0..count as usize).map(|index| text(read(array.checked_add(index * size_of::<usize>())?)?)).collect()
}

fn text(address: usize) -> Option<String> {
    // It is there, so far as can be seen.
    read(address)?;
    // SAFETY: a C string that the JVM has copied for itself as it parsed its options, and never
    // frees.
    Some(unsafe { CStr::from_ptr(address as *const c_char) }.to_string_lossy().into_owned())
}
