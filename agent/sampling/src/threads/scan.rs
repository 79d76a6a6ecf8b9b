//! Scans the kernel's list of this process's threads, to find threads that started without a
//! report.

use std::fs;

use super::Registry;
use crate::present::present;

/// Enters new threads, names those that have only the kernel's name, and drops those that have
/// ended.
pub fn scan(registry: &Registry) {
    let youngest = registry.youngest();
    let Some(present) = present() else { return };
    for tid in &present {
        if !registry.known(*tid) {
            registry.enter(*tid);
            name(registry, *tid);
        }
    }
    registry.retain(youngest, |tid| present.contains(&tid));
}

/// Sets a thread's kernel name, if the thread still exists.
pub fn name(registry: &Registry, tid: u32) {
    if let Ok(name) = fs::read_to_string(format!("/proc/self/task/{tid}/comm")) {
        registry.native_name(tid, name.trim_end());
    }
}
