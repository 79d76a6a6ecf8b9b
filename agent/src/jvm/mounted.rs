//! Reads the id and the name of the virtual thread that is mounted on a carrier.
//!
//! A handler cannot always read a name: under ZGC a reference may be stale until a thread of the
//! JVM loads it. JVMTI returns it only with the capability for virtual threads, which slows each
//! mount.
//!
//! So the agent's thread passes JNI the carrier's handle (`_vthread`) as a global reference, which
//! is the address of such a handle with a tag. JNI loads it with the barriers of the collector. The
//! carrier must not end meanwhile; [`Registry::with_java_thread`] keeps it alive.

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::jobject;
use vouch_hotspot::vmstructs::{JavaThreadHandles, read_flag, read_word};
use vouch_hotspot::{HotSpot, fields};
use vouch_sampling::threads::Registry;

use crate::facade::Jvmti;
use crate::java;

/// The offsets of the handles in a JavaThread, and the tag of a JNI global reference.
#[derive(Debug, Clone, Copy)]
pub struct Mounted {
    handles: JavaThreadHandles,
    tag: usize,
}

impl Mounted {
    /// Finds the offsets and the tag, and tries them with the calling thread's own handle. `None`
    /// if this JVM has no virtual threads, checks references, or encodes them in another way.
    pub fn new(hotspot: &HotSpot, jvmti: Jvmti, env: &mut JNIEnv<'_>) -> Option<Self> {
        const TAG_BITS: usize = size_of::<usize>() - 1;
        // With -Xcheck:jni, the JVM would abort because of this reference.
        if jvmti.jdk()? < 21 || read_flag(hotspot, &fields::CHECK_JNI_CALLS) != Some(false) {
            return None;
        }
        let handles = JavaThreadHandles::find(hotspot)?;
        let own_java_thread = java::own_java_thread(env)?;
        let found = env.with_local_frame(8, |env| -> jni::errors::Result<Option<Self>> {
            let Ok(raw) = jvmti.current_thread() else { return Ok(None) };
            // SAFETY: JVMTI has just returned this local reference to the calling thread.
            let own = unsafe { java::object(env, raw) };
            let global = env.new_global_ref(&own)?;
            let tag = global.as_obj().as_raw() as usize & TAG_BITS;
            let mounted = Self { handles, tag };
            let Some(handle) =
                read_word(own_java_thread.wrapping_add(handles.own)).filter(|handle| *handle != 0)
            else {
                return Ok(None);
            };
            // SAFETY: the calling thread's own handle exists as long as the thread.
            let by_handle = unsafe { mounted.load(env, handle) };
            let is_same =
                by_handle.is_some_and(|by_handle| env.is_same_object(by_handle, &own).unwrap_or(false));
            Ok(is_same.then_some(mounted))
        });
        java::cleared(env, found).flatten()
    }

    /// Reads the id and the name of the virtual thread that is mounted on the thread with this tid
    /// and serial. `None` if none is mounted, or the thread has ended.
    pub fn id_and_name(
        self,
        registry: &Registry,
        (tid, serial): (u32, u32),
        env: &mut JNIEnv<'_>,
    ) -> Option<(u64, String)> {
        let found = env.with_local_frame(8, |env| -> jni::errors::Result<Option<(u64, String)>> {
            let thread = registry.with_java_thread(tid, serial, |java_thread| {
                let handle = read_word(java_thread.wrapping_add(self.handles.current))?;
                // SAFETY: the JavaThread, which has the handle, does not end before this returns.
                if handle == 0 { None } else { unsafe { self.load(env, handle) } }
            });
            let Some(thread) = thread.flatten() else { return Ok(None) };
            // SAFETY: the calling thread's JNIEnv, of JDK 21 or later, and its local reference.
            if !unsafe { java::is_virtual(env.get_raw(), thread.as_raw()) } {
                return Ok(None);
            }
            let Some(id) = java::id(env, &thread) else { return Ok(None) };
            let name = env.get_field(&thread, "name", "Ljava/lang/String;")?.l()?;
            Ok(java::text(env, name).map(|name| (id, name)))
        });
        java::cleared(env, found).flatten()
    }

    /// Makes a local reference to the object of a handle.
    ///
    /// # Safety
    /// `handle` must be the address of a strong handle of the JVM that is not released before this
    /// returns.
    unsafe fn load<'e>(self, env: &JNIEnv<'e>, handle: usize) -> Option<JObject<'e>> {
        // SAFETY: by the caller's promise and the trial in `new`, the JVM accepts it as a global
        // reference. It is not deleted.
        let reference =
            std::mem::ManuallyDrop::new(unsafe { JObject::from_raw((handle | self.tag) as jobject) });
        let object = env.new_local_ref(&*reference);
        java::cleared(env, object).filter(|object| !object.is_null())
    }
}
