//! Compares the shares of methods in profiles with those by the program's own clock
//! (java-tests/workloads/Twins.java).
//!
//! A run is `MAJOR-PROFILER-PROGRAM.json`, which `vouch top --json` prints, with
//! `MAJOR-PROFILER-PROGRAM.known` beside it. That has lines `CLASS.METHOD MILLISECONDS`, and ends
//! with `all MILLISECONDS`. It must never judge a profile by another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::profilers::Profiler;
use crate::report::{by_jdk, json, parts_of_name, table};

/// A share that is off by more percentage points than this is wrong.
const LIMIT: f64 = 3.0;

struct Run {
    major: u32,
    profiler: Profiler,
    program: String,
    /// The share of each method by the program's own clock, in percent.
    known: Vec<(String, f64)>,
    /// The share of each method in the profile, in percent.
    shown: HashMap<String, f64>,
}

/// Returns the time of each method in a profile, with its callees, and the time of all Java code.
pub fn methods_of(file: &Path) -> Result<(HashMap<String, f64>, f64)> {
    let top = json(file)?;
    let (mut methods, mut all) = (HashMap::new(), 0.0);
    for row in top["rows"].as_array().into_iter().flatten() {
        let name = row["name"].as_str().unwrap_or_default();
        let name = name.split_once('(').map_or(name, |(name, _)| name);
        let ms = |key: &str| row[key].as_f64().unwrap_or_default();
        if name != "[outside Java]" {
            all += ms("self_ms");
        }
        *methods.entry(name.to_owned()).or_default() += ms("total_ms");
    }
    if all > 0.0 { Ok((methods, all)) } else { Err(anyhow!("{} has no sample of Java", file.display())) }
}

impl Run {
    fn read(file: &Path) -> Result<Self> {
        let is_wrong = || format!("{} is not MAJOR-PROFILER-PROGRAM.json", file.display());
        let (major, profiler, program) = parts_of_name(file).with_context(is_wrong)?;
        let clock_file = file.with_extension("known");
        let name = clock_file.display();
        let clock = fs::read_to_string(&clock_file).with_context(|| name.to_string())?;
        let mut known: Vec<(String, f64)> = clock
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, ms)| Some((name.to_owned(), ms.parse().ok()?)))
            .collect();
        let all = known.pop_if(|(name, ms)| name == "all" && *ms > 0.0);
        let (_, all) = all.with_context(|| format!("{name} does not end with the time of all"))?;
        if known.is_empty() {
            bail!("{name} has no method");
        }
        for (_, ms) in &mut known {
            *ms *= 100.0 / all;
        }
        let (mut shown, all) = methods_of(file)?;
        for ms in shown.values_mut() {
            *ms *= 100.0 / all;
        }
        Ok(Self { major, profiler: profiler.parse()?, program: program.to_owned(), known, shown })
    }

    fn share_of(&self, method: &str) -> f64 {
        self.shown.get(method).copied().unwrap_or_default()
    }

    /// Returns by how many points a method's share in the profile is too high or too low.
    fn error(&self, method: &str) -> Option<f64> {
        let (_, known) = self.known.iter().find(|(name, _)| name == method)?;
        Some(self.share_of(method) - known)
    }

    /// Returns the largest error of any method, in points.
    fn worst(&self) -> f64 {
        let errors = self.known.iter().map(|(name, known)| (self.share_of(name) - known).abs());
        errors.fold(0.0, f64::max)
    }
}

fn read(files: &[PathBuf]) -> Result<Vec<Run>> {
    files.iter().map(|file| Run::read(file)).collect()
}

/// Returns the profilers of these runs, in the order of the table.
fn profilers(runs: &[Run]) -> impl Iterator<Item = Profiler> {
    Profiler::ALL.into_iter().filter(|profiler| runs.iter().any(|run| run.profiler == *profiler))
}

/// Returns two tables: the median and the largest error of each profiler, and the errors of each
/// program on each JDK.
pub fn twins(files: &[PathBuf]) -> Result<String> {
    let runs = read(files)?;
    let rows = profilers(&runs).map(|profiler| {
        let mut errors: Vec<f64> =
            runs.iter().filter(|run| run.profiler == profiler).map(Run::worst).collect();
        errors.sort_by(f64::total_cmp);
        let wrong = errors.iter().filter(|error| **error > LIMIT).count();
        let at = |part: usize| {
            errors.get(errors.len() * part / 100).or(errors.last()).copied().unwrap_or_default()
        };
        vec![
            profiler.title().to_owned(),
            errors.len().to_string(),
            format!("{:.1}", at(50)),
            format!("{:.1}", at(90)),
            format!("{:.1}", at(100)),
            wrong.to_string(),
        ]
    });
    let head =
        ["profiler", "runs", "median", "nine of ten are nearer than", "worst", "more than 3 points off"];
    let mut text = table(&head, rows);
    let majors: BTreeSet<u32> = runs.iter().map(|run| run.major).collect();
    let mut programs: Vec<&str> = Vec::new();
    for run in &runs {
        if !programs.contains(&&*run.program) {
            programs.push(&run.program);
        }
    }
    let cell = |program: &str, major: u32| {
        let worst = |profiler: Profiler| {
            let is_it = |run: &&Run| (run.major, &*run.program, run.profiler) == (major, program, profiler);
            runs.iter().find(is_it).map(|run| format!("{:.1}", run.worst()))
        };
        match (worst(Profiler::Vouch), worst(Profiler::Async)) {
            (Some(own), Some(peer)) => format!("{own} ({peer})"),
            (Some(own), None) => own,
            (None, _) => "-".to_owned(),
        }
    };
    let rows = programs.iter().map(|program| (*program, format!("`{program}`")));
    text.push('\n');
    text.push_str(&by_jdk("program", &majors, rows, cell));
    Ok(text)
}

/// Returns a table of the error of the first of two methods that do the same work, by its share and
/// by how both are called. Programs are `Sweep.WAY.HUNDREDTHS`.
pub fn sweep(files: &[PathBuf]) -> Result<String> {
    let runs = read(files)?;
    let mut rows: BTreeMap<(Profiler, String), BTreeMap<u32, String>> = BTreeMap::new();
    for run in &runs {
        let mut parts = run.program.split('.').skip(1);
        let (Some(way), Some(Ok(hundredths))) = (parts.next(), parts.next().map(str::parse)) else {
            bail!("{} is not Sweep.WAY.HUNDREDTHS", run.program);
        };
        let error = run.error("Twins$Sweep.first").context("the first method of a sweep is not known")?;
        rows.entry((run.profiler, way.to_owned())).or_default().insert(hundredths, format!("{error:+.1}"));
    }
    let shares: BTreeSet<u32> = rows.values().flat_map(BTreeMap::keys).copied().collect();
    let head: Vec<String> = shares.iter().map(|share| format!("{share} %")).collect();
    let head: Vec<&str> = ["profiler", "called"].into_iter().chain(head.iter().map(String::as_str)).collect();
    let rows = rows.iter().map(|((profiler, way), cells)| {
        let cells = shares.iter().map(|share| cells.get(share).cloned().unwrap_or_default());
        let way = match way.split_once('-') {
            Some((way, _)) => format!("{way}, not inlined"),
            None => way.clone(),
        };
        [profiler.title().to_owned(), way].into_iter().chain(cells).collect()
    });
    Ok(table(&head, rows))
}

/// Returns a table of how far the shares of five methods are from the expected ones when one does
/// its work twice. Programs are `Slowed.METHOD`, and `Slowed.none`, which sets the expectation.
pub fn slowed(files: &[PathBuf]) -> Result<String> {
    let runs = read(files)?;
    let method = |run: &Run| run.program.split('.').nth(1).unwrap_or_default().to_owned();
    // Shares are of the five methods only, because the method that reads the clock is left out.
    let normalised = |shares: Vec<(String, f64)>| {
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        shares.into_iter().map(|(name, share)| (name, 100.0 * share / all)).collect::<Vec<_>>()
    };
    let methods = |run: &Run| -> Vec<String> {
        let all = run.known.iter().map(|(name, _)| name.clone());
        all.filter(|name| name.starts_with("Twins$Slowed.") && name != "Twins$Slowed.work").collect()
    };
    let by_profile = |run: &Run| {
        normalised(methods(run).into_iter().map(|name| (name.clone(), run.share_of(&name))).collect())
    };
    let by_clock = |run: &Run| {
        let known: HashMap<&str, f64> = run.known.iter().map(|(name, share)| (&**name, *share)).collect();
        normalised(methods(run).into_iter().map(|name| (name.clone(), known[&*name])).collect())
    };
    let off = |shares: &dyn Fn(&Run) -> Vec<(String, f64)>, base: &Run, run: &Run| {
        let slow = format!("Twins$Slowed.{}", method(run));
        let expected = shares(base).into_iter().map(|(name, share)| {
            let times = if name == slow { 2.0 } else { 1.0 };
            (name, times * share)
        });
        let expected: HashMap<String, f64> = normalised(expected.collect()).into_iter().collect();
        shares(run).iter().map(|(name, share)| (share - expected[name]).abs()).fold(0.0, f64::max)
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for profiler in profilers(&runs) {
        let title = profiler.title();
        let own = || runs.iter().filter(|run| run.profiler == profiler);
        let base = own()
            .find(|run| method(run) == "none")
            .with_context(|| format!("{title} has no run as it is"))?;
        if let Some(run) = own().find(|run| methods(run).iter().all(|name| run.share_of(name) == 0.0)) {
            bail!("{title} has none of the methods of {}", run.program);
        }
        for run in own().filter(|run| method(run) != "none") {
            let cell = |shares: &dyn Fn(&Run) -> Vec<(String, f64)>| format!("{:.1}", off(shares, base, run));
            rows.push(vec![
                title.to_owned(),
                format!("`{}`", method(run)),
                cell(&by_profile),
                cell(&by_clock),
            ]);
        }
    }
    Ok(table(&["profiler", "slowed", "by the profile", "by the program's clock"], rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("vouch-accuracy-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        /// Writes a run of 1,000 ms. Each method has its true time and its time in the profile.
        fn run(&self, name: &str, methods: &[(&str, u32, u32)]) -> PathBuf {
            let mut known = String::new();
            let mut rows = vec![r#"{"name": "[outside Java]", "self_ms": 400, "total_ms": 400}"#.to_owned()];
            rows.push(r#"{"name": "Twins.main(String[])", "self_ms": 1000, "total_ms": 1000}"#.to_owned());
            for (method, is, shown) in methods {
                let _ = writeln!(known, "{method} {is}");
                rows.push(format!(r#"{{"name": "{method}(int)", "self_ms": 0, "total_ms": {shown}}}"#));
            }
            fs::write(self.0.join(format!("{name}.known")), known + "all 1000\n").unwrap();
            let file = self.0.join(format!("{name}.json"));
            fs::write(&file, format!(r#"{{"rows": [{}]}}"#, rows.join(","))).unwrap();
            file
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_profile_is_as_far_off_as_its_worst_method() {
        let folder = Folder::new("twins");
        let files = [
            folder.run("17-vouch-Atomic", &[("A.work", 400, 411), ("A.rest", 600, 598)]),
            folder.run("17-peer-Atomic", &[("A.work", 400, 100), ("A.rest", 600, 600)]),
            folder.run("25-vouch-Atomic", &[("A.work", 400, 364)]),
        ];
        let text = twins(&files).unwrap();
        assert!(text.contains("| Vouch | 2 | 3.6 | 3.6 | 3.6 | 1 |"), "{text}");
        assert!(text.contains("| async-profiler | 1 | 30.0 | 30.0 | 30.0 | 1 |"), "{text}");
        assert!(text.contains("| `Atomic` | 1.1 (30.0) | 3.6 |"), "{text}");
        fs::write(folder.0.join("17-vouch-Atomic.known"), "A.work 400\n").unwrap();
        assert!(twins(&files).unwrap_err().to_string().contains("time of all"));
    }

    #[test]
    fn a_sweep_has_a_column_for_each_share() {
        let folder = Folder::new("sweep");
        let first = |is, shown| [("Twins$Sweep.first", is, shown), ("Twins$Sweep.second", 1_000 - is, 0)];
        let files = [
            folder.run("25-vouch-Sweep.direct.30", &first(300, 295)),
            folder.run("25-vouch-Sweep.direct.10", &first(100, 100)),
            folder.run("25-peer-Sweep.lambda-apart.30", &first(310, 340)),
        ];
        let text = sweep(&files).unwrap();
        assert!(text.starts_with("| profiler | called | 10 % | 30 % |"), "{text}");
        assert!(text.contains("| Vouch | direct | +0.0 | -0.5 |"), "{text}");
        assert!(text.contains("| async-profiler | lambda, not inlined |  | +3.0 |"), "{text}");
    }

    #[test]
    fn a_slowed_method_has_twice_its_time_and_the_others_have_theirs() {
        let folder = Folder::new("slowed");
        let run = |name, one: [u32; 2], other: [u32; 2]| {
            let methods = [("Twins$Slowed.work", 900, 900), ("Twins$Slowed.one", one[0], one[1])];
            folder.run(name, &[methods[0], methods[1], ("Twins$Slowed.other", other[0], other[1])])
        };
        let files = [
            run("25-vouch-Slowed.none", [300, 300], [300, 300]),
            // The true shares are two thirds and one third, and the profile has three quarters.
            run("25-vouch-Slowed.one", [400, 450], [200, 150]),
        ];
        let text = slowed(&files).unwrap();
        assert!(text.contains("| Vouch | `one` | 8.3 | 0.0 |"), "{text}");
        assert!(slowed(&files[1..]).is_err(), "there is nothing to compare with");
    }
}
