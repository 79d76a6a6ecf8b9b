//! How a user can call the command `vouch`, for what the agent prints.
//!
//! A user who built it, or unpacked a release, has it beside the agent's library, and often not on
//! PATH. What is printed must be what that user can type.

use std::fs;
use std::path::{Path, PathBuf};

const COMMAND: &str = "vouch";
const LIBRARY: &str = "libvouch.so";

/// The command's name if PATH leads to it, or its path beside the library, or its name.
pub fn callable() -> String {
    let name = || COMMAND.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(COMMAND).is_file()) {
        return name();
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Some(command) = library(&maps).and_then(beside) else { return name() };
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| command.strip_prefix(here).ok().map(Path::to_owned));
    short.unwrap_or(command).display().to_string()
}

/// The path of the agent's library in a list of what a process has mapped.
fn library(maps: &str) -> Option<&Path> {
    let mapped = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    mapped.into_iter().find(|path| path.ends_with(LIBRARY))
}

/// The command of the same build, or of the same release: `bin/vouch` beside `lib/libvouch.so`.
fn beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?;
    let release = folder.parent().map(|folder| folder.join("bin"));
    let folders = [Some(folder.to_owned()), release];
    folders.into_iter().flatten().map(|folder| folder.join(COMMAND)).find(|command| command.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_build_or_a_release_is_found_by_the_library() {
        let root = std::env::temp_dir().join(format!("vouch-command-{}", std::process::id()));
        for folder in ["build", "release/bin", "release/lib", "other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("build/vouch"), "").unwrap();
        fs::write(root.join("release/bin/vouch"), "").unwrap();
        for (library, command) in
            [("build", Some("build/vouch")), ("release/lib", Some("release/bin/vouch")), ("other", None)]
        {
            assert_eq!(beside(&root.join(library).join(LIBRARY)), command.map(|command| root.join(command)));
        }
        fs::remove_dir_all(&root).unwrap();
        let maps =
            "7f01-7f02 r-xp 0 08:01 1 /usr/lib/libjvm.so\n7f03-7f04 r-xp 0 08:01 2    /opt/a b/libvouch.so\n";
        assert_eq!(library(maps), Some(Path::new("/opt/a b/libvouch.so")));
    }
}
