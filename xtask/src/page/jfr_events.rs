//! Makes the catalogue of the JDK's own kinds of events from recordings, and docs/jfr-events.md
//! from the catalogue.
//!
//! The words are written by hand, in `agent/jfr/src/catalogue/words.txt`; a test names those that
//! are missing. It must never write a fact that is in no recording.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde_json::Value;
use vouch_jfr::catalogue::{Catalogue, JfrEventKind, Recorded, Shape, catalogue};

use super::document::write_whole;
use super::interface::Page;
use super::merged::{Marker, markers};
use super::runner::{Jdk, Outcome, Runner, last_line, run_logged, shown};
use crate::report::json;

/// The JDK's own kinds of JFR events, from recordings of a small program on each JDK
///
/// It writes agent/jfr/src/catalogue/kinds.json, too. With `--only-words` nothing runs: the page is
/// made from the catalogue that is built in.
#[derive(Args, Debug)]
pub struct JfrEvents {
    /// Record nothing; make the page from the facts that are there
    #[arg(long)]
    only_words: bool,
}

const JDKS: [u32; 6] = [8, 11, 17, 21, 25, 27];
const FACTS: &str = "agent/jfr/src/catalogue/kinds.json";

impl Page for JfrEvents {
    const NAME: &'static str = "jfr-events";
    const DOCUMENT: &'static str = "docs/jfr-events.md";

    fn make(self) -> Result<()> {
        if self.only_words {
            return write_whole(Self::DOCUMENT, &page());
        }
        let runner = Runner::new(Self::NAME)?;
        runner.clear_runs()?;
        let mut files = Vec::new();
        for jdk in runner.jdks(&JDKS)? {
            println!("JDK {}", jdk.major);
            files.extend(record_all(&runner, &jdk)?);
        }
        fs::write(FACTS, kinds(&files)?).context(FACTS)?;
        println!("{FACTS} is made");
        // The facts are built into this program: the page needs a new build.
        let mut again = std::process::Command::new("cargo");
        let log = runner.logs.join("page.log");
        match run_logged(again.args(["xtask", "page", Self::NAME, "--only-words"]), &log)? {
            Outcome::Done => Ok(()),
            _ => Err(anyhow!("{}: see {}", last_line(&log), shown(&log))),
        }
    }
}

/// Records the small program on a JDK in three ways: two recordings, and a merged profile with an
/// example of each kind.
fn record_all(runner: &Runner, jdk: &Jdk) -> Result<[PathBuf; 3]> {
    let major = jdk.major;
    let file = |name: String| runner.runs.join(name);
    let classes = file(format!("classes-{major}"));
    fs::create_dir_all(&classes).with_context(|| shown(&classes))?;
    runner.compile(&jdk.home, &classes, &["java-tests/clock/Lively.java"])?;
    record(runner, jdk, "default", "default", None)?;
    record(runner, jdk, "profile", "profile", None)?;
    // All kinds are recorded, whatever they cost.
    let all = file(format!("{major}.jfc"));
    let default = file(format!("{major}.default.jfr"));
    fs::write(&all, settings(&default)?).with_context(|| shown(&all))?;
    record(runner, jdk, "all", &all.display().to_string(), (major >= 21).then_some("virtual"))?;
    let examples = file(format!("{major}.examples.json"));
    let log = runner.logs.join(format!("{major}.merge.log"));
    let mut merge = runner.vouch();
    merge.arg("merge").arg(file(format!("{major}.all.json"))).arg(file(format!("{major}.all.jfr")));
    merge.args(["--events", "jdk.*", "--most", "1", "--out"]).arg(&examples);
    if run_logged(&mut merge, &log)? != Outcome::Done {
        bail!("JDK {major}: its recording cannot be merged: see {}", shown(&log));
    }
    Ok([default, file(format!("{major}.profile.jfr")), examples])
}

/// Records the small program, with Vouch beside JFR for the merge.
fn record(runner: &Runner, jdk: &Jdk, name: &str, settings: &str, argument: Option<&str>) -> Result<()> {
    let name = format!("{}.{name}", jdk.major);
    let log = runner.logs.join(format!("{name}.log"));
    let collector = if jdk.major > 8 { "-XX:+UseParallelGC" } else { "-XX:+UseG1GC" };
    let mut java = Runner::java(&jdk.home, 120);
    java.args(["-Xmx128m", collector, "-cp", &format!("classes-{}", jdk.major)]);
    java.arg(format!("-XX:StartFlightRecording=filename={name}.jfr,settings={settings}"));
    java.arg(runner.agent(&format!("out={name}.json,interval=10ms,quiet")));
    java.arg("Lively").args(argument).current_dir(&runner.runs);
    run_logged(&mut java, &log)?.check(&name, &log)
}

/// An example shows at most this many characters of a text.
const MAX_TEXT_LETTERS: usize = 60;
/// An example shows at most this many fields.
const MAX_FIELDS: usize = 8;

/// The kinds with values of this machine, which are of no use elsewhere.
const OF_THIS_MACHINE: [&str; 5] = [
    "jdk.InitialEnvironmentVariable",
    "jdk.InitialSystemProperty",
    "jdk.InitialSecurityProperty",
    "jdk.JVMInformation",
    "jdk.NativeLibrary",
];

/// Returns settings with which the JVM records all kinds, whatever they cost.
fn settings(recording: &Path) -> Result<String> {
    let recorded = read(recording)?;
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration version=\"2.0\">\n");
    for (name, facts) in recorded.kinds.iter().filter(|(name, _)| name.starts_with("jdk.")) {
        let _ = write!(text, "  <event name=\"{name}\"><setting name=\"enabled\">true</setting>");
        if facts.form.stack {
            text.push_str("<setting name=\"stackTrace\">true</setting>");
        }
        if facts.form.duration {
            text.push_str("<setting name=\"threshold\">0 ms</setting>");
        }
        text.push_str("</event>\n");
    }
    text.push_str("</configuration>\n");
    Ok(text)
}

/// Returns the text of kinds.json. The files are recordings `MAJOR.default.jfr` and
/// `MAJOR.profile.jfr`, and merged profiles `MAJOR.examples.json`.
fn kinds(files: &[PathBuf]) -> Result<String> {
    let mut by_jdk: BTreeMap<u32, [Option<Recorded>; 2]> = BTreeMap::new();
    let mut examples = HashMap::new();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let wrong = || {
            format!("{}: it is not called MAJOR.default.jfr, .profile.jfr or .examples.json", file.display())
        };
        let (major, what) = name.split_once('.').with_context(wrong)?;
        let major: u32 = major.parse().map_err(|_| anyhow!(wrong()))?;
        let place = match what {
            "default.jfr" => 0,
            "profile.jfr" => 1,
            "examples.json" => {
                examples.extend(self::examples(file)?);
                continue;
            }
            _ => bail!(wrong()),
        };
        by_jdk.entry(major).or_default()[place] = Some(read(file)?);
    }
    let mut made = Catalogue::default();
    let mut kinds: BTreeMap<String, JfrEventKind> = BTreeMap::new();
    for (major, both) in by_jdk {
        let [Some(default), Some(profile)] = both else {
            bail!("JDK {major}: there is one recording, and there should be two");
        };
        made.jdks.insert(major, default.jvm.clone().unwrap_or_default());
        for (name, facts) in default.kinds.into_iter().filter(|(name, _)| name.starts_with("jdk.")) {
            let shape = Shape {
                jdks: vec![major],
                form: facts.form,
                default: facts.setting,
                profile: profile
                    .kinds
                    .get(&name)
                    .map_or_else(|| "off".to_owned(), |facts| facts.setting.clone()),
            };
            let of_this_machine = OF_THIS_MACHINE.contains(&name.as_str())
                || facts.category.first().is_some_and(|category| category == "Operating System");
            let kind = kinds.entry(name.clone()).or_insert_with(|| JfrEventKind {
                label: String::new(),
                category: Vec::new(),
                shapes: Vec::new(),
                example: examples.get(&name).filter(|_| !of_this_machine).cloned(),
                name,
                reports: "",
                lacks: "",
            });
            // The label and the category are those of the newest JDK.
            (kind.label, kind.category) = (facts.label, facts.category);
            match kind.shapes.last_mut() {
                Some(last) if (Shape { jdks: last.jdks.clone(), ..shape.clone() }) == *last => {
                    last.jdks.push(major);
                }
                _ => kind.shapes.push(shape),
            }
        }
    }
    made.kinds = kinds.into_values().collect();
    lines(&made).map_err(Into::into)
}

/// Writes each kind on its own line, so that a change of one kind changes one line.
fn lines(made: &Catalogue) -> serde_json::Result<String> {
    let kinds: Vec<String> = made.kinds.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("{{\"jdks\":{},\"kinds\":[\n{}\n]}}\n", serde_json::to_string(&made.jdks)?, kinds.join(",\n")))
}

fn read(file: &Path) -> Result<Recorded> {
    let name = || file.display().to_string();
    let open = File::open(file).with_context(name)?;
    let mut recorded = Recorded::read(BufReader::new(open)).with_context(name)?;
    // A catalogue is made of whole recordings.
    recorded.damage.pop().map_or(Ok(recorded), |damage| Err(damage).with_context(name))
}

/// Returns an example of each kind: the values of its last marker, in a line.
fn examples(file: &Path) -> Result<HashMap<String, String>> {
    let profile = json(file)?;
    let schemas = profile["meta"]["markerSchema"].as_array();
    let schemas = schemas.with_context(|| format!("{}: it is no profile", file.display()))?;
    let mut found = HashMap::new();
    for Marker { start_ms, end_ms, data } in markers(&profile) {
        let Some(name) = data["type"].as_str().and_then(|of| of.strip_prefix("jfr.")) else { continue };
        let Some(schema) = schemas.iter().find(|schema| schema["name"] == data["type"]) else { continue };
        let took = end_ms.zip(start_ms);
        let mut parts: Vec<String> =
            took.iter().map(|(end, start)| format!("{:.3} ms", end - start)).collect();
        for field in schema["fields"].as_array().into_iter().flatten() {
            let key = field["key"].as_str().unwrap_or_default();
            let value = field_text(&profile, field["format"].as_str().unwrap_or_default(), &data[key]);
            parts.extend(value.map(|value| format!("{key} {value}")));
        }
        parts.truncate(MAX_FIELDS);
        found.insert(name.to_owned(), parts.join(", "));
    }
    Ok(found)
}

fn field_text(profile: &Value, format: &str, value: &Value) -> Option<String> {
    let number = value.as_f64()?;
    Some(match format {
        "unique-string" => {
            let text = profile["shared"]["stringArray"][usize::try_from(value.as_u64()?).ok()?].as_str()?;
            // A path of this machine is not shown.
            let text = text.replace(['\n', '\t', '|'], " ");
            if text.contains('/') && !text.contains(' ') {
                return None;
            }
            let short: String = text.chars().take(MAX_TEXT_LETTERS).collect();
            if short.is_empty() {
                return None;
            }
            if short.len() < text.len() { format!("{short}…") } else { short }
        }
        "bytes" => format!("{number} B"),
        "percentage" => format!("{:.1} %", number * 100.0),
        "duration" => format!("{number:.3} ms"),
        _ => format!("{number}"),
    })
}

/// Returns the text of docs/jfr-events.md.
fn page() -> String {
    let catalogue = catalogue();
    let mut text = format!(
        "# The JDK's own Flight Recorder events\n\n\
         The tables list each of the JDK's own event kinds: which JDKs have it, how JFR's settings `default`\n\
         and `profile` record it, what it reports, and what it does not report.\n\n\
         `vouch merge` and `jfr=` can add these kinds to a profile, and the program's own kinds\n\
         ([jfr.md](jfr.md)). `vouch events NAME` prints one kind, with its fields in each JDK and an example\n\
         from a real recording. `vouch events --of app.jfr` prints the kinds of a recording.\n\n\
         `cargo xtask page jfr-events` writes this page. The last two columns are our words. All other facts\n\
         are from the metadata of recordings by these JDKs:\n\n\
         - {}\n",
        builds(catalogue)
    );
    let mut by_category: BTreeMap<String, Vec<&JfrEventKind>> = BTreeMap::new();
    for kind in &catalogue.kinds {
        by_category.entry(kind.category.join(", ")).or_default().push(kind);
    }
    for (category, kinds) in by_category {
        let _ = write!(
            text,
            "\n## {category}\n\n| kind | JDK | default | profile | has | reports | does not report |\n|---|---|---|---|---|---|---|\n"
        );
        for kind in kinds {
            let Some(shape) = kind.newest() else { continue };
            let same = if shape.profile == shape.default { "the same" } else { &shape.profile };
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} | {} |",
                kind.name.strip_prefix("jdk.").unwrap_or(&kind.name),
                kind.jdks(&catalogue.jdks),
                shape.default,
                same,
                shape.form.in_words(),
                kind.reports,
                kind.lacks
            );
        }
    }
    text
}

fn builds(catalogue: &Catalogue) -> String {
    catalogue.jdks.values().map(String::as_str).collect::<Vec<_>>().join("\n- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_catalogues() {
        let written = include_str!("../../../docs/jfr-events.md");
        assert!(
            written == page(),
            "docs/jfr-events.md differs from the catalogue: run cargo xtask page jfr-events --only-words"
        );
    }
}
