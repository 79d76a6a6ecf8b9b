//! Asserts the layout that the agent shares with the JVM: sizes, offsets, slots and constants.
//!
//! `scripts/test` compiles a C program with the `jvmti.h` of each installed JDK. The program prints
//! the same values, and the test compares them. Every value that the façade uses must be here, or
//! in `events` if it is the number of a capability or an event.

use std::mem::offset_of;

use jvmti_sys::{
    jvmtiCapabilities, jvmtiEventCallbacks, jvmtiFrameInfo, jvmtiInterface_1, jvmtiLineNumberEntry,
    jvmtiThreadInfo,
};

/// The values, each with the expression that has it in C.
#[cfg(test)]
const ABI_VALUES: &[(&str, usize)] = &[
    ("sizeof(jvmtiCapabilities)", size_of::<jvmtiCapabilities>()),
    ("sizeof(jvmtiLineNumberEntry)", size_of::<jvmtiLineNumberEntry>()),
    ("offsetof(jvmtiLineNumberEntry, line_number)", offset_of!(jvmtiLineNumberEntry, line_number)),
    ("sizeof(jvmtiFrameInfo)", size_of::<jvmtiFrameInfo>()),
    ("offsetof(jvmtiFrameInfo, location)", offset_of!(jvmtiFrameInfo, location)),
    ("sizeof(jvmtiThreadInfo)", size_of::<jvmtiThreadInfo>()),
    ("offsetof(jvmtiThreadInfo, name)", offset_of!(jvmtiThreadInfo, name)),
    ("offsetof(jvmtiEventCallbacks, VMInit)", offset_of!(jvmtiEventCallbacks, VMInit)),
    ("offsetof(jvmtiEventCallbacks, VMDeath)", offset_of!(jvmtiEventCallbacks, VMDeath)),
    ("offsetof(jvmtiEventCallbacks, ThreadStart)", offset_of!(jvmtiEventCallbacks, ThreadStart)),
    ("offsetof(jvmtiEventCallbacks, ThreadEnd)", offset_of!(jvmtiEventCallbacks, ThreadEnd)),
    ("offsetof(jvmtiEventCallbacks, ClassLoad)", offset_of!(jvmtiEventCallbacks, ClassLoad)),
    ("offsetof(jvmtiEventCallbacks, ClassPrepare)", offset_of!(jvmtiEventCallbacks, ClassPrepare)),
    ("offsetof(jvmtiEventCallbacks, NativeMethodBind)", offset_of!(jvmtiEventCallbacks, NativeMethodBind)),
    (
        "offsetof(jvmtiEventCallbacks, CompiledMethodLoad)",
        offset_of!(jvmtiEventCallbacks, CompiledMethodLoad),
    ),
    ("SLOT(SetEventNotificationMode)", slot(offset_of!(jvmtiInterface_1, SetEventNotificationMode))),
    ("SLOT(GetAllThreads)", slot(offset_of!(jvmtiInterface_1, GetAllThreads))),
    ("SLOT(GetCurrentThread)", slot(offset_of!(jvmtiInterface_1, GetCurrentThread))),
    ("SLOT(SuspendThread)", slot(offset_of!(jvmtiInterface_1, SuspendThread))),
    ("SLOT(ResumeThread)", slot(offset_of!(jvmtiInterface_1, ResumeThread))),
    ("SLOT(GetStackTrace)", slot(offset_of!(jvmtiInterface_1, GetStackTrace))),
    ("SLOT(GetThreadInfo)", slot(offset_of!(jvmtiInterface_1, GetThreadInfo))),
    ("SLOT(GetCurrentContendedMonitor)", slot(offset_of!(jvmtiInterface_1, GetCurrentContendedMonitor))),
    ("SLOT(GetObjectMonitorUsage)", slot(offset_of!(jvmtiInterface_1, GetObjectMonitorUsage))),
    ("SLOT(RunAgentThread)", slot(offset_of!(jvmtiInterface_1, RunAgentThread))),
    ("SLOT(GetThreadState)", slot(offset_of!(jvmtiInterface_1, GetThreadState))),
    ("SLOT(Deallocate)", slot(offset_of!(jvmtiInterface_1, Deallocate))),
    ("SLOT(GetClassSignature)", slot(offset_of!(jvmtiInterface_1, GetClassSignature))),
    ("SLOT(GetSourceFileName)", slot(offset_of!(jvmtiInterface_1, GetSourceFileName))),
    ("SLOT(GetClassMethods)", slot(offset_of!(jvmtiInterface_1, GetClassMethods))),
    ("SLOT(IsInterface)", slot(offset_of!(jvmtiInterface_1, IsInterface))),
    ("SLOT(GetClassLoader)", slot(offset_of!(jvmtiInterface_1, GetClassLoader))),
    ("SLOT(GetMethodName)", slot(offset_of!(jvmtiInterface_1, GetMethodName))),
    ("SLOT(GetMethodDeclaringClass)", slot(offset_of!(jvmtiInterface_1, GetMethodDeclaringClass))),
    ("SLOT(GetMethodModifiers)", slot(offset_of!(jvmtiInterface_1, GetMethodModifiers))),
    ("SLOT(GetBytecodes)", slot(offset_of!(jvmtiInterface_1, GetBytecodes))),
    ("SLOT(GetConstantPool)", slot(offset_of!(jvmtiInterface_1, GetConstantPool))),
    ("SLOT(GetLineNumberTable)", slot(offset_of!(jvmtiInterface_1, GetLineNumberTable))),
    ("SLOT(GetLoadedClasses)", slot(offset_of!(jvmtiInterface_1, GetLoadedClasses))),
    ("SLOT(SetEventCallbacks)", slot(offset_of!(jvmtiInterface_1, SetEventCallbacks))),
    ("SLOT(GetSystemProperty)", slot(offset_of!(jvmtiInterface_1, GetSystemProperty))),
    ("SLOT(AddCapabilities)", slot(offset_of!(jvmtiInterface_1, AddCapabilities))),
    ("SLOT(SetHeapSamplingInterval)", super::events::SET_HEAP_SAMPLING_INTERVAL),
];

/// Names that no header before JDK 11 has.
#[cfg(test)]
const NAMES_SINCE_11: [&str; 4] = [
    "SetHeapSamplingInterval",
    "SampledObjectAlloc",
    "JVMTI_EVENT_SAMPLED_OBJECT_ALLOC",
    "can_generate_sampled_object_alloc_events",
];

const fn slot(offset: usize) -> usize {
    offset / size_of::<usize>()
}

// The layout of a 64-bit JVM since JVMTI 1.0. The build fails if the binding changes it.
const _: () = {
    assert!(size_of::<jvmtiCapabilities>() == 16);
    assert!(size_of::<jvmtiLineNumberEntry>() == 16);
    assert!(size_of::<jvmtiThreadInfo>() == 32);
    assert!(size_of::<jvmtiFrameInfo>() == 16);
    assert!(slot(offset_of!(jvmtiInterface_1, SetEventNotificationMode)) == 1);
    assert!(slot(offset_of!(jvmtiInterface_1, GetLoadedClasses)) == 77);
    assert!(slot(offset_of!(jvmtiInterface_1, AddCapabilities)) == 141);
    assert!(slot(offset_of!(jvmtiInterface_1, GetLocalInstance)) == 154);
    assert!(offset_of!(jvmtiEventCallbacks, VMObjectAlloc) == 34 * size_of::<usize>());
};

#[cfg(test)]
mod tests {
    use super::{ABI_VALUES, NAMES_SINCE_11};
    use crate::facade::{Callbacks, Capability, Event, compiled};
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::Command;

    /// Returns the values that this header can have, each with its expression in C.
    fn abi_values(header: &str) -> Vec<(&'static str, usize)> {
        let all = [
            ABI_VALUES,
            compiled::ABI_VALUES,
            Capability::ABI_VALUES,
            Event::ABI_VALUES,
            Callbacks::ABI_VALUES,
        ]
        .concat();
        let is_older = !header.contains(NAMES_SINCE_11[0]);
        let lacks =
            |expression: &str| is_older && NAMES_SINCE_11.iter().any(|name| expression.contains(name));
        all.into_iter().filter(|(expression, _)| !lacks(expression)).collect()
    }

    /// Writes the C program that prints every value by the header.
    fn program(values: &[(&str, usize)]) -> String {
        let mut lines = String::new();
        for (expression, _) in values {
            writeln!(lines, "  printf(\"%zu\\n\", (size_t)({expression}));").unwrap();
        }
        format!(
            "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n#include <jvmti.h>\n#include <jvmticmlr.h>\n\
             #define SLOT(f) (offsetof(jvmtiInterface_1, f) / sizeof(void *))\n\
             static size_t bit(jvmtiCapabilities *c) {{\n\
               unsigned char *p = (unsigned char *)c;\n\
               for (size_t i = 0; i < sizeof *c * 8; i++) if (p[i / 8] >> (i % 8) & 1) return i;\n\
               return -1; }}\n\
             #define BIT(f) ({{ jvmtiCapabilities c; memset(&c, 0, sizeof c); c.f = 1; bit(&c); }})\n\
             int main(void) {{\n{lines}  return 0; }}\n"
        )
    }

    /// Compares with every JDK in `VOUCH_JDKS` (folders, separated by colons) that has a header.
    #[test]
    fn every_jdk_has_the_values_that_the_agent_assumes() {
        let jdks = std::env::var("VOUCH_JDKS").unwrap_or_default();
        let folder = std::env::temp_dir().join(format!("vouch-abi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("abi.c");
        for jdk in jdks.split(':').filter(|jdk| Path::new(jdk).join("include/jvmti.h").exists()) {
            let include = Path::new(jdk).join("include");
            let values = abi_values(&std::fs::read_to_string(include.join("jvmti.h")).unwrap());
            std::fs::write(&source, program(&values)).unwrap();
            let binary = folder.join("abi");
            let built = Command::new("cc")
                .arg("-o")
                .arg(&binary)
                .arg(&source)
                .arg("-I")
                .arg(&include)
                .arg("-I")
                .arg(include.join("linux"))
                .output()
                .expect("cc is needed: install gcc");
            assert!(built.status.success(), "{jdk}: {}", String::from_utf8_lossy(&built.stderr));
            let printed = Command::new(&binary).output().unwrap().stdout;
            let theirs: Vec<usize> =
                String::from_utf8(printed).unwrap().lines().map(|line| line.parse().unwrap()).collect();
            assert_eq!(theirs.len(), values.len());
            for ((expression, ours), theirs) in values.into_iter().zip(theirs) {
                assert_eq!(ours, theirs, "{jdk}: {expression}");
            }
            println!("abi agrees: {jdk}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
