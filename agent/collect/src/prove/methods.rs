//! The code and constant pools of the program's methods, which are read from the JVM when a sample
//! first needs them.
//!
//! A method id is passed to the JVM only while a reference keeps its class loaded. Code and
//! constants must be of one version of the class, so a class that was redefined is read again.

use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::ResolvedMethod;
use vouch_verify::proof::{Body, Class, Method};

use crate::jvm::Jvm;
use crate::method;

/// The methods and classes that were read from the JVM.
#[derive(Debug, Default)]
pub struct Methods {
    known: HashMap<ResolvedMethod, LoadedMethod>,
    /// The classes, by the address of the resolver's class.
    classes: HashMap<usize, Arc<Class>>,
    /// One method of each class that was read, by the name of the class.
    by_class: HashMap<Box<str>, Vec<method::Method>>,
}

/// A method with its code. The resolver's method keeps the address of its class in use.
#[derive(Debug)]
struct LoadedMethod {
    method: Arc<Method>,
    resolved: method::Method,
    has_pool: bool,
}

impl Methods {
    /// Returns the resolver's method for a method that was read from the JVM.
    pub fn resolved(&self, id: ResolvedMethod) -> Option<&method::Method> {
        self.known.get(&id).map(|known| &known.resolved)
    }

    /// Returns one method of each class of this name, among the methods that were read.
    pub fn by_class_name(&self, name: &str) -> &[method::Method] {
        self.by_class.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns a method if its code was read already.
    pub fn known(&self, id: ResolvedMethod) -> Option<&Method> {
        self.known.get(&id).map(|known| &*known.method)
    }

    /// Returns a method with its code, which is read at the first call. `None` if the method's name
    /// is unknown.
    pub fn get(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        if let Some(known) = self.known.get(&id) {
            return Some(Arc::clone(&known.method));
        }
        let resolved = jvm.method(id)?;
        let Self { classes, by_class, .. } = self;
        let class = classes.entry(class_address(&resolved)).or_insert_with(|| {
            let name = &resolved.class.binary;
            by_class.entry(name.clone()).or_default().push(resolved.clone());
            Arc::new(Class::new(name))
        });
        let class = Arc::clone(class);
        let (is_static, body) = jvm.body(&resolved);
        let (name, descriptor) = (Arc::clone(&resolved.name), Arc::clone(&resolved.descriptor));
        let method = Arc::new(Method { class, name, descriptor, is_static, body });
        self.known.insert(id, LoadedMethod { method: Arc::clone(&method), resolved, has_pool: false });
        Some(method)
    }

    /// Reads the constant pool of a method's class, once. An edge is judged by the caller's pool.
    pub fn load_pool(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) {
        let Some(known) = self.known.get_mut(&id).filter(|known| !known.has_pool) else { return };
        known.has_pool = true;
        if matches!(known.method.body, Body::Code(_)) {
            known.method.class.load_pool(|| jvm.constants(&known.resolved).unwrap_or_default());
        }
    }

    /// Returns true if the class of a method has been redefined in this run.
    pub fn was_redefined(&self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> bool {
        self.resolved(id).is_some_and(|method| jvm.was_redefined(method))
    }

    /// Removes a method and the constant pool of its class, so that both are read again.
    pub fn forget(&mut self, id: ResolvedMethod) {
        if let Some(known) = self.known.remove(&id) {
            self.classes.remove(&class_address(&known.resolved));
            let methods = self.by_class.get_mut(&known.resolved.class.binary);
            if let Some(methods) = methods {
                methods.retain(|method| class_address(method) != class_address(&known.resolved));
            }
        }
    }
}

/// Returns the address of a method's class. It identifies the class as long as a method of it is
/// kept.
fn class_address(method: &method::Method) -> usize {
    Arc::as_ptr(&method.class) as usize
}
