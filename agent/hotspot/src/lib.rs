//! HotSpot as a library: where it lies, and the symbols beyond JVMTI that the agent takes from it.
//!
//! The only place that looks symbols up. A JVM that lacks one is told apart here, and never called.

pub mod arguments;
pub mod fields;
pub mod java_thread;
pub mod jvm_layouts;
pub mod monitor_owner_id;
pub mod monitors;
mod native_methods;
pub mod nmethods;
pub mod perf_data;
pub mod poll_offsets;
#[cfg(test)]
mod snapshots;
pub mod vmstructs;
pub mod walker_layout;

use std::ffi::{CStr, CString, c_void};
use std::mem::transmute;

use jni_sys::{JNIEnv, JavaVM, jboolean, jint, jlong, jobject, jstring};
use vouch_walk::asgct::{Asgct, AsyncGetCallTrace};

/// `Thread.setNativeName`, as the JVM exports it.
pub type SetNativeThreadName = unsafe extern "C" fn(*mut JNIEnv, jobject, jstring);

/// `Unsafe.park(boolean, long)`, as the JVM has it.
pub type Park = unsafe extern "C" fn(*mut JNIEnv, jobject, jboolean, jlong);

/// `Throwable.fillInStackTrace(int)`, as the JDK's library for `java.base` exports it.
pub type FillInStackTrace = unsafe extern "C" fn(*mut JNIEnv, jobject, jint) -> jobject;

/// What the agent uses of HotSpot.
#[derive(Debug, Clone)]
pub struct HotSpot {
    pub asgct: Asgct,
    pub set_native_thread_name: Option<SetNativeThreadName>,
    /// What `Unsafe.park` is bound to.
    pub park: Option<Park>,
    library: Library,
}

impl HotSpot {
    /// Finds HotSpot behind `vm`, or says in one sentence why it cannot be profiled.
    ///
    /// # Safety
    /// `vm` must be the JVM that the agent was loaded into.
    pub unsafe fn of(vm: *mut JavaVM) -> Result<Self, String> {
        // SAFETY: by the caller's promise; one pointer of the table is read.
        let inside = unsafe { (**vm).GetEnv }.map_or(std::ptr::null(), |f| f as *const c_void);
        let library = Library::around(inside)
            .ok_or("this JVM's library cannot be found, so the program runs unprofiled")?;
        let walker = library.function(&fields::ASYNC_GET_CALL_TRACE).ok_or_else(|| {
            format!(
                "this JVM ({}) has no AsyncGetCallTrace, so the program runs unprofiled: Vouch needs HotSpot, \
                 as in OpenJDK",
                library.path.to_string_lossy()
            )
        })?;
        let set_name = library.function(&fields::JVM_SET_NATIVE_THREAD_NAME);
        Ok(Self {
            // SAFETY: HotSpot has declared AsyncGetCallTrace like this since JDK 5.
            asgct: Asgct(unsafe { transmute::<*mut c_void, AsyncGetCallTrace>(walker) }),
            // SAFETY: the type is that of jvm.h, unchanged since JDK 7; null stays None.
            set_native_thread_name: set_name
                .map(|f| unsafe { transmute::<*mut c_void, SetNativeThreadName>(f) }),
            // SAFETY: what a table of natives has for this signature is of this type, by JNI's
            // rules.
            park: native_methods::find(inside, c"park", c"(ZJ)V")
                .map(|f| unsafe { transmute::<*mut c_void, Park>(f) }),
            library,
        })
    }

    /// True for an address in the JVM's library.
    pub fn holds(&self, address: usize) -> bool {
        Library::around(address as *const c_void).is_some_and(|library| library.path == self.library.path)
    }

    /// A symbol of the JVM's library.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        self.library.symbol(name)
    }
}

/// True if `address` lies in another library than `own` does, which has this symbol.
pub fn is_in_other_library(address: usize, own: usize, symbol: &CStr) -> bool {
    let around = |address: usize| Library::around(address as *const c_void);
    let (other, own) = (around(address), around(own));
    let differs = |library: &Library| own.as_ref().is_none_or(|own| own.path != library.path);
    other.filter(differs).is_some_and(|library| library.symbol(symbol).is_some())
}

/// A loaded library.
#[derive(Debug, Clone)]
struct Library {
    handle: *mut c_void,
    path: CString,
}

// SAFETY: a handle of the dynamic linker's may be used from every thread; it is never closed.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The library that `address` lies in.
    fn around(address: *const c_void) -> Option<Self> {
        // SAFETY: all zero is a valid Dl_info.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: dladdr takes any address, and writes `info`.
        if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: dladdr succeeded, so this is the linker's own C string.
        let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_owned();
        // SAFETY: RTLD_NOLOAD only takes a reference on what is there.
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

/// `Throwable.fillInStackTrace(int)` in the library that `inside` lies in.
pub fn fill_in_stack_trace(inside: *const c_void) -> Option<FillInStackTrace> {
    let found = Library::around(inside)?.symbol(c"Java_java_lang_Throwable_fillInStackTrace")?;
    // SAFETY: by its name it is a native method of this signature, by JNI's rules.
    Some(unsafe { transmute::<*mut c_void, FillInStackTrace>(found) })
}

/// Keeps the agent's own library loaded for good: threads of the program run through its functions.
pub fn pin_own_library() {
    if let Some(own) = Library::around(pin_own_library as *const c_void) {
        // SAFETY: takes one more reference, which nobody gives back.
        unsafe { libc::dlopen(own.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}
