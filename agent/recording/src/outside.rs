//! Finds the work of a thread that runs no Java, by the thread's name: the VM names its threads
//! after their work.

use crate::category::{Category, VmPart};

/// The placeholder for the stack of a sample outside Java.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideJava {
    pub name: &'static str,
    pub category: Category,
    /// True for a Java thread, which runs Java at other times.
    pub is_java: bool,
}

/// The beginnings of the names of garbage collectors' threads, on JDKs 8 to 27.
const GC: [&str; 13] = [
    "GC ",
    "G1 ",
    "ParGC",
    "Gang worker",
    "Concurrent Mark",
    "CMS",
    "Z",
    "XWorker",
    "XDirector",
    "XDriver",
    "Shenandoah",
    "Epsilon",
    "StringDedup",
];
/// The beginnings of the names of JIT compilers' threads.
const JIT: [&str; 4] = ["C1 ", "C2 ", "JVMCI", "Sweeper"];
/// The beginnings of the names of the VM's other threads.
const VM: [&str; 6] =
    ["VM ", "Monitor Deflati", "Service Thread", "Signal Dispatch", "Attach Listener", "Notification"];

/// Finds the placeholder for a sample without Java frames. `java` is true for a Java thread.
pub fn outside_java(java: bool, thread: &str) -> OutsideJava {
    let is = |names: &[&str]| names.iter().any(|name| thread.starts_with(name));
    let vm = |name, part| OutsideJava { name, category: Category::Vm(part), is_java: java };
    if java {
        // The thread has no Java frame before its `run`, and after it.
        vm("[outside Java]", VmPart::Other)
    } else if is(&JIT) {
        vm("[JIT compiler]", VmPart::Jit)
    } else if is(&GC) {
        vm("[GC]", VmPart::Gc)
    } else if is(&VM) {
        vm("[VM]", VmPart::Other)
    } else {
        OutsideJava { name: "[native]", category: Category::Native, is_java: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vms_threads_are_known_by_their_names() {
        for (thread, name) in [
            ("C2 CompilerThre", "[JIT compiler]"),
            ("G1 Conc#0", "[GC]"),
            ("GC task thread#", "[GC]"),
            ("ZWorkerYoung#1", "[GC]"),
            ("VM Thread", "[VM]"),
            ("my-native-pool", "[native]"),
        ] {
            assert_eq!(outside_java(false, thread).name, name, "{thread}");
        }
        assert_eq!(outside_java(true, "G1 is my name").name, "[outside Java]");
    }
}
