//! Is this text the source of the code that ran?
//!
//! It must never say yes for want of a reason to say no where one could be had: the package is
//! compared, and no code runs in a line that is empty, is a `//` comment, or is not there.

use crate::sources::wanted::Wanted;

/// Why it is not.
#[derive(Debug)]
pub struct Misfit {
    pub why: String,
    /// It is the file, and not as it was when it was compiled.
    pub other_version: bool,
}

/// Why not; `None` if nothing speaks against it. `in_its_package`: it lies in folders of the
/// package's name.
pub fn misfit(text: &str, wanted: &Wanted, in_its_package: bool) -> Option<Misfit> {
    let other_version =
        |why: String| Misfit { why: format!("{why}: another version of the file"), other_version: true };
    let language = Language::of(wanted.name());
    let (package, wanted_package) = (language.package(text), wanted.package());
    let same = match &package {
        // Without a word of its own about it, the place is all there is to go by.
        None if language == Language::Other => in_its_package,
        None => wanted_package.is_empty(),
        // A package object's file lies in the package that it is.
        Some(package) if language == Language::Scala && text.contains("package object") => wanted_package
            .strip_prefix(package.as_str())
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)),
        Some(package) => *package == wanted_package,
    };
    if !same {
        let why = match package {
            Some(package) => format!("is of package {package}"),
            None => "is of no package".to_owned(),
        };
        return Some(Misfit { why, other_version: false });
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if let Some(last) = wanted.lines.last().filter(|_| language != Language::Kotlin)
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
    let line = wanted.lines.iter().find(codeless)?;
    Some(other_version(format!("there is no code in its line {line}, in which some ran")))
}

/// True if `JAVA_VERSION` of a JDK's `release` file is that of a JVM that calls itself `jdk`.
pub fn is_version(jdk: &str, version: &str) -> bool {
    // JDK 8's JVM counts otherwise than its JDK: 25.402 is of 1.8.0_402.
    if let Some(update) = version.strip_prefix("1.8.0_") {
        return jdk.contains(&format!("25.{update}-"));
    }
    let part_of = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    jdk.match_indices(version).any(|(at, _)| {
        let (before, behind) = (&jdk[..at], &jdk[at + version.len()..]);
        !before.ends_with(part_of) && !behind.starts_with(part_of)
    })
}

/// What a file's ending says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Java,
    /// What is inlined has lines behind the file's end.
    Kotlin,
    Scala,
    Groovy,
    Other,
}

impl Language {
    fn of(name: &str) -> Self {
        match name.rsplit('.').next() {
            Some("java") => Self::Java,
            Some("kt") => Self::Kotlin,
            Some("scala") => Self::Scala,
            Some("groovy") => Self::Groovy,
            _ => Self::Other,
        }
    }

    /// The package that a text says it is of.
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
                    // In Scala one clause may follow the other.
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

/// The lines of a text before anything like a string can stand there: without comments, and without
/// the empty ones.
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
