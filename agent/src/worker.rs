//! The agent's own thread: it drains the lanes, keeps the list of threads, and begins and ends recordings on time.
//!
//! The program does not see it, and it is never sampled. It must cost next to nothing.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jvmti_sys::jvmtiEnv;

use crate::agent::{Agent, agent};
use crate::clock;
use crate::fault::guard;
use crate::session::rig;
use crate::threads::{hook, registry, rename, scan};

/// How often the threads are looked through, at most; longer where that takes long.
const LOOK: Duration = Duration::from_millis(100);
/// It may take this part of the time.
const LOOK_SHARE: u32 = 500;

/// The kernel's id of the agent's thread; 0 until it runs.
static TID: AtomicU32 = AtomicU32::new(0);

/// The thread is to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The CPU time that the agent's thread has had, in nanoseconds.
pub fn cpu() -> u64 {
    match TID.load(Ordering::Relaxed) {
        0 => 0,
        tid => clock::thread_cpu(tid).unwrap_or(0),
    }
}

/// What the JVM runs as the agent's thread.
///
/// # Safety
/// To be called by the JVM alone, with this thread's own environments.
pub unsafe extern "C" fn body(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, _: *mut c_void) {
    guard((), || {
        block_own_signal();
        let tid = clock::own_tid();
        registry().own(tid);
        // SAFETY: the JVM passes this thread's JNIEnv.
        let (Some(agent), Ok(env)) = (agent(), unsafe { JNIEnv::from_raw(env) }) else { return };
        TID.store(tid, Ordering::Relaxed);
        let _gone = Gone;
        run(agent, env);
    });
}

/// Has the thread look at what has changed.
pub fn wake() {
    // SAFETY: the semaphore lives for ever.
    unsafe { libc::sem_post(rig::wake()) };
}

/// Ends the thread, and waits until it has left. A JVM that exits waits 300 ms for each thread that is in native code.
pub fn end() {
    const PATIENCE: Duration = Duration::from_millis(200);
    ENDING.store(true, Ordering::Release);
    wake();
    let begun = Instant::now();
    while TID.load(Ordering::Acquire) != 0 && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Says that the thread is gone, however it went.
struct Gone;

impl Drop for Gone {
    fn drop(&mut self) {
        TID.store(0, Ordering::Release);
    }
}

fn run(agent: &Agent, mut env: JNIEnv<'_>) {
    let mut next_look = Instant::now();
    loop {
        let pause = agent.tend(&mut env);
        rig::wait(pause);
        if ENDING.load(Ordering::Acquire) {
            return;
        }
        let now = Instant::now();
        if now >= next_look {
            hook::install_if_new();
            scan::scan();
            if !rename::told(agent.jvmti) {
                rename::poll(agent.jvmti, &mut env);
            }
            next_look = now + LOOK.max(now.elapsed() * LOOK_SHARE);
        }
    }
}

/// A signal for the whole process must not land here.
fn block_own_signal() {
    // SAFETY: all zero is a valid set; the calls write it, and the mask is this thread's own.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPROF);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
