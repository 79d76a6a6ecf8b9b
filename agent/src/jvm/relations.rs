//! Finds how the class of a callee is related to the class that its caller names.
//!
//! A name means a class only to a loader. The class that the caller names is the one of that name
//! from the caller's own loader. Otherwise it is the only one from a loader that is never
//! collected, if the caller's loader is such a loader, too: these delegate to each other. Other
//! classes of that name decide nothing.

use jni::JNIEnv;
use jni::objects::{JClass, JObject};
use vouch_collect::method::{Handle, Method};
use vouch_verify::proof::Relation;

use crate::facade::Jvmti;
use crate::java;
use crate::resolve::Resolver;

/// Returns how the class of `callee` is related to the one of `candidates` that `caller` names.
pub fn relation(
    jvmti: Jvmti,
    resolver: &Resolver,
    env: &mut JNIEnv<'_>,
    caller: &Method,
    candidates: &[Method],
    callee: &Method,
) -> Relation {
    let found = env.with_local_frame(64, |env| -> jni::errors::Result<Option<Relation>> {
        let caller_class = resolver.class_of(env, caller);
        let (Some(caller_class), Some(callee_class)) = (caller_class, resolver.class_of(env, callee)) else {
            return Ok(None);
        };
        if jvmti.is_interface(callee_class.as_raw()) {
            return Ok(None);
        }
        let is_permanent = |method: &Method| matches!(method.class.handle, Handle::Permanent);
        let (mut others, mut are_several) = (None, false);
        for method in candidates {
            let Some(class) = resolver.class_of(env, method) else { continue };
            if have_same_loader(jvmti, env, &caller_class, &class) {
                return between(jvmti, resolver, env, class, &callee_class, callee).map(Some);
            }
            match &others {
                _ if !is_permanent(caller) || !is_permanent(method) => {}
                None => others = Some(class),
                Some(other) => are_several |= !env.is_same_object(other, &class)?,
            }
        }
        match others {
            Some(class) if !are_several => {
                between(jvmti, resolver, env, class, &callee_class, callee).map(Some)
            }
            _ => Ok(None),
        }
    });
    java::cleared(env, found).flatten().unwrap_or(Relation::Unknown)
}

fn have_same_loader(jvmti: Jvmti, env: &mut JNIEnv<'_>, one: &JObject<'_>, other: &JObject<'_>) -> bool {
    let (Ok(one), Ok(other)) = (jvmti.class_loader(one.as_raw()), jvmti.class_loader(other.as_raw())) else {
        return false;
    };
    // SAFETY: JVMTI returned these local references to the calling thread, in this local frame.
    let (one, other) = unsafe { (java::object(env, one), java::object(env, other)) };
    env.is_same_object(&one, &other).unwrap_or(false)
}

/// Returns how `callee_class` is related to `named`.
fn between<'e>(
    jvmti: Jvmti,
    resolver: &Resolver,
    env: &mut JNIEnv<'e>,
    named: JObject<'e>,
    callee_class: &JObject<'e>,
    callee: &Method,
) -> jni::errors::Result<Relation> {
    if jvmti.is_interface(named.as_raw()) {
        return Ok(Relation::Unknown);
    }
    let (named, callee_class) = (JClass::from(named), <&JClass<'_>>::from(callee_class));
    if env.is_assignable_from(callee_class, &named)? {
        return Ok(Relation::Below);
    }
    if !env.is_assignable_from(&named, callee_class)? {
        return Ok(Relation::Unrelated);
    }
    let mut class = named;
    loop {
        if resolver.declares(env, &class, callee) {
            return Ok(Relation::Shadowed);
        }
        match env.get_superclass(&class)? {
            Some(superclass) if !env.is_same_object(&superclass, callee_class)? => class = superclass,
            _ => return Ok(Relation::Above),
        }
    }
}
