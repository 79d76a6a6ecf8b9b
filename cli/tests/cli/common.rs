//! Shared functions for the tests of several verbs.

use std::fs;
use std::path::PathBuf;

/// Writes a file with this name and these bytes. Each verb's tests have a separate folder.
pub fn file(verb: &str, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(verb);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}
