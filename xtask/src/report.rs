//! Reads a trust report, and the JDK, mode and program of the run in its file's name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use vouch_report::{TrustReport, float, grouped};

/// A trust report, with the JDK, mode and program of its run.
#[derive(Debug)]
pub struct RunReport {
    pub major: u32,
    /// The mode of the run, or an empty text if the runs have no modes.
    pub mode: String,
    pub program: String,
    pub report: TrustReport,
}

/// Reads the reports in these files.
pub fn reports(files: &[PathBuf]) -> Result<Vec<RunReport>> {
    files.iter().map(|file| RunReport::read(file)).collect()
}

impl RunReport {
    /// Reads `MAJOR-PROGRAM.json` or `MAJOR-MODE-PROGRAM.json`.
    pub fn read(file: &Path) -> Result<Self> {
        let name = file.display();
        let opened = File::open(file).with_context(|| format!("{name}"))?;
        let report = serde_json::from_reader(BufReader::new(opened))
            .with_context(|| format!("{name} is no trust report of this version"))?;
        Self::named(file, report)
    }

    /// Combines a report with the JDK, mode and program in the name of its file.
    pub fn named(file: &Path, report: TrustReport) -> Result<Self> {
        let name = file.display();
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let (major, rest) = stem.split_once('-').with_context(|| format!("{name}: no MAJOR-PROGRAM"))?;
        let (mode, program) = rest.rsplit_once('-').unwrap_or(("", rest));
        let major = major.parse().map_err(|_| anyhow!("{name} begins with no number of a JDK"))?;
        Ok(Self { major, mode: mode.to_owned(), program: program.to_owned(), report })
    }

    /// Returns the mode without the number of the run, such as `z` for `z.2`.
    pub fn kind(&self) -> &str {
        self.mode.split('.').next().unwrap_or_default()
    }

    /// Returns the number of distinct edges that rest on an explanation.
    pub fn explained(&self) -> u64 {
        self.report.run.edges.explained.values().sum()
    }
}

/// Formats a share in percent, such as `1.25 %`.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{} %", (part / whole * 1e4).round() / 100.0) } else { "-".to_owned() }
}

/// Formats counts, the most frequent first, such as `wrong_root 12, gap 3`.
pub fn kinds(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let counts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {}", grouped(**count))).collect();
    counts.join(", ")
}

/// Formats the share of one count in another.
pub fn share(part: u64, whole: u64) -> String {
    percent(float(part), float(whole))
}

/// Reads a whole JSON document.
pub fn json(file: &Path) -> Result<Value> {
    let name = || file.display().to_string();
    let open = File::open(file).with_context(name)?;
    serde_json::from_reader(BufReader::new(open)).with_context(name)
}

/// Splits the name of a file `MAJOR-KIND-PROGRAM.json` into its three parts.
pub fn parts_of_name(file: &Path) -> Option<(u32, &str, &str)> {
    let mut parts = file.file_stem()?.to_str()?.splitn(3, '-');
    Some((parts.next()?.parse().ok()?, parts.next()?, parts.next()?))
}

/// Returns a table with a column for each JDK. A row has a name, and a key that is passed to make
/// its cells.
pub fn by_jdk<K: Copy>(
    corner: &str,
    majors: &BTreeSet<u32>,
    rows: impl IntoIterator<Item = (K, String)>,
    cell: impl Fn(K, u32) -> String,
) -> String {
    let head: Vec<String> = majors.iter().map(|major| format!("JDK {major}")).collect();
    let head: Vec<&str> = [corner].into_iter().chain(head.iter().map(String::as_str)).collect();
    let rows = rows.into_iter().map(|(key, name)| {
        let cells = majors.iter().map(|major| cell(key, *major));
        [name].into_iter().chain(cells).collect()
    });
    table(&head, rows)
}

/// Returns a table in Markdown.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let mut text = line(&head) + &format!("|{}\n", "---|".repeat(head.len()));
    for row in rows {
        text.push_str(&line(&row));
    }
    text
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use vouch_report::{EdgeReport, HandlerTime, Power, Run, Signals};

    /// Makes a report with different values in all fields.
    pub fn report(major: u32, mode: &str, program: &str) -> RunReport {
        let mut report = TrustReport {
            samples: Signals { signals: 1_000, ..Signals::default() },
            weight_ms: Some(Signals { signals: 2_000.0, ..Signals::default() }),
            ..TrustReport::default()
        };
        report.samples.fates.refuted = 20;
        let fates = &mut report.weight_ms.get_or_insert_default().fates;
        (fates.proven, fates.plausible, fates.refuted) = (1_500.0, 80.0, 20.0);
        (fates.unwalked, fates.outside) = (100.0, 300.0);
        report.conservation.ratio = Some(0.998);
        report.run = Run {
            agent_cpu_ms: Some(90.0),
            refuted: [("gap".to_owned(), 3), ("wrong_root".to_owned(), 17)].into(),
            edges: EdgeReport {
                checked: 1_234_567,
                distinct: 60,
                proven: 50,
                explained: [("jni_entry".to_owned(), 7), ("class_unloaded".to_owned(), 2)].into(),
                refuted: 1,
                took_ms: Some(10.0),
            },
            power: ["dropped_frames", "foreign_frames", "moved_bcis"]
                .map(|name| (name.to_owned(), Power { tried: 200, noticed: 150 }))
                .into(),
            handler_ns: Some(HandlerTime { total_ms: 20.0, ..HandlerTime::default() }),
            ..Run::default()
        };
        RunReport { major, mode: mode.to_owned(), program: program.to_owned(), report }
    }

    #[test]
    fn the_most_frequent_comes_first() {
        assert_eq!(kinds(&report(8, "", "mix").report.run.refuted), "wrong_root 17, gap 3");
    }

    #[test]
    fn a_file_that_is_no_report_is_named() {
        let error = RunReport::read(Path::new("/nowhere/25-mix.json")).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.starts_with("/nowhere/25-mix.json: "), "{error}");
        assert!(RunReport::read(Path::new("mix.json")).is_err());
    }
}
