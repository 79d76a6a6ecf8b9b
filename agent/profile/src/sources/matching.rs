//! Checks that a text is the source of the code that ran.
//!
//! The package must be the same. Each line in which code ran must exist, and in Java it must not be
//! empty or a `//` comment. If one of these cannot be checked, the text must not match by default.

use crate::sources::requested::RequestedFile;

/// The reason for rejecting a text.
#[derive(Debug)]
pub struct Misfit {
    pub why: String,
    /// True if the text is the right file in another version.
    pub other_version: bool,
}

/// Returns the reason for rejecting a text, or `None` if the text matches. `is_in_package_folder`
/// is true if the file's folders have the package's name.
pub fn misfit(text: &str, requested: &RequestedFile, is_in_package_folder: bool) -> Option<Misfit> {
    let other_version =
        |why: String| Misfit { why: format!("{why}: another version of the file"), other_version: true };
    let language = Language::from_name(requested.name());
    let (package, requested_package) = (language.package(text), requested.package());
    let same = match &package {
        // These languages declare no package in the text, so only the folder can decide.
        None if language == Language::Other => is_in_package_folder,
        None => requested_package.is_empty(),
        // A package object is in a file of the package with its own name.
        Some(package) if language == Language::Scala && text.contains("package object") => requested_package
            .strip_prefix(package.as_str())
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)),
        Some(package) => *package == requested_package,
    };
    if !same {
        let why = match package {
            Some(package) => format!("is of package {package}"),
            None => "is of no package".to_owned(),
        };
        return Some(Misfit { why, other_version: false });
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if let Some(last) = requested.lines.last().filter(|_| language != Language::Kotlin)
        && usize::try_from(*last).unwrap_or(usize::MAX) > lines.len()
    {
        let lines = lines.len();
        return Some(other_version(format!("code ran in line {last}, and it has {lines}")));
    }
    if language != Language::Java {
        return None;
    }
    let codeless = |line: &&u32| {
        let line = usize::try_from(**line).ok().and_then(|line| lines.get(line.checked_sub(1)?));
        line.is_some_and(|line| line.is_empty() || line.starts_with("//"))
    };
    let line = requested.lines.iter().find(codeless)?;
    Some(other_version(format!("there is no code in its line {line}, in which some ran")))
}

/// True if `version`, the `JAVA_VERSION` of a JDK's `release` file, is the version in `jdk`, the
/// name of a JVM.
pub fn is_version(jdk: &str, version: &str) -> bool {
    // The JVM of JDK 8 has another version number than the JDK: 25.402 belongs to 1.8.0_402.
    if let Some(update) = version.strip_prefix("1.8.0_") {
        return jdk.contains(&format!("25.{update}-"));
    }
    let part_of = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    jdk.match_indices(version).any(|(at, _)| {
        let (before, after) = (&jdk[..at], &jdk[at + version.len()..]);
        !before.ends_with(part_of) && !after.starts_with(part_of)
    })
}

/// The language of a source file, by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Java,
    /// Inlined code has line numbers beyond the end of the file.
    Kotlin,
    Scala,
    Groovy,
    Other,
}

impl Language {
    fn from_name(name: &str) -> Self {
        match name.rsplit('.').next() {
            Some("java") => Self::Java,
            Some("kt") => Self::Kotlin,
            Some("scala") => Self::Scala,
            Some("groovy") => Self::Groovy,
            _ => Self::Other,
        }
    }

    /// Returns the package that a text declares.
    fn package(self, text: &str) -> Option<String> {
        if self == Self::Other {
            return None;
        }
        let mut parts = Vec::new();
        let code = Uncommented { lines: text.lines(), inside: false };
        for line in code {
            let clause = line.strip_prefix("package").filter(|rest| rest.starts_with(char::is_whitespace));
            match clause.map(str::trim_start) {
                Some(name) if !name.starts_with("object ") => {
                    let end =
                        name.find(|c: char| c == ';' || c == '{' || c.is_whitespace()).unwrap_or(name.len());
                    parts.push(name[..end].replace('`', ""));
                    // Scala allows several clauses, which are joined.
                    if self != Self::Scala {
                        break;
                    }
                }
                _ if parts.is_empty() => {}
                _ => break,
            }
        }
        (!parts.is_empty()).then(|| parts.join("."))
    }
}

/// Returns the lines of a text without comments, and without empty lines. It does not recognise
/// strings, so it is for the beginning of a file only.
struct Uncommented<'a> {
    lines: std::str::Lines<'a>,
    inside: bool,
}

impl<'a> Iterator for Uncommented<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let mut line = self.lines.next()?.trim_start_matches('\u{feff}').trim();
            loop {
                if self.inside {
                    let Some(end) = line.find("*/") else { break };
                    self.inside = false;
                    line = line[end + 2..].trim_start();
                } else if line.starts_with("/*") {
                    self.inside = true;
                    line = &line[2..];
                } else {
                    break;
                }
            }
            if self.inside || line.is_empty() || line.starts_with("//") {
                continue;
            }
            let code = line.find("//").map_or(line, |end| line[..end].trim_end());
            if let Some(start) = code.find("/*") {
                self.inside = !code[start..].contains("*/");
                return Some(code[..start].trim_end());
            }
            return Some(code);
        }
    }
}
