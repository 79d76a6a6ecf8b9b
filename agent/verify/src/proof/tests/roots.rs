//! Tests of the methods that a stack may end in.

use crate::proof::testing::{method, static_method};
use crate::proof::{Explanation, Method, Refutation, Thread, Verdict, root};

const WRONG: Verdict = Verdict::Refuted(Refutation::WrongRoot);

fn asked(method: &Method, thread: Thread) -> Verdict {
    root(method, thread, || false)
}

#[test]
fn a_thread_that_java_started_begins_in_its_run() {
    let run = method("java/lang/Thread", "run", "()V");
    assert_eq!(asked(&run, Thread::Started), Verdict::Proven);
    let own = method("shop/Worker", "run", "()V");
    assert_eq!(root(&own, Thread::Started, || true), Verdict::Proven);
    assert_eq!(root(&own, Thread::Started, || false), WRONG, "a Runnable is called by its thread");
    assert_eq!(root(&method("shop/Worker", "run", "(I)V"), Thread::Started, || true), WRONG);
    assert_eq!(root(&static_method("shop/Worker", "run", "()V"), Thread::Started, || true), WRONG);
    assert_eq!(asked(&static_method("shop/Main", "main", "([Ljava/lang/String;)V"), Thread::Started), WRONG);
}

#[test]
fn a_virtual_thread_begins_where_its_carrier_enters_it() {
    let enter = static_method("jdk/internal/vm/Continuation", "enter", "(Ljdk/internal/vm/Continuation;Z)V");
    assert_eq!(asked(&enter, Thread::Started), Verdict::Proven);
    assert_eq!(asked(&enter, Thread::Main), WRONG, "the launcher's thread carries none");
    let special =
        static_method("jdk/internal/vm/Continuation", "enterSpecial", "(Ljdk/internal/vm/Continuation;ZZ)V");
    assert_eq!(asked(&special, Thread::Started), WRONG, "the VM's code, which Continuation.run calls");
}

#[test]
fn the_launchers_thread_begins_in_main_or_at_its_helper() {
    let jni = Verdict::Explained(Explanation::JniEntry);
    assert_eq!(
        asked(&static_method("shop/Main", "main", "([Ljava/lang/String;)V"), Thread::Main),
        Verdict::Proven
    );
    assert_eq!(asked(&method("shop/Main", "main", "()V"), Thread::Main), Verdict::Proven);
    assert_eq!(asked(&static_method("shop/Main", "main", "(I)V"), Thread::Main), WRONG);
    assert_eq!(asked(&static_method("sun/launcher/LauncherHelper", "any", "()V"), Thread::Main), jni);
    assert_eq!(asked(&static_method("java/lang/VersionProps", "print", "(Z)V"), Thread::Main), jni);
    assert_eq!(asked(&static_method("java/lang/VersionProps", "print", "(Z)V"), Thread::Started), WRONG);
    assert_eq!(asked(&static_method("shop/Main", "<clinit>", "()V"), Thread::Main), jni);
    assert_eq!(asked(&static_method("shop/Main", "<clinit>", "()V"), Thread::Started), WRONG);
    assert_eq!(asked(&method("shop/Main", "<init>", "()V"), Thread::Main), jni, "main need not be static");
    assert_eq!(asked(&method("shop/Main", "<init>", "(I)V"), Thread::Main), WRONG);
    let java_agents = method("sun/instrument/InstrumentationImpl", "<init>", "(JZZZ)V");
    assert_eq!(asked(&java_agents, Thread::Main), jni, "the JVM makes it for a Java agent");
    assert_eq!(asked(&java_agents, Thread::Started), WRONG);
    let class_path = method("shop/Loader", "appendToClassPathForInstrumentation", "(Ljava/lang/String;)V");
    assert_eq!(asked(&class_path, Thread::Main), jni, "JVMTI extends the class path for a Java agent");
    assert_eq!(asked(&class_path, Thread::Started), WRONG);
    let error = method("java/lang/InternalError", "<init>", "(Ljava/lang/String;)V");
    assert_eq!(asked(&error, Thread::Main), jni, "a Java agent's native code prepares it");
    assert_eq!(asked(&error, Thread::Started), WRONG);
    assert_eq!(asked(&static_method("java/lang/System", "currentTimeMillis", "()J"), Thread::Main), WRONG);
}

#[test]
fn calls_from_the_vm_and_from_native_code_are_explained() {
    let exit = method("java/lang/Thread", "exit", "()V");
    for thread in [Thread::Started, Thread::Main, Thread::Attached] {
        assert_eq!(asked(&exit, thread), Verdict::Explained(Explanation::VmEntry), "{thread:?}");
    }
    let recording = method("jdk/jfr/internal/dcmd/AbstractDCmd", "execute", "(Ljava/lang/String;)V");
    assert_eq!(asked(&recording, Thread::Main), Verdict::Explained(Explanation::VmEntry));
    // With -XX:AOTCacheOutput, from JDK 25 on, the thread "DestroyJavaVM" starts the JVM that
    // writes the cache.
    let descriptor = "(Ljava/lang/String;[Ljava/lang/String;)I";
    let aot = static_method("jdk/internal/misc/CDS$ProcessLauncher", "execWithJavaToolOptions", descriptor);
    assert_eq!(asked(&aot, Thread::Main), Verdict::Explained(Explanation::VmEntry));
    let any = method("shop/Cart", "total", "()I");
    assert_eq!(asked(&any, Thread::Attached), Verdict::Explained(Explanation::JniEntry));
    assert_eq!((asked(&any, Thread::Started), asked(&any, Thread::Main)), (WRONG, WRONG));
}
