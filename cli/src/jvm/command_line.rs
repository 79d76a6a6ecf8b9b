//! Finds the program of a JVM in its command line: the main class, the jar, or the module.
//!
//! It must never show what comes after the program: its arguments may be secret.

use vouch_report::options::launcher::split;

/// Returns the name of the program. A native program with a JVM inside has its own name.
pub fn main(words: &[String]) -> String {
    let Some((launcher, words)) = words.split_first() else { return String::new() };
    if !is_java(launcher) {
        return launcher.clone();
    }
    let mut program = split(words).1.iter().map(String::as_str);
    let named = match program.next() {
        Some("-jar" | "-m" | "--module") => program.next(),
        Some(word) => Some(word.strip_prefix("--module=").unwrap_or(word)),
        None => None,
    };
    named.unwrap_or(launcher).to_owned()
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
    fn the_main_class_is_found_between_options_and_arguments() {
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
