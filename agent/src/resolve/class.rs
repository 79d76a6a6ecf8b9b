//! A class and its methods as a profile shows them, and where the class came from.

use std::sync::Arc;

use jni::JNIEnv;
use jni::objects::{JObject, WeakRef};
use parking_lot::Mutex;
use vouch_recording::Category;
use vouch_sample::MethodId;
use vouch_verify::proof::without_hidden_part;

use crate::facade::{Jvmti, LineEntry};
use crate::java;
use crate::resolve::readable;

/// A class.
#[derive(Debug)]
pub struct Class {
    /// As a person writes it: `com.foo.Bar$Inner`.
    pub name: String,
    /// As its own class file has it, but for a hidden class: `com/foo/Bar$Inner`.
    pub binary: Box<str>,
    /// It is a hidden class, or what was one before JDK 15.
    pub hidden: bool,
    /// `com/foo/Bar.java`
    pub source: Option<String>,
    pub origin: Origin,
    /// Where to ask more about it, while it is there.
    pub handle: Handle,
}

/// How a class is found again.
pub enum Handle {
    /// It is never unloaded: by any of its methods.
    Stays,
    /// It may be gone.
    May(WeakRef),
    /// It cannot be found again.
    Gone,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stays => "Stays",
            Self::May(_) => "May",
            Self::Gone => "Gone",
        })
    }
}

/// Where a class came from.
#[derive(Debug, Clone)]
pub struct Origin {
    pub category: Category,
    /// The jar, folder or module.
    pub resource: Option<String>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { category: Category::Application, resource: None }
    }
}

/// A method. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Method {
    /// The id that the JVM knows it by: it may be asked about only while a reference to the class
    /// is held.
    pub id: MethodId,
    pub class: Arc<Class>,
    pub name: Arc<str>,
    pub descriptor: Arc<str>,
    pub lines: Arc<[LineEntry]>,
}

impl Class {
    pub fn new(signature: &str, source: Option<String>, origin: Origin, handle: Handle) -> Self {
        let binary = without_hidden_part(readable::binary_name(signature)).into();
        let hidden = readable::is_hidden(signature);
        Self { name: readable::class_name(signature), binary, hidden, source, origin, handle }
    }
}

impl Method {
    /// `com.foo.Bar.baz`
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.class.name, self.name)
    }

    /// `Bar.baz`
    pub fn short_name(&self) -> String {
        let class = self.class.name.rsplit('.').next().unwrap_or_default();
        format!("{class}.{}", self.name)
    }

    /// The line that the code at `bci` belongs to; none for a native method's.
    pub fn line(&self, bci: i32) -> Option<u32> {
        // -1 is a method's entry, before its first instruction; HotSpot looks for its line in the
        // same way.
        let bci = u16::try_from(if bci == -1 { 0 } else { bci }).ok()?;
        let after = self.lines.partition_point(|entry| entry.start <= bci);
        self.lines.get(after.checked_sub(1)?).map(|entry| entry.line.into())
    }

    /// The first line that any of its code belongs to.
    pub fn first_line(&self) -> Option<u32> {
        self.lines.iter().map(|entry| entry.line.into()).min()
    }
}

/// Tells where classes come from.
#[derive(Debug)]
pub struct Origins {
    has_modules: bool,
    /// The program may have a SecurityManager, which is asked before it is told where a class comes
    /// from.
    is_guarded: bool,
    /// The signature of the class whose `main` was started, and its jar or module once that is
    /// known.
    main_class: Option<String>,
    main_home: Mutex<Option<String>>,
}

impl Origins {
    pub fn of(jvmti: Jvmti) -> Self {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let Started { class, home } =
            Started::of(&property(c"sun.java.command"), &property(c"jdk.module.main"));
        Self {
            has_modules: jvmti.jdk().is_none_or(|jdk| jdk >= 9),
            is_guarded: jvmti.jdk().is_none_or(|jdk| jdk < 24),
            main_class: class.map(|name| format!("L{};", name.replace('.', "/"))),
            main_home: Mutex::new(home),
        }
    }

    /// True for the class whose `main` was started.
    pub fn is_main(&self, signature: &str) -> bool {
        self.main_class.as_deref() == Some(signature)
    }

    /// Asks the class. Runs a little of the JDK's own code, and none of the program's.
    pub fn ask(&self, env: &mut JNIEnv<'_>, class: &JObject<'_>, signature: &str) -> Origin {
        let module = if self.has_modules { module_name(env, class) } else { None };
        let jdk = |resource: Option<String>| Origin { category: Category::Jdk, resource };
        let Some((protocol, path)) = code_source(env, class, self.is_guarded) else {
            let ask = if self.is_guarded { "getClassLoader0" } else { "getClassLoader" };
            let boot = java::ask(env, class, ask, "Ljava/lang/ClassLoader;").is_none();
            return match (boot, module) {
                (true, module) => jdk(module.or_else(|| (!self.has_modules).then(|| "rt.jar".to_owned()))),
                (false, module) => Origin { category: Category::Application, resource: module },
            };
        };
        let of_image = protocol == "jrt";
        let name = module.filter(|_| of_image).unwrap_or_else(|| last_part(&path).to_owned());
        let jar = name.ends_with(".jar");
        if self.is_main(signature) && (jar || of_image && !launches_sources(&readable::class_name(signature)))
        {
            *self.main_home.lock() = Some(name.clone());
        }
        let jdk8 = !self.has_modules && (path.contains("/jre/lib/") || path.ends_with("/lib/tools.jar"));
        let of_jdk = jdk8 || of_image && is_of_jdk(&name);
        let at_home = self.main_home.lock().as_deref() == Some(&name);
        Origin { category: category(at_home, of_jdk, jar || of_image), resource: Some(name) }
    }
}

/// What a program was started with: its main class as far as that is said, and the jar or module
/// that it lies in.
#[derive(Debug, PartialEq, Eq)]
struct Started {
    class: Option<String>,
    home: Option<String>,
}

impl Started {
    /// From the command line as the JVM has it, `a.jar`, `class` or `module/class` and arguments,
    /// and from the name of the main module.
    fn of(command: &str, module: &str) -> Self {
        let first = command.split(' ').next().unwrap_or_default();
        if first.ends_with(".jar") {
            return Self { class: None, home: Some(last_part(first).to_owned()) };
        }
        let class = last_part(first);
        let home = Some(module).filter(|module| !module.is_empty() && !launches_sources(class));
        Self {
            class: Some(class.to_owned()).filter(|class| !class.is_empty()),
            home: home.map(str::to_owned),
        }
    }
}

/// What a program was started with is the program, also if it is the JDK's compiler; so is what
/// lies in folders.
fn category(at_home: bool, of_jdk: bool, packed: bool) -> Category {
    if at_home || !of_jdk && !packed {
        Category::Application
    } else if of_jdk {
        Category::Jdk
    } else {
        Category::Library
    }
}

/// What compiles a source file that was named in place of a class, and calls it.
fn launches_sources(class: &str) -> bool {
    class.starts_with("com.sun.tools.javac.launcher.")
}

/// A runtime image may hold the program's own modules, too.
fn is_of_jdk(module: &str) -> bool {
    ["java.", "jdk."].iter().any(|beginning| module.starts_with(beginning))
}

fn module_name(env: &mut JNIEnv<'_>, class: &JObject<'_>) -> Option<String> {
    let module = java::ask(env, class, "getModule", "Ljava/lang/Module;")?;
    let name = java::ask(env, &module, "getName", "Ljava/lang/String;")?;
    java::text(env, name)
}

/// Protocol and path of the class's code source. The getters read fields; no handler of the
/// program's is asked, nor, by what lies below, a SecurityManager of its own.
fn code_source(env: &mut JNIEnv<'_>, class: &JObject<'_>, is_guarded: bool) -> Option<(String, String)> {
    let ask = if is_guarded { "getProtectionDomain0" } else { "getProtectionDomain" };
    let domain = java::ask(env, class, ask, "Ljava/security/ProtectionDomain;")?;
    let source = java::ask(env, &domain, "getCodeSource", "Ljava/security/CodeSource;")?;
    let location = java::ask(env, &source, "getLocation", "Ljava/net/URL;")?;
    let protocol = java::ask(env, &location, "getProtocol", "Ljava/lang/String;")?;
    let path = java::ask(env, &location, "getPath", "Ljava/lang/String;")?;
    Some((java::text(env, protocol)?, java::text(env, path)?))
}

/// The last part of a path, with the marks of a nested jar (`app.jar!/lib/x.jar!/`) taken off.
fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '!']).rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_last_one_that_begins_before_the_bci() {
        let lines = [(0, 10), (4, 12), (9, 11)];
        let lines: Arc<[LineEntry]> =
            lines.into_iter().map(|(start, line)| LineEntry { start, line }).collect();
        let class = Arc::new(Class::new("LA;", None, Origin::default(), Handle::Stays));
        let method = Method { id: MethodId(1), class, name: "m".into(), descriptor: "()V".into(), lines };
        assert_eq!(method.line(0), Some(10));
        assert_eq!(method.line(8), Some(12));
        assert_eq!(method.line(60_000), Some(11));
        assert_eq!(method.line(-1), Some(10), "the entry is on the first line");
        assert_eq!(method.line(-3), None, "a native method has no line");
        assert_eq!(method.first_line(), Some(10));
    }

    #[test]
    fn what_was_started_is_known_by_its_command_line() {
        let started = |command: &str, module: &str| {
            let Started { class, home } = Started::of(command, module);
            (class.unwrap_or_default(), home.unwrap_or_default())
        };
        let told = |class: &str, home: &str| (class.to_owned(), home.to_owned());
        assert_eq!(started("/opt/app.jar -x a/b.jar", ""), told("", "app.jar"));
        assert_eq!(started("shop.Main x", ""), told("shop.Main", ""));
        assert_eq!(started("shop/shop.Main", "shop"), told("shop.Main", "shop"));
        assert_eq!(started("shop", "shop"), told("shop", "shop"), "its main class is the module's to say");
        let launcher = "com.sun.tools.javac.launcher.SourceLauncher";
        assert_eq!(started(&format!("jdk.compiler/{launcher} A.java"), "jdk.compiler"), told(launcher, ""));
        assert_eq!(started("", ""), told("", ""));
    }

    #[test]
    fn what_was_started_is_the_program() {
        assert_eq!(category(true, true, true), Category::Application, "javac");
        assert_eq!(category(false, true, true), Category::Jdk);
        assert_eq!(category(false, false, true), Category::Library);
        assert_eq!(category(false, false, false), Category::Application, "a folder");
        assert!(is_of_jdk("java.base") && is_of_jdk("jdk.compiler") && !is_of_jdk("javax.app"));
    }

    #[test]
    fn a_jar_is_known_by_its_last_part() {
        assert_eq!(last_part("/opt/app.jar"), "app.jar");
        assert_eq!(last_part("file:/opt/app.jar!/BOOT-INF/lib/x-1.jar!/"), "x-1.jar");
        assert_eq!(last_part("/srv/classes/"), "classes");
    }
}
