//! Reads the object that a parked thread waits for, from its `Thread`, and the owner of a lock.
//!
//! It reads fields of the JDK, and runs no code of the program. A park is cheap, so nothing here
//! may look up a field by its name.

use jni::JNIEnv;
use jni::objects::{GlobalRef, JClass, JFieldID, JObject, JValueOwned};
use jni::signature::ReturnType;
use once_cell::sync::OnceCell;

use super::calling_thread::class_of_object;
use crate::facade::Jvmti;
use crate::java;

/// The ids of the fields.
struct Fields {
    blocker: JFieldID,
    /// The class of all locks that have an owner.
    owned: GlobalRef,
    owner: JFieldID,
    /// The class of the synchronizers of latches. They are no locks.
    latch: Option<GlobalRef>,
    /// The class of a lock that is no `AbstractOwnableSynchronizer`.
    stamped: Option<GlobalRef>,
}

static FIELDS: OnceCell<Fields> = OnceCell::new();

/// Finds the fields. It loads a class, so a thread that is about to park must not call it.
pub fn meet(env: &mut JNIEnv<'_>) {
    const OWNED: &str = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
    let found = env.with_local_frame(4, |env| -> jni::errors::Result<Fields> {
        let blocker = env.get_field_id("java/lang/Thread", "parkBlocker", "Ljava/lang/Object;")?;
        let class = env.find_class(OWNED)?;
        let owner = env.get_field_id(&class, "exclusiveOwnerThread", "Ljava/lang/Thread;")?;
        let owned = env.new_global_ref(class)?;
        Ok(Fields { blocker, owned, owner, latch: None, stamped: None })
    });
    let mut class = |name: &str| {
        let found = env.with_local_frame(2, |env| -> jni::errors::Result<GlobalRef> {
            let class = env.find_class(name)?;
            env.new_global_ref(class)
        });
        java::cleared(env, found)
    };
    let latch = class("java/util/concurrent/CountDownLatch$Sync");
    let stamped = class("java/util/concurrent/locks/StampedLock");
    let found = found.map(|fields| Fields { latch, stamped, ..fields });
    if let Some(found) = java::cleared(env, found) {
        let _ = FIELDS.set(found);
    }
}

/// The object that a parked thread waits for.
pub struct Blocker<'e> {
    object: JObject<'e>,
    /// The thread that owns the object. It is `None` if the object has no owner now, or never has
    /// one.
    owner: Option<JObject<'e>>,
    is_lock: bool,
}

impl<'e> Blocker<'e> {
    /// Reads the object that a thread parks for. Returns `None` if the thread has not set one.
    pub fn read(thread: &JObject<'_>, env: &mut JNIEnv<'e>) -> Option<Self> {
        let fields = FIELDS.get()?;
        let object = field(thread, fields.blocker, env)?;
        let mut is_a = |class: &GlobalRef| {
            let is_instance = env.is_instance_of(&object, <&JClass<'_>>::from(class.as_obj()));
            java::cleared(env, is_instance)
        };
        let is_owned = is_a(&fields.owned)?;
        let (other, is_lock) = if is_owned { (&fields.latch, false) } else { (&fields.stamped, true) };
        let is_other = other.as_ref().and_then(is_a).unwrap_or(false);
        let is_lock = if is_other { is_lock } else { is_owned };
        let owner = is_owned.then(|| field(&object, fields.owner, env)).flatten();
        Some(Self { object, owner, is_lock })
    }

    /// True if the thread waits for a lock of `java.util.concurrent`: a lock, read lock, write lock
    /// or semaphore. Conditions, queues, latches and futures are no locks.
    pub fn is_lock(&self) -> bool {
        self.is_lock
    }

    /// Returns the object's class as in source, and the name of its owner.
    pub fn describe(&self, jvmti: Jvmti, env: &JNIEnv<'_>) -> (String, Option<String>) {
        (
            class_of_object(&self.object, env),
            self.owner.as_ref().and_then(|owner| display_name(jvmti, owner, env)),
        )
    }
}

/// Reads an object from a field of an object. Returns `None` for null.
fn field<'e>(of: &JObject<'_>, field: JFieldID, env: &mut JNIEnv<'e>) -> Option<JObject<'e>> {
    let found = env.get_field_unchecked(of, field, ReturnType::Object).and_then(JValueOwned::l);
    java::cleared(env, found).filter(|object| !object.is_null())
}

/// Returns a thread's name, or a description of a thread without a name. Returns `None` if JVMTI
/// returns no name.
pub fn display_name(jvmti: Jvmti, thread: &JObject<'_>, env: &JNIEnv<'_>) -> Option<String> {
    let name = jvmti.thread_name(thread.as_raw()).ok()?;
    if !name.is_empty() {
        return Some(name);
    }
    let has_virtual = jvmti.jdk().is_some_and(|jdk| jdk >= 21);
    // SAFETY: this is the calling thread's JNIEnv, of a JVM that has this function. The reference
    // is valid in it.
    let is_virtual = has_virtual && unsafe { java::is_virtual(env.get_raw(), thread.as_raw()) };
    Some(if is_virtual { "a virtual thread" } else { "a thread without a name" }.to_owned())
}
