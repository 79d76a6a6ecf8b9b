//! Finds the jar or module of a class, and which of them is the application.

use parking_lot::Mutex;
use vouch_recording::Category;

use crate::jvm::classes::{CodeSource, LoadedClass};
use crate::method::Origin;
use crate::readable;

/// Finds the origin of classes.
#[derive(Debug)]
pub struct Origins {
    has_modules: bool,
    /// The signature of the main class.
    main_class: Option<String>,
    /// The jar or module of the main class, once it is known.
    main_home: Mutex<Option<String>>,
}

impl Origins {
    /// Parses the JVM's command line. `main_module` is the name of the main module, or empty.
    pub fn new(command: &str, main_module: &str, has_modules: bool) -> Self {
        let MainClass { class, home } = MainClass::parse(command, main_module);
        Self {
            has_modules,
            main_class: class.map(|name| format!("L{};", name.replace('.', "/"))),
            main_home: Mutex::new(home),
        }
    }

    /// Returns true for the main class.
    pub fn is_main(&self, signature: &str) -> bool {
        self.main_class.as_deref() == Some(signature)
    }

    /// Finds the origin of a class.
    pub fn find<Kept>(&self, class: &mut dyn LoadedClass<Kept>, signature: &str) -> Origin {
        let module = if self.has_modules { class.module() } else { None };
        let jdk = |resource: Option<String>| Origin { category: Category::Jdk, resource };
        let Some(CodeSource { protocol, path }) = class.code_source() else {
            return match (class.is_of_boot_loader(), module) {
                (true, module) => jdk(module.or_else(|| (!self.has_modules).then(|| "rt.jar".to_owned()))),
                (false, module) => Origin { category: Category::Application, resource: module },
            };
        };
        let is_in_image = protocol == "jrt";
        let name = module.filter(|_| is_in_image).unwrap_or_else(|| last_part(&path).to_owned());
        let is_jar = name.ends_with(".jar");
        if self.is_main(signature)
            && (is_jar || is_in_image && !launches_sources(&readable::class_name(signature)))
        {
            *self.main_home.lock() = Some(name.clone());
        }
        let is_jdk8 = !self.has_modules && (path.contains("/jre/lib/") || path.ends_with("/lib/tools.jar"));
        let is_jdk = is_jdk8 || is_in_image && is_of_jdk(&name);
        let is_with_main = self.main_home.lock().as_deref() == Some(&name);
        Origin { category: category(is_with_main, is_jdk, is_jar || is_in_image), resource: Some(name) }
    }
}

/// The main class of a program, if the command line names it, and its jar or module.
#[derive(Debug, PartialEq, Eq)]
struct MainClass {
    class: Option<String>,
    home: Option<String>,
}

impl MainClass {
    /// Parses the JVM's command line, which is `a.jar`, `class` or `module/class` and arguments.
    /// `module` is the name of the main module, or empty.
    fn parse(command: &str, module: &str) -> Self {
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

/// Returns the category of a class. The jar or module of the main class is the application, even if
/// it is a part of the JDK, such as the compiler. So are classes in folders.
fn category(is_with_main: bool, is_jdk: bool, is_packed: bool) -> Category {
    if is_with_main || !is_jdk && !is_packed {
        Category::Application
    } else if is_jdk {
        Category::Jdk
    } else {
        Category::Library
    }
}

/// Returns true for the class of the JDK that compiles and runs a source file.
fn launches_sources(class: &str) -> bool {
    class.starts_with("com.sun.tools.javac.launcher.")
}

/// Returns true for a module of the JDK. A runtime image may also have modules of the program.
fn is_of_jdk(module: &str) -> bool {
    ["java.", "jdk."].iter().any(|beginning| module.starts_with(beginning))
}

/// Returns the last part of a path. The separators of a nested jar (`app.jar!/lib/x.jar!/`) are
/// removed.
fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '!']).rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_class_is_parsed_from_the_command_line() {
        let started = |command: &str, module: &str| {
            let MainClass { class, home } = MainClass::parse(command, module);
            (class.unwrap_or_default(), home.unwrap_or_default())
        };
        let expected = |class: &str, home: &str| (class.to_owned(), home.to_owned());
        assert_eq!(started("/opt/app.jar -x a/b.jar", ""), expected("", "app.jar"));
        assert_eq!(started("shop.Main x", ""), expected("shop.Main", ""));
        assert_eq!(started("shop/shop.Main", "shop"), expected("shop.Main", "shop"));
        assert_eq!(started("shop", "shop"), expected("shop", "shop"), "the module has the main class");
        let launcher = "com.sun.tools.javac.launcher.SourceLauncher";
        assert_eq!(
            started(&format!("jdk.compiler/{launcher} A.java"), "jdk.compiler"),
            expected(launcher, "")
        );
        assert_eq!(started("", ""), expected("", ""));
    }

    #[test]
    fn the_jar_of_the_main_class_is_the_application() {
        assert_eq!(category(true, true, true), Category::Application, "javac");
        assert_eq!(category(false, true, true), Category::Jdk);
        assert_eq!(category(false, false, true), Category::Library);
        assert_eq!(category(false, false, false), Category::Application, "a folder");
        assert!(is_of_jdk("java.base") && is_of_jdk("jdk.compiler") && !is_of_jdk("javax.app"));
    }

    #[test]
    fn a_jar_is_named_by_the_last_part_of_its_path() {
        assert_eq!(last_part("/opt/app.jar"), "app.jar");
        assert_eq!(last_part("file:/opt/app.jar!/BOOT-INF/lib/x-1.jar!/"), "x-1.jar");
        assert_eq!(last_part("/srv/classes/"), "classes");
    }
}
