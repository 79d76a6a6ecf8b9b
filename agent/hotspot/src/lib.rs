//! Everything that is known of HotSpot's memory. This file finds HotSpot's library and the exported
//! symbols that the agent uses beyond JVMTI.
//!
//! Only this file looks symbols of the JVM up. A symbol that a JVM lacks is `None`, and is never
//! called.

pub mod arguments;
mod error;
pub mod fields;
pub mod java_thread;
pub mod jvm_layouts;
pub mod monitor_owner_id;
pub mod monitors;
mod native_methods;
pub mod nmethods;
pub mod perf_data;
pub mod poll_offsets;
pub mod snapshots;
pub mod vmstructs;
pub mod walker_layout;

use std::ffi::{CStr, CString, OsStr, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;

use jni_sys::{JNIEnv, JavaVM, jboolean, jint, jlong, jobject, jstring};
use vouch_unwind::asgct::{Asgct, AsyncGetCallTrace};

pub use error::Error;

/// The type of `JVM_SetNativeThreadName`, which implements `Thread.setNativeName`.
pub type SetNativeThreadName = unsafe extern "C" fn(*mut JNIEnv, jobject, jstring);

/// The type of the native method `Unsafe.park(boolean, long)`.
pub type Park = unsafe extern "C" fn(*mut JNIEnv, jobject, jboolean, jlong);

/// The type of `Throwable.fillInStackTrace(int)`, which the JDK's library for `java.base` exports.
pub type FillInStackTrace = unsafe extern "C" fn(*mut JNIEnv, jobject, jint) -> jobject;

/// The library of a HotSpot JVM, with the functions that the agent calls in it.
#[derive(Debug, Clone)]
pub struct HotSpot {
    pub asgct: Asgct,
    pub set_native_thread_name: Option<SetNativeThreadName>,
    /// The function that HotSpot binds to `Unsafe.park`.
    pub park: Option<Park>,
    library: Library,
}

impl HotSpot {
    /// Finds the library that implements the JVM `vm`. The error says why this JVM cannot be
    /// profiled.
    ///
    /// # Safety
    /// `vm` must be the JVM that the agent was loaded into.
    pub unsafe fn from_vm(vm: *mut JavaVM) -> Result<Self, Error> {
        // SAFETY: by the caller's promise; one pointer of the table is read.
        let get_env = unsafe { (**vm).GetEnv }.map_or(std::ptr::null(), |f| f as *const c_void);
        let library = Library::containing(get_env).ok_or(Error::NoLibrary)?;
        let walker = library.function(&fields::ASYNC_GET_CALL_TRACE).ok_or_else(|| {
            Error::NoAsyncGetCallTrace { library: OsStr::from_bytes(library.path.to_bytes()).into() }
        })?;
        let set_name = library.function(&fields::JVM_SET_NATIVE_THREAD_NAME);
        Ok(Self {
            // SAFETY: HotSpot has declared AsyncGetCallTrace like this since JDK 5.
            asgct: Asgct(unsafe { transmute::<*mut c_void, AsyncGetCallTrace>(walker) }),
            // SAFETY: the type is that of jvm.h, unchanged since JDK 7; null stays None.
            set_native_thread_name: set_name
                .map(|f| unsafe { transmute::<*mut c_void, SetNativeThreadName>(f) }),
            // SAFETY: JNI defines the function's type by the signature in the table of natives.
            park: native_methods::find(get_env, c"park", c"(ZJ)V")
                .map(|f| unsafe { transmute::<*mut c_void, Park>(f) }),
            library,
        })
    }

    /// Returns true if the JVM's library contains `address`.
    pub fn contains(&self, address: usize) -> bool {
        Library::containing(address as *const c_void).is_some_and(|library| library.path == self.library.path)
    }

    /// Looks up a symbol of the JVM's library.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        self.library.symbol(name)
    }
}

/// Returns true if `address` is in a library that exports `symbol`, and the address `own` is in
/// another library.
pub fn is_in_other_library(address: usize, own: usize, symbol: &CStr) -> bool {
    let containing = |address: usize| Library::containing(address as *const c_void);
    let (other, own) = (containing(address), containing(own));
    let differs = |library: &Library| own.as_ref().is_none_or(|own| own.path != library.path);
    other.filter(differs).is_some_and(|library| library.symbol(symbol).is_some())
}

/// A library that the dynamic linker has loaded.
#[derive(Debug, Clone)]
struct Library {
    handle: *mut c_void,
    path: CString,
}

// SAFETY: every thread may use a handle of the dynamic linker, and this one is never closed.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Finds the library that contains `address`.
    fn containing(address: *const c_void) -> Option<Self> {
        // SAFETY: all zero is a valid Dl_info.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: dladdr takes any address, and writes `info`.
        if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: dladdr succeeded, so this is a C string that the linker owns.
        let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_owned();
        // SAFETY: with RTLD_NOLOAD, dlopen only takes a reference on a loaded library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Self { handle, path })
    }

    fn function(&self, function: &fields::Function) -> Option<*mut c_void> {
        let names = function.0.names.iter();
        names.filter_map(|name| CString::new(name.name).ok()).find_map(|name| self.symbol(&name))
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is never closed.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Finds `Throwable.fillInStackTrace(int)` in the library that contains `inside`.
pub fn fill_in_stack_trace(inside: *const c_void) -> Option<FillInStackTrace> {
    let symbol = Library::containing(inside)?.symbol(c"Java_java_lang_Throwable_fillInStackTrace")?;
    // SAFETY: by JNI's rules, a function of this name implements the native method of this
    // signature.
    Some(unsafe { transmute::<*mut c_void, FillInStackTrace>(symbol) })
}

/// Keeps the agent's own library loaded until the process exits, because threads of the program may
/// run its functions at any time.
pub fn pin_own_library() {
    if let Some(own) = Library::containing(pin_own_library as *const c_void) {
        // SAFETY: dlopen only takes one more reference, which is never released.
        unsafe { libc::dlopen(own.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}
