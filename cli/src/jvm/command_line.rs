//! What runs in a JVM, out of its command line: the main class, the jar, or the module.
//!
//! It must never show what stands behind that: a program's own arguments are its own affair, and may be secret.

/// Options that take the next word for their value.
const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "--enable-native-access",
    "--describe-module",
];

/// What was asked for; a program that has a JVM in it is called by its own name.
pub fn main(words: &[String]) -> String {
    let Some((program, rest)) = words.split_first() else { return String::new() };
    let mut rest = rest.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-jar" | "-m" | "--module" => return rest.next().unwrap_or_default().to_owned(),
            _ if WITH_VALUE.contains(&word) => {
                rest.next();
            }
            _ if word.starts_with("--module=") => return word["--module=".len()..].to_owned(),
            _ if word.starts_with(['-', '@']) => {}
            _ if is_java(program) => return word.to_owned(),
            _ => break,
        }
    }
    program.clone()
}

fn is_java(program: &str) -> bool {
    program.rsplit('/').next() == Some("java")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_of(line: &str) -> String {
        main(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_runs_is_told_apart_from_options_and_arguments() {
        assert_eq!(main_of("/usr/bin/java -Xmx1g -cp a.jar:b.jar com.foo.Main --password x"), "com.foo.Main");
        assert_eq!(
            main_of("java @options --add-opens java.base/java.lang=ALL-UNNAMED -jar /srv/app.jar x"),
            "/srv/app.jar"
        );
        assert_eq!(main_of("java -p mods -m app/com.foo.Main"), "app/com.foo.Main");
        assert_eq!(main_of("java --module=app/com.foo.Main"), "app/com.foo.Main");
        assert_eq!(main_of("/opt/ide/bin/ide --flag file"), "/opt/ide/bin/ide");
        assert_eq!(main_of("java -version"), "java");
        assert_eq!(main(&[]), "");
    }
}
