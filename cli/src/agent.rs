//! Where the agent's library lies, for a JVM of either C library: beside this program, or where an archive of a release has it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The variable that names it where it lies elsewhere.
const VARIABLE: &str = "VOUCH_AGENT";
pub const NAME: &str = "libvouch.so";

/// The C library of a JVM: what is built for one cannot be loaded into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    Glibc,
    Musl,
}

impl Libc {
    /// That of a process, by the name of a file that it has loaded. (musl is one file, its loader, by either of two names.)
    pub fn of_loaded(name: &str) -> Option<Self> {
        match name {
            "libc.so" => Some(Self::Musl),
            _ if name.starts_with("ld-musl-") => Some(Self::Musl),
            _ if name.starts_with("libc.so.6") || name.starts_with("ld-linux") => Some(Self::Glibc),
            _ => None,
        }
    }

    /// That of what this command starts: of itself, of the shell for a script, or else the usual one.
    pub fn of_command(program: &Path) -> Self {
        let shell = Path::new("/bin/sh");
        on_path(program)
            .as_deref()
            .and_then(Self::of_program)
            .or_else(|| Self::of_program(shell))
            .unwrap_or(Self::Glibc)
    }

    /// Near its beginning a program names what loads it.
    fn of_program(program: &Path) -> Option<Self> {
        let mut start = Vec::new();
        File::open(program).ok()?.take(4096).read_to_end(&mut start).ok()?;
        start.strip_prefix(b"\x7fELF")?.split(|byte| *byte == 0).find_map(|text| {
            let text = std::str::from_utf8(text).ok()?;
            Self::of_loaded(text.strip_prefix('/')?.rsplit('/').next()?)
        })
    }

    /// Where a folder of libraries has the agent.
    fn place(self) -> &'static str {
        match self {
            Self::Glibc => NAME,
            Self::Musl => "musl/libvouch.so",
        }
    }
}

/// The file that a shell would run.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The library, by its whole name.
pub fn library(libc: Libc) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        let missing = format!("{VARIABLE} names {}, which is not there", named.display());
        return named.canonicalize().map_err(|_| missing);
    }
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    let program = program.map_err(|error| format!("where this program lies is not known: {error}"))?;
    let beside = program.with_file_name(libc.place());
    let archive = program.parent().and_then(|bin| Some(bin.parent()?.join("lib").join(libc.place())));
    let places: Vec<PathBuf> = [Some(beside), archive].into_iter().flatten().collect();
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let (whose, how) = match libc {
            Libc::Glibc => ("", "build it (cargo build --release)"),
            Libc::Musl => (" for a JVM of musl", "a release has it (scripts/release)"),
        };
        format!("the agent{whose} is neither {}: {how}, or name it in {VARIABLE}", places.join(" nor "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_tells_which_c_library_it_runs_on() {
        let file = std::env::temp_dir().join(format!("vouch-libc-{}", std::process::id()));
        let told = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            Libc::of_program(&file)
        };
        let of = |loader: &str| [b"\x7fELF\x02\x01\x01\0\0@\0", loader.as_bytes(), b"\0\0GNU\0"].concat();
        assert_eq!(told(&of("/lib/ld-musl-x86_64.so.1")), Some(Libc::Musl));
        assert_eq!(told(&of("/lib64/ld-linux-x86-64.so.2")), Some(Libc::Glibc));
        assert_eq!(told(&of("/lib/ld-linux-aarch64.so.1")), Some(Libc::Glibc));
        // One that nothing loads, and a script.
        assert_eq!(told(&of("")), None);
        assert_eq!(told(b"#!/bin/sh\0/lib/ld-musl-x86_64.so.1\0"), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Libc::of_program(&file), None);
        // A shell that runs here is loaded by something.
        assert!(Libc::of_program(Path::new("/bin/sh")).is_some());
    }

    #[test]
    fn a_process_tells_by_what_it_has_loaded() {
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
