//! Reads the class path in an archive's manifest. Launchers write long class paths there.
//!
//! It must never return anything but files on this machine.

use std::path::{Path, PathBuf};

use crate::archive::Entry;

pub const NAME: &str = "META-INF/MANIFEST.MF";
/// A manifest with more bytes than this is not read. One with ten thousand archives is shorter.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Returns the paths of a manifest's class path, relative to the archive's folder. Returns an empty
/// list if the manifest is unreadable.
pub fn class_path(archive: &Path, manifest: &Entry) -> Vec<PathBuf> {
    let Ok(bytes) = crate::archive::read(archive, manifest, MAX_MANIFEST_BYTES) else { return Vec::new() };
    let folder = archive.parent().unwrap_or(Path::new(""));
    entries(&String::from_utf8_lossy(&bytes)).into_iter().map(|entry| folder.join(entry)).collect()
}

/// Reads the `Class-Path` header: URLs separated by spaces. A line that begins with a space
/// continues the one before.
fn entries(manifest: &str) -> Vec<String> {
    let text = manifest.replace("\r\n", "\n").replace("\n ", "");
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("Class-Path").then_some(value)
    });
    let addresses = value.unwrap_or_default().split_whitespace();
    let files = addresses.filter_map(|address| match address.strip_prefix("file:") {
        Some(path) => Some(path.strip_prefix("//").unwrap_or(path)),
        None => Some(address).filter(|address| !address.contains(':')),
    });
    files.filter_map(percent_decode).collect()
}

/// Decodes `%` and two hexadecimal digits.
fn percent_decode(address: &str) -> Option<String> {
    let mut parts = address.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_that_are_files_are_returned() {
        let manifest = "Manifest-Version: 1.0\r\nclass-path: lib/a.jar lib/with%20spa\r\n ce.jar file:/opt/b.jar file:///opt/c.jar http://x/y.jar bad%zz.jar\r\nMain-Class: M\r\n";
        assert_eq!(entries(manifest), ["lib/a.jar", "lib/with space.jar", "/opt/b.jar", "/opt/c.jar"]);
        assert_eq!(entries("Main-Class: M\n"), [""; 0]);
    }
}
