//! What a parked thread waits for, as far as Java says: an object that it has left in its `Thread`,
//! and, of a lock, the thread that has it.
//!
//! It is read of fields of the JDK's own; no code of the program's runs for it. To park costs
//! little, so nothing here may look a name up.

use jni::JNIEnv;
use jni::objects::{GlobalRef, JFieldID, JObject, JValueOwned};
use jni::signature::ReturnType;
use once_cell::sync::OnceCell;

use super::calling_thread::class_of_object;
use crate::facade::Jvmti;
use crate::java;

/// Where it stands.
struct Fields {
    blocker: JFieldID,
    /// The class of all locks that have an owner.
    owned: GlobalRef,
    owner: JFieldID,
}

static FIELDS: OnceCell<Fields> = OnceCell::new();

/// Finds it in this JVM. Loads a class: not to be called by a thread that is about to park.
pub fn meet(env: &mut JNIEnv<'_>) {
    const OWNED: &str = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
    let found = env.with_local_frame(4, |env| -> jni::errors::Result<Fields> {
        let blocker = env.get_field_id("java/lang/Thread", "parkBlocker", "Ljava/lang/Object;")?;
        let class = env.find_class(OWNED)?;
        let owner = env.get_field_id(&class, "exclusiveOwnerThread", "Ljava/lang/Thread;")?;
        Ok(Fields { blocker, owned: env.new_global_ref(class)?, owner })
    });
    if let Some(found) = java::cleared(env, found) {
        let _ = FIELDS.set(found);
    }
}

/// What a thread waits for.
pub struct Blocker<'e> {
    object: JObject<'e>,
    /// `None`: nobody, or it is none that has an owner.
    owner: Option<JObject<'e>>,
}

impl<'e> Blocker<'e> {
    /// That of a thread which is about to park, or has; `None` if it does not say.
    pub fn of(thread: &JObject<'_>, env: &mut JNIEnv<'e>) -> Option<Self> {
        let fields = FIELDS.get()?;
        let object = field(thread, fields.blocker, env)?;
        let owned = <&jni::objects::JClass<'_>>::from(fields.owned.as_obj());
        let is_owned = env.is_instance_of(&object, owned);
        let owner = java::cleared(env, is_owned)?.then(|| field(&object, fields.owner, env)).flatten();
        Some(Self { object, owner })
    }

    /// Its class as in source, and the name of the thread that has it.
    pub fn describe(&self, jvmti: Jvmti, env: &JNIEnv<'_>) -> (String, Option<String>) {
        (
            class_of_object(&self.object, env),
            self.owner.as_ref().and_then(|owner| display_name(jvmti, owner, env)),
        )
    }
}

/// The object in a field of an object's; `None` for null.
fn field<'e>(of: &JObject<'_>, field: JFieldID, env: &mut JNIEnv<'e>) -> Option<JObject<'e>> {
    let found = env.get_field_unchecked(of, field, ReturnType::Object).and_then(JValueOwned::l);
    java::cleared(env, found).filter(|object| !object.is_null())
}

/// What a thread is called, for a person; `None` where the JVM does not tell.
pub fn display_name(jvmti: Jvmti, thread: &JObject<'_>, env: &JNIEnv<'_>) -> Option<String> {
    let name = jvmti.thread_name(thread.as_raw()).ok()?;
    if !name.is_empty() {
        return Some(name);
    }
    let has_virtual = jvmti.jdk().is_some_and(|jdk| jdk >= 21);
    // SAFETY: the calling thread's, of a JVM that has this function, and a reference that is valid
    // there.
    let is_virtual = has_virtual && unsafe { java::is_virtual(env.get_raw(), thread.as_raw()) };
    Some(if is_virtual { "a virtual thread" } else { "a thread without a name" }.to_owned())
}
