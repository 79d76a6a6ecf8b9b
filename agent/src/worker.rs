//! The agent's own thread: it drains the lanes, keeps the list of threads, and begins and ends recordings on time.
//!
//! The program does not see it, and it is never sampled. It must cost next to nothing.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jvmti_sys::jvmtiEnv;

use crate::agent::{Agent, agent};
use crate::fault::guard;
use crate::own_thread::{Blocked, OwnThread};
use crate::session::rig;
use crate::threads::{hook, rename, scan};

/// How often the threads are looked through, at most; longer where that takes long.
const LOOK: Duration = Duration::from_millis(100);
/// It may take this part of the time.
const LOOK_SHARE: u32 = 500;

static THREAD: OwnThread = OwnThread::new();

/// The thread is to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The CPU time that the agent's thread has had, in nanoseconds.
pub fn cpu() -> u64 {
    THREAD.cpu()
}

/// What the JVM runs as the agent's thread.
///
/// # Safety
/// To be called by the JVM alone, with this thread's own environments.
pub unsafe extern "C" fn body(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, _: *mut c_void) {
    guard((), || {
        let _running = THREAD.begin(Blocked::SigProf);
        // SAFETY: the JVM passes this thread's JNIEnv.
        let (Some(agent), Ok(env)) = (agent(), unsafe { JNIEnv::from_raw(env) }) else { return };
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
    while THREAD.runs() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(100));
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
