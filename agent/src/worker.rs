//! Runs the agent's own thread, which repeats its duties until the JVM dies.
//!
//! The program does not see the thread, and it is never sampled. It must not depend on its duties,
//! and it must cost next to nothing.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jni::objects::JObject;
use jvmti_sys::jvmtiEnv;
use vouch_report::options::{IDLE_THREAD_NAME, RECORDING_THREAD_NAME};
use vouch_sampling::own_thread::{Blocked, OwnThread};
use vouch_signal::smoothed_cost::SmoothedCost;

use crate::facade::{Jvmti, Result};
use crate::fault::guard;
use crate::wake::wake;

/// The shortest pause between two looks through all threads. It is longer if a look takes long.
const LOOK: Duration = Duration::from_millis(100);
/// A look may take one part in `LOOK_SHARE` of the time.
const LOOK_SHARE: u32 = 500;

static THREAD: OwnThread = OwnThread::new();

/// True once the thread must end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Returns the CPU time of the agent's thread, in nanoseconds.
pub fn cpu() -> u64 {
    THREAD.cpu()
}

/// Returns the kernel's id of the agent's thread, or 0 without one.
pub fn tid() -> u32 {
    THREAD.tid()
}

/// Returns true while the thread exists and is not ending.
pub fn is_running() -> bool {
    tid() != 0 && !ENDING.load(Ordering::Relaxed)
}

/// Shows by the thread's name whether there is a recording. Tools outside the process can read it.
pub fn show(recording: bool) {
    THREAD.call(if recording { RECORDING_THREAD_NAME } else { IDLE_THREAD_NAME });
}

/// The duties of the thread.
#[derive(Debug)]
pub struct Duties {
    /// Runs one round. Returns the time until the next one.
    pub tend: fn(&mut JNIEnv<'_>) -> Duration,
    /// Rests for that time, or until there is work.
    pub rest: fn(&mut JNIEnv<'_>, Duration),
    /// Looks through all threads. The pauses between looks keep its share of the time below a
    /// limit.
    pub look: fn(&mut JNIEnv<'_>),
}

/// Starts the thread on a fresh `java.lang.Thread`.
pub fn start(jvmti: Jvmti, thread: &JObject<'_>, duties: &'static Duties) -> Result<()> {
    // SAFETY: the body takes duties, which are never freed.
    unsafe { jvmti.run_agent_thread(thread.as_raw(), body, std::ptr::from_ref(duties).cast()) }?;
    THREAD.await_begin();
    Ok(())
}

/// The JVM runs this function as the agent's thread.
unsafe extern "C" fn body(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, duties: *mut c_void) {
    guard((), || {
        let _running = THREAD.begin(Blocked::SamplingSignal);
        // SAFETY: the JVM passes the pointer from `start`.
        let duties: &'static Duties = unsafe { &*duties.cast() };
        // SAFETY: the JVM passes this thread's JNIEnv.
        if let Ok(env) = unsafe { JNIEnv::from_raw(env) } {
            run(duties, env);
        }
    });
}

/// Ends the thread and waits until it has exited. Returns false on a timeout. A JVM that exits
/// waits 300 ms for each thread in native code.
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
