//! JVMTI's capabilities and events, and the functions that turn them on.

use std::ptr::null_mut;

use jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use jvmti_sys::{jthread, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks};

use super::jvmti::{Jvmti, JvmtiError, Result, call, checked};

/// Defines an enum of numbers of jvmti.h, each with its name there. `abi` compares them with the
/// header of each JDK.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $number:literal $header:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "the numbers of events that are not used yet")]
        #[repr(i32)]
        pub enum $name { $($variant = $number,)* }

        impl $name {
            #[cfg(test)]
            pub const ABI_VALUES: &[(&str, usize)] = &[$(($header, $number),)*];
        }
    };
}

numbers! {
    /// A capability, by the index of its bit in `jvmtiCapabilities`.
    Capability {
        GetBytecodes = 3 "BIT(can_get_bytecodes)",
        GetCurrentContendedMonitor = 6 "BIT(can_get_current_contended_monitor)",
        GetMonitorInfo = 7 "BIT(can_get_monitor_info)",
        GetSourceFileName = 11 "BIT(can_get_source_file_name)",
        GetLineNumbers = 12 "BIT(can_get_line_numbers)",
        GenerateExceptionEvents = 17 "BIT(can_generate_exception_events)",
        Suspend = 20 "BIT(can_suspend)",
        GenerateCompiledMethodLoadEvents = 27 "BIT(can_generate_compiled_method_load_events)",
        GenerateMonitorEvents = 28 "BIT(can_generate_monitor_events)",
        GenerateNativeMethodBindEvents = 30 "BIT(can_generate_native_method_bind_events)",
        GenerateGarbageCollectionEvents = 31 "BIT(can_generate_garbage_collection_events)",
        GetConstantPool = 35 "BIT(can_get_constant_pool)",
        GenerateSampledObjectAllocEvents = 43 "BIT(can_generate_sampled_object_alloc_events)",
    }
}

numbers! {
    /// An event, by its number in `jvmtiEvent`.
    Event {
        VmInit = 50 "JVMTI_EVENT_VM_INIT",
        VmDeath = 51 "JVMTI_EVENT_VM_DEATH",
        ThreadStart = 52 "JVMTI_EVENT_THREAD_START",
        ThreadEnd = 53 "JVMTI_EVENT_THREAD_END",
        ClassLoad = 55 "JVMTI_EVENT_CLASS_LOAD",
        ClassPrepare = 56 "JVMTI_EVENT_CLASS_PREPARE",
        Exception = 58 "JVMTI_EVENT_EXCEPTION",
        NativeMethodBind = 67 "JVMTI_EVENT_NATIVE_METHOD_BIND",
        CompiledMethodLoad = 68 "JVMTI_EVENT_COMPILED_METHOD_LOAD",
        CompiledMethodUnload = 69 "JVMTI_EVENT_COMPILED_METHOD_UNLOAD",
        DynamicCodeGenerated = 70 "JVMTI_EVENT_DYNAMIC_CODE_GENERATED",
        MonitorWait = 73 "JVMTI_EVENT_MONITOR_WAIT",
        MonitorWaited = 74 "JVMTI_EVENT_MONITOR_WAITED",
        MonitorContendedEnter = 75 "JVMTI_EVENT_MONITOR_CONTENDED_ENTER",
        MonitorContendedEntered = 76 "JVMTI_EVENT_MONITOR_CONTENDED_ENTERED",
        GarbageCollectionStart = 81 "JVMTI_EVENT_GARBAGE_COLLECTION_START",
        GarbageCollectionFinish = 82 "JVMTI_EVENT_GARBAGE_COLLECTION_FINISH",
        SampledObjectAlloc = 86 "JVMTI_EVENT_SAMPLED_OBJECT_ALLOC",
    }
}

/// A subscription to one JVMTI event. Each event that the agent uses has one.
#[derive(Debug, Clone, Copy)]
pub struct EventSubscription {
    pub event: Event,
    /// The capabilities that the event needs. The event is unavailable without the first one.
    pub capabilities: &'static [Capability],
    /// Puts the callback into the table that the JVM calls.
    pub install: fn(&mut Callbacks),
    pub required_for: RequiredFor,
}

/// What is lost if a JVM does not report an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredFor {
    /// The whole recording.
    All,
    /// Only what the event itself reports.
    Itself,
}

/// The slot of `SetHeapSamplingInterval` in the function table, since JDK 11.
pub const SET_HEAP_SAMPLING_INTERVAL: usize = 155;

/// The table of callbacks, with entries that were added after JVMTI 1.2. An older JVM reads only
/// the entries that it has.
#[derive(Default)]
#[repr(C)]
pub struct Callbacks {
    pub known: jvmtiEventCallbacks,
    reserved85: Option<unsafe extern "C" fn()>,
    pub sampled_object_alloc: Option<SampledObjectAlloc>,
}

/// The callback of SampledObjectAlloc. The last four arguments are the thread, the object, its
/// class and its size.
pub type SampledObjectAlloc =
    unsafe extern "C" fn(*mut jvmtiEnv, *mut JNIEnv, jthread, jobject, jclass, jlong);

impl Callbacks {
    #[cfg(test)]
    pub const ABI_VALUES: &[(&str, usize)] = &[(
        "offsetof(jvmtiEventCallbacks, SampledObjectAlloc)",
        std::mem::offset_of!(Callbacks, sampled_object_alloc),
    )];
}

const ENABLE: jint = 1;
const DISABLE: jint = 0;

impl Jvmti {
    /// Adds one capability. It fails if the JVM does not have the capability.
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

    /// Sets the callbacks. The JVM copies the table.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        let size = jint::try_from(size_of::<Callbacks>()).unwrap_or(0);
        // The table begins with the binding's struct, and the size covers the added entries.
        let table = std::ptr::from_ref(callbacks).cast();
        call!(self, SetEventCallbacks(table => *const jvmtiEventCallbacks, size => jint))
    }

    /// Turns an event on, for all threads.
    pub fn enable(self, event: Event) -> Result<()> {
        self.set_mode(event, ENABLE)
    }

    /// Turns an event off, for all threads.
    pub fn disable(self, event: Event) -> Result<()> {
        self.set_mode(event, DISABLE)
    }

    /// Calls GenerateEvents: the JVM reports what exists already, on the calling thread.
    pub fn generate_events(self, event: Event) -> Result<()> {
        type Function = unsafe extern "C" fn(*mut jvmtiEnv, jint) -> jint;
        let env = self.raw();
        // SAFETY: as in `call!`; the enum that jvmti.h declares is an int.
        let function: Option<Function> = unsafe { std::mem::transmute((**env).GenerateEvents) };
        let function = function.ok_or(JvmtiError::NOT_AVAILABLE)?;
        // SAFETY: the arguments are those of jvmti.h.
        checked(unsafe { function(env, event as jint) })
    }

    fn set_mode(self, event: Event, mode: jint) -> Result<()> {
        // This is the only variadic function of the table, so `call!` cannot call it.
        type Function = unsafe extern "C" fn(*mut jvmtiEnv, jint, jint, jthread, ...) -> jint;
        let env = self.raw();
        // SAFETY: as in `call!`.
        let function: Option<Function> = unsafe { std::mem::transmute((**env).SetEventNotificationMode) };
        let function = function.ok_or(JvmtiError::NOT_AVAILABLE)?;
        // SAFETY: the arguments are those of jvmti.h.
        checked(unsafe { function(env, mode, event as jint, null_mut()) })
    }

    /// Sets the average number of allocated bytes between two SampledObjectAlloc events.
    pub fn set_heap_sampling_interval(self, bytes: u32) -> Result<()> {
        type Function = unsafe extern "C" fn(*mut jvmtiEnv, jint) -> jint;
        if self.jdk().is_none_or(|jdk| jdk < 11) {
            return Err(JvmtiError::NOT_AVAILABLE);
        }
        let env = self.raw();
        // SAFETY: the table of JDK 11 or later has this slot, which is a function or null.
        let function = unsafe { (*env).cast::<Option<Function>>().add(SET_HEAP_SAMPLING_INTERVAL).read() };
        let function = function.ok_or(JvmtiError::NOT_AVAILABLE)?;
        // SAFETY: the arguments are those of jvmti.h.
        checked(unsafe { function(env, jint::try_from(bytes).unwrap_or(jint::MAX)) })
    }
}
