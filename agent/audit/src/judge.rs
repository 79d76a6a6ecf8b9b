//! Judges every edge and leaf of a recording by the bytecode, with `vouch_verify::proof`.
//!
//! It must never refute by a class that may not have run. What cannot be judged is reported with a
//! reason.

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

/// The verdicts on all edges and leaves of a recording. An edge is a caller at a bci with its
/// callee.
#[derive(Debug)]
pub struct Judge<'a> {
    library: &'a Library,
    pub versions: Versions,
    /// The methods of the recording in the form that proof needs, by row.
    methods: Vec<Method>,
    trusted: TrustedCode,
    edges: HashMap<Edge, Judged>,
    leaves: HashMap<LocationId, Judged>,
}

impl<'a> Judge<'a> {
    /// Judges all edges of the recording.
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
            // A line does not identify an instruction: another version may have more calls in it.
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

    /// Returns a method in the form that proof needs.
    pub fn method(&self, method: MethodId) -> &Method {
        &self.methods[method.row()]
    }

    /// True if a refutation of a call by this caller can be trusted.
    pub fn counts(&self, caller: ResolvedFrame, kind: Refutation) -> bool {
        self.trusted.counts(caller, kind)
    }

    /// True if the method's code in the library is the code that ran.
    pub fn is_loaded_code(&self, method: MethodId) -> bool {
        self.trusted.loaded.contains(&method)
    }

    /// Returns the edge from a node's caller to the node, with its verdict. Returns `None` for a
    /// root.
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

    /// Judges whether a location can have called a method. Neither of them needs to be in the
    /// recording.
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
            // Flight Recorder adds calls to some of the JDK's methods, and a file of names does not
            // say whether it ran.
            Ok(Verdict::Refuted(_))
                if index.frame_detail != FrameDetail::Bytecode && callee.in_package("jdk/jfr") =>
            {
                Err(Unjudged::Generated(Rule::FlightRecorder))
            }
            judged => judged,
        }
    }

    /// Judges whether a leaf can be at its location.
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

    /// Keeps a refutation only if the code is known to be the code that ran.
    fn only_if_trusted(&self, index: &RecordingIndex, location: LocationId, judged: Judged) -> Judged {
        match judged {
            Ok(Verdict::Refuted(kind)) if !self.trusted.counts(index.location(location).frame(), kind) => {
                Err(Unjudged::Unconfirmed)
            }
            judged => judged,
        }
    }

    /// Checks that the method's class was found. Otherwise returns the reason why it was not.
    fn version(&self, index: &RecordingIndex, method: MethodId) -> Result<(), Unjudged> {
        match self.versions.get(index.method(method)) {
            Version::Loaded(_) => Ok(()),
            Version::Other { .. } => Err(Unjudged::OtherVersion),
            Version::Generated(rule) => Err(Unjudged::Generated(*rule)),
            Version::NotFound => Err(Unjudged::NotFound),
        }
    }

    /// Splits the judge into methods, trusted code, and a function that relates a callee's class to
    /// a named class.
    pub fn split(&mut self) -> (&[Method], &TrustedCode, impl FnMut(&str, Option<&Method>) -> Relation) {
        let Self { library, versions, methods, trusted, .. } = self;
        let relation = |named: &str, callee: Option<&Method>| {
            callee.map_or(Relation::Unknown, |callee| relation(versions, library, named, callee))
        };
        (methods, trusted, relation)
    }

    /// True if a class extends `java.lang.Thread`; `None` if that is unknown.
    pub fn is_thread(&mut self, class: &str) -> Option<bool> {
        let thread = ancestry(&mut self.versions, self.library, class, "java/lang/Thread", None)?;
        Some(matches!(thread, Ancestry::Ancestor))
    }
}

/// The code that can refute a stack, by the reason to believe that it is the code that ran.
#[derive(Debug, Default)]
pub struct TrustedCode {
    /// The methods for which the library has the code that ran.
    loaded: HashSet<MethodId>,
    /// The methods with a class that is certainly the loaded one, unchanged since loading.
    certain: HashSet<MethodId>,
    /// The locations that proof has shown to make a call.
    proven: HashSet<ResolvedFrame>,
}

impl TrustedCode {
    /// Returns true if a refutation of this caller counts. Of a JDK class the library has the
    /// bytecode that ran. Of any other class it may have another version, and then each sample of a
    /// call that differs is refuted. If only some are, the walker is wrong.
    pub fn counts(&self, caller: ResolvedFrame, kind: Refutation) -> bool {
        let Some(method) = MethodId::from_meaning(caller.method()) else { return false };
        let also_right = kind == Refutation::OtherCallee && self.proven.contains(&caller);
        self.loaded.contains(&method) && (self.certain.contains(&method) || also_right)
    }
}

/// True if the location calls an interface, so a lambda may be between caller and callee.
fn is_interface_call(method: &Method, location: CodeLocation) -> bool {
    method.instruction(location.bci).is_some_and(|instruction| instruction.opcode == INVOKEINTERFACE)
}

/// A call site and the method that was called there.
pub type Edge = (LocationId, MethodId);

/// The verdict on a leaf that has nothing to say about its method's code.
const NEUTRAL: Verdict = Verdict::Explained(Explanation::Unread);

/// Evidence from the whole recording on whether a method's code is the code that ran.
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

    /// True if the code is the code that ran. A proven call shows that, since other code would not
    /// have that call at that bci. If most events of a method are refuted, code was added to it, as
    /// Flight Recorder and agents do.
    fn is_loaded_code(&self, native: bool) -> bool {
        let is_rarely_refuted = self.refuted.saturating_mul(2) < self.events;
        // A native method has no bytecode to change, and none of its calls is ever proven. An
        // explained call is enough.
        if native { self.proven || is_rarely_refuted } else { self.proven && is_rarely_refuted }
    }
}

/// Returns the methods of a recording, with their code in the library.
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

/// Returns the relation of a callee's class to a named class. Loaders are unknown, so one name
/// means one class.
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
    /// The named class is an ancestor, and a class in between declares the method itself.
    Shadowed,
}

/// Looks for a class among the superclasses of another. `None` means that a superclass is unknown.
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

    /// True if a method counts as the code that ran after these verdicts, each with its number of
    /// events.
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
