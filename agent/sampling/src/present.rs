//! The ids of the threads that the kernel lists.

use std::collections::BTreeSet;
use std::fs;

/// Returns the threads of this process, in order of their ids. Returns `None` if the kernel does
/// not list them.
pub fn present() -> Option<BTreeSet<u32>> {
    let list = fs::read_dir("/proc/self/task").ok()?;
    Some(list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}
