//! Where a thread's life may begin.

use crate::proof::method::Method;
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// What is known of the thread whose stack is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// Java started it: it begins in its `run`.
    Started,
    /// The launcher's: it begins in `main`, or in what the launcher calls before and after.
    Main,
    /// Native code of somebody's attached it, and calls from there what it likes; or it serves: the
    /// VM's code calls from it what was asked for.
    Attached,
}

/// Whether a stack of this thread may end in this method. `is_thread` says whether the method's
/// class is a `java.lang.Thread`; it is asked where it matters.
pub fn root(method: &Method, thread: Thread, is_thread: impl FnOnce() -> bool) -> Verdict {
    let run = &*method.name == "run" && &*method.descriptor == "()V" && !method.is_static;
    if run && (&*method.class.name == "java/lang/Thread" || is_thread()) {
        return Verdict::Proven;
    }
    // A virtual thread's: the VM's own code calls it, at the beginning of the stack that is the
    // thread's and not its carrier's.
    if thread == Thread::Started && method.is("jdk/internal/vm/Continuation", "enter") {
        return Verdict::Proven;
    }
    if thread != Thread::Started && is_main(method) {
        return Verdict::Proven;
    }
    if VM_ENTRIES.iter().any(|&(class, name)| method.is(class, name)) {
        return Verdict::Explained(Explanation::VmEntry);
    }
    match thread {
        Thread::Main if is_launchers(method) => Verdict::Explained(Explanation::JniEntry),
        Thread::Attached => Verdict::Explained(Explanation::JniEntry),
        _ => Verdict::Refuted(Refutation::WrongRoot),
    }
}

/// `main`, as the launcher accepts it: from JDK 25 on it need be neither static nor take arguments.
fn is_main(method: &Method) -> bool {
    &*method.name == "main" && matches!(&*method.descriptor, "([Ljava/lang/String;)V" | "()V")
}

/// What the VM calls on a thread that runs no Java otherwise, or at a thread's beginning and end.
const VM_ENTRIES: [(&str, &str); 28] = [
    ("java/lang/Thread", "<init>"),
    ("java/lang/Thread", "exit"),
    ("java/lang/Thread", "dispatchUncaughtException"),
    ("java/lang/Thread", "clearReferences"),
    ("java/lang/ThreadGroup", "add"),
    ("java/lang/ThreadGroup", "uncaughtException"),
    ("java/lang/ThreadGroup", "threadTerminated"),
    ("java/lang/Shutdown", "shutdown"),
    ("java/lang/System", "initPhase1"),
    ("java/lang/System", "initPhase2"),
    ("java/lang/System", "initPhase3"),
    ("java/lang/System", "initializeSystemClass"),
    ("jdk/internal/misc/Signal", "dispatch"),
    ("sun/misc/Signal", "dispatch"),
    ("jdk/internal/vm/VMSupport", "serializePropertiesToByteArray"),
    ("jdk/internal/vm/VMSupport", "serializeAgentPropertiesToByteArray"),
    ("sun/misc/VMSupport", "serializePropertiesToByteArray"),
    ("sun/misc/VMSupport", "serializeAgentPropertiesToByteArray"),
    ("sun/management/Sensor", "trigger"),
    ("sun/management/Sensor", "clear"),
    // Where `main` is to be watched from elsewhere.
    ("sun/management/Agent", "startAgent"),
    ("jdk/internal/agent/Agent", "startAgent"),
    // At the JVM's end, for an archive of classes or an AOT cache, and for a compiler that is
    // written in Java.
    ("jdk/internal/misc/CDS$ProcessLauncher", "execWithJavaToolOptions"),
    ("jdk/internal/misc/CDS", "generateLambdaFormHolderClasses"),
    ("jdk/vm/ci/hotspot/HotSpotJVMCIRuntime", "shutdown"),
    // A recording that is asked for on the command line is begun by the thread that will run
    // `main`.
    ("jdk/jfr/internal/dcmd/AbstractDCmd", "execute"),
    ("jdk/jfr/internal/dcmd/DCmdStart", "execute"),
    ("jdk/jfr/internal/dcmd/DCmdConfigure", "execute"),
];

/// True for what the launcher and agents call on the first thread: the launcher's helper, a class
/// initialiser (JNI initialises the class of `main`, and any that an agent looks for), the
/// constructor of a class whose `main` is not static, and a few more.
fn is_launchers(method: &Method) -> bool {
    &*method.class.name == "sun/launcher/LauncherHelper"
        || matches!(&*method.name, "<clinit>" | "<init>") && &*method.descriptor == "()V"
        || LAUNCHER.iter().any(|&(class, name)| method.is(class, name))
}

const LAUNCHER: [(&str, &str); 11] = [
    // `-version` and `-showversion`, and an exception that it met.
    ("java/lang/VersionProps", "print"),
    ("java/lang/VersionProps", "println"),
    ("sun/misc/Version", "print"),
    ("sun/misc/Version", "println"),
    ("java/lang/Throwable", "printStackTrace"),
    ("java/lang/System", "getProperty"),
    ("java/lang/ClassLoader", "loadClass"),
    ("java/lang/ClassLoader", "getSystemClassLoader"),
    // A Java agent: what the JVM makes for it, and calls.
    ("sun/instrument/InstrumentationImpl", "<init>"),
    ("sun/instrument/InstrumentationImpl", "loadClassAndCallPremain"),
    ("sun/instrument/InstrumentationImpl", "transform"),
];
