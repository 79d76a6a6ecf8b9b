//! Finds the library that publishes the traces of the program's threads as OpenTelemetry says (OTEP
//! 4947), so that handlers read them.
//!
//! The first one is it. It must never keep a library loaded that publishes nothing, nor have
//! handlers look where a thread has something else.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::Range;

use once_cell::sync::OnceCell;
use vouch_signal::otel_thread_context::{OTEL_THREAD_CONTEXT, TlsVariable};
use vouch_walk::context::thread_pointer;
use vouch_walk::memory::PeekedMemory;

use crate::threads::hook;

/// Each thread's own pointer to its record.
const VARIABLE: &CStr = c"otel_thread_ctx_v1";

/// The library that has it, and whether handlers can read it.
static FOUND: OnceCell<(CString, bool)> = OnceCell::new();

static SEEN: hook::Loaded = hook::Loaded::new();

/// A library that has variables for each thread, and such a name.
struct Candidate {
    path: CString,
    module: usize,
    /// Those of the calling thread; empty where it has none yet.
    own: Range<usize>,
}

/// Looks for it if a library has been loaded since the last time. To be called by a thread of the
/// agent's own.
pub fn look_if_new() {
    if FOUND.get().is_some() || !SEEN.has_more() {
        return;
    }
    for object in candidates() {
        // SAFETY: RTLD_NOLOAD only takes a reference on what is there. (It waits while another
        // thread loads a library: hardly any process has a candidate.)
        let handle = unsafe { libc::dlopen(object.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            continue;
        }
        // SAFETY: a handle of the linker's; of a variable of a thread's own it gives the calling
        // thread's.
        let own = unsafe { libc::dlsym(handle, VARIABLE.as_ptr()) };
        // Now this thread has them all. What the library only knows of another one is found there.
        let seen =
            candidates().into_iter().find(|seen| seen.path == object.path && seen.own.contains(&own.addr()));
        if let Some(seen) = seen {
            // Handlers have it read by the kernel, which may be forbidden.
            let place = place(own.addr(), &seen).filter(|_| PeekedMemory::allowed().is_some());
            // It stays loaded, since handlers look at its variable from now on.
            let _ = FOUND.set((object.path, place.is_some()));
            if let Some(place) = place {
                OTEL_THREAD_CONTEXT.set_location(place);
            }
            return;
        }
        // SAFETY: gives back the reference from above.
        unsafe { libc::dlclose(handle) };
    }
}

/// What there is to say where traces are published and cannot be read.
pub fn unread() -> Option<String> {
    let (path, _) = FOUND.get().filter(|(_, is_read)| !is_read)?;
    Some(format!(
        "{} publishes the traces of threads (OTEP 4947) in a way that cannot be read here: samples are without them",
        path.to_string_lossy()
    ))
}

/// Where each thread has what this one has there.
fn place(own: usize, object: &Candidate) -> Option<TlsVariable> {
    if own_memory().is_some_and(|memory| memory.contains(&own)) {
        return Some(TlsVariable::Static(own.wrapping_sub(thread_pointer()).cast_signed()));
    }
    let offset = own.checked_sub(object.own.start)?.cast_signed();
    cfg!(target_env = "gnu").then_some(TlsVariable::Dynamic { module: object.module, offset })
}

/// The memory that the calling thread was made with: its stack, and the variables that lie at the
/// same place in each thread. What is only made for it later lies elsewhere.
fn own_memory() -> Option<Range<usize>> {
    // SAFETY: all zero is a valid value to be written over.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut begin, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: writes the calling thread's attributes, reads them, and gives back what they took.
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

/// All such libraries.
fn candidates() -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    // SAFETY: the callback gets the list back for as long as this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut candidates).cast()) };
    candidates
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, size: usize, candidates: *mut c_void) -> c_int {
    if size < size_of::<libc::dl_phdr_info>() {
        return 0;
    }
    // SAFETY: the linker passes a valid entry as long as it says, and `candidates` its own list.
    let (info, candidates) = unsafe { (&*info, &mut *candidates.cast::<Vec<Candidate>>()) };
    if info.dlpi_tls_modid == 0 || info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: an entry of the linker's.
    if !unsafe { hook::Object::of(info) }.is_some_and(|object| object.has_name(VARIABLE)) {
        return 0;
    }
    // SAFETY: the linker's own table of this object's headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let length = headers.iter().find(|header| header.p_type == libc::PT_TLS).map_or(0, |tls| tls.p_memsz);
    let (begin, length) = (info.dlpi_tls_data.addr(), usize::try_from(length).unwrap_or(0));
    let own = if begin == 0 { 0..0 } else { begin..begin.saturating_add(length) };
    // SAFETY: the linker's own C string.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned();
    candidates.push(Candidate { path, module: info.dlpi_tls_modid, own });
    0
}
