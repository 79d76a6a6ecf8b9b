//! Capabilities and events: what the agent may do, and what it wants to be told.

use std::ptr::null_mut;

use jni_sys::jint;
use jvmti_sys::{jthread, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks};

use super::{Jvmti, JvmtiError, Result, call, checked};

/// A capability by its bit's place in `jvmtiCapabilities`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Capability {
    GetBytecodes = 3,
    GetSourceFileName = 11,
    GetLineNumbers = 12,
    Suspend = 20,
    GenerateCompiledMethodLoadEvents = 27,
    GenerateNativeMethodBindEvents = 30,
    GetConstantPool = 35,
}

/// An event by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Event {
    VmInit = 50,
    VmDeath = 51,
    ThreadStart = 52,
    ThreadEnd = 53,
    ClassLoad = 55,
    ClassPrepare = 56,
    NativeMethodBind = 67,
    CompiledMethodLoad = 68,
}

/// The table of functions that the JVM calls.
pub type Callbacks = jvmtiEventCallbacks;

const ENABLE: jint = 1;

impl Jvmti {
    /// Asks for one capability; a JVM may not have it.
    pub fn add_capability(self, wanted: Capability) -> Result<()> {
        let mut set = jvmtiCapabilities::default();
        let bit = wanted as u32;
        let words = [
            &mut set._bindgen_bitfield_1_,
            &mut set._bindgen_bitfield_2_,
            &mut set._bindgen_bitfield_3_,
            &mut set._bindgen_bitfield_4_,
        ];
        for (word, first) in words.into_iter().zip((0_u32..).step_by(32)) {
            if (first..first + 32).contains(&bit) {
                *word = 1 << (bit - first);
            }
        }
        call!(self, AddCapabilities(&raw const set => *const jvmtiCapabilities))
    }

    /// Says whom to call; the JVM copies the table.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        let size = jint::try_from(size_of::<Callbacks>()).unwrap_or(0);
        let table = std::ptr::from_ref(callbacks);
        call!(self, SetEventCallbacks(table => *const Callbacks, size => jint))
    }

    /// Turns an event on, for all threads.
    pub fn enable(self, event: Event) -> Result<()> {
        // The one function of the table that takes further arguments, which nobody uses: no `call!` for it.
        type Function = unsafe extern "C" fn(*mut jvmtiEnv, jint, jint, jthread, ...) -> jint;
        let env = self.raw();
        // SAFETY: as in `call!`.
        let function: Option<Function> = unsafe { std::mem::transmute((**env).SetEventNotificationMode) };
        let function = function.ok_or(JvmtiError::NOT_AVAILABLE)?;
        // SAFETY: the arguments are those of jvmti.h.
        checked(unsafe { function(env, ENABLE, event as jint, null_mut()) })
    }
}
