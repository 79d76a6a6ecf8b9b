//! Contains the natives of the truth lab. Each only guards against panics and calls another module.

use std::ptr::null_mut;

use jni::JNIEnv;
use jni::objects::{JClass, JObject, JString};
use jni_sys::{JNI_FALSE, JNI_TRUE, jboolean, jint, jstring};
use vouch::lab_api::{self, LoadedAgent, guard, say};
use vouch::lab_hooks::WalkerWrapper;

use crate::broken::{BREAKS, BreakOneIn};

use super::{answer, ask_other, ask_self};

/// The maximum depth for OpenJDK's own test, in frames: more than its stack has.
const DEEP: usize = 1024;

/// `Oracle.self` walks the calling thread. Returns null if the depth is 0.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_vouch_Oracle_self(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    depth: jint,
) -> jstring {
    answered(&mut env, depth, |agent, env, depth| {
        let asked = ask_self(agent, env, depth);
        Some(answer::text(agent, env, &asked))
    })
}

/// `Oracle.other` walks another thread, which is suspended meanwhile.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_vouch_Oracle_other(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    thread: JObject<'_>,
    depth: jint,
) -> jstring {
    answered(&mut env, depth, |agent, env, depth| {
        let asked = ask_other(agent, env, &thread, depth);
        Some(answer::text(agent, env, &asked))
    })
}

/// `Oracle.difference` walks another thread. Returns null if walk and witness agree.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_vouch_Oracle_difference(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    thread: JObject<'_>,
    depth: jint,
) -> jstring {
    answered(&mut env, depth, |agent, env, depth| match ask_other(agent, env, &thread, depth) {
        Ok(asked) if asked.agrees() => None,
        asked => Some(answer::text(agent, env, &asked)),
    })
}

/// `Oracle.breakWalker` breaks the walker on purpose, or repairs it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_vouch_Oracle_breakWalker(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    how: JString<'_>,
) {
    guard((), || {
        let Some(agent) = LoadedAgent::get() else { return };
        let name = lab_api::text(&mut env, how.into()).unwrap_or_default();
        let way = BREAKS.iter().find(|(known, _)| *known == name);
        let wrapper = way.map(|(_, how)| BreakOneIn { how: *how, every: 1 });
        agent.break_walker(wrapper.as_ref().map(|wrapper| wrapper as &dyn WalkerWrapper));
    });
}

/// OpenJDK's own test of AsyncGetCallTrace calls this, with this library instead of the test's.
#[unsafe(no_mangle)]
pub extern "system" fn Java_MyPackage_ASGCTBaseTest_checkAsyncGetCallTraceCall(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
) -> jboolean {
    guard(JNI_FALSE, || {
        let Some(agent) = LoadedAgent::get() else { return JNI_FALSE };
        let asked = ask_self(agent, &env, DEEP);
        if asked.as_ref().is_ok_and(super::Asked::asgct_agrees) {
            return JNI_TRUE;
        }
        say(&answer::text(agent, &mut env, &asked));
        JNI_FALSE
    })
}

/// Returns null if the depth is 0.
fn answered<'e>(
    env: &mut JNIEnv<'e>,
    depth: jint,
    ask: impl FnOnce(LoadedAgent, &mut JNIEnv<'e>, usize) -> Option<String>,
) -> jstring {
    guard(None, || {
        let depth = usize::try_from(depth).ok().filter(|depth| *depth > 0)?;
        let text = match LoadedAgent::get() {
            Some(agent) => ask(agent, env, depth)?,
            None => "error\tthe agent is not loaded: java -agentpath:…/libvouch_lab.so=lab\n".to_owned(),
        };
        // Java throws its own exception if memory is short.
        env.new_string(text).ok().map(jni::objects::JString::into_raw)
    })
    .unwrap_or(null_mut())
}
