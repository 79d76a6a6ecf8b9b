//! Compares the Flight Recorder's method timing with Vouch's profile of the same run.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

use super::profilers::Profiler;
use super::runs::{Runs, print_into, run};
use super::shares::methods_of;
use crate::page::runner::{Runner, shown};
use crate::report::{self, json};

/// The methods that are timed, without the package of the compiler.
const TIMED: [&str; 5] = [
    "parser.JavacParser::parseCompilationUnit",
    "comp.Flow::analyzeTree",
    "comp.Lower::translateTopLevelClass",
    "jvm.Gen::genClass",
    "jvm.ClassWriter::writeClass",
];
const COMPILER: &str = "com.sun.tools.javac";

/// Runs javac under both profilers at once, and returns the table. Only C1 compiles and no
/// collection runs, so nearly all time is the program's own work.
pub fn table(runs: &Runs, major: u32, folder: &Path) -> Result<String> {
    let jdk = runs.runner.jdk(major)?;
    let sources = runs.runner.java_xml(&jdk)?;
    println!("javac, with timed methods");
    let file = folder.join("javac");
    let [recording, top, timed] = ["jfr", "json", "timed"].map(|ending| file.with_added_extension(ending));
    let mut files = Vec::new();
    for entry in WalkDir::new(&sources) {
        let path = entry?.into_path();
        if path.extension().is_some_and(|ending| ending == "java") {
            files.push(path.display().to_string());
        }
    }
    let list = file.with_added_extension("files");
    fs::write(&list, files.join("\n")).with_context(|| shown(&list))?;
    let methods: Vec<String> = TIMED.iter().map(|method| format!("{COMPILER}.{method}")).collect();
    let mut java = Runner::java(&jdk.home, 300);
    java.args(["-Xmx5g", "-Xmn4g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    java.arg(runs.option(Profiler::Vouch, &file));
    java.arg(format!(
        "-XX:StartFlightRecording:filename={},method-timing={}",
        recording.display(),
        methods.join(";")
    ));
    java.arg("-m").arg(format!("jdk.compiler/{COMPILER}.Main")).args(["-nowarn", "-proc:none", "-d"]);
    java.arg(&file).arg("--patch-module").arg(format!("java.xml={}", sources.display()));
    java.arg(format!("@{}", list.display()));
    run(&mut java, &runs.runner.logs.join("timing.log"))?;
    let mut print = Command::new(jdk.home.join("bin/jfr"));
    Runner::clean(&mut print);
    print_into(print.args(["print", "--json", "--events", "jdk.MethodTiming"]).arg(&recording), &timed)?;
    runs.top(&file.with_added_extension("json.gz"), &top, &["--thread", "^main$"])?;
    compare(&top, &timed)
}

/// Returns the table from the output of `vouch top --json`, and that of `jfr print --json --events
/// jdk.MethodTiming`.
fn compare(top: &Path, timed: &Path) -> Result<String> {
    let (shown, _) = methods_of(top)?;
    let timed = json(timed)?;
    let mut rows = Vec::new();
    for event in timed["recording"]["events"].as_array().into_iter().flatten() {
        let values = &event["values"];
        let class = values["method"]["type"]["name"].as_str().unwrap_or_default().replace('/', ".");
        let name = format!("{class}.{}", values["method"]["name"].as_str().unwrap_or_default());
        let count = values["invocations"].as_f64().unwrap_or_default();
        let average = values["average"].as_str().and_then(seconds).context("a timing has no average")?;
        let elapsed = 1_000.0 * count * average;
        let ms = shown.get(&name).copied().unwrap_or_default();
        rows.push(vec![
            format!("`{name}`"),
            count.to_string(),
            format!("{elapsed:.0}"),
            format!("{ms:.0}"),
            format!("{:+.1}", 100.0 * (ms - elapsed) / elapsed),
        ]);
    }
    if rows.is_empty() {
        bail!("no method was timed");
    }
    rows.sort();
    Ok(report::table(&["method", "calls", "elapsed, ms", "Vouch, ms of CPU time", "difference, %"], rows))
}

/// Returns the seconds of a duration as `jfr print` writes it: `PT1M0.5S`.
fn seconds(duration: &str) -> Option<f64> {
    let rest = duration.strip_prefix("PT")?.strip_suffix('S')?;
    match rest.split_once('M') {
        Some((minutes, rest)) => Some(60.0 * minutes.parse::<f64>().ok()? + rest.parse::<f64>().ok()?),
        None => rest.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timed_method_is_compared_with_its_time_in_the_profile() {
        let folder = std::env::temp_dir().join(format!("vouch-accuracy-timing-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [top, timed] = ["top.json", "timed.json"].map(|name| folder.join(name));
        fs::write(&top, r#"{"rows": [{"name": "a.B.c(int)", "self_ms": 1000, "total_ms": 90}]}"#).unwrap();
        let event = r#"{"values": {"method": {"type": {"name": "a/B"}, "name": "c"}, "invocations": 50, "average": "PT0.002S"}}"#;
        fs::write(&timed, format!(r#"{{"recording": {{"events": [{event}]}}}}"#)).unwrap();
        let text = compare(&top, &timed).unwrap();
        assert!(text.contains("| `a.B.c` | 50 | 100 | 90 | -10.0 |"), "{text}");
        fs::write(&timed, r#"{"recording": {"events": []}}"#).unwrap();
        assert!(compare(&top, &timed).is_err());
        assert_eq!(seconds("PT1M0.5S"), Some(60.5));
        fs::remove_dir_all(&folder).unwrap();
    }
}
