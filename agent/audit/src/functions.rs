//! The functions of a profile: each method's name, category, source file and container.
//!
//! It must never show a source file that the class file does not name.

use vouch_recording::{Category, Func, FuncId, Recording, source_path};
use vouch_report::is_of_jdk;

use crate::index::{Method, MethodId, RecordingIndex};
use crate::judge::Judge;
use crate::run_info::RunInfo;
use crate::versions::{LoadedClass, Version};

/// A method as a profile shows it.
#[derive(Debug)]
struct Function {
    name: String,
    category: Category,
    /// The path of the source file, such as `com/foo/Bar.java`.
    source: Option<String>,
    line: Option<u32>,
    /// The jar, folder or image that contains its class.
    resource: Option<String>,
}

/// The functions of all methods of a recording, by method row.
#[derive(Debug)]
pub struct Functions(Vec<Function>);

impl Functions {
    pub fn new(index: &RecordingIndex, judge: &Judge<'_>, run_info: &RunInfo) -> Self {
        let main = run_info.main_class();
        let main = main.as_deref().and_then(|class| Some(container_of(judge.versions.loaded(class)?, class)));
        Self(
            index
                .methods
                .iter()
                .map(|method| Function::new(method, judge.versions.get(method), main))
                .collect(),
        )
    }

    /// Returns the function of a method in a profile. Refuted stacks have separate functions.
    pub fn func(&self, method: MethodId, refuted: bool, recording: &mut Recording) -> FuncId {
        let Some(Function { name, category, source, line, resource }) = self.0.get(method.row()) else {
            return recording.placeholder_func("[unknown method]", Category::Other);
        };
        let source = source.as_deref().map(|path| recording.source(path));
        let resource = resource.as_deref().map(|name| recording.resource(name));
        let category = if refuted { Category::Refuted } else { *category };
        recording.func(Func { name, category, source, line: *line, resource, java: true })
    }
}

impl Function {
    /// Describes a method. `main` is the container of the main class; classes in other containers
    /// are libraries.
    fn new(method: &Method, version: &Version, main: Option<&str>) -> Self {
        let Method { class, name, .. } = method;
        let loaded = match version {
            Version::Loaded(loaded) => Some(loaded),
            _ => None,
        };
        let source =
            loaded.and_then(|loaded| loaded.file.source.as_deref()).map(|file| source_path(class, file));
        let dotted = class.replace('/', ".");
        let category = match loaded {
            _ if method.is_native => Category::Native,
            Some(LoadedClass { of_jdk: true, .. }) => Category::Jdk,
            Some(loaded) if main.is_some_and(|main| main != container_of(loaded, class)) => Category::Library,
            None if is_of_jdk(&dotted) => Category::Jdk,
            _ => Category::Application,
        };
        let resource = loaded.map(|loaded| last_part(container_of(loaded, class)).to_owned());
        let declared = loaded.and_then(|loaded| loaded.file.method(name, &method.descriptor));
        Self {
            name: format!("{dotted}.{name}"),
            category,
            source,
            line: declared.and_then(vouch_classes::DeclaredMethod::first_line).map(u32::from),
            resource,
        }
    }
}

/// Returns the folder, archive or image that contains a class. A class file in a folder was found
/// under its own path.
fn container_of<'r>(loaded: &'r LoadedClass, class: &str) -> &'r str {
    let folder = loaded.location.strip_suffix(".class").and_then(|path| path.strip_suffix(class));
    folder.map_or(&loaded.location, |folder| folder.trim_end_matches('/'))
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}
