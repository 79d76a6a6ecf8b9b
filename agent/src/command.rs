//! How a user can call the command `vouch`, for what the agent prints.
//!
//! A user who built it, or unpacked a release, has it beside the agent's library, and often not on
//! PATH. What is printed must be what that user can type.

use std::path::{Path, PathBuf};

use vouch_unwind::native::libraries::{Library, loaded};

const COMMAND: &str = "vouch";
const LIBRARY: &str = "libvouch.so";

/// The command's name if PATH leads to it, or its path beside the library, or its name.
pub fn callable() -> String {
    let name = || COMMAND.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(COMMAND).is_file()) {
        return name();
    }
    let is_own = |library: &Library| library.name() == LIBRARY;
    let own = loaded().ok().and_then(|libraries| libraries.into_iter().find(is_own));
    let Some(command) = own.and_then(|own| beside(Path::new(&own.path))) else { return name() };
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| command.strip_prefix(here).ok().map(Path::to_owned));
    short.unwrap_or(command).display().to_string()
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
    use std::fs;

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
    }
}
