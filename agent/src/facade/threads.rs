//! JVMTI's functions about threads, the function that starts the agent's own thread, and system
//! properties.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use jni_sys::{JNIEnv, jint, jobject};
use jvmti_sys::{jthread, jvmtiMonitorUsage, jvmtiStartFunction, jvmtiThreadInfo};

use super::jvmti::{Jvmti, JvmtiError, Result, call};
use super::memory::{Allocated, take_string};

/// The function that the agent's own thread runs. Its arguments are the JVMTI environment, the JNI
/// environment, and a pointer from [`Jvmti::run_agent_thread`].
pub type ThreadBody = unsafe extern "C" fn(*mut jvmti_sys::jvmtiEnv, *mut JNIEnv, *mut c_void);

impl Jvmti {
    /// Returns the present name of a thread. The call also makes two local references, which the
    /// caller's local frame must delete.
    pub fn thread_name(self, thread: jthread) -> Result<String> {
        let mut info = jvmtiThreadInfo::default();
        call!(self, GetThreadInfo(thread => jthread, &raw mut info => *mut jvmtiThreadInfo))?;
        // SAFETY: the function succeeded, so it wrote a string.
        unsafe { take_string(self, info.name) }.ok_or(JvmtiError::NOT_AVAILABLE)
    }

    /// Returns the object of the calling thread: the mounted virtual thread, if there is one.
    pub fn current_thread(self) -> Result<jthread> {
        let mut thread = null_mut();
        call!(self, GetCurrentThread(&raw mut thread => *mut jthread))?;
        Ok(thread)
    }

    /// Returns all live platform threads that JVMTI shows, as local references.
    pub fn all_threads(self) -> Result<Allocated<jthread>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetAllThreads(&raw mut count => *mut jint, &raw mut first => *mut *mut jthread))?;
        // SAFETY: the function succeeded, so it wrote `count` threads.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// Returns the object that a thread wants to lock, or waits on with `Object.wait`.
    pub fn contended_monitor(self, thread: jthread) -> Result<Option<jobject>> {
        let mut monitor = null_mut();
        call!(self, GetCurrentContendedMonitor(thread => jthread, &raw mut monitor => *mut jobject))?;
        Ok(Some(monitor).filter(|monitor| !monitor.is_null()))
    }

    /// Returns the owner of a monitor, or `None` if it has none or the JVM does not report it.
    ///
    /// It must not be called before JDK 17, which may read the monitor while threads run.
    pub fn monitor_owner(self, monitor: jobject) -> Result<Option<jthread>> {
        let mut usage = jvmtiMonitorUsage::default();
        call!(self, GetObjectMonitorUsage(monitor => jobject, &raw mut usage => *mut jvmtiMonitorUsage))?;
        // SAFETY: the function succeeded, so it wrote two arrays of threads, and their lengths.
        drop(unsafe { Allocated::new(self, usage.waiters, usage.waiter_count) });
        // SAFETY: as above.
        drop(unsafe { Allocated::new(self, usage.notify_waiters, usage.notify_waiter_count) });
        Ok(Some(usage.owner).filter(|owner| !owner.is_null()))
    }

    /// Returns true if a thread has started and not ended.
    pub fn is_alive(self, thread: jthread) -> bool {
        self.has_state(thread, jvmti_sys::JVMTI_THREAD_STATE_ALIVE)
    }

    /// Returns true if a thread waits: for a monitor, in `Object.wait`, or parked.
    pub fn is_waiting(self, thread: jthread) -> bool {
        const ANY_OF: u32 =
            jvmti_sys::JVMTI_THREAD_STATE_WAITING | jvmti_sys::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
        self.has_state(thread, ANY_OF)
    }

    /// Returns true if a thread's state has one of the bits in `any_of`.
    fn has_state(self, thread: jthread, any_of: u32) -> bool {
        let mut state = 0;
        let asked = call!(self, GetThreadState(thread => jthread, &raw mut state => *mut jint));
        asked.is_ok() && state.cast_unsigned() & any_of != 0
    }

    /// Starts the agent's own thread on a new `java.lang.Thread`. The thread is invisible to the
    /// program.
    ///
    /// # Safety
    /// `argument` must be valid for `body` for as long as that runs.
    pub unsafe fn run_agent_thread(
        self,
        thread: jthread,
        body: ThreadBody,
        argument: *const c_void,
    ) -> Result<()> {
        const NORMAL_PRIORITY: jint = 5;
        call!(self, RunAgentThread(
            thread => jthread, Some(body) => jvmtiStartFunction, argument => *const c_void, NORMAL_PRIORITY => jint))
    }

    /// Returns a system property of the JVM. JVMTI allows the call in every phase.
    pub fn system_property(self, name: &CStr) -> Option<String> {
        let mut value = null_mut();
        call!(self, GetSystemProperty(name.as_ptr() => *const c_char, &raw mut value => *mut *mut c_char))
            .ok()?;
        // SAFETY: the function succeeded, so it wrote a string.
        unsafe { take_string(self, value) }
    }

    /// Returns the feature version of the JDK: 8, 11, 17 and so on.
    ///
    /// It reads `java.vm.specification.version`, because JDK 8 sets `java.specification.version`
    /// only after it has loaded agents.
    pub fn jdk(self) -> Option<u32> {
        let version = self.system_property(c"java.vm.specification.version")?;
        version.strip_prefix("1.").unwrap_or(&version).parse().ok()
    }
}
