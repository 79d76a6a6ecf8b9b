//! The full names of the VM's own threads.
//!
//! The kernel keeps 15 bytes of a thread's name. HotSpot passes it the first 15, or from JDK 22 on
//! the first seven, two dots and the last six. Only a few names are longer, and they are listed
//! here. A numbered name may lose its number. The number is then the thread's index among similar
//! threads, because the VM creates them in order.

use std::ffi::CStr;

/// Full names without a number.
const WHOLE: [&str; 7] = [
    "VM Periodic Task Thread",
    "Monitor Deflation Thread",
    "Shenandoah Control Thread",
    "Shenandoah Uncommit Thread",
    "G1 Young RemSet Sampling",
    "G1 Refine Control",
    "Concurrent Mark-Sweep GC Thread",
];
/// Names that contain a number: the parts before and after it.
const NUMBERED: [(&str, &str); 5] = [
    (C1, ""),
    (C2, ""),
    ("GC task thread#", " (ParallelGC)"),
    ("Shenandoah GC Threads#", ""),
    ("G1 Refinement Workers#", ""),
];
const C1: &str = "C1 CompilerThread";
const C2: &str = "C2 CompilerThread";

/// How many bytes of a name the kernel keeps.
const KEPT: usize = 15;

/// Returns the kernel's name of the calling thread.
pub fn of_calling_thread() -> Option<String> {
    let mut name = [0_u8; 16];
    // SAFETY: writes at most 16 bytes, ended by a zero.
    let done = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).ok()?.to_str().ok()?;
    (done == 0 && !name.is_empty()).then(|| name.to_owned())
}

/// Returns the full name of the VM thread with the kernel name `kept`. Returns `kept` itself for
/// any other thread. `place` is the number of earlier threads that are `alike`.
pub fn whole(kept: &str, place: usize) -> String {
    if let Some(name) = WHOLE.iter().find(|name| cut(name) == kept || elided(name) == kept) {
        return (*name).to_owned();
    }
    let digits = kept.len() - kept.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let number = &kept[kept.len() - digits..];
    for (before, behind) in NUMBERED {
        if cut(&format!("{before}{behind}")) == kept && before.len() >= KEPT {
            return format!("{before}{place}{behind}");
        }
        let name = format!("{before}{number}{behind}");
        if digits > 0 && elided(&name) == kept {
            return name;
        }
    }
    kept.to_owned()
}

/// Returns true if the VM numbers two threads with these kernel names in one series. Before JDK 9
/// both compilers' threads shared a series.
pub fn alike(kept: &str, other: &str, compilers_together: bool) -> bool {
    let compiler = |name: &str| name == cut(C1) || name == cut(C2);
    kept == other || compilers_together && compiler(kept) && compiler(other)
}

fn cut(name: &str) -> &str {
    name[..name.len().min(KEPT)].trim_end()
}

fn elided(name: &str) -> String {
    if name.len() <= KEPT { name.to_owned() } else { format!("{}..{}", &name[..7], &name[name.len() - 6..]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_names_become_the_vms() {
        for (kept, place, name) in [
            ("C2 CompilerThre", 0, "C2 CompilerThread0"),
            ("C1 CompilerThre", 3, "C1 CompilerThread3"),
            ("C1 Comp..hread12", 0, "C1 Comp..hread12"),
            ("C1 Comp..read12", 0, "C1 CompilerThread12"),
            ("C2 Comp..hread0", 7, "C2 CompilerThread0"),
            ("GC task thread#", 1, "GC task thread#1 (ParallelGC)"),
            ("G1 Young RemSet", 0, "G1 Young RemSet Sampling"),
            ("VM Peri..Thread", 0, "VM Periodic Task Thread"),
            ("Monitor..Thread", 0, "Monitor Deflation Thread"),
            ("Shenand..eads#0", 0, "Shenandoah GC Threads#0"),
            ("VM Thread", 0, "VM Thread"),
            ("my own thread", 0, "my own thread"),
            ("", 0, ""),
        ] {
            assert_eq!(whole(kept, place), name, "{kept}");
        }
    }

    #[test]
    fn jdk_8_numbers_its_compilers_together() {
        assert!(alike("C1 CompilerThre", "C2 CompilerThre", true));
        assert!(!alike("C1 CompilerThre", "C2 CompilerThre", false));
        assert!(!alike("C1 CompilerThre", "GC Thread#0", true));
    }
}
