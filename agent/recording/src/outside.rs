//! What a thread does that runs no Java, by its name: the VM names its threads after their work.

use crate::category::{Category, VmPart};

/// What stands in a profile in the place of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside {
    pub name: &'static str,
    pub category: Category,
    /// It is a Java thread, which runs Java at other times.
    pub is_java: bool,
}

/// How the names of the garbage collectors' threads begin, on JDKs 8 to 27.
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
/// And those of the compilers'.
const JIT: [&str; 4] = ["C1 ", "C2 ", "JVMCI", "Sweeper"];
/// And of the VM's other threads.
const VM: [&str; 6] =
    ["VM ", "Monitor Deflati", "Service Thread", "Signal Dispatch", "Attach Listener", "Notification"];

/// Where the time of a sample without Java frames goes.
pub fn outside(java: bool, thread: &str) -> Outside {
    let is = |names: &[&str]| names.iter().any(|name| thread.starts_with(name));
    let vm = |name, part| Outside { name, category: Category::Vm(part), is_java: java };
    if java {
        // Between its start and its first frame, or after its last.
        vm("[outside Java]", VmPart::Other)
    } else if is(&JIT) {
        vm("[JIT compiler]", VmPart::Jit)
    } else if is(&GC) {
        vm("[GC]", VmPart::Gc)
    } else if is(&VM) {
        vm("[VM]", VmPart::Other)
    } else {
        Outside { name: "[native]", category: Category::Native, is_java: false }
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
            assert_eq!(outside(false, thread).name, name, "{thread}");
        }
        assert_eq!(outside(true, "G1 is my name").name, "[outside Java]");
    }
}
