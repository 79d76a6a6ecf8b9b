//! What proof knows of the program's methods, brought from the JVM when a sample first needs it.
//!
//! A method is asked about only while a reference to its class is held. Code and constants must be
//! of one version of the class: a class that was redefined meanwhile is read anew.

use std::sync::Arc;

use foldhash::HashMap;
use vouch_sample::ResolvedMethod;
use vouch_verify::proof::{Body, Class, Method};

use crate::jvm::Jvm;
use crate::resolve;

/// Methods by their ids, classes by those of the resolver.
#[derive(Debug, Default)]
pub struct Methods {
    known: HashMap<ResolvedMethod, Brought>,
    classes: HashMap<usize, Arc<Class>>,
    /// By a class's name, a method of each class that has it.
    by_class: HashMap<Box<str>, Vec<resolve::Method>>,
}

/// A method, and what the resolver knows of it, which keeps its class's place in memory.
#[derive(Debug)]
struct Brought {
    method: Arc<Method>,
    named: resolve::Method,
    has_pool: bool,
}

impl Methods {
    /// What the resolver knows of a method that is known.
    pub fn named(&self, id: ResolvedMethod) -> Option<&resolve::Method> {
        self.known.get(&id).map(|known| &known.named)
    }

    /// A known method of each known class of this name.
    pub fn of_class(&self, name: &str) -> &[resolve::Method] {
        self.by_class.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn known(&self, id: ResolvedMethod) -> Option<&Method> {
        self.known.get(&id).map(|known| &*known.method)
    }

    pub fn get(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> Option<Arc<Method>> {
        if let Some(known) = self.known.get(&id) {
            return Some(Arc::clone(&known.method));
        }
        let named = jvm.method(id)?;
        let Self { classes, by_class, .. } = self;
        let class = classes.entry(place(&named)).or_insert_with(|| {
            let name = &named.class.binary;
            by_class.entry(name.clone()).or_default().push(named.clone());
            Arc::new(Class::new(name))
        });
        let class = Arc::clone(class);
        let (is_static, body) = jvm.body(&named);
        let (name, descriptor) = (Arc::clone(&named.name), Arc::clone(&named.descriptor));
        let method = Arc::new(Method { class, name, descriptor, is_static, body });
        self.known.insert(id, Brought { method: Arc::clone(&method), named, has_pool: false });
        Some(method)
    }

    /// Has the constants of a method's class there: it is to be held to its code.
    pub fn load_pool(&mut self, id: ResolvedMethod, jvm: &mut dyn Jvm) {
        let Some(known) = self.known.get_mut(&id).filter(|known| !known.has_pool) else { return };
        known.has_pool = true;
        if matches!(known.method.body, Body::Code(_)) {
            known.method.class.load_pool(|| jvm.constants(&known.named).unwrap_or_default());
        }
    }

    /// True if the class of a method has been redefined in this run.
    pub fn was_redefined(&self, id: ResolvedMethod, jvm: &mut dyn Jvm) -> bool {
        self.named(id).is_some_and(|method| jvm.was_redefined(method))
    }

    /// Forgets a method and the constants of its class.
    pub fn forget(&mut self, id: ResolvedMethod) {
        if let Some(known) = self.known.remove(&id) {
            self.classes.remove(&place(&known.named));
            let of_class = self.by_class.get_mut(&known.named.class.binary);
            if let Some(of_class) = of_class {
                of_class.retain(|named| place(named) != place(&known.named));
            }
        }
    }
}

/// A class by its place in memory, which it keeps as long as a method of it is known.
fn place(named: &resolve::Method) -> usize {
    Arc::as_ptr(&named.class) as usize
}
