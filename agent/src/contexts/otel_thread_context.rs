//! Finds the library that publishes the traces of the program's threads as OpenTelemetry specifies
//! (OTEP 4947), so that handlers can read them.
//!
//! The first library with the variable is used. The search must never keep another library loaded.
//! Handlers must never read a location that has other data in some threads.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;

use once_cell::sync::OnceCell;
use vouch_sampling::threads::hook;
use vouch_signal::otel_thread_context::{OTEL_THREAD_CONTEXT, TlsVariable};
use vouch_unwind::context::thread_pointer;
use vouch_unwind::memory::PeekedMemory;

/// The name of the thread-local pointer to a thread's record.
const VARIABLE_NAME: &CStr = c"otel_thread_ctx_v1";

/// The library with the variable, and whether handlers can read it.
static PUBLISHING_LIBRARY: OnceCell<(CString, bool)> = OnceCell::new();

static SEARCHED_LIBRARIES: hook::Loaded = hook::Loaded::new();

/// A library that has thread-local variables and a matching name.
struct Candidate {
    path: CString,
    module: usize,
    /// The thread-local variables of the calling thread. The range is empty if the thread has none
    /// yet.
    own: Range<usize>,
}

/// Searches if a library has been loaded or unloaded since the last search. Only a thread of the
/// agent may call it.
pub fn search_new_libraries() {
    if PUBLISHING_LIBRARY.get().is_some() || !SEARCHED_LIBRARIES.has_changed() {
        return;
    }
    for object in candidates() {
        // SAFETY: RTLD_NOLOAD only takes a reference to a loaded library. It may wait for a thread
        // that loads one, but few processes have a candidate.
        let handle = unsafe { libc::dlopen(object.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            continue;
        }
        // SAFETY: this is a handle of the linker. For a thread-local variable, the result is the
        // calling thread's.
        let own = unsafe { libc::dlsym(handle, VARIABLE_NAME.as_ptr()) };
        // Now this thread has all of the library's variables. A variable that the library only
        // imports belongs to another candidate.
        let seen =
            candidates().into_iter().find(|seen| seen.path == object.path && seen.own.contains(&own.addr()));
        if let Some(seen) = seen {
            // Handlers read it through the kernel, which may forbid that.
            let tls_variable = tls_variable(own.addr(), &seen).filter(|_| PeekedMemory::allowed().is_some());
            // The library stays loaded, because handlers read its variable from now on.
            let _ = PUBLISHING_LIBRARY.set((object.path, tls_variable.is_some()));
            if let Some(tls_variable) = tls_variable {
                OTEL_THREAD_CONTEXT.set_location(tls_variable);
            }
            return;
        }
        // SAFETY: this releases the reference from above.
        unsafe { libc::dlclose(handle) };
    }
}

/// Returns a sentence if traces are published and cannot be read.
pub fn unreadable_warning() -> Option<String> {
    let (path, _) = PUBLISHING_LIBRARY.get().filter(|(_, is_read)| !is_read)?;
    Some(format!(
        "{} publishes the traces of threads (OTEP 4947) in a way that cannot be read here: samples are without them",
        path.to_string_lossy()
    ))
}

/// Returns how each thread finds the variable: at an offset from the thread pointer, or by module
/// and offset.
fn tls_variable(own: usize, object: &Candidate) -> Option<TlsVariable> {
    if own_thread_memory().is_some_and(|memory| memory.contains(&own)) {
        return Some(TlsVariable::Static(own.wrapping_sub(thread_pointer()).cast_signed()));
    }
    let offset = own.checked_sub(object.own.start)?.cast_signed();
    cfg!(target_env = "gnu").then_some(TlsVariable::Dynamic { module: object.module, offset })
}

/// Returns the memory that was allocated when the calling thread was created. It has the stack, and
/// the variables with the same offset in each thread. Variables that are allocated later are
/// elsewhere.
fn own_thread_memory() -> Option<Range<usize>> {
    // SAFETY: an all-zero value is valid, and is overwritten.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut begin, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: this gets the calling thread's attributes, reads them, and frees them.
    let read = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let read = libc::pthread_attr_getstack(&raw const attributes, &raw mut begin, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        read
    };
    (read == 0).then(|| begin.addr()..begin.addr().saturating_add(size))
}

/// Returns all candidate libraries.
fn candidates() -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    // SAFETY: the callback gets the list for as long as this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(add_candidate), (&raw mut candidates).cast()) };
    candidates
}

unsafe extern "C" fn add_candidate(
    info: *mut libc::dl_phdr_info,
    size: usize,
    candidates: *mut c_void,
) -> c_int {
    if size < size_of::<libc::dl_phdr_info>() {
        return 0;
    }
    // SAFETY: the linker passes an entry that is valid during this call, and the list of
    // `candidates`.
    let (info, candidates) = unsafe { (&*info, &mut *candidates.cast::<Vec<Candidate>>()) };
    if info.dlpi_tls_modid == 0 || info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: this is an entry of the linker.
    if !unsafe { hook::Object::from_info(info) }.is_some_and(|object| object.has_name(VARIABLE_NAME)) {
        return 0;
    }
    // SAFETY: this is the linker's table of the object's headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let length = headers.iter().find(|header| header.p_type == libc::PT_TLS).map_or(0, |tls| tls.p_memsz);
    let (begin, length) = (info.dlpi_tls_data.addr(), usize::try_from(length).unwrap_or(0));
    let own = if begin == 0 { 0..0 } else { begin..begin.saturating_add(length) };
    // SAFETY: this is a C string of the linker.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned();
    candidates.push(Candidate { path, module: info.dlpi_tls_modid, own });
    0
}
