//! Measures how often the methods on top are right, with a program that enters a context before
//! each part of its work (java-tests/accuracy/Parts.java).
//!
//! `MAJOR-ROUNDS-PART.json` is what `vouch top --json --where value=PART` says, and
//! `MAJOR-ROUNDS-all.json` the same of all samples. A part's method has the part's name, and the
//! names of what it calls begin with that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::report::{json, table};

/// The name of the file of all samples, instead of a part's name.
const ALL: &str = "all";

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
pub fn page(files: &[PathBuf]) -> Result<String> {
    let mut runs: BTreeMap<(u32, u32), BTreeMap<String, &Path>> = BTreeMap::new();
    for file in files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let mut words = stem.splitn(3, '-');
        let numbers = [words.next(), words.next()].map(|word| word?.parse().ok());
        let ([Some(major), Some(rounds)], Some(part)) = (numbers, words.next()) else {
            bail!("{} is not MAJOR-ROUNDS-PART.json", file.display());
        };
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
    Ok(table(&head, rows))
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
        let text = page(&files).unwrap();
        assert!(text.contains("| 17 | 8 | 142 | 2 | 98.6 % | 55 | 25 | 54.5 % |"), "{text}");
        assert!(page(&files[..2]).unwrap_err().to_string().contains("17-8-all.json is missing"));
        assert!(page(&[folder.join("mixed.json")]).unwrap_err().to_string().contains("MAJOR-ROUNDS-PART"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
