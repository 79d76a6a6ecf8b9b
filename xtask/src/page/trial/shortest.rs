//! Runs the shortest programs with an error of stack walking (java-tests/trial).
//!
//! A comment at the top of each says what it shows. A line ` * From: 21` there names the first JDK
//! that can run it, and ` * Run: -Xint` options of the JVM.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::page::runner::{Jdk, Outcome, Runner, files_with_ending, run_logged, shown};

/// The folder of the programs.
pub const FOLDER: &str = "java-tests/trial";
/// The first is the test of all these programs. No audit can see the error of the second, so
/// `scripts/pictures` draws it.
const OTHERS: [&str; 2] = ["Shortest", "TopMethod"];

/// Returns the names of all programs.
pub fn programs() -> Result<Vec<String>> {
    let files = files_with_ending(Path::new(FOLDER), ".java")?;
    let names = files.iter().filter_map(|file| file.file_stem()?.to_str());
    Ok(names.filter(|name| !OTHERS.contains(name)).map(str::to_owned).collect())
}

/// Compiles a program for this JDK, and runs it.
pub fn run(jdk: &Jdk, program: &str, options: &[String], classes: &Path, log: &Path) -> Result<Outcome> {
    let source = Path::new(FOLDER).join(format!("{program}.java"));
    let text = fs::read_to_string(&source).with_context(|| shown(&source))?;
    let head = |key: &str| text.lines().find_map(|line| line.strip_prefix(&format!(" * {key}: ")));
    if let Some(first) = head("From")
        && first.trim().parse::<u32>().context("From: names no JDK")? > jdk.major
    {
        fs::write(log, format!("JDK {first} is the first that has what it needs\n"))?;
        return Ok(Outcome::CannotRun);
    }
    let _ = fs::remove_dir_all(classes);
    fs::create_dir_all(classes).with_context(|| shown(classes))?;
    let mut javac = std::process::Command::new(jdk.home.join("bin/javac"));
    Runner::clean(&mut javac);
    javac.args(["-J-XX:TieredStopAtLevel=1", "-nowarn", "-g", "-d"]).arg(classes).arg(&source);
    match run_logged(&mut javac, log)? {
        Outcome::Done => {}
        Outcome::CannotRun | Outcome::Failed(_) => return Ok(Outcome::Failed(1)),
    }
    let mut java = Runner::java(&jdk.home, 60);
    java.arg("-Xmx512m").args(options).args(head("Run").unwrap_or_default().split_whitespace());
    run_logged(java.arg("-cp").arg(classes).arg(program), log)
}
