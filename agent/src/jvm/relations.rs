//! How two classes stand to each other, as far as the classes of known methods tell.
//!
//! A name means a class only to a loader. The class that a caller names is taken to be one of that
//! name whose loader is the caller's own, or else the only one that, like the caller's, is never
//! collected: such loaders ask each other before they look themselves. Any other class of that name
//! says nothing.

use jni::JNIEnv;
use jni::objects::{JClass, JObject};
use vouch_verify::proof::Relation;

use crate::facade::Jvmti;
use crate::java;
use crate::resolve::{Handle, Method, Resolver};

/// How the class of `callee` stands to the one that `caller` means, of these candidates.
pub fn relation(
    jvmti: Jvmti,
    resolver: &Resolver,
    env: &mut JNIEnv<'_>,
    caller: &Method,
    candidates: &[Method],
    callee: &Method,
) -> Relation {
    let found = env.with_local_frame(64, |env| -> jni::errors::Result<Option<Relation>> {
        let own = resolver.class_of(env, caller);
        let (Some(own), Some(theirs)) = (own, resolver.class_of(env, callee)) else {
            return Ok(None);
        };
        if jvmti.is_interface(theirs.as_raw()) {
            return Ok(None);
        }
        let stays = |method: &Method| matches!(method.class.handle, Handle::Stays);
        let (mut others, mut are_several) = (None, false);
        for method in candidates {
            let Some(class) = resolver.class_of(env, method) else { continue };
            if is_of_one_loader(jvmti, env, &own, &class) {
                return between(jvmti, resolver, env, class, &theirs, callee).map(Some);
            }
            match &others {
                _ if !stays(caller) || !stays(method) => {}
                None => others = Some(class),
                Some(other) => are_several |= !env.is_same_object(other, &class)?,
            }
        }
        match others {
            Some(class) if !are_several => between(jvmti, resolver, env, class, &theirs, callee).map(Some),
            _ => Ok(None),
        }
    });
    java::cleared(env, found).flatten().unwrap_or(Relation::Unknown)
}

fn is_of_one_loader(jvmti: Jvmti, env: &mut JNIEnv<'_>, one: &JObject<'_>, other: &JObject<'_>) -> bool {
    let (Ok(one), Ok(other)) = (jvmti.class_loader(one.as_raw()), jvmti.class_loader(other.as_raw())) else {
        return false;
    };
    // SAFETY: JVMTI gave these local references to the calling thread, in this frame.
    let (one, other) = unsafe { (java::object(env, one), java::object(env, other)) };
    env.is_same_object(&one, &other).unwrap_or(false)
}

/// How `theirs` stands to `named`, both of them classes.
fn between<'e>(
    jvmti: Jvmti,
    resolver: &Resolver,
    env: &mut JNIEnv<'e>,
    named: JObject<'e>,
    theirs: &JObject<'e>,
    callee: &Method,
) -> jni::errors::Result<Relation> {
    if jvmti.is_interface(named.as_raw()) {
        return Ok(Relation::Unknown);
    }
    let (named, theirs) = (JClass::from(named), <&JClass<'_>>::from(theirs));
    if env.is_assignable_from(theirs, &named)? {
        return Ok(Relation::Below);
    }
    if !env.is_assignable_from(&named, theirs)? {
        return Ok(Relation::Unrelated);
    }
    let mut class = named;
    loop {
        if resolver.declares(&class, callee) {
            return Ok(Relation::Shadowed);
        }
        match env.get_superclass(&class)? {
            Some(above) if !env.is_same_object(&above, theirs)? => class = above,
            _ => return Ok(Relation::Above),
        }
    }
}
