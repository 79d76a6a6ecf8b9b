//! Checks the root of a stack: whether a thread can begin in its outermost method.

use crate::proof::method::Method;
use crate::proof::verdict::{Explanation, Refutation, Verdict};

/// How a thread was started, which decides the methods that it can begin in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// Java started the thread, so it begins in its `run` method.
    Started,
    /// The thread is the launcher's first thread. It begins in `main`, or in a method that the
    /// launcher calls before or after `main`.
    Main,
    /// Native code attached the thread, or it is a service thread of the VM. Any method may be
    /// called on such a thread.
    Attached,
}

/// Judges whether `method` can be the root of a stack of this thread. `is_thread` returns whether
/// the method's class is a subclass of `java.lang.Thread`. It is called only if that matters.
pub fn root(method: &Method, thread: Thread, is_thread: impl FnOnce() -> bool) -> Verdict {
    let run = &*method.name == "run" && &*method.descriptor == "()V" && !method.is_static;
    if run && (&*method.class.name == "java/lang/Thread" || is_thread()) {
        return Verdict::Proven;
    }
    // A virtual thread begins in `Continuation.enter`, which the VM calls. The frames of its
    // carrier are below that.
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

/// True for a `main` that the launcher accepts. From JDK 25 on it may be an instance method and
/// have no parameter.
fn is_main(method: &Method) -> bool {
    &*method.name == "main" && matches!(&*method.descriptor, "([Ljava/lang/String;)V" | "()V")
}

/// The methods that the VM calls on threads that run no other Java, or at a thread's start and end.
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
    // The management agent, which is started before `main`.
    ("sun/management/Agent", "startAgent"),
    ("jdk/internal/agent/Agent", "startAgent"),
    // Calls at the end of the JVM: for a CDS archive, for an AOT cache, and for a JVMCI compiler.
    ("jdk/internal/misc/CDS$ProcessLauncher", "execWithJavaToolOptions"),
    ("jdk/internal/misc/CDS", "generateLambdaFormHolderClasses"),
    ("jdk/vm/ci/hotspot/HotSpotJVMCIRuntime", "shutdown"),
    // A recording of -XX:StartFlightRecording is started by the thread that then runs `main`.
    ("jdk/jfr/internal/dcmd/AbstractDCmd", "execute"),
    ("jdk/jfr/internal/dcmd/DCmdStart", "execute"),
    ("jdk/jfr/internal/dcmd/DCmdConfigure", "execute"),
];

/// True for the methods that the launcher and agents call on the first thread. These are the
/// launcher's helper, class initialisers, the constructor of a class with an instance `main`, the
/// extension of the class path, and [`LAUNCHER`]. JNI initialises the class of `main`, and each
/// class that an agent looks up.
fn is_launchers(method: &Method) -> bool {
    &*method.class.name == "sun/launcher/LauncherHelper"
        || matches!(&*method.name, "<clinit>" | "<init>") && &*method.descriptor == "()V"
        // JVMTI calls this method of the system class loader, which may be the program's own.
        || &*method.name == "appendToClassPathForInstrumentation"
        || LAUNCHER.iter().any(|&(class, name)| method.is(class, name))
}

/// Other methods that the launcher and Java agents call on the first thread.
const LAUNCHER: [(&str, &str); 12] = [
    // `-version`, `-showversion`, and an exception that the launcher prints.
    ("java/lang/VersionProps", "print"),
    ("java/lang/VersionProps", "println"),
    ("sun/misc/Version", "print"),
    ("sun/misc/Version", "println"),
    ("java/lang/Throwable", "printStackTrace"),
    ("java/lang/System", "getProperty"),
    ("java/lang/ClassLoader", "loadClass"),
    ("java/lang/ClassLoader", "getSystemClassLoader"),
    // The JVM creates and calls these for a Java agent.
    ("java/lang/InternalError", "<init>"),
    ("sun/instrument/InstrumentationImpl", "<init>"),
    ("sun/instrument/InstrumentationImpl", "loadClassAndCallPremain"),
    ("sun/instrument/InstrumentationImpl", "transform"),
];
