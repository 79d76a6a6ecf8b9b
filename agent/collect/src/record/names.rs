//! Maps a walk's frames to functions and lines of the recording.

use foldhash::{HashMap, HashSet};
use vouch_recording::{Category, FrameId, Func, FuncId, Leaf, Recording};
use vouch_sample::{NATIVE, ResolvedFrame, ResolvedMethod};

use crate::choices::FunctionNames;
use crate::jvm::Jvm;
use crate::method::Method;

/// Finds the recording's function for each method.
#[derive(Debug)]
pub struct Names {
    wish: FunctionNames,
    /// The functions by their method, and by whether the frame is native.
    known: HashMap<(ResolvedMethod, bool), (Method, FuncId)>,
    nameless: HashSet<ResolvedMethod>,
}

impl Names {
    pub fn new(wish: FunctionNames) -> Self {
        Self { wish, known: HashMap::default(), nameless: HashSet::default() }
    }

    /// Returns the recording's function and the line for a frame of a walk.
    pub fn func(
        &mut self,
        recording: &mut Recording,
        frame: ResolvedFrame,
        jvm: &mut dyn Jvm,
    ) -> (FuncId, Option<u32>) {
        let native = frame.bci() == NATIVE;
        if let Some((method, func)) = self.known.get(&(frame.method(), native)) {
            return (*func, method.line(frame.bci()));
        }
        let Some(method) = jvm.method(frame.method()) else {
            self.nameless.insert(frame.method());
            return (recording.placeholder_func("[unknown method]", Category::Other), None);
        };
        let category = if native { Category::Native } else { method.class.origin.category };
        let func = self.func_of(recording, &method, category);
        let line = method.line(frame.bci());
        self.known.insert((frame.method(), native), (method, func));
        (func, line)
    }

    /// True if the function of a frame has its name, which is final.
    pub fn is_named(&self, frame: ResolvedFrame) -> bool {
        self.known.contains_key(&(frame.method(), frame.bci() == NATIVE))
    }

    /// Returns the recording's frame for a frame of a refuted stack. Its function is a separate
    /// one, so that no view merges it with the real one.
    pub fn refuted_frame(
        &self,
        recording: &mut Recording,
        frame: ResolvedFrame,
        jvm: &mut dyn Jvm,
    ) -> FrameId {
        let Some(method) = jvm.method(frame.method()) else {
            let func = recording.placeholder_func("[unknown method]", Category::Refuted);
            return recording.frame(func, None);
        };
        let func = self.func_of(recording, &method, Category::Refuted);
        recording.frame(func, method.line(frame.bci()))
    }

    /// Returns the recording's frame for the leaf of samples, with their state.
    pub fn leaf(
        &mut self,
        recording: &mut Recording,
        frame: ResolvedFrame,
        leaf: Leaf,
        jvm: &mut dyn Jvm,
    ) -> FrameId {
        let (func, line) = self.func(recording, frame, jvm);
        recording.leaf_frame(func, line, leaf)
    }

    fn func_of(&self, recording: &mut Recording, method: &Method, category: Category) -> FuncId {
        let class = &method.class;
        let source = class.source.as_deref().map(|path| recording.source(path));
        let resource = class.origin.resource.as_deref().map(|name| recording.resource(name));
        let name = match self.wish {
            // Without a source file, only the full name distinguishes classes of the same short
            // name.
            FunctionNames::Short if source.is_some() => method.short_name(),
            _ => method.full_name(),
        };
        let line = method.first_line();
        recording.func(Func { name: &name, category, source, line, resource, java: true })
    }

    /// Returns the number of methods for which no name is known.
    pub fn lost(&self) -> u64 {
        self.nameless.len() as u64
    }
}
