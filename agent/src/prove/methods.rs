//! What proof knows of the program's methods, brought from the JVM when a sample first needs it.
//!
//! A method is asked about only while a reference to its class is held. Code and constants must be of one version of the
//! class: a class that was redefined meanwhile is read anew.

use std::collections::HashMap;
use std::sync::Arc;

use jni::objects::{JObject, JValueOwned};
use jni_sys::jmethodID;
use vouch_proof::{Body, Class, Code, Gone, Method, Pool};
use vouch_sample::MethodId;

use super::Asking;
use crate::facade::{Jvmti, Modifier};
use crate::java;
use crate::resolve::{self, Handle};

/// Methods by their ids, classes by those of the resolver.
#[derive(Debug)]
pub struct Methods {
    jvmti: Jvmti,
    /// Before JDK 17 a class without a name of its own may have had its constants patched with objects, and a JVM that is
    /// asked for them crashes.
    patches: bool,
    known: HashMap<MethodId, Known>,
    classes: HashMap<usize, Arc<Class>>,
    /// By a class's name, a method of each class that has it.
    by_class: HashMap<Box<str>, Vec<(MethodId, resolve::Method)>>,
}

/// A method, and what the resolver knows of it, which keeps its class's place in memory.
#[derive(Debug)]
struct Known {
    method: Arc<Method>,
    named: resolve::Method,
    pool_brought: bool,
}

impl Methods {
    pub fn new(jvmti: Jvmti) -> Self {
        Self {
            jvmti,
            patches: jvmti.jdk().is_none_or(|jdk| jdk < 17),
            known: HashMap::new(),
            classes: HashMap::new(),
            by_class: HashMap::new(),
        }
    }

    pub fn jvmti(&self) -> Jvmti {
        self.jvmti
    }

    /// What the resolver knows of a method that is known.
    pub fn named(&self, id: MethodId) -> Option<&resolve::Method> {
        self.known.get(&id).map(|known| &known.named)
    }

    /// A known method of each known class of this name.
    pub fn of_class(&self, name: &str) -> &[(MethodId, resolve::Method)] {
        self.by_class.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn known(&self, id: MethodId) -> Option<&Method> {
        self.known.get(&id).map(|known| &*known.method)
    }

    pub fn get(&mut self, id: MethodId, asking: &mut Asking<'_, '_>) -> Option<Arc<Method>> {
        if let Some(known) = self.known.get(&id) {
            return Some(Arc::clone(&known.method));
        }
        if id.is_none() {
            return None;
        }
        let named = asking.resolver.method(asking.env, id, asking.time)?;
        let Self { classes, by_class, .. } = self;
        let class = classes.entry(place(&named)).or_insert_with(|| {
            let name = &named.class.binary;
            by_class.entry(name.clone()).or_default().push((id, named.clone()));
            Arc::new(Class::new(name))
        });
        let class = Arc::clone(class);
        let (is_static, body) = self.body(id, &named, asking);
        let (name, descriptor) = (Arc::clone(&named.name), Arc::clone(&named.descriptor));
        let method = Arc::new(Method { class, name, descriptor, is_static, body });
        self.known.insert(id, Known { method: Arc::clone(&method), named, pool_brought: false });
        Some(method)
    }

    /// Has the constants of a method's class there: it is to be held to its code.
    pub fn bring_pool(&mut self, id: MethodId, asking: &mut Asking<'_, '_>) {
        let jvmti = self.jvmti;
        let Some(known) = self.known.get_mut(&id).filter(|known| !known.pool_brought) else { return };
        known.pool_brought = true;
        let may_be_patched = self.patches && known.named.class.hidden;
        if matches!(known.method.body, Body::Code(_)) && !may_be_patched {
            known.method.class.bring_pool(|| {
                with_class(id, &known.named, asking, |_, class| {
                    let constants = jvmti.constants(class.as_raw()).ok()?;
                    Some(Pool::new(constants.bytes.to_vec(), constants.count))
                })
                .unwrap_or_default()
            });
        }
    }

    /// True if the class of a method has been redefined in this run.
    pub fn was_redefined(&self, id: MethodId, asking: &mut Asking<'_, '_>) -> bool {
        let Some(known) = self.known.get(&id) else { return false };
        with_class(id, &known.named, asking, |env, class| {
            // The VM counts in a field of the class object's.
            let count = env.get_field(class, "classRedefinedCount", "I").and_then(JValueOwned::i);
            java::cleared(env, count)
        })
        .is_some_and(|count| count > 0)
    }

    /// Forgets a method and the constants of its class.
    pub fn forget(&mut self, id: MethodId) {
        if let Some(known) = self.known.remove(&id) {
            self.classes.remove(&place(&known.named));
            let of_class = self.by_class.get_mut(&known.named.class.binary);
            if let Some(of_class) = of_class {
                of_class.retain(|(_, named)| place(named) != place(&known.named));
            }
        }
    }

    pub fn forget_all(&mut self) {
        self.known.clear();
        self.classes.clear();
        self.by_class.clear();
    }

    /// Whether it is static, and its body.
    fn body(&self, id: MethodId, named: &resolve::Method, asking: &mut Asking<'_, '_>) -> (bool, Body) {
        let (jvmti, raw) = (self.jvmti, id.0 as jmethodID);
        let ask = || {
            let modifiers = jvmti.modifiers(raw).ok()?;
            let has = |modifier: Modifier| modifiers & modifier as i32 != 0;
            let body = if has(Modifier::Native) {
                Body::Native
            } else {
                match jvmti.bytecodes(raw) {
                    Ok(bytes) => Body::Code(Code::new(bytes.to_vec())),
                    Err(_) => Body::Gone(Gone::Unread),
                }
            };
            Some((has(Modifier::Static), body))
        };
        let found = match named.class.handle {
            Handle::Stays => ask(),
            Handle::May(_) | Handle::Gone => with_class(id, named, asking, |_, _| ask()),
        };
        found.unwrap_or((false, Body::Gone(Gone::Unloaded)))
    }
}

/// Asks with a reference to the method's class held; `None` if the class is gone.
fn with_class<T>(
    id: MethodId,
    named: &resolve::Method,
    asking: &mut Asking<'_, '_>,
    ask: impl FnOnce(&mut jni::JNIEnv<'_>, &JObject<'_>) -> Option<T>,
) -> Option<T> {
    let resolver = asking.resolver;
    asking
        .env
        .with_local_frame(4, |env| -> jni::errors::Result<Option<T>> {
            let class = resolver.class_of(env, id, named);
            Ok(class.and_then(|class| ask(env, &class)))
        })
        .ok()
        .flatten()
}

/// A class by its place in memory, which it keeps as long as a method of it is known.
fn place(named: &resolve::Method) -> usize {
    Arc::as_ptr(&named.class) as usize
}
