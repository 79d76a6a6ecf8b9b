//! Makes the paths of source files.

/// Returns the path of a class's source file, with the package as folders: `com/foo/Bar.java`.
/// `class` is the name in the class file, and `file` is its SourceFile attribute.
pub fn source_path(class: &str, file: &str) -> String {
    match class.rsplit_once('/') {
        Some((package, _)) if !file.contains('/') => format!("{package}/{file}"),
        _ => file.to_owned(),
    }
}
