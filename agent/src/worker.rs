//! The agent's own thread: it does its duties, again and again, until the JVM dies.
//!
//! The program does not see it, and it is never sampled. It must not know what its duties are, and
//! cost next to nothing.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jni::objects::JObject;
use jvmti_sys::jvmtiEnv;
use vouch_report::options::{IDLE_THREAD_NAME, RECORDING_THREAD_NAME};
use vouch_signal::smoothed_cost::SmoothedCost;

use crate::facade::{Jvmti, Result};
use crate::fault::guard;
use crate::own_thread::{Blocked, OwnThread};
use crate::wake::wake;

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

/// The kernel's id of the agent's thread; 0 while there is none.
pub fn tid() -> u32 {
    THREAD.tid()
}

/// True while there is one that will do what it is asked to.
pub fn is_running() -> bool {
    tid() != 0 && !ENDING.load(Ordering::Relaxed)
}

/// Shows to whoever looks at the process from outside whether there is a recording.
pub fn show(recording: bool) {
    THREAD.call(if recording { RECORDING_THREAD_NAME } else { IDLE_THREAD_NAME });
}

/// What the thread is for.
#[derive(Debug)]
pub struct Duties {
    /// One round; gives the time until the next one.
    pub tend: fn(&mut JNIEnv<'_>) -> Duration,
    /// Rests until then, or until there is something to do.
    pub rest: fn(&mut JNIEnv<'_>, Duration),
    /// Looks through all threads: so often that it takes no more than a share of the time.
    pub look: fn(&mut JNIEnv<'_>),
}

/// Starts it on a fresh `java.lang.Thread`.
pub fn start(jvmti: Jvmti, thread: &JObject<'_>, duties: &'static Duties) -> Result<()> {
    // SAFETY: the body takes duties, which live for ever.
    unsafe { jvmti.run_agent_thread(thread.as_raw(), body, std::ptr::from_ref(duties).cast()) }?;
    THREAD.await_begin();
    Ok(())
}

/// What the JVM runs as the agent's thread.
unsafe extern "C" fn body(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, duties: *mut c_void) {
    guard((), || {
        let _running = THREAD.begin(Blocked::SamplingSignal);
        // SAFETY: the JVM passes what it was given by `start`.
        let duties: &'static Duties = unsafe { &*duties.cast() };
        // SAFETY: the JVM passes this thread's JNIEnv.
        if let Ok(env) = unsafe { JNIEnv::from_raw(env) } {
            run(duties, env);
        }
    });
}

/// Ends the thread, and waits until it has left: false if it does not leave soon. A JVM that exits
/// waits 300 ms for each thread that is in native code.
pub fn end() -> bool {
    THREAD.end_by(|| {
        ENDING.store(true, Ordering::Release);
        wake();
    })
}

fn run(duties: &Duties, mut env: JNIEnv<'_>) {
    let (mut next_look, look_cost) = (Instant::now(), SmoothedCost::default());
    loop {
        let pause = (duties.tend)(&mut env);
        (duties.rest)(&mut env, pause);
        if ENDING.load(Ordering::Acquire) {
            return;
        }
        let now = Instant::now();
        if now >= next_look {
            let before = cpu();
            (duties.look)(&mut env);
            let lasts = look_cost.update(cpu().saturating_sub(before));
            next_look = now + LOOK.max(Duration::from_nanos(lasts) * LOOK_SHARE);
        }
    }
}
