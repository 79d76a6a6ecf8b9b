//! Where the agent's library lies: beside this program, or where an archive of a release has it.

use std::path::PathBuf;

/// The variable that names it where it lies elsewhere.
const VARIABLE: &str = "VOUCH_AGENT";
pub const NAME: &str = "libvouch.so";

/// The library, by its whole name.
pub fn library() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        let missing = format!("{VARIABLE} names {}, which is not there", named.display());
        return named.canonicalize().map_err(|_| missing);
    }
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    let program = program.map_err(|error| format!("where this program lies is not known: {error}"))?;
    let beside = program.with_file_name(NAME);
    let archive = program.parent().and_then(|bin| Some(bin.parent()?.join("lib").join(NAME)));
    let places: Vec<PathBuf> = [Some(beside), archive].into_iter().flatten().collect();
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        format!(
            "the agent is neither {}: build it (cargo build --release), or name it in {VARIABLE}",
            places.join(" nor ")
        )
    })
}
