//! Splits the command line of the `java` launcher into the JVM's options and the program.

/// The options of the `java` launcher that take the next argument as their value.
const OPTIONS_WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--patch-module",
    "--limit-modules",
    "--enable-native-access",
    "--describe-module",
];

/// True for a word such as `-jar`, which ends the JVM's options and begins the program.
pub fn is_program(word: &str) -> bool {
    matches!(word, "-jar" | "-m" | "--module") || word.starts_with("--module=")
}

/// Splits the launcher's arguments into the JVM's options and the program with its arguments.
pub fn split<S: AsRef<str>>(words: &[S]) -> (&[S], &[S]) {
    let mut at = 0;
    while let Some(word) = words.get(at).map(AsRef::as_ref)
        && word.starts_with(['-', '@'])
        && !is_program(word)
    {
        at += if OPTIONS_WITH_VALUE.contains(&word) { 2 } else { 1 };
    }
    words.split_at(at.min(words.len()))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_jvms_options_end_where_the_program_begins() {
        for (options, program) in [
            ("-Xmx1g -cp a.jar:b.jar -Xint", "Main -x"),
            ("@args --add-opens a/b=c", "-jar app.jar -v"),
            ("-p mods", "-m mod/Main"),
            ("-Da=b", "--module=mod/Main"),
            ("-cp", ""),
            ("", ""),
        ] {
            let line = format!("{options} {program}");
            let words: Vec<&str> = line.split_whitespace().collect();
            let (found, rest) = split(&words);
            assert_eq!((found.join(" "), rest.join(" ")), (options.to_owned(), program.to_owned()));
        }
    }
}
