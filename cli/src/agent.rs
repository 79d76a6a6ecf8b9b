//! Finds the agent's library for a JVM of either C library: beside this program, or in the folders
//! of a release.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::say::seen;

/// The environment variable that names the agent's library, if it is in another folder.
const VARIABLE: &str = "VOUCH_AGENT";
pub const NAME: &str = "libvouch.so";

/// The C library of a JVM. A library that is built for one cannot be loaded into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    Glibc,
    Musl,
}

impl fmt::Display for Libc {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Glibc => "glibc",
            Self::Musl => "musl",
        })
    }
}

impl Libc {
    /// Returns the C library of a process, by the path of a file that it has loaded. musl is one
    /// file, its loader, with either of two names.
    pub fn of_loaded(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        if name == "libc.so" || name.starts_with("ld-musl-") {
            return Some(Self::Musl);
        }
        (name.starts_with("libc.so.6") || name.starts_with("ld-linux")).then_some(Self::Glibc)
    }

    /// Returns the C library of a program. If it is unknown, it is the one that this system's
    /// programs use.
    pub fn of_program(program: &Path) -> Self {
        Self::of_file(program).unwrap_or_else(Self::of_this_system)
    }

    /// Returns the C library of a program or a library, by the names near the file's beginning.
    /// Returns `None` for a script, and for a file that needs no C library.
    fn of_file(file: &Path) -> Option<Self> {
        const NEAR: u64 = 1 << 16;
        let mut start = Vec::new();
        File::open(on_path(file)?).ok()?.take(NEAR).read_to_end(&mut start).ok()?;
        start
            .strip_prefix(b"\x7fELF")?
            .split(|byte| *byte == 0)
            .find_map(|text| Self::of_loaded(std::str::from_utf8(text).ok()?))
    }

    /// Returns the C library that most programs on this machine use.
    pub fn of_this_system() -> Self {
        Self::of_file(Path::new("/bin/sh")).unwrap_or(Self::Glibc)
    }
}

/// Returns the text by which the user can call this program: its name, or its path if PATH does not
/// lead to it.
pub fn command() -> String {
    let name = "vouch";
    if on_path(Path::new(name)).is_some() {
        return name.to_owned();
    }
    let program = std::env::current_exe().ok().filter(|program| program.ends_with(name));
    program.map_or_else(|| name.to_owned(), |program| seen(&program))
}

/// Returns the `java` in JAVA_HOME, or the one that a shell would run.
pub fn java() -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/java"));
    home.filter(|java| is_program(java)).or_else(|| on_path(Path::new("java")))
}

/// Returns the `java` in the folder of a program, such as another program of the JDK.
pub fn java_beside(program: &Path) -> Option<PathBuf> {
    Some(on_path(program)?.canonicalize().ok()?.with_file_name("java")).filter(|java| is_program(java))
}

/// Returns the file that a shell would run for this name.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns the absolute path of the agent's library for a JVM with this C library.
pub fn library(libc: Libc) -> Result<PathBuf, Error> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        return match Libc::of_file(&named) {
            Some(other) if other != libc => Err(Error::NamedAgentLibc {
                variable: VARIABLE,
                path: named,
                other: other.to_string(),
                libc: libc.to_string(),
            }),
            _ => {
                named.canonicalize().map_err(|_| Error::NamedAgentMissing { variable: VARIABLE, path: named })
            }
        };
    }
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    let program = program.map_err(Error::OwnPath)?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [beside.to_owned(), beside.with_file_name("lib")];
    let mut places = places.iter().flat_map(|folder| [folder.join(NAME), folder.join("musl").join(NAME)]);
    places.find(|place| Libc::of_file(place) == Some(libc)).ok_or_else(|| Error::NoAgent {
        libc: libc.to_string(),
        bin: beside.to_owned(),
        lib: beside.with_file_name("lib"),
        variable: VARIABLE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_of_a_program_is_found() {
        let file = std::env::temp_dir().join(format!("vouch-libc-{}", std::process::id()));
        let told = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            Libc::of_file(&file)
        };
        let of = |loader: &str| [b"\x7fELF\x02\x01\x01\0\0@\0", loader.as_bytes(), b"\0\0GNU\0"].concat();
        assert_eq!(told(&of("/lib/ld-musl-x86_64.so.1")), Some(Libc::Musl));
        assert_eq!(told(&of("/lib64/ld-linux-x86-64.so.2")), Some(Libc::Glibc));
        assert_eq!(told(&of("/lib/ld-linux-aarch64.so.1")), Some(Libc::Glibc));
        // A program without a loader needs no C library, and a script is no program.
        assert_eq!(told(&of("")), None);
        assert_eq!(told(b"#!/bin/sh\0/lib/ld-musl-x86_64.so.1\0"), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Libc::of_file(&file), None);
        // A shell that runs here needs a C library.
        assert!(Libc::of_file(Path::new("/bin/sh")).is_some());
    }

    #[test]
    fn the_c_library_of_a_process_is_found_by_its_loaded_files() {
        for (name, libc) in [
            ("ld-musl-aarch64.so.1", Some(Libc::Musl)),
            ("libc.so", Some(Libc::Musl)),
            ("libc.so.6", Some(Libc::Glibc)),
            ("ld-linux-x86-64.so.2", Some(Libc::Glibc)),
            ("libjvm.so", None),
        ] {
            assert_eq!(Libc::of_loaded(name), libc, "{name}");
        }
    }
}
