//! Makes tables that compare the samples of several profilers, from audits and from Vouch's own
//! reports.
//!
//! It must never put a run into a sum that does not name the run, or print a share if nothing was
//! counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use serde_json::Value;
use vouch_recording::ByFate;
use vouch_report::{Signals, grouped};

use super::recorder::Recorder;
use crate::report::{self, kinds, parts_of_name, share, table};

/// A run, from a file `MAJOR-RECORDER-PROGRAM.json`.
#[derive(Debug)]
struct Run {
    major: u32,
    recorder: Recorder,
    program: String,
    /// The fates of the samples. For true stacks they are those of all events.
    fates: ByFate<u64>,
    edges: u64,
    refuted_edges: u64,
    kinds: BTreeMap<String, u64>,
    broken: u64,
    cut: u64,
}

/// Reads the fates in a report. If they cannot be read, all are 0.
fn fates(value: &Value) -> ByFate<u64> {
    serde_json::from_value::<Signals<u64>>(value.clone()).unwrap_or_default().fates
}

impl Run {
    fn read(file: &Path) -> Result<Self> {
        let name = file.display();
        let report = report::json(file)?;
        let is_wrong = || format!("{name} is not MAJOR-RECORDER-PROGRAM.json");
        let (major, recorder, program) = parts_of_name(file).with_context(is_wrong)?;
        let recorder = Recorder::from_str(recorder, false).map_err(|why| anyhow!("{name}: {why}"))?;
        let of_kinds = || report["kinds"].as_object().into_iter().flat_map(|kinds| kinds.values());
        let all = of_kinds().map(|kind| fates(&kind["fates"])).fold(ByFate::default(), ByFate::<u64>::plus);
        let sum = |key: &str| of_kinds().filter_map(|kind| kind[key].as_u64()).sum();
        let counts = report["refuted"].as_object().into_iter().flatten();
        Ok(Self {
            major,
            fates: if recorder == Recorder::True { all } else { fates(&report["samples"]) },
            recorder,
            program: program.to_owned(),
            edges: report["edges"]["checked"].as_u64().unwrap_or(0),
            refuted_edges: report["edges"]["refuted"].as_u64().unwrap_or(0),
            kinds: counts.filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?))).collect(),
            broken: sum("broken"),
            cut: sum("cut"),
        })
    }
}

/// Returns a line about a run, and how many of its stacks are refuted.
pub fn line(file: &Path) -> Result<(String, u64)> {
    let Run { major, recorder, program, fates, edges, .. } = Run::read(file)?;
    let text = format!(
        "{major:<3} {program:<9} {:<6} {} samples of Java, {} without a stack, {} calls, {} refuted",
        recorder.name(),
        grouped(fates.java()),
        share(fates.unwalked, fates.java()),
        grouped(edges),
        grouped(fates.refuted),
    );
    Ok((text, fates.refuted))
}

/// Returns the tables: by recorder, by recorder and JDK, and by kind of refutation.
pub fn by_recorder(files: &[PathBuf]) -> Result<String> {
    let runs = files.iter().map(|file| Run::read(file)).collect::<Result<Vec<_>, _>>()?;
    let of = |recorder: Recorder| runs.iter().filter(|run| run.recorder == recorder).collect::<Vec<_>>();
    let samplers = || samplers().filter(|recorder| !of(*recorder).is_empty());
    let mut text = String::new();
    let truth = of(Recorder::True);
    if !truth.is_empty() {
        let sum = |figure: fn(&Run) -> u64| grouped(truth.iter().map(|run| figure(run)).sum());
        let _ = write!(
            text,
            "True stacks: {} runs, {} events, {} calls; {} are refuted.\n\n",
            truth.len(),
            sum(|run| run.fates.java()),
            sum(|run| run.edges),
            sum(|run| run.refuted_edges),
        );
    }
    let rows = samplers().map(|recorder| {
        let runs = of(recorder);
        let fates = runs.iter().map(|run| run.fates).fold(ByFate::default(), ByFate::<u64>::plus);
        let marked: u64 = runs.iter().map(|run| run.broken + run.cut).sum();
        let of_java = |part| share(part, fates.java());
        vec![
            recorder.title().to_owned(),
            runs.len().to_string(),
            grouped(fates.java()),
            of_java(fates.proven),
            of_java(fates.plausible),
            of_java(fates.refuted),
            of_java(fates.unwalked),
            of_java(marked),
            share(fates.dropped, fates.java() + fates.dropped),
        ]
    });
    let head = [
        "recorder",
        "runs",
        "samples of Java",
        "proven",
        "plausible",
        "**refuted**",
        "no stack",
        "marked as incomplete",
        "lost",
    ];
    text.push_str(&table(&head, rows));
    text.push('\n');
    text.push_str(&by_jdk("refuted, no stack", &runs, |recorder, major| {
        let of_jdk = of(recorder).into_iter().filter(|run| run.major == major);
        let fates = of_jdk.map(|run| run.fates).fold(ByFate::default(), ByFate::<u64>::plus);
        match fates.java() {
            0 => "-".to_owned(),
            java => format!("{}, {}", share(fates.refuted, java), share(fates.unwalked, java)),
        }
    }));
    let rows = samplers().map(|recorder| {
        let mut counts = BTreeMap::new();
        for (kind, count) in of(recorder).into_iter().flat_map(|run| &run.kinds) {
            *counts.entry(kind.clone()).or_default() += count;
        }
        vec![recorder.title().to_owned(), kinds(&counts)]
    });
    text.push('\n');
    text.push_str(&table(&["recorder", "how its stacks are refuted"], rows));
    Ok(text)
}

/// Returns the recorders that sample, in the order of the tables.
fn samplers() -> impl Iterator<Item = Recorder> {
    Recorder::value_variants().iter().copied().filter(|recorder| *recorder != Recorder::True)
}

/// Returns a table with a row for each recorder that samples, and a column for each JDK with runs.
fn by_jdk(corner: &str, runs: &[Run], cell: impl Fn(Recorder, u32) -> String) -> String {
    let majors: BTreeSet<u32> = runs.iter().map(|run| run.major).collect();
    let present = samplers().filter(|recorder| runs.iter().any(|run| run.recorder == *recorder));
    report::by_jdk(corner, &majors, present.map(|recorder| (recorder, recorder.title().to_owned())), cell)
}

/// Returns the table of the shortest programs: the share of refuted samples by recorder and JDK,
/// and the programs, which are in this folder.
pub fn shortest(programs: &Path, files: &[PathBuf]) -> Result<String> {
    let runs = files.iter().map(|file| Run::read(file)).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<&str> = runs.iter().map(|run| &*run.program).collect();
    let mut text = String::new();
    for name in names {
        let file = programs.join(format!("{name}.java"));
        let source = fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
        let (head, source) =
            source.split_once(" */\n\n").with_context(|| format!("{name} says not what it shows"))?;
        let head: Vec<&str> = head.lines().skip(1).map(|line| line.trim_start_matches(" *").trim()).collect();
        let options = head.iter().find_map(|line| line.strip_prefix("Run: "));
        let told: Vec<&str> = head.iter().copied().take_while(|line| !line.is_empty()).collect();
        let _ = write!(text, "### {name}\n\n{}\n", told.join("\n"));
        if let Some(options) = options {
            let _ = writeln!(text, "Run with `{options}`.");
        }
        let table = by_jdk("refuted", &runs, |recorder, major| {
            let run =
                runs.iter().find(|run| (&*run.program, run.recorder, run.major) == (name, recorder, major));
            run.map_or_else(|| "-".to_owned(), cell)
        });
        let _ = write!(text, "\n{table}\n```java\n{source}```\n\n");
    }
    Ok(text)
}

/// Returns the share of a run's samples that is refuted, and the most frequent kind of refutation.
fn cell(run: &Run) -> String {
    let java = run.fates.java();
    let most = run.kinds.iter().max_by_key(|(_, count)| **count);
    match (java, run.fates.refuted, most) {
        (0, ..) => "no sample".to_owned(),
        (_, 0, _) | (.., None) => format!("0 of {}", grouped(java)),
        (_, refuted, Some((kind, _))) => format!("**{}** of {}: {kind}", share(refuted, java), grouped(java)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_added_up_and_what_is_not_has_no_share() {
        let folder = std::env::temp_dir().join(format!("vouch-trial-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let samples = r#"{"signals": 110, "proven": 80, "plausible": 10, "refuted": 5, "unwalked": 5, "outside": 10, "dropped": 0}"#;
        let files = [
            write(
                "17-vm-mix.json",
                &format!(
                    r#"{{"samples": {samples}, "refuted": {{"wrong_root": 5}}, "edges": {{"checked": 900}}}}"#
                ),
            ),
            write(
                "25-true-mix.json",
                &format!(
                    r#"{{"kinds": {{"jdk.ThreadPark": {{"fates": {samples}, "cut": 3, "broken": 0}}}}, "edges": {{"checked": 77, "refuted": 2}}}}"#
                ),
            ),
        ];
        let told = by_recorder(&files).unwrap();
        assert!(told.contains("True stacks: 1 runs, 100 events, 77 calls; 2 are refuted."), "{told}");
        assert!(told.contains("| 1 | 100 | 80 % | 10 % | 5 % | 5 % | 0 % | 0 % |"), "{told}");
        assert!(told.contains("| 5 %, 5 % | - |"), "{told}");
        assert!(told.contains("wrong_root 5") && !told.contains("Vouch |"), "{told}");
        let line = "17  mix       vm     100 samples of Java, 5 % without a stack, 900 calls, 5 refuted";
        assert_eq!(super::line(&files[0]).unwrap(), (line.to_owned(), 5));
        assert!(by_recorder(&[folder.join("none.json")]).is_err());
        fs::write(
            folder.join("mix.java"),
            "/*\n * What it\n * shows.\n *\n * Run: -Xint\n */\n\nclass Mix {}\n",
        )
        .unwrap();
        let told = shortest(&folder, &files[..1]).unwrap();
        assert!(told.contains("### mix\n\nWhat it\nshows.\nRun with `-Xint`.\n"), "{told}");
        assert!(
            told.contains("| **5 %** of 100: wrong_root |") && told.contains("```java\nclass Mix {}\n```"),
            "{told}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
