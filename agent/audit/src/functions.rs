//! What methods are called in a profile, whose code they are, and where it stands.
//!
//! It must never show a source file that the class file does not name.

use vouch_recording::{Category, Func, FuncId, Recording, source_path};
use vouch_report::is_of_jdk;

use crate::index::{Method, MethodId, Seen};
use crate::judge::Judge;
use crate::run_info::Told;
use crate::versions::{Ran, Version};

/// A method, as a profile shows it.
#[derive(Debug)]
struct Named {
    name: String,
    category: Category,
    /// `com/foo/Bar.java`
    source: Option<String>,
    line: Option<u32>,
    /// The jar, folder or image that its class lies in.
    resource: Option<String>,
}

/// The names of all methods of a recording, by their numbers.
#[derive(Debug)]
pub struct Names(Vec<Named>);

impl Names {
    pub fn of(seen: &Seen, judge: &Judge<'_>, told: &Told) -> Self {
        let main = told.main_class();
        let main = main.as_deref().and_then(|class| Some(home(judge.versions.ran(class)?, class)));
        Self(seen.methods.iter().map(|method| Named::of(method, judge.versions.get(method), main)).collect())
    }

    /// The function of a method in a recording; of a refuted stack, apart from the true one.
    pub fn func(&self, method: MethodId, refuted: bool, recording: &mut Recording) -> FuncId {
        let Some(Named { name, category, source, line, resource }) = self.0.get(method.row()) else {
            return recording.special("[unknown method]", Category::Other);
        };
        let source = source.as_deref().map(|path| recording.source(path));
        let resource = resource.as_deref().map(|name| recording.resource(name));
        let category = if refuted { Category::Refuted } else { *category };
        recording.func(Func { name, category, source, line: *line, resource, java: true })
    }
}

impl Named {
    /// `main` is where the program's main class lies: what lies elsewhere is a library.
    fn of(method: &Method, version: &Version, main: Option<&str>) -> Self {
        let Method { class, name, .. } = method;
        let ran = match version {
            Version::Ran(ran) => Some(ran),
            _ => None,
        };
        let source = ran.and_then(|ran| ran.file.source.as_deref()).map(|file| source_path(class, file));
        let dotted = class.replace('/', ".");
        let category = match ran {
            _ if method.is_native => Category::Native,
            Some(Ran { of_jdk: true, .. }) => Category::Jdk,
            Some(ran) if main.is_some_and(|main| main != home(ran, class)) => Category::Library,
            None if is_of_jdk(&dotted) => Category::Jdk,
            _ => Category::Application,
        };
        let resource = ran.map(|ran| last_part(home(ran, class)).to_owned());
        let declared = ran.and_then(|ran| ran.file.method(name, &method.descriptor));
        Self {
            name: format!("{dotted}.{name}"),
            category,
            source,
            line: declared.and_then(vouch_classes::Declared::first_line).map(u32::from),
            resource,
        }
    }
}

/// The folder, archive or image that a class lies in: one that was found as a file has its own
/// path.
fn home<'r>(ran: &'r Ran, class: &str) -> &'r str {
    let folder = ran.place.strip_suffix(".class").and_then(|path| path.strip_suffix(class));
    folder.map_or(&ran.place, |folder| folder.trim_end_matches('/'))
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}
