//! Lists the methods that the VM calls by itself: those of class loaders and of the class library's
//! linker, and constructors of exceptions.
//!
//! Each method on these lists must be one that some VM calls. `cargo xtask page true-stacks` finds
//! the methods that are missing.

use crate::proof::method::Method;

/// A list of methods, each with its class and name. Descriptors are ignored, since they differ
/// between JDKs.
type MethodNames = [(&'static str, &'static str)];

/// The methods that the VM calls when it loads a class, besides `loadClass`.
const LOADING: &MethodNames = &[
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
    // Java agents and JFR transform each class before it is defined.
    ("sun/instrument/InstrumentationImpl", "transform"),
    ("jdk/jfr/internal/JVMUpcalls", "onRetransform"),
    ("jdk/jfr/internal/JVMUpcalls", "bytesForEagerInstrumentation"),
];

/// The methods that the VM calls to link a call site, a constant or a handle.
const LINKAGE: &MethodNames = &[
    ("java/lang/invoke/MethodHandleNatives", "linkCallSite"),
    ("java/lang/invoke/MethodHandleNatives", "linkMethod"),
    ("java/lang/invoke/MethodHandleNatives", "linkDynamicConstant"),
    ("java/lang/invoke/MethodHandleNatives", "linkMethodHandleConstant"),
    ("java/lang/invoke/MethodHandleNatives", "findMethodHandleType"),
];

/// The exceptions that the VM creates by itself. All are in `java/lang`.
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
    // Errors for classes that are missing, or that have changed since the caller was compiled.
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

/// The methods of an exception that the VM calls besides its constructor: it sets a cause, and
/// keeps the stack trace of a class initialiser's failure.
const AROUND_EXCEPTIONS: &MethodNames =
    &[("java/lang/Throwable", "initCause"), ("java/lang/Throwable", "getStackTrace")];

pub(crate) fn is_class_loading(callee: &Method) -> bool {
    let load = &*callee.name == "loadClass" && &*callee.descriptor == "(Ljava/lang/String;)Ljava/lang/Class;";
    load && !callee.is_static || listed(LOADING, callee)
}

/// True for the method that finds the address of a native method. The VM calls it before the native
/// method is called or compiled for the first time.
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

fn listed(names: &MethodNames, callee: &Method) -> bool {
    names.iter().any(|&(class, name)| callee.is(class, name))
}
