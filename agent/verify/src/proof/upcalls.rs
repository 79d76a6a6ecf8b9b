//! What the VM calls by itself: methods of class loaders, of the class library's linker,
//! constructors of exceptions.
//!
//! A name on these lists must be one that some VM really calls. `cargo xtask page true-stacks` finds
//! the names that are lacking.

use crate::proof::method::Method;

/// Class and name of each method; any descriptor, since these differ from JDK to JDK.
type Names = [(&'static str, &'static str)];

/// The VM asks a class loader for a class, and what it does around that.
const LOADING: &Names = &[
    ("java/lang/ClassLoader", "checkPackageAccess"),
    ("java/lang/ClassLoader", "loadClassInternal"),
    ("java/lang/ClassLoader", "addClass"),
    ("java/lang/ClassLoader", "definePackage"),
    ("java/security/SecureClassLoader", "getProtectionDomain"),
    ("java/net/URLClassLoader", "definePackage"),
    ("jdk/internal/loader/ClassLoaders", "toFileURL"),
    ("sun/misc/Launcher", "getFileURL"),
    ("java/util/jar/Manifest", "<init>"),
    ("java/io/ByteArrayInputStream", "<init>"),
    // Agents written in Java see each class before it is defined.
    ("sun/instrument/InstrumentationImpl", "transform"),
    ("jdk/jfr/internal/JVMUpcalls", "onRetransform"),
    ("jdk/jfr/internal/JVMUpcalls", "bytesForEagerInstrumentation"),
];

/// The VM has the class library link a call site, a constant or a handle.
const LINKAGE: &Names = &[
    ("java/lang/invoke/MethodHandleNatives", "linkCallSite"),
    ("java/lang/invoke/MethodHandleNatives", "linkMethod"),
    ("java/lang/invoke/MethodHandleNatives", "linkDynamicConstant"),
    ("java/lang/invoke/MethodHandleNatives", "linkMethodHandleConstant"),
    ("java/lang/invoke/MethodHandleNatives", "findMethodHandleType"),
];

/// The exceptions that the VM makes by itself, all in `java/lang`.
const EXCEPTIONS: &[&str] = &[
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "ArrayStoreException",
    "ClassCastException",
    "ClassNotFoundException",
    "IllegalArgumentException",
    "IllegalMonitorStateException",
    "IndexOutOfBoundsException",
    "NegativeArraySizeException",
    "NullPointerException",
    "InternalError",
    "OutOfMemoryError",
    "StackOverflowError",
    // Of classes that are lacking, or other than they were when the caller was compiled.
    "AbstractMethodError",
    "BootstrapMethodError",
    "ClassCircularityError",
    "ClassFormatError",
    "ExceptionInInitializerError",
    "IllegalAccessError",
    "IncompatibleClassChangeError",
    "InstantiationError",
    "LinkageError",
    "NoClassDefFoundError",
    "NoSuchFieldError",
    "NoSuchMethodError",
    "UnsatisfiedLinkError",
    "UnsupportedClassVersionError",
    "VerifyError",
];

/// What the VM calls of an exception besides: it sets a cause, and keeps the trace of a class
/// initialiser's failure.
const AROUND_EXCEPTIONS: &Names =
    &[("java/lang/Throwable", "initCause"), ("java/lang/Throwable", "getStackTrace")];

pub(crate) fn is_class_loading(callee: &Method) -> bool {
    let load = &*callee.name == "loadClass" && &*callee.descriptor == "(Ljava/lang/String;)Ljava/lang/Class;";
    load && !callee.is_static || listed(LOADING, callee)
}

/// The VM asks a class loader where a native method lies, before it is first called or compiled.
pub(crate) fn is_native_lookup(callee: &Method) -> bool {
    callee.is("java/lang/ClassLoader", "findNative")
}

pub(crate) fn is_linkage(callee: &Method) -> bool {
    callee.is_static && listed(LINKAGE, callee)
}

pub(crate) fn is_implicit_exception(callee: &Method) -> bool {
    let class = callee.class.name.strip_prefix("java/lang/");
    let constructor = &*callee.name == "<init>" && class.is_some_and(|class| EXCEPTIONS.contains(&class));
    constructor || listed(AROUND_EXCEPTIONS, callee)
}

fn listed(names: &Names, callee: &Method) -> bool {
    names.iter().any(|&(class, name)| callee.is(class, name))
}
