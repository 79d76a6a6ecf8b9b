//! Questions about threads, and the agent's own thread.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use jni_sys::{JNIEnv, jint, jobject};
use jvmti_sys::{jthread, jvmtiMonitorUsage, jvmtiStartFunction, jvmtiThreadInfo};

use super::jvmti::{Jvmti, JvmtiError, Result, call};
use super::memory::{Allocated, text};

/// What the agent's own thread runs: JVMTI environment, JNI environment, argument.
pub type ThreadBody = unsafe extern "C" fn(*mut jvmti_sys::jvmtiEnv, *mut JNIEnv, *mut c_void);

impl Jvmti {
    /// The name that a thread has now. The two references that come with it are deleted by the
    /// caller's frame.
    pub fn thread_name(self, thread: jthread) -> Result<String> {
        let mut info = jvmtiThreadInfo::default();
        call!(self, GetThreadInfo(thread => jthread, &raw mut info => *mut jvmtiThreadInfo))?;
        // SAFETY: the function succeeded, so it wrote a string.
        unsafe { text(self, info.name) }.ok_or(JvmtiError::NOT_AVAILABLE)
    }

    /// The calling thread's object, a virtual one's where it runs as that.
    pub fn current_thread(self) -> Result<jthread> {
        let mut thread = null_mut();
        call!(self, GetCurrentThread(&raw mut thread => *mut jthread))?;
        Ok(thread)
    }

    /// All live platform threads that the JVM shows, as local references.
    pub fn all_threads(self) -> Result<Allocated<jthread>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetAllThreads(&raw mut count => *mut jint, &raw mut first => *mut *mut jthread))?;
        // SAFETY: the function succeeded, so it wrote `count` threads.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// What a thread wants to enter, or waits to be notified on; `None`: nothing.
    pub fn contended_monitor(self, thread: jthread) -> Result<Option<jobject>> {
        let mut monitor = null_mut();
        call!(self, GetCurrentContendedMonitor(thread => jthread, &raw mut monitor => *mut jobject))?;
        Ok(Some(monitor).filter(|monitor| !monitor.is_null()))
    }

    /// Who has a monitor; `None`: nobody, or it is not known who. A JVM before JDK 17 may look at
    /// it while threads run on, and must not be asked.
    pub fn owner(self, monitor: jobject) -> Result<Option<jthread>> {
        let mut usage = jvmtiMonitorUsage::default();
        call!(self, GetObjectMonitorUsage(monitor => jobject, &raw mut usage => *mut jvmtiMonitorUsage))?;
        // SAFETY: the function succeeded, so it wrote two lists of so many threads.
        drop(unsafe { Allocated::new(self, usage.waiters, usage.waiter_count) });
        // SAFETY: as above.
        drop(unsafe { Allocated::new(self, usage.notify_waiters, usage.notify_waiter_count) });
        Ok(Some(usage.owner).filter(|owner| !owner.is_null()))
    }

    /// True while a thread has started and not ended.
    pub fn alive(self, thread: jthread) -> bool {
        self.is_in(thread, jvmti_sys::JVMTI_THREAD_STATE_ALIVE)
    }

    /// True while a thread waits: for a lock, to be notified, or to be let on.
    pub fn waits(self, thread: jthread) -> bool {
        const EITHER: u32 =
            jvmti_sys::JVMTI_THREAD_STATE_WAITING | jvmti_sys::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
        self.is_in(thread, EITHER)
    }

    fn is_in(self, thread: jthread, either: u32) -> bool {
        let mut state = 0;
        let asked = call!(self, GetThreadState(thread => jthread, &raw mut state => *mut jint));
        asked.is_ok() && state.cast_unsigned() & either != 0
    }

    /// Starts the agent's own thread, of which the program sees nothing, on a fresh
    /// `java.lang.Thread`. `argument` is for the body.
    ///
    /// # Safety
    /// It must be what the body wants, for as long as that runs.
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

    /// A system property of the JVM's, which may be asked for in every phase.
    pub fn system_property(self, name: &CStr) -> Option<String> {
        let mut value = null_mut();
        call!(self, GetSystemProperty(name.as_ptr() => *const c_char, &raw mut value => *mut *mut c_char))
            .ok()?;
        // SAFETY: the function succeeded, so it wrote a string.
        unsafe { text(self, value) }
    }

    /// The JDK's number: 8, 11, 17 and so on. Its namesake without `vm` is not set yet when an
    /// agent is loaded into JDK 8.
    pub fn jdk(self) -> Option<u32> {
        let version = self.system_property(c"java.vm.specification.version")?;
        version.strip_prefix("1.").unwrap_or(&version).parse().ok()
    }
}
