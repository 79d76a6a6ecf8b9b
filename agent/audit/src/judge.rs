//! Every edge and leaf of a recording, held to the bytecode by `vouch_verify::proof`.
//!
//! It must never refute by a class that it does not know to have run: what cannot be judged is said
//! to be so, and why.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use vouch_classes::Library;
use vouch_sample::ResolvedFrame;
use vouch_verify::proof::{
    Body, Class, Explanation, Gone, INVOKEINTERFACE, Method, Refutation, Relation, Verdict,
    without_hidden_part,
};

use crate::generated_calls;
use crate::generated_class::Rule;
use crate::index::{MethodId, Node, Place, PlaceId, Says, Seen, add};
use crate::run_info::Changes;
use crate::unjudged::{Judged, Unjudged};
use crate::versions::{DEEPEST, Version, Versions};

/// All edges, with what is to be said of them.
#[derive(Debug)]
pub struct Judge<'a> {
    library: &'a Library,
    pub versions: Versions,
    /// As proof has them, by number.
    methods: Vec<Method>,
    sure: Sure,
    edges: HashMap<Edge, Judged>,
    leaves: HashMap<PlaceId, Judged>,
}

impl<'a> Judge<'a> {
    /// Asks proof about all edges that the recording has.
    pub fn new(seen: &Seen, library: &'a Library, versions: Versions, changes: Changes) -> Self {
        let methods = methods(seen, &versions);
        let mut judge = Self {
            library,
            versions,
            methods,
            sure: Sure::default(),
            edges: HashMap::new(),
            leaves: HashMap::new(),
        };
        judge.ask_all(seen, changes);
        judge
    }

    fn ask_all(&mut self, seen: &Seen, changes: Changes) {
        let mut codes = vec![Code::default(); seen.methods.len()];
        let weights = seen.weights();
        for (node, weight) in seen.nodes.iter().zip(&weights) {
            let Some(above) = node.above.filter(|_| !node.gap) else { continue };
            let (caller, callee) = (seen.node(above).place, seen.place(node.place).method);
            let known = self.edges.get(&(caller, callee)).copied();
            let judged = known.unwrap_or_else(|| self.ask(seen, seen.place(caller), callee));
            self.edges.insert((caller, callee), judged);
            // A line is no place: of another version there may be more in it.
            if judged == Ok(Verdict::Proven) && seen.says == Says::Places {
                self.sure.proven.insert(seen.place(caller).meant());
            }
            if !node.filtered {
                codes[seen.place(caller).method.row()].count(judged, *weight);
            }
        }
        for ((_, _, stack), count) in &seen.counts {
            let Some(leaf) = seen.stacks[stack.row()].leaf else { continue };
            let place = seen.node(leaf).place;
            let judged = self.ask_leaf(seen, place);
            let code = &mut codes[seen.place(place).method.row()];
            code.count(judged.map(|verdict| if verdict.is_refuted() { verdict } else { IN_IT }), *count);
        }
        for (row, code) in codes.iter().enumerate() {
            let (id, method) = (MethodId::of(row), &seen.methods[row]);
            let promised = changes == Changes::None
                && seen.says == Says::Places
                && self.versions.is_promised(method, self.library);
            if changes < Changes::Meanwhile
                && (promised || code.ran(method.is_native))
                && !self.versions.is_ambiguous(method)
            {
                self.sure.known.insert(id);
                if changes == Changes::None && self.versions.is_certain(method) {
                    self.sure.certain.insert(id);
                }
            }
        }
    }

    /// As proof has it.
    pub fn method(&self, method: MethodId) -> &Method {
        &self.methods[method.row()]
    }

    /// True if a refutation of this caller counts.
    pub fn counts(&self, caller: ResolvedFrame, kind: Refutation) -> bool {
        self.sure.counts(caller, kind)
    }

    /// True if the code that it is held to is that which ran.
    pub fn is_known(&self, method: MethodId) -> bool {
        self.sure.known.contains(&method)
    }

    /// Whether the method of this node can have been called by that of the node above.
    pub fn edge(&self, seen: &Seen, node: Node) -> Option<(Edge, Judged)> {
        let (caller, callee) = (seen.node(node.above?).place, seen.place(node.place).method);
        if node.gap {
            return Some(((caller, callee), Err(Unjudged::Unnamed)));
        }
        let judged = self.edges.get(&(caller, callee)).copied().unwrap_or(Err(Unjudged::NotFound));
        let judged = match self.sure(seen, caller, judged) {
            Ok(Verdict::Refuted(_)) if node.filtered => Err(Unjudged::Filtered),
            judged => judged,
        };
        Some(((caller, callee), judged))
    }

    /// Whether a method can have been called from a place, which need not be one of the
    /// recording's.
    pub fn ask(&mut self, seen: &Seen, place: Place, callee: MethodId) -> Judged {
        let version = self.version(seen, place.method);
        let Self { library, versions, methods, .. } = self;
        let (method, callee) = (&methods[place.method.row()], &methods[callee.row()]);
        let mut relation = |versions: &mut Versions, named: &str| relation(versions, library, named, callee);
        let judged = match version {
            Ok(()) | Err(Unjudged::Generated(_)) if callee.descriptor.is_empty() => Err(Unjudged::Overload),
            Ok(()) => {
                Ok(vouch_verify::proof::edge(method, place.bci, callee, |named| relation(versions, named)))
            }
            Err(Unjudged::Generated(rule)) => {
                generated_calls::edge(rule, method, callee, versions, &mut relation)
            }
            Err(why) => Err(why),
        };
        match judged {
            Ok(Verdict::Refuted(_)) if seen.hides() && calls_an_interface(method, place) => {
                Err(Unjudged::Hidden)
            }
            // Flight Recorder adds calls of its own to some of the JDK's methods, and names do not
            // tell that it was there.
            Ok(Verdict::Refuted(_)) if seen.says != Says::Places && callee.in_package("jdk/jfr") => {
                Err(Unjudged::Generated(Rule::FlightRecorder))
            }
            judged => judged,
        }
    }

    /// Whether a method can be there at all.
    pub fn leaf(&mut self, seen: &Seen, leaf: PlaceId) -> Judged {
        if let Some(known) = self.leaves.get(&leaf) {
            return *known;
        }
        let judged = self.sure(seen, leaf, self.ask_leaf(seen, leaf));
        self.leaves.insert(leaf, judged);
        judged
    }

    fn ask_leaf(&self, seen: &Seen, leaf: PlaceId) -> Judged {
        let place = seen.place(leaf);
        self.version(seen, place.method)
            .map(|()| vouch_verify::proof::leaf(self.method(place.method), place.bci))
    }

    /// A verdict by code of which nothing says that it is the very code that ran is no refutation.
    fn sure(&self, seen: &Seen, place: PlaceId, judged: Judged) -> Judged {
        match judged {
            Ok(Verdict::Refuted(kind)) if !self.sure.counts(seen.place(place).meant(), kind) => {
                Err(Unjudged::Unconfirmed)
            }
            judged => judged,
        }
    }

    /// Why there is no class for a method to be held to.
    fn version(&self, seen: &Seen, method: MethodId) -> Result<(), Unjudged> {
        match self.versions.get(seen.method(method)) {
            Version::Ran(_) => Ok(()),
            Version::Other { .. } => Err(Unjudged::OtherVersion),
            Version::Generated(rule) => Err(Unjudged::Generated(*rule)),
            Version::NotFound => Err(Unjudged::NotFound),
        }
    }

    /// The methods, which of them refute, and how the class of one of them stands to one that is
    /// named.
    pub fn apart(&mut self) -> (&[Method], &Sure, impl FnMut(&str, Option<&Method>) -> Relation) {
        let Self { library, versions, methods, sure, .. } = self;
        let relation = |named: &str, callee: Option<&Method>| {
            callee.map_or(Relation::Unknown, |callee| relation(versions, library, named, callee))
        };
        (methods, sure, relation)
    }

    /// True if a class is a `java.lang.Thread`, as far as that can be told.
    pub fn is_thread(&mut self, class: &str) -> Option<bool> {
        let thread = above(&mut self.versions, self.library, class, "java/lang/Thread", None)?;
        Some(matches!(thread, Above::Is))
    }
}

/// By which code a refutation counts.
#[derive(Debug, Default)]
pub struct Sure {
    /// The methods whose code is that which ran.
    known: HashSet<MethodId>,
    /// Those of them whose classes are known to be the ones that were loaded, and as they were
    /// loaded.
    certain: HashSet<MethodId>,
    /// The places of which a call is proven.
    proven: HashSet<ResolvedFrame>,
}

impl Sure {
    /// A class of the JDK's that ran is that. Of any other there may be another version, or
    /// somebody may have changed it: then a call is another one wherever it is seen, and what a
    /// walker has got wrong is right at other times.
    pub fn counts(&self, caller: ResolvedFrame, kind: Refutation) -> bool {
        let Some(method) = MethodId::of_meaning(caller.method()) else { return false };
        let also_right = kind == Refutation::OtherCallee && self.proven.contains(&caller);
        self.known.contains(&method) && (self.certain.contains(&method) || also_right)
    }
}

/// Where a lambda may be called, or what a method is referred to by.
fn calls_an_interface(method: &Method, place: Place) -> bool {
    method.instruction(place.bci).is_some_and(|instruction| instruction.opcode == INVOKEINTERFACE)
}

/// A place, and the method that was called there.
pub type Edge = (PlaceId, MethodId);

/// What a leaf says for its method's code: nothing.
const IN_IT: Verdict = Verdict::Explained(Explanation::Unread);

/// Whether a method's code is that which ran, as the whole recording says.
#[derive(Debug, Clone, Default)]
struct Code {
    proven: bool,
    events: u64,
    refuted: u64,
}

impl Code {
    fn count(&mut self, judged: Judged, events: u64) {
        add(&mut self.events, events);
        match judged {
            Ok(Verdict::Proven | Verdict::Explained(Explanation::NativeCaller)) => self.proven = true,
            Ok(Verdict::Refuted(_)) => add(&mut self.refuted, events),
            _ => {}
        }
    }

    /// No other code would have just that call at just that place; and where most of what is seen
    /// of a method cannot be, somebody has added to it: Flight Recorder itself does, and agents do.
    fn ran(&self, native: bool) -> bool {
        let seldom = self.refuted.saturating_mul(2) < self.events;
        // To a native method nobody adds, and no call of it is ever proven: one that may be is as
        // much.
        if native { self.proven || seldom } else { self.proven && seldom }
    }
}

/// The methods of a recording, with the code that they are held to.
fn methods(seen: &Seen, versions: &Versions) -> Vec<Method> {
    let mut unread: HashMap<Rc<str>, Arc<Class>> = HashMap::new();
    let methods = seen.methods.iter().map(|method| {
        let ran = if let Version::Ran(ran) = versions.get(method) { Some(ran) } else { None };
        let body = match versions.declared(method) {
            Some(declared) => declared.body.clone(),
            None if method.is_native => Body::Native,
            None => Body::Gone(Gone::Unread),
        };
        let unknown = || Arc::new(Class::new(&method.class));
        let class = ran.map(|ran| ran.file.class.clone());
        let class =
            class.unwrap_or_else(|| unread.entry(method.class.clone()).or_insert_with(unknown).clone());
        Method {
            class,
            name: (&*method.name).into(),
            descriptor: (&*method.descriptor).into(),
            is_static: method.is_static,
            body,
        }
    });
    methods.collect()
}

/// How the callee's class stands to the class of a name. Loaders are not known: one name is taken
/// for one class.
fn relation(versions: &mut Versions, library: &Library, named: &str, callee: &Method) -> Relation {
    let named = if named.starts_with('[') { "java/lang/Object" } else { without_hidden_part(named) };
    let theirs = &*callee.class.name;
    for class in [named, theirs] {
        match versions.file(class, library) {
            Some(file) if !file.is_interface => {}
            _ => return Relation::Unknown,
        }
    }
    match above(versions, library, theirs, named, None) {
        Some(Above::Is) => return Relation::Below,
        None => return Relation::Unknown,
        Some(_) => {}
    }
    match above(versions, library, named, theirs, Some(callee)) {
        Some(Above::Is) => Relation::Above,
        Some(Above::Shadowed) => Relation::Shadowed,
        Some(Above::IsNot) => Relation::Unrelated,
        None => Relation::Unknown,
    }
}

enum Above {
    Is,
    IsNot,
    /// It is, and a class before it has the method itself.
    Shadowed,
}

/// Whether a class stands above another, and no class before it has such a method; None if not all
/// of them are known.
fn above(
    versions: &mut Versions,
    library: &Library,
    from: &str,
    wanted: &str,
    method: Option<&Method>,
) -> Option<Above> {
    let (mut next, mut shadowed) = (from.to_owned(), false);
    for _ in 0..DEEPEST {
        if next == wanted {
            return Some(if shadowed { Above::Shadowed } else { Above::Is });
        }
        let file = versions.file(&next, library)?;
        shadowed |= method.is_some_and(|method| file.method(&method.name, &method.descriptor).is_some());
        match &file.superclass {
            Some(above) => next = above.to_string(),
            None => return Some(Above::IsNot),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: Judged = Ok(Verdict::Refuted(Refutation::OtherCallee));

    /// Whether the code of a method is that which ran, by so many events of each kind.
    fn ran(native: bool, events: &[(Judged, u64)]) -> bool {
        let mut code = Code::default();
        for (judged, count) in events {
            code.count(*judged, *count);
        }
        code.ran(native)
    }

    #[test]
    fn a_native_method_is_the_one_that_ran_once_it_is_right_however_often_it_is_not() {
        let right = Ok(Verdict::Explained(Explanation::NativeCaller));
        for native in [true, false] {
            assert_eq!(ran(native, &[(WRONG, 99), (right, 1)]), native, "others may have been added to");
            assert!(ran(native, &[(WRONG, 4), (Ok(Verdict::Proven), 6)]));
            assert!(!ran(native, &[(WRONG, 6), (Ok(IN_IT), 4)]), "nothing speaks for it");
        }
    }
}
