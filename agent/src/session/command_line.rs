//! Reads the JVM's own flags from the command line of its process, if the JVM does not report them.

use std::fs;

use vouch_report::options::launcher::split;

/// Returns the flags of this process; those from the environment come first.
pub fn given() -> Vec<String> {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words: Vec<String> = line
        .split(|b| *b == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let picked_up = std::env::var("JAVA_TOOL_OPTIONS").unwrap_or_default();
    picked_up.split_whitespace().map(str::to_owned).chain(vm_flags(&words)).collect()
}

/// Returns the flags in `words`, which begin with the launcher. The JDK's other tools pass only the
/// flags after `-J` to the JVM.
fn vm_flags(words: &[String]) -> Vec<String> {
    let Some((launcher, words)) = words.split_first() else { return Vec::new() };
    if !launcher.ends_with("java") {
        return words.iter().filter_map(|word| word.strip_prefix("-J").map(str::to_owned)).collect();
    }
    split(words).0.to_vec()
}

/// Returns the flag that sets a class path, and its value. The JVM does not report them among its
/// flags.
pub fn class_path(flags: &[String]) -> &[String] {
    let names = ["-cp", "-classpath", "--class-path"];
    let at = |wanted: &dyn Fn(&str) -> bool| flags.iter().rposition(|flag| wanted(flag));
    if let Some(at) = at(&|flag| names.contains(&flag)) {
        return flags.get(at..at + 2).unwrap_or_default();
    }
    at(&|flag| flag.starts_with("--class-path=")).map_or(&[], |at| &flags[at..=at])
}

#[cfg(test)]
mod tests {
    use super::{class_path, vm_flags};

    fn flags(line: &str) -> String {
        vm_flags(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn the_jvms_flags_end_where_the_program_begins() {
        assert_eq!(
            flags("/jdk/bin/java -Xmx1g -cp a.jar:b.jar -Xint Main -x"),
            "-Xmx1g -cp a.jar:b.jar -Xint"
        );
        assert_eq!(flags("java -XX:+UseZGC -jar app.jar -v"), "-XX:+UseZGC");
        assert_eq!(flags("java -Da=b -m mod/Main -v"), "-Da=b");
        assert_eq!(flags("javac -J-Xmx1g -nowarn -J-Da=b A.java"), "-Xmx1g -Da=b");
        assert_eq!(flags("java"), "");
    }

    #[test]
    fn a_class_path_is_as_it_was_given() {
        for (line, path) in [
            ("-Xint -cp app -Da=b", "-cp app"),
            ("-cp a -classpath b", "-classpath b"),
            ("-Xint --class-path=a:b -Da=b", "--class-path=a:b"),
            ("-Xint -cp", ""),
            ("-Xint", ""),
        ] {
            let flags: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(class_path(&flags).join(" "), path, "{line}");
        }
    }
}
