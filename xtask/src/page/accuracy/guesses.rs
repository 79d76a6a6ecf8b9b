//! Measures how often the methods on top are right, with a program that enters a context before
//! each part of its work (java-tests/accuracy/Parts.java).
//!
//! `MAJOR-ROUNDS-PART.json` is what `vouch top --json --where value=PART` says, and
//! `MAJOR-ROUNDS-all.json` the same of all samples. A part's method has the part's name, and the
//! names of what it calls begin with that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::profilers::Profiler;
use super::runs::{Runs, run};
use crate::page::runner::Runner;
use crate::report::{self, json, parts_of_name};

/// The name of the file of all samples, instead of a part's name.
const ALL: &str = "all";

/// The parts of the program, which are the values of its contexts.
const PARTS: [&str; 8] =
    ["shifted", "divided", "counted", "stored", "chased", "branched", "checked", "mixed"];
/// How many rounds a part has. With 8 it is as short as entering its context.
const ROUNDS: [u32; 2] = [8, 500];

/// Runs the program on each JDK, with short and with long parts, and returns the table.
pub fn table(runs: &Runs, majors: &[u32], folder: &Path) -> Result<String> {
    let runner = runs.runner;
    let classes = folder.join("classes");
    let source = ["-nowarn", "-g", "--release", "8", "-Xlint:-options", "-sourcepath", "api/src"];
    runner.compile(&runner.newest, &classes, &[&source[..], &["java-tests/accuracy/Parts.java"]].concat())?;
    let mut files = Vec::new();
    for major in majors {
        let jdk = runner.jdk(*major)?;
        for rounds in ROUNDS {
            println!("JDK {major}, {rounds} rounds");
            let file = folder.join(format!("{major}-{rounds}"));
            let mut java = Runner::java(&jdk.home, 120);
            java.arg("-Xmx256m").arg(runs.option(Profiler::Vouch, &file)).arg("-cp").arg(&classes);
            java.args(["Parts", &runs.seconds.to_string(), &rounds.to_string()]);
            run(&mut java, &runner.logs.join("parts.log"))?;
            let profile = file.with_added_extension("json.gz");
            for part in PARTS.iter().copied().chain([ALL]) {
                let out = folder.join(format!("{major}-{rounds}-{part}.json"));
                let filter = format!("value={part}");
                let options: &[&str] = if part == ALL { &[] } else { &["--where", &filter] };
                runs.top(&profile, &out, options)?;
                files.push(out);
            }
        }
    }
    compare(&files)
}

/// The milliseconds with a certain method on top, and those with a guessed one.
type Times = [f64; 2];

/// Returns the self time of the methods of each part in a file.
fn of_parts(file: &Path, parts: &BTreeSet<String>) -> Result<BTreeMap<String, Times>> {
    let mut times: BTreeMap<String, Times> = BTreeMap::new();
    for row in json(file)?["rows"].as_array().into_iter().flatten() {
        let name = row["name"].as_str().unwrap_or_default();
        let Some(method) = name.strip_prefix("Parts.") else { continue };
        let Some(part) = parts.iter().find(|part| method.starts_with(part.as_str())) else { continue };
        let ms = |key: &str| row[key].as_f64().unwrap_or_default();
        let time = times.entry(part.clone()).or_default();
        time[0] += ms("self_ms") - ms("self_uncertain_ms");
        time[1] += ms("self_uncertain_ms");
    }
    Ok(times)
}

/// Returns a table: of the time in a part's methods, how much was in the context of that part.
fn compare(files: &[PathBuf]) -> Result<String> {
    let mut runs: BTreeMap<(u32, u32), BTreeMap<String, &Path>> = BTreeMap::new();
    for file in files {
        let is_wrong = || format!("{} is not MAJOR-ROUNDS-PART.json", file.display());
        let (major, rounds, part) = parts_of_name(file).with_context(is_wrong)?;
        let rounds = rounds.parse().with_context(is_wrong)?;
        runs.entry((major, rounds)).or_default().insert(part.to_owned(), file);
    }
    let mut rows = Vec::new();
    for ((major, rounds), mut files) in runs {
        let all = files.remove(ALL).with_context(|| format!("{major}-{rounds}-{ALL}.json is missing"))?;
        let parts: BTreeSet<String> = files.keys().cloned().collect();
        let mut shown = Times::default();
        for [certain, guessed] in of_parts(all, &parts)?.values() {
            shown = [shown[0] + certain, shown[1] + guessed];
        }
        let mut right = Times::default();
        for (part, file) in files {
            if let Some([certain, guessed]) = of_parts(file, &parts)?.get(&part) {
                right = [right[0] + certain, right[1] + guessed];
            }
        }
        if shown[0] == 0.0 {
            bail!("{major}-{rounds}-{ALL}.json has no sample of a part");
        }
        let cells = [0, 1].into_iter().flat_map(|at| {
            let share = if shown[at] > 0.0 { 100.0 * right[at] / shown[at] } else { 100.0 };
            [format!("{:.0}", shown[at]), format!("{:.0}", shown[at] - right[at]), format!("{share:.1} %")]
        });
        rows.push([major.to_string(), rounds.to_string()].into_iter().chain(cells).collect());
    }
    let head = ["JDK", "rounds", "certain, ms", "wrong", "right", "guessed, ms", "wrong", "right"];
    Ok(report::table(&head, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_method_is_right_in_its_own_part_alone() {
        let folder = std::env::temp_dir().join(format!("vouch-guesses-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, rows: &[(&str, u32, u32)]| {
            let row = |(name, own, guessed): &(&str, u32, u32)| {
                format!(r#"{{"name": "{name}(int)", "self_ms": {own}, "self_uncertain_ms": {guessed}}}"#)
            };
            let rows: Vec<String> = rows.iter().map(row).collect();
            let file = folder.join(name);
            fs::write(&file, format!(r#"{{"rows": [{}]}}"#, rows.join(","))).unwrap();
            file
        };
        let files = [
            file(
                "17-8-mixed.json",
                &[("Parts.mixed", 50, 10), ("Parts.mixedOnce", 20, 20), ("Parts.read", 7, 5)],
            ),
            file(
                "17-8-read.json",
                &[("Parts.mixed", 10, 10), ("Parts.read", 100, 0), ("Parts.turn", 30, 30)],
            ),
            // 10 ms are in no context, which is wrong.
            file("17-8-all.json", &[("Parts.mixed", 90, 50), ("Parts.read", 107, 5), ("Parts.turn", 90, 30)]),
        ];
        let text = compare(&files).unwrap();
        assert!(text.contains("| 17 | 8 | 142 | 2 | 98.6 % | 55 | 25 | 54.5 % |"), "{text}");
        assert!(compare(&files[..2]).unwrap_err().to_string().contains("17-8-all.json is missing"));
        assert!(compare(&[folder.join("mixed.json")]).unwrap_err().to_string().contains("MAJOR-ROUNDS-PART"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
