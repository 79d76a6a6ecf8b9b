//! Where a class's source stands.

/// The source file of a class, with its package's path: `com/foo/Bar.java`. The class is named as
/// its own file has it, the file as the class does.
pub fn source_path(class: &str, file: &str) -> String {
    match class.rsplit_once('/') {
        Some((package, _)) if !file.contains('/') => format!("{package}/{file}"),
        _ => file.to_owned(),
    }
}
