//! Implements `vouch groups`, which prints the time of a program's groups of tasks, of one run or
//! of several together.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use vouch_report::{GroupReport, duration, grouped, plain};

use crate::attach;
use crate::document::{self, FileKind};
use crate::error::Error;

/// The lengths of tasks for which the table has a column, in milliseconds.
const LONG_MS: [&str; 2] = ["16", "128"];

#[derive(clap::Args)]
pub struct GroupsOptions {
    /// Print all counts and times as JSON
    #[arg(long)]
    json: bool,
}

/// Returns the table of groups, from files and from running JVMs.
pub fn groups(of: &[PathBuf], how: &GroupsOptions) -> Result<String, Error> {
    let mut all = BTreeMap::new();
    for (at, one) in of.iter().enumerate() {
        document::named_once(&of[..at], one)?;
        let groups = match process(one) {
            Some(pid) => attach::groups(pid)?,
            None if document::kind(one)? == FileKind::Recording => {
                return Err(Error::GroupsOfRecording(one.clone()));
            }
            None => document::groups(one)?,
        };
        let groups: Option<BTreeMap<String, GroupReport>> =
            serde_json::from_value(groups).map_err(|why| Error::GroupsShape { path: one.clone(), why })?;
        vouch_report::add_groups(&mut all, groups.unwrap_or_default());
    }
    if how.json {
        let json = serde_json::to_string_pretty(&all)?;
        return Ok(json + "\n");
    }
    if all.is_empty() {
        return Ok(
            "no tasks of groups were recorded: docs/groups.md says how a program names them\n".to_owned()
        );
    }
    Ok(table(all))
}

/// Returns the process id in an argument, unless the argument is a file.
fn process(one: &Path) -> Option<&str> {
    let pid = one.to_str().filter(|text| text.parse::<u32>().is_ok())?;
    (!one.exists()).then_some(pid)
}

fn table(all: BTreeMap<String, GroupReport>) -> String {
    let mut rows: Vec<_> = all.into_iter().collect();
    rows.sort_by(|(_, one), (_, other)| other.cpu_ms.total_cmp(&one.cpu_ms));
    let [long, longer] = LONG_MS;
    let mut text = format!(
        "{:>9}  {:>9}  {:>9}  {:>9}  {:>9}  group\n",
        "CPU",
        "blocked",
        "tasks",
        format!("{long} ms +"),
        format!("{longer} ms +")
    );
    for (name, group) in rows {
        let of = |limit: &str| grouped(group.tasks_of_ms.get(limit).copied().unwrap_or(0));
        let notes = notes(&group);
        let (cpu, blocked) = (duration(group.cpu_ms), duration(group.blocked_ms));
        let _ = writeln!(
            text,
            "{cpu:>9}  {blocked:>9}  {:>9}  {:>9}  {:>9}  {}{notes}",
            grouped(group.tasks),
            of(long),
            of(longer),
            plain(&name)
        );
    }
    text
}

/// Returns notes on tasks that the values of a group do not include.
fn notes(group: &GroupReport) -> String {
    let without =
        [(group.tasks_without_cpu, "on virtual threads, without CPU time"), (group.abandoned, "abandoned")];
    let notes: Vec<String> = without
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}
