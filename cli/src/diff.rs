//! Implements `vouch diff`, which lists the methods that took more or less time in one run than in
//! another, as far as that is not chance.
//!
//! It must never call noise a change: in 95 of 100 comparisons of equal runs no row shows one.

mod compare;
mod run;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use regex_lite::Regex;
use serde_json::json;
use vouch_report::{float, grouped, percent, plain, shortened};

use crate::counted;
use crate::error::Error;
use crate::flame;
use crate::measure::Measure;
use crate::top::{row_count, width};
use compare::{Change, Comparison};
use run::Run;

/// A note is printed if the time without a valid stack differs by more points than this.
const LESS_TRUE: f64 = 2.0;
/// A note prints at most this many characters of a property in which runs differ.
const MAX_NOTED: usize = 100;
/// A change of a share by more than this, in points, counts as large.
const LARGE: f64 = 3.0;

#[derive(Args)]
pub struct DiffOptions {
    /// Add a run of the program as it was; may be repeated
    #[arg(long, value_name = "PROFILE")]
    before: Vec<PathBuf>,
    /// Add a run of the program as it is now; may be repeated
    #[arg(long, value_name = "PROFILE")]
    after: Vec<PathBuf>,
    #[command(flatten)]
    pub compared: Compared,
    /// What to count
    #[arg(long, value_enum, default_value_t)]
    measure: Measure,
    /// Count only threads with a name that contains a match
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,
    /// List methods without a certain change, too
    #[arg(long)]
    all: bool,
    /// List at most this many rows that gained, and as many that lost
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = row_count, allow_hyphen_values = true)]
    rows: usize,
    /// Draw a flame graph of the runs after: red gained, blue lost
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    /// Print all methods and their intervals as JSON
    #[arg(long)]
    json: bool,
}

/// The options for what is compared about each method.
#[derive(Debug, Clone, Copy, Args)]
pub struct Compared {
    /// Compare times and not shares, for runs that do the same work
    #[arg(long)]
    time: bool,
    /// Count what methods called, too
    #[arg(long)]
    total: bool,
}

/// Compares the runs, and returns the text to print.
pub fn diff(before: &Path, after: &Path, how: &DiffOptions) -> Result<String, Error> {
    how.picture.as_deref().map_or(Ok(()), |out| flame::check(out, ".svg"))?;
    if how.compared.time && how.before.is_empty() && how.after.is_empty() {
        return Err(Error::TimeOfOneRun);
    }
    let read = |first: &Path, more: &[PathBuf]| {
        let paths = std::iter::once(first).chain(more.iter().map(PathBuf::as_path));
        paths
            .map(|path| {
                Run::read(path, (how.measure, how.compared.total), how.thread.as_ref(), how.picture.is_some())
            })
            .collect::<Result<Vec<_>, _>>()
    };
    let sides = [read(before, &how.before)?, read(after, &how.after)?];
    let runs: Vec<&Run> = sides.iter().flatten().collect();
    for (at, run) in runs.iter().enumerate() {
        if let Some(same) = runs[..at].iter().find(|other| run.is_same(other)) {
            return Err(Error::SameRun { one: same.path().to_string(), other: run.path().to_string() });
        }
    }
    let counted: Vec<&&Run> = runs.iter().filter(|run| !run.counted.is_time()).collect();
    let whole = match counted[..] {
        [] => "time",
        [run, ..] if how.compared.time => {
            return Err(Error::NoTimes { path: run.path().to_string(), what: run.counted.what.to_string() });
        }
        [run, ..] if run.counted.unit == counted::Unit::Bytes => "bytes",
        [run, ..] if run.counted.unit == counted::Unit::Events => "events",
        _ if counted.len() == runs.len() => "samples",
        _ => "weight",
    };
    let comparison = Comparison::from_sides(&sides, how.compared.time);
    let drawn = how.picture.as_deref().map_or(Ok(String::new()), |picture| draw(picture, &sides))?;
    let warnings = warnings(&sides, how.thread.is_none(), whole);
    if how.json {
        let changes: Vec<_> = comparison.changes.iter().map(|change| change.json(&comparison)).collect();
        let told = json!({
            "unit": if how.compared.time { "ms" } else { "share" }, "of": if how.compared.total { "total" } else { "self" },
            "methods": changes, "warnings": warnings,
        });
        return Ok(format!("{told:#}\n"));
    }
    let mut text = String::new();
    for (side, name) in sides.iter().zip(["before", "after"]) {
        let _ = writeln!(text, "{name:>6}  {}", run::line(side, how.thread.is_none()));
    }
    for warning in &warnings {
        let _ = writeln!(text, "note: {warning}");
    }
    text.push_str(&table(&comparison, how, whole));
    text.push_str(&drawn);
    Ok(text)
}

/// Draws a flame graph of the methods that gained and lost time.
fn draw(picture: &Path, sides: &[Vec<Run>; 2]) -> Result<String, Error> {
    let [before, after] =
        sides.each_ref().map(|side| side.iter().flat_map(|run| run.folded.clone()).collect::<Vec<_>>());
    let first = sides.each_ref().map(|side| side.first().map(Run::name).unwrap_or_default());
    let title = format!("{}: red is more, blue less than in {}", first[1], first[0]);
    // The runs before are scaled to the total of the runs after.
    let scaled_to = &sides[1];
    let unit = match scaled_to.first().map(|run| run.counted.unit) {
        Some(unit @ (counted::Unit::Bytes | counted::Unit::Events)) => unit.in_pictures().0,
        _ if scaled_to.iter().all(|run| run.counted.is_time()) => "µs",
        _ => "samples",
    };
    flame::differential(picture, [&before, &after], title, unit)
}

fn table(comparison: &Comparison, how: &DiffOptions, whole: &str) -> String {
    let unit = Unit { time: how.compared.time };
    let widest = width(62);
    let what = if how.compared.total { "total" } else { "self" };
    let mut text = format!("\n      change           95 % sure      before       after  {what} {whole} of\n");
    let told = |change: &&Change| how.all || comparison.is_sure(change);
    let (gained, lost): (Vec<_>, Vec<_>) =
        comparison.changes.iter().filter(told).partition(|change| change.by() >= 0.0);
    for changes in [&gained, &lost] {
        for change in changes.iter().take(how.rows) {
            let by = change.by();
            let [least, most] = comparison.interval(change).map(|end| unit.signed(end));
            let interval = format!("{least} to {most}");
            let name = plain(&shortened(&change.name, widest));
            let [before, after] = change.values.map(|value| unit.plain(value));
            let _ = writeln!(
                text,
                "{:>12}  {interval:>18}  {before:>10}  {after:>10}  {name}",
                unit.signed_with(by)
            );
        }
        if changes.len() > how.rows {
            let _ = writeln!(text, "{} more: --rows shows them", changes.len() - how.rows);
        }
    }
    if gained.is_empty() && lost.is_empty() {
        text.clear();
        text.push_str("\nno method changed by more than chance explains\n");
    }
    let _ = writeln!(
        text,
        "\n{} methods compared, 95 % sure of all rows together",
        grouped(comparison.changes.len() as u64)
    );
    if !how.compared.time {
        text.extend(uncertain(comparison));
    }
    if let Some(hottest) = comparison.hottest() {
        let (name, value) = (plain(&shortened(&hottest.name, widest)), hottest.values[0]);
        let noticed = comparison.noticeable_change(hottest);
        if noticed < value {
            let _ = writeln!(
                text,
                "a change of {} in {name} ({}) would be seen in four of five cases",
                unit.change(noticed),
                unit.plain(value),
            );
        } else if !comparison.single {
            let _ = writeln!(
                text,
                "these runs differ too much to see a change even in {name}, which takes the most ({}): take more of each (--before, --after)",
                unit.plain(value),
            );
        }
    }
    if comparison.single {
        text.push_str(
            "with one run on each side, smaller changes are as likely to be differences of JIT compilation: take five runs of each (--before, --after)\n",
        );
    }
    text
}

/// Returns a note on how many of the large changes are uncertain, or `None` if none is. Different
/// programs have many of these, and the table of certain changes lists none.
fn uncertain(comparison: &Comparison) -> Option<String> {
    let is_large = |change: &&Change| 100.0 * change.by().abs() > LARGE;
    let large: Vec<&Change> = comparison.changes.iter().filter(is_large).collect();
    let uncertain = large.iter().filter(|change| !comparison.is_sure(change)).count();
    (uncertain > 0).then(|| {
        format!(
            "{uncertain} of {} changes above {LARGE} points are uncertain (--all lists them)\n",
            large.len()
        )
    })
}

/// The unit in which values of a comparison are printed.
#[derive(Clone, Copy)]
struct Unit {
    time: bool,
}

impl Unit {
    fn plain(self, value: f64) -> String {
        if self.time { format!("{value:.0} ms") } else { percent(100.0 * value) }
    }

    fn signed(self, value: f64) -> String {
        if self.time { format!("{value:+.0}") } else { format!("{:+.1}", 100.0 * value) }
    }

    fn signed_with(self, value: f64) -> String {
        format!("{} {}", self.signed(value), self.name())
    }

    /// Formats a change with its unit, and with a sign only if it is negative.
    fn change(self, value: f64) -> String {
        self.signed_with(value).trim_start_matches('+').to_owned()
    }

    fn name(self) -> &'static str {
        if self.time { "ms" } else { "points" }
    }
}

/// Removes the words with which all values begin, and cuts each to [`MAX_NOTED`] characters. A
/// command line may have thousands of characters, and differ only in its last word.
fn differing_parts(values: &[String]) -> Vec<String> {
    let is_long = |value: &String| value.chars().count() > MAX_NOTED;
    if !values.iter().any(is_long) {
        return values.to_vec();
    }
    let words: Vec<Vec<&str>> = values.iter().map(|value| value.split(' ').collect()).collect();
    let is_common = |(at, word): &(usize, &&str)| words.iter().all(|words| words.get(*at) == Some(*word));
    let common = words[0].iter().enumerate().take_while(is_common).count();
    let part = |words: &Vec<&str>| {
        let differing = shortened(&words[common..].join(" "), MAX_NOTED);
        format!("{}{differing}", if common > 0 { "… " } else { "" })
    };
    words.iter().map(part).collect()
}

/// Returns warnings about the properties in which the runs differ, and about how far they can be
/// trusted.
fn warnings(sides: &[Vec<Run>; 2], all_threads: bool, whole: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (what, of) in run::CIRCUMSTANCES {
        // Values are in the order of the sides. A report that cannot be read has no value.
        let mut values: Vec<String> = Vec::new();
        for value in sides.iter().flatten().map(of) {
            if !value.is_empty() && !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > 1 {
            let values: Vec<String> = differing_parts(&values).iter().map(|part| plain(part)).collect();
            warnings.push(format!("the runs differ in {what}: {}", values.join(" and ")));
        }
    }
    let runs: Vec<&Run> = sides.iter().flatten().collect();
    for (at, run) in runs.iter().enumerate() {
        // This is allowed, for example for a dump and the profile that was written at the end.
        if let Some(other) = runs[..at].iter().find(|other| run.shares_a_time(other)) {
            let (one, other) = (plain(other.path()), plain(run.path()));
            warnings.push(format!(
                "{one} and {other} have samples of one process from the same time, which count in both"
            ));
        }
    }
    let lacking =
        |runs: &Vec<Run>| runs.iter().map(Run::without_stack).sum::<f64>() / float(runs.len() as u64);
    let [before, after] = [lacking(&sides[0]), lacking(&sides[1])];
    // The report has this value only for all threads together.
    if all_threads && (before - after).abs() > LESS_TRUE {
        warnings.push(format!(
            "{} of the {whole} before and {} after has no stack, or only a refuted one, so it belongs to no method",
            percent(before),
            percent(after)
        ));
    }
    warnings
}
