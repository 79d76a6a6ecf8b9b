//! Converts the JVM's names to those of source code.

use vouch_verify::proof::{hidden_part, without_hidden_part};

/// Returns a class's name as in source: `Lcom/foo/Bar$Inner;` becomes `com.foo.Bar$Inner`. The
/// address or number at the end of a hidden class's name is removed, because it differs in each
/// run.
pub fn class_name(signature: &str) -> String {
    without_hidden_part(binary_name(signature)).replace('/', ".")
}

/// Returns a type's name as in source code: `[[I` becomes `int[][]`.
pub fn type_name(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        class => class_name(class),
    };
    name + &"[]".repeat(signature.len() - element.len())
}

/// Returns true for the signature of a hidden class, or of an anonymous class before JDK 15.
pub fn is_hidden(signature: &str) -> bool {
    hidden_part(binary_name(signature)).is_some()
}

/// Returns the path of a class's source file with its package: `com/foo/Bar.java`.
pub fn source_path(signature: &str, file: &str) -> String {
    vouch_recording::source_path(without_hidden_part(binary_name(signature)), file)
}

/// Returns a class's name as in a class file: `com/foo/Bar$Inner`.
pub fn binary_name(signature: &str) -> &str {
    signature.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')).unwrap_or(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_are_written_as_in_source() {
        for (signature, name, hidden) in [
            ("Lcom/foo/Bar;", "com.foo.Bar", false),
            ("Lcom/foo/Bar$Inner$1;", "com.foo.Bar$Inner$1", false),
            ("LMain;", "Main", false),
            ("Lcom/foo/Bar$$Lambda.0x00007f1c3c001000;", "com.foo.Bar$$Lambda", true),
            ("Lcom/foo/Bar$$Lambda$14+0x0000000800c03000;", "com.foo.Bar$$Lambda$14", true),
            ("Lcom/foo/Bar$$Lambda$1/1234567;", "com.foo.Bar$$Lambda$1", true),
            ("Ljava/lang/invoke/LambdaForm$MH/0x0000000800;", "java.lang.invoke.LambdaForm$MH", true),
            ("Lodd/Name.x;", "odd.Name.x", false),
        ] {
            assert_eq!(class_name(signature), name);
            assert_eq!(is_hidden(signature), hidden, "{signature}");
        }
    }

    #[test]
    fn array_types_are_written_as_in_source() {
        for (signature, name) in [
            ("Lcom/foo/Bar;", "com.foo.Bar"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("[B", "byte[]"),
        ] {
            assert_eq!(type_name(signature), name);
        }
    }

    #[test]
    fn a_source_file_has_the_path_of_its_package() {
        assert_eq!(source_path("Lcom/foo/Bar$Inner;", "Bar.java"), "com/foo/Bar.java");
        assert_eq!(source_path("Lcom/foo/Bar$$Lambda/0x1;", "Bar.java"), "com/foo/Bar.java");
        assert_eq!(source_path("LMain;", "Main.java"), "Main.java");
    }
}
