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
use crate::index::{CodeLocation, FrameDetail, LocationId, MethodId, Node, RecordingIndex, add};
use crate::run_info::Changes;
use crate::unjudged::{Judged, Unjudged};
use crate::versions::{MAX_SUPERCLASSES, Version, Versions};

/// All edges, with what is to be said of them.
#[derive(Debug)]
pub struct Judge<'a> {
    library: &'a Library,
    pub versions: Versions,
    /// As proof has them, by number.
    methods: Vec<Method>,
    trusted: TrustedCode,
    edges: HashMap<Edge, Judged>,
    leaves: HashMap<LocationId, Judged>,
}

impl<'a> Judge<'a> {
    /// Asks proof about all edges that the recording has.
    pub fn new(index: &RecordingIndex, library: &'a Library, versions: Versions, changes: Changes) -> Self {
        let methods = methods(index, &versions);
        let mut judge = Self {
            library,
            versions,
            methods,
            trusted: TrustedCode::default(),
            edges: HashMap::new(),
            leaves: HashMap::new(),
        };
        judge.judge_all(index, changes);
        judge
    }

    fn judge_all(&mut self, index: &RecordingIndex, changes: Changes) {
        let mut codes = vec![CodeEvidence::default(); index.methods.len()];
        let weights = index.weights();
        for (node, weight) in index.nodes.iter().zip(&weights) {
            let Some(caller) = node.caller.filter(|_| !node.gap) else { continue };
            let (caller, callee) = (index.node(caller).location, index.location(node.location).method);
            let known = self.edges.get(&(caller, callee)).copied();
            let judged = known.unwrap_or_else(|| self.judge_edge(index, index.location(caller), callee));
            self.edges.insert((caller, callee), judged);
            // A line is no place: of another version there may be more in it.
            if judged == Ok(Verdict::Proven) && index.frame_detail == FrameDetail::Bytecode {
                self.trusted.proven.insert(index.location(caller).frame());
            }
            if !node.filtered {
                codes[index.location(caller).method.row()].count(judged, *weight);
            }
        }
        for ((_, _, stack), count) in &index.counts {
            let Some(leaf) = index.stacks[stack.row()].leaf else { continue };
            let location = index.node(leaf).location;
            let judged = self.judge_leaf(index, location);
            let code = &mut codes[index.location(location).method.row()];
            code.count(judged.map(|verdict| if verdict.is_refuted() { verdict } else { NEUTRAL }), *count);
        }
        for (row, code) in codes.iter().enumerate() {
            let (id, method) = (MethodId::from_row(row), &index.methods[row]);
            let promised = changes == Changes::None
                && index.frame_detail == FrameDetail::Bytecode
                && self.versions.is_declared_exact(method, self.library);
            if changes < Changes::Meanwhile
                && (promised || code.is_loaded_code(method.is_native))
                && !self.versions.is_ambiguous(method)
            {
                self.trusted.loaded.insert(id);
                if changes == Changes::None && self.versions.is_certain(method) {
                    self.trusted.certain.insert(id);
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
        self.trusted.counts(caller, kind)
    }

    /// True if the code that it is held to is that which ran.
    pub fn is_loaded_code(&self, method: MethodId) -> bool {
        self.trusted.loaded.contains(&method)
    }

    /// Whether the method of this node can have been called by that of the node above.
    pub fn edge(&self, index: &RecordingIndex, node: Node) -> Option<(Edge, Judged)> {
        let (caller, callee) = (index.node(node.caller?).location, index.location(node.location).method);
        if node.gap {
            return Some(((caller, callee), Err(Unjudged::Unnamed)));
        }
        let judged = self.edges.get(&(caller, callee)).copied().unwrap_or(Err(Unjudged::NotFound));
        let judged = match self.only_if_trusted(index, caller, judged) {
            Ok(Verdict::Refuted(_)) if node.filtered => Err(Unjudged::Filtered),
            judged => judged,
        };
        Some(((caller, callee), judged))
    }

    /// Whether a method can have been called from a place, which need not be one of the
    /// recording's.
    pub fn judge_edge(&mut self, index: &RecordingIndex, location: CodeLocation, callee: MethodId) -> Judged {
        let version = self.version(index, location.method);
        let Self { library, versions, methods, .. } = self;
        let (method, callee) = (&methods[location.method.row()], &methods[callee.row()]);
        let mut relation = |versions: &mut Versions, named: &str| relation(versions, library, named, callee);
        let judged = match version {
            Ok(()) | Err(Unjudged::Generated(_)) if callee.descriptor.is_empty() => Err(Unjudged::Overload),
            Ok(()) => {
                Ok(vouch_verify::proof::edge(method, location.bci, callee, |named| relation(versions, named)))
            }
            Err(Unjudged::Generated(rule)) => {
                generated_calls::edge(rule, method, callee, versions, &mut relation)
            }
            Err(why) => Err(why),
        };
        match judged {
            Ok(Verdict::Refuted(_)) if index.hides_lambda_frames() && is_interface_call(method, location) => {
                Err(Unjudged::Hidden)
            }
            // Flight Recorder adds calls of its own to some of the JDK's methods, and names do not
            // tell that it was there.
            Ok(Verdict::Refuted(_))
                if index.frame_detail != FrameDetail::Bytecode && callee.in_package("jdk/jfr") =>
            {
                Err(Unjudged::Generated(Rule::FlightRecorder))
            }
            judged => judged,
        }
    }

    /// Whether a method can be there at all.
    pub fn leaf(&mut self, index: &RecordingIndex, leaf: LocationId) -> Judged {
        if let Some(known) = self.leaves.get(&leaf) {
            return *known;
        }
        let judged = self.only_if_trusted(index, leaf, self.judge_leaf(index, leaf));
        self.leaves.insert(leaf, judged);
        judged
    }

    fn judge_leaf(&self, index: &RecordingIndex, leaf: LocationId) -> Judged {
        let location = index.location(leaf);
        self.version(index, location.method)
            .map(|()| vouch_verify::proof::leaf(self.method(location.method), location.bci))
    }

    /// A verdict by code of which nothing says that it is the very code that ran is no refutation.
    fn only_if_trusted(&self, index: &RecordingIndex, location: LocationId, judged: Judged) -> Judged {
        match judged {
            Ok(Verdict::Refuted(kind)) if !self.trusted.counts(index.location(location).frame(), kind) => {
                Err(Unjudged::Unconfirmed)
            }
            judged => judged,
        }
    }

    /// Why there is no class for a method to be held to.
    fn version(&self, index: &RecordingIndex, method: MethodId) -> Result<(), Unjudged> {
        match self.versions.get(index.method(method)) {
            Version::Loaded(_) => Ok(()),
            Version::Other { .. } => Err(Unjudged::OtherVersion),
            Version::Generated(rule) => Err(Unjudged::Generated(*rule)),
            Version::NotFound => Err(Unjudged::NotFound),
        }
    }

    /// The methods, which of them refute, and how the class of one of them stands to one that is
    /// named.
    pub fn split(&mut self) -> (&[Method], &TrustedCode, impl FnMut(&str, Option<&Method>) -> Relation) {
        let Self { library, versions, methods, trusted, .. } = self;
        let relation = |named: &str, callee: Option<&Method>| {
            callee.map_or(Relation::Unknown, |callee| relation(versions, library, named, callee))
        };
        (methods, trusted, relation)
    }

    /// True if a class is a `java.lang.Thread`, as far as that can be told.
    pub fn is_thread(&mut self, class: &str) -> Option<bool> {
        let thread = ancestry(&mut self.versions, self.library, class, "java/lang/Thread", None)?;
        Some(matches!(thread, Ancestry::Ancestor))
    }
}

/// By which code a refutation counts.
#[derive(Debug, Default)]
pub struct TrustedCode {
    /// The methods whose code is that which ran.
    loaded: HashSet<MethodId>,
    /// Those of them whose classes are known to be the ones that were loaded, and as they were
    /// loaded.
    certain: HashSet<MethodId>,
    /// The places of which a call is proven.
    proven: HashSet<ResolvedFrame>,
}

impl TrustedCode {
    /// A class of the JDK's that ran is that. Of any other there may be another version, or
    /// somebody may have changed it: then a call is another one wherever it is seen, and what a
    /// walker has got wrong is right at other times.
    pub fn counts(&self, caller: ResolvedFrame, kind: Refutation) -> bool {
        let Some(method) = MethodId::from_meaning(caller.method()) else { return false };
        let also_right = kind == Refutation::OtherCallee && self.proven.contains(&caller);
        self.loaded.contains(&method) && (self.certain.contains(&method) || also_right)
    }
}

/// Where a lambda may be called, or what a method is referred to by.
fn is_interface_call(method: &Method, location: CodeLocation) -> bool {
    method.instruction(location.bci).is_some_and(|instruction| instruction.opcode == INVOKEINTERFACE)
}

/// A place, and the method that was called there.
pub type Edge = (LocationId, MethodId);

/// What a leaf says for its method's code: nothing.
const NEUTRAL: Verdict = Verdict::Explained(Explanation::Unread);

/// Whether a method's code is that which ran, as the whole recording says.
#[derive(Debug, Clone, Default)]
struct CodeEvidence {
    proven: bool,
    events: u64,
    refuted: u64,
}

impl CodeEvidence {
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
    fn is_loaded_code(&self, native: bool) -> bool {
        let is_rarely_refuted = self.refuted.saturating_mul(2) < self.events;
        // To a native method nobody adds, and no call of it is ever proven: one that may be is as
        // much.
        if native { self.proven || is_rarely_refuted } else { self.proven && is_rarely_refuted }
    }
}

/// The methods of a recording, with the code that they are held to.
fn methods(index: &RecordingIndex, versions: &Versions) -> Vec<Method> {
    let mut unread: HashMap<Rc<str>, Arc<Class>> = HashMap::new();
    let methods = index.methods.iter().map(|method| {
        let loaded = if let Version::Loaded(loaded) = versions.get(method) { Some(loaded) } else { None };
        let body = match versions.declared(method) {
            Some(declared) => declared.body.clone(),
            None if method.is_native => Body::Native,
            None => Body::Gone(Gone::Unread),
        };
        let unknown = || Arc::new(Class::new(&method.class));
        let class = loaded.map(|loaded| loaded.file.class.clone());
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
    let callee_class = &*callee.class.name;
    for class in [named, callee_class] {
        match versions.file(class, library) {
            Some(file) if !file.is_interface => {}
            _ => return Relation::Unknown,
        }
    }
    match ancestry(versions, library, callee_class, named, None) {
        Some(Ancestry::Ancestor) => return Relation::Below,
        None => return Relation::Unknown,
        Some(_) => {}
    }
    match ancestry(versions, library, named, callee_class, Some(callee)) {
        Some(Ancestry::Ancestor) => Relation::Above,
        Some(Ancestry::Shadowed) => Relation::Shadowed,
        Some(Ancestry::NotAncestor) => Relation::Unrelated,
        None => Relation::Unknown,
    }
}

enum Ancestry {
    Ancestor,
    NotAncestor,
    /// It is, and a class before it has the method itself.
    Shadowed,
}

/// Whether a class stands above another, and no class before it has such a method; None if not all
/// of them are known.
fn ancestry(
    versions: &mut Versions,
    library: &Library,
    from: &str,
    wanted: &str,
    method: Option<&Method>,
) -> Option<Ancestry> {
    let (mut next, mut shadowed) = (from.to_owned(), false);
    for _ in 0..MAX_SUPERCLASSES {
        if next == wanted {
            return Some(if shadowed { Ancestry::Shadowed } else { Ancestry::Ancestor });
        }
        let file = versions.file(&next, library)?;
        shadowed |= method.is_some_and(|method| file.method(&method.name, &method.descriptor).is_some());
        match &file.superclass {
            Some(above) => next = above.to_string(),
            None => return Some(Ancestry::NotAncestor),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUTED: Judged = Ok(Verdict::Refuted(Refutation::OtherCallee));

    /// Whether the code of a method is that which ran, by so many events of each kind.
    fn is_loaded_code(native: bool, events: &[(Judged, u64)]) -> bool {
        let mut code = CodeEvidence::default();
        for (judged, count) in events {
            code.count(*judged, *count);
        }
        code.is_loaded_code(native)
    }

    #[test]
    fn one_explained_call_is_enough_evidence_for_a_native_method() {
        let right = Ok(Verdict::Explained(Explanation::NativeCaller));
        for native in [true, false] {
            assert_eq!(
                is_loaded_code(native, &[(REFUTED, 99), (right, 1)]),
                native,
                "others may have been added to"
            );
            assert!(is_loaded_code(native, &[(REFUTED, 4), (Ok(Verdict::Proven), 6)]));
            assert!(!is_loaded_code(native, &[(REFUTED, 6), (Ok(NEUTRAL), 4)]), "nothing speaks for it");
        }
    }
}
