//! Reads the JVM's options from HotSpot's `Arguments`: those of the command line, of argument files
//! and of the environment, in the order in which the JVM parsed them.
//!
//! The JVM parses its options before it loads an agent. They must never be read earlier.

use std::ffi::{CStr, c_char};

use crate::HotSpot;
use crate::fields::{self, StaticField};
use crate::vmstructs::{VmStructs, read_u32, read_word};

/// The largest number of options that is plausible. No command line has as many options.
const MAX_OPTIONS: u32 = 10_000;

/// Reads all options of the JVM. The flags of a file (`-XX:Flags=`) come first, and the class path
/// is not included. `None` if this JVM does not publish its options.
pub fn read(hotspot: &HotSpot) -> Option<Vec<String>> {
    let vm_structs = VmStructs::find(hotspot)?;
    let flags = strings(&vm_structs, &fields::JVM_FLAGS_ARRAY, &fields::NUM_JVM_FLAGS)?;
    let mut all: Vec<String> = flags.iter().map(|flag| format!("-XX:{flag}")).collect();
    all.extend(strings(&vm_structs, &fields::JVM_ARGS_ARRAY, &fields::NUM_JVM_ARGS)?);
    Some(all)
}

fn strings(vm_structs: &VmStructs, array: &StaticField, count: &StaticField) -> Option<Vec<String>> {
    let count = read_u32(vm_structs.address(count)?).filter(|count| *count <= MAX_OPTIONS)?;
    let array = read_word(vm_structs.address(array)?)?;
    (0..count as usize)
        .map(|index| string(read_word(array.checked_add(index * size_of::<usize>())?)?))
        .collect()
}

fn string(address: usize) -> Option<String> {
    // Returns early if the address is not mapped.
    read_word(address)?;
    // SAFETY: the JVM copied this C string when it parsed its options, and never frees it.
    Some(unsafe { CStr::from_ptr(address as *const c_char) }.to_string_lossy().into_owned())
}
