//! Asks the JVM which virtual thread a carrier runs now: its id and its name.
//!
//! A handler cannot always read a name: under ZGC a reference may be stale until a thread of the
//! JVM's loads it. JVMTI answers only with the capability for virtual threads, which slows each
//! mount. So the JVM loads the handle that the carrier's JavaThread has (`_vthread`), with its
//! barriers, for the agent's thread: a JNI global reference is such a handle's address with a tag.
//! It must never be asked of a thread whose end is near: [`Registry::with_java_thread`] sees to
//! that.

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::jobject;
use vouch_hotspot::vmstructs::{JavaThreadHandles, read_flag, read_word};
use vouch_hotspot::{HotSpot, fields};

use crate::facade::Jvmti;
use crate::java;
use crate::threads::Registry;

/// Where the JVM has the handles, and how a JNI reference to one looks.
#[derive(Debug, Clone, Copy)]
pub struct Mounted {
    handles: JavaThreadHandles,
    tag: usize,
}

impl Mounted {
    /// `None` where this JVM has no virtual threads, checks references, or has them otherwise:
    /// tried with the calling thread's own handle.
    pub fn new(hotspot: &HotSpot, jvmti: Jvmti, env: &mut JNIEnv<'_>) -> Option<Self> {
        const TAGS: usize = size_of::<usize>() - 1;
        // A JVM that checks references would end the process over this one.
        if jvmti.jdk()? < 21 || read_flag(hotspot, &fields::CHECK_JNI_CALLS) != Some(false) {
            return None;
        }
        let handles = JavaThreadHandles::find(hotspot)?;
        let own_java_thread = java::own_java_thread(env)?;
        let found = env.with_local_frame(8, |env| -> jni::errors::Result<Option<Self>> {
            let Ok(raw) = jvmti.current_thread() else { return Ok(None) };
            // SAFETY: JVMTI gave it to the calling thread a moment ago.
            let own = unsafe { java::object(env, raw) };
            let global = env.new_global_ref(&own)?;
            let tag = global.as_obj().as_raw() as usize & TAGS;
            let it = Self { handles, tag };
            let Some(handle) =
                read_word(own_java_thread.wrapping_add(handles.own)).filter(|handle| *handle != 0)
            else {
                return Ok(None);
            };
            // SAFETY: the calling thread's own handle, which is there as long as the thread.
            let by_handle = unsafe { it.load(env, handle) };
            let is_same =
                by_handle.is_some_and(|by_handle| env.is_same_object(by_handle, &own).unwrap_or(false));
            Ok(is_same.then_some(it))
        });
        java::cleared(env, found).flatten()
    }

    /// The id and the name of the virtual thread that the thread with this number and serial runs
    /// now; `None` if it runs as itself, or is gone.
    pub fn ask(
        self,
        registry: &Registry,
        (tid, serial): (u32, u32),
        env: &mut JNIEnv<'_>,
    ) -> Option<(u64, String)> {
        let asked = env.with_local_frame(8, |env| -> jni::errors::Result<Option<(u64, String)>> {
            let thread = registry.with_java_thread(tid, serial, |java_thread| {
                let handle = read_word(java_thread.wrapping_add(self.handles.current))?;
                // SAFETY: a handle of a JavaThread that does not end before this returns.
                if handle == 0 { None } else { unsafe { self.load(env, handle) } }
            });
            let Some(thread) = thread.flatten() else { return Ok(None) };
            // SAFETY: the calling thread's JNIEnv, of JDK 21 or later, and a reference of its own.
            if !unsafe { java::is_virtual(env.get_raw(), thread.as_raw()) } {
                return Ok(None);
            }
            let Some(id) = java::id(env, &thread) else { return Ok(None) };
            let name = env.get_field(&thread, "name", "Ljava/lang/String;")?.l()?;
            Ok(java::text(env, name).map(|name| (id, name)))
        });
        java::cleared(env, asked).flatten()
    }

    /// A local reference to what a handle holds.
    ///
    /// # Safety
    /// `handle` must be the address of a strong handle of the JVM's that is not released before
    /// this returns.
    unsafe fn load<'e>(self, env: &JNIEnv<'e>, handle: usize) -> Option<JObject<'e>> {
        // SAFETY: by the caller's promise and the trial in `new` it is what the JVM takes for a
        // global reference; it is not deleted.
        let reference =
            std::mem::ManuallyDrop::new(unsafe { JObject::from_raw((handle | self.tag) as jobject) });
        let object = env.new_local_ref(&*reference);
        java::cleared(env, object).filter(|object| !object.is_null())
    }
}
