//! What the tests of several verbs have in common.

use std::fs;
use std::path::PathBuf;

/// A file of this name with these bytes; each verb's tests have a separate folder.
pub fn file(verb: &str, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(verb);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}
