//! `cargo xtask circles`: checks that the modules of each crate depend on each other in one
//! direction.
//!
//! A module is a file. It depends on another if one of its paths leads there, outside of tests.
//! `xtask/circles.counts` has how many modules of each crate still lie on a circle. A number may
//! only fall.
//!
//!     cargo xtask circles                 the check
//!     cargo xtask circles --list CRATE    each circle of the crate, with the paths that close it
//!     cargo xtask circles --lower         write the numbers that have fallen

pub mod paths;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use serde_json::Value;

use paths::Modules;

const COUNTS: &str = "xtask/circles.counts";
const COUNTS_HEAD: &str = "\
# How many modules of each crate lie on a circle (`cargo xtask circles`). A number may only fall.
# `cargo xtask circles --lower` writes the numbers that have fallen. A crate that has none is not listed.
";

/// The modules of one crate, and the circles that they form.
struct CrateModules {
    name: String,
    modules: Modules,
    circles: Vec<Vec<String>>,
}

impl CrateModules {
    fn read(name: String, folder: &Path) -> Result<Self> {
        let modules = Modules::read(folder)?;
        let circles = circles(&modules);
        Ok(Self { name, modules, circles })
    }

    fn on_circles(&self) -> usize {
        self.circles.iter().map(Vec::len).sum()
    }

    /// Prints each circle: its modules, and each dependency with the paths that cause it.
    fn print_to(&self, out: &mut String) {
        for circle in &self.circles {
            let _ = writeln!(out, "{}: a circle of {}: {}", self.name, circle.len(), circle.join(", "));
            for (from, to, paths) in self.modules.arrows() {
                if circle.contains(from) && circle.contains(to) {
                    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                    let _ = writeln!(out, "  {from} -> {to}: {}", paths.join(", "));
                }
            }
        }
    }
}

/// Runs the check, or lists the circles of crates, or lowers the numbers.
pub fn run(arguments: &[String]) -> Result<String> {
    let (option, crates) = match arguments {
        [] => ("", arguments),
        [first, rest @ ..] => (first.as_str(), rest),
    };
    if !["", "--list", "--lower"].contains(&option) {
        bail!("circles: unknown option {option}; use --list [CRATE]… or --lower");
    }
    let all = read_crates()?;
    let mut out = String::new();
    if option == "--list" {
        let listed = all.iter().filter(|one| crates.is_empty() || crates.contains(&one.name));
        listed.for_each(|one| one.print_to(&mut out));
        return Ok(out);
    }
    let allowed = read_counts(Path::new(COUNTS))?;
    let mut text = COUNTS_HEAD.to_owned();
    let mut failures = String::new();
    for one in &all {
        let limit = allowed.get(&one.name).copied().unwrap_or(0);
        let count = one.on_circles();
        if count > limit {
            let _ = writeln!(
                failures,
                "{}: {count} modules lie on circles, and {limit} are allowed: let one direction go",
                one.name
            );
            one.print_to(&mut failures);
        } else if count < limit && option.is_empty() {
            let _ = writeln!(out, "lower {} from {limit} to {count} (cargo xtask circles --lower)", one.name);
        }
        if count > 0 {
            let _ = writeln!(text, "{} {}", one.name, count.min(limit));
        }
    }
    if option == "--lower" {
        std::fs::write(COUNTS, text).context(COUNTS)?;
    }
    if failures.is_empty() { Ok(out) } else { Err(anyhow!("circles:\n{failures}")) }
}

/// Reads the crates of the workspace, each with the name of its folder.
fn read_crates() -> Result<Vec<CrateModules>> {
    let metadata = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).context("cargo metadata")?;
    let mut read = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"].as_str().map(Path::new);
        let folder = manifest.and_then(Path::parent).context("cargo metadata: a crate has no folder")?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        read.push(CrateModules::read(name, &folder.join("src"))?);
    }
    read.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(read)
}

/// Returns the circles of the graph: every group of modules that all lead to each other.
fn circles(modules: &Modules) -> Vec<Vec<String>> {
    let graph: DiGraphMap<&str, ()> =
        modules.arrows().map(|(from, to, _)| (from.as_str(), to.as_str())).collect();
    let mut circles: Vec<Vec<String>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| group.into_iter().map(str::to_owned).collect())
        .collect();
    for circle in &mut circles {
        circle.sort();
    }
    circles.sort();
    circles
}

fn read_counts(path: &Path) -> Result<BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parsed = line.split_once(' ').and_then(|(name, count)| Some((name, count.parse().ok()?)));
        let (name, count) = parsed.with_context(|| format!("{}: no count in: {line}", path.display()))?;
        counts.insert(name.to_owned(), count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::circles;
    use super::paths::Modules;

    #[test]
    fn a_circle_is_found_by_any_kind_of_path() {
        let files = [
            ("", "mod a; mod b; mod c; fn f() { a::run(); }"),
            ("a", "use crate::{b::{self, B}, c}; pub fn run() { b::go(); }"),
            ("b", "pub struct B; pub fn go() { println!(\"{}\", super::c::LIMIT); }"),
            ("c", "pub const LIMIT: usize = 1; fn back(_: &crate::a::A) {}"),
        ];
        let modules = Modules::parse(files.map(|(name, text)| (name.to_owned(), text.to_owned()))).unwrap();
        assert_eq!(circles(&modules), [["a", "b", "c"]]);
    }

    #[test]
    fn tests_names_of_modules_and_other_crates_are_no_arrows() {
        let files = [
            ("", "mod a; mod b;"),
            ("a", "use crate::b; use std::fmt; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b", "use crate::a::A; use other::a::X;"),
        ];
        let modules = Modules::parse(files.map(|(name, text)| (name.to_owned(), text.to_owned()))).unwrap();
        assert!(circles(&modules).is_empty());
        let arrows: Vec<_> = modules.arrows().map(|(from, to, _)| (from.as_str(), to.as_str())).collect();
        assert_eq!(arrows, [("b", "a")]);
    }

    #[test]
    fn a_child_that_uses_its_parent_closes_a_circle() {
        let files = [
            ("", "mod a;"),
            ("a", "mod child; pub struct A; use child::Child;"),
            ("a::child", "use super::A; pub struct Child(A);"),
        ];
        let modules = Modules::parse(files.map(|(name, text)| (name.to_owned(), text.to_owned()))).unwrap();
        assert_eq!(circles(&modules), [["a", "a::child"]]);
    }
}
