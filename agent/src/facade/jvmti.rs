//! The JVMTI environment, and the macro that calls its functions.

use std::fmt;
use std::ptr::null_mut;
use std::thread;
use std::time::{Duration, Instant};

use jni_sys::{JNI_EDETACHED, JNI_OK, JavaVM, jint};
use jvmti_sys::jvmtiEnv;
use once_cell::sync::OnceCell;

/// JVMTI 1.2, which every JDK since 6 has. With a newer version, GetEnv fails on JDK 8 to 21.
const VERSION: jint = 0x3001_0200;

/// How long an attach waits for the JVM's start to end.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// The time between two attempts meanwhile.
const START_POLL: Duration = Duration::from_millis(10);

/// A JVMTI environment. It is never disposed of.
#[derive(Debug, Clone, Copy)]
pub struct Jvmti(*mut jvmtiEnv);

// SAFETY: JVMTI environments may be used from any thread that is attached to the JVM.
unsafe impl Send for Jvmti {}
// SAFETY: as above; the JVM locks internally.
unsafe impl Sync for Jvmti {}

static CURRENT: OnceCell<Jvmti> = OnceCell::new();

/// An error code that a JVMTI function returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JvmtiError(pub jint);

impl JvmtiError {
    /// `JVMTI_ERROR_NOT_AVAILABLE`: the environment lacks the function.
    pub const NOT_AVAILABLE: Self = Self(98);
}

impl fmt::Display for JvmtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JVMTI error {}", self.0)
    }
}

pub type Result<T> = std::result::Result<T, JvmtiError>;

/// Calls a function of the table: `call!(jvmti, Name(argument => ParameterType, …))`.
macro_rules! call {
    ($jvmti:expr, $name:ident($($argument:expr => $kind:ty),* $(,)?)) => {{
        let env = $jvmti.raw();
        // SAFETY: `env` came from GetEnv and is never disposed of, and `abi` asserts the slot.
        let slot = unsafe { (**env).$name };
        // SAFETY: only the declared result changes, from an enum to the integer that the C header
        // declares. By the first type, the compiler checks that all else is the same.
        let function = unsafe {
            std::mem::transmute::<
                Option<
                    unsafe extern "C" fn(*mut jvmti_sys::jvmtiEnv $(, $kind)*) -> jvmti_sys::jvmtiError,
                >,
                Option<unsafe extern "C" fn(*mut jvmti_sys::jvmtiEnv $(, $kind)*) -> jni_sys::jint>,
            >(slot)
        };
        match function {
            // SAFETY: the arguments have the types that jvmti.h declares, and are valid during the
            // call.
            Some(function) => $crate::facade::jvmti::checked(unsafe { function(env $(, $argument)*) }),
            None => Err($crate::facade::jvmti::JvmtiError::NOT_AVAILABLE),
        }
    }};
}
pub(super) use call;

/// Turns a JVMTI error code into a result.
pub fn checked(code: jint) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(JvmtiError(code)) }
}

impl Jvmti {
    /// Creates an environment for the agent.
    ///
    /// HotSpot makes none in JVMTI's start phase, in which tools can attach already. Its GetEnv
    /// then returns `JNI_EDETACHED`. This function waits for that phase to end.
    ///
    /// # Safety
    /// `vm` must be the JVM that the agent was loaded into.
    pub unsafe fn from_vm(vm: *mut JavaVM) -> Result<Self> {
        let mut env = null_mut();
        // SAFETY: by the caller's promise `vm` is a JVM's invocation table.
        let get_env = unsafe { (**vm).GetEnv }.ok_or(JvmtiError::NOT_AVAILABLE)?;
        let began = Instant::now();
        loop {
            // SAFETY: GetEnv writes one pointer.
            match unsafe { get_env(vm, &raw mut env, VERSION) } {
                JNI_OK if !env.is_null() => return Ok(Self(env.cast())),
                JNI_EDETACHED if began.elapsed() < START_PATIENCE => thread::sleep(START_POLL),
                code => return Err(JvmtiError(code)),
            }
        }
    }

    /// Returns the agent's environment, or `None` until the agent is set up.
    pub fn current() -> Option<Self> {
        CURRENT.get().copied()
    }

    /// Makes this the agent's environment. A process has one, so a second call does nothing.
    pub fn make_current(self) {
        CURRENT.get_or_init(|| self);
    }

    pub(super) fn raw(self) -> *mut jvmtiEnv {
        self.0
    }
}
