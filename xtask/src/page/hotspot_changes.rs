//! Makes docs/hotspot-changes.md: what changed in HotSpot in which JDK, from the agent's table of
//! names and the snapshots of VMStructs.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use vouch_hotspot::fields::{self, JdkName, Row, RowKind};
use vouch_hotspot::snapshots::{JDKS, line_prefix};

use super::document::write_whole;
use super::interface::Page;
use crate::report::{by_jdk, table};

/// What changed in HotSpot's memory in which JDK, from the table of names (no run)
#[derive(Args, Debug)]
pub struct HotspotChanges {}

impl Page for HotspotChanges {
    const NAME: &'static str = "hotspot-changes";
    const DOCUMENT: &'static str = "docs/hotspot-changes.md";

    fn make(self) -> Result<()> {
        write_whole(Self::DOCUMENT, &page())
    }
}

const HEAD: &str = "\
# What changed in HotSpot, by JDK

Vouch reads the memory of HotSpot by the tables that HotSpot exports: VMStructs, VMTypes and
VMIntConstants. This page lists every name that Vouch looks up there, the JDKs that have it, and
what does not work on a JVM without it. `vouch doctor` reports names that a JVM should have and
lacks. A dash is no loss: Vouch does without this name on that JDK, or uses another one.

`cargo xtask page hotspot-changes` makes this page from `agent/hotspot/src/fields.rs` and the
snapshots beside it. Seven JDKs were measured, on x86-64; a JDK between two of them may differ.
";

const VALUES: &str = "
## Offsets, sizes and values

A field has its offset in bytes, a type its size, and a constant its value. A static field has an
address, which changes with each start: the table has `yes`. The builds are those of the
snapshots, and another update may differ. Flags and functions are not in these tables of HotSpot,
so they are not here.
";

fn page() -> String {
    let mut text = HEAD.to_owned();
    for ((before, _), (jdk, _)) in JDKS.iter().zip(&JDKS[1..]) {
        let rows: Vec<Vec<String>> =
            fields::ALL.iter().filter_map(|(kind, row)| change(*kind, row, *before, *jdk)).collect();
        let _ = write!(text, "\n## JDK {jdk}, compared with JDK {before}\n\n");
        if rows.is_empty() {
            text.push_str("No name changed.\n");
        } else {
            text.push_str(&table(
                &["", &format!("JDK {before}"), &format!("JDK {jdk}"), "lost without it"],
                rows,
            ));
        }
    }
    text + VALUES + &values()
}

/// Returns a row for a table of changes, if a name was renamed, added or removed.
fn change(kind: RowKind, row: &Row, before: u32, jdk: u32) -> Option<Vec<String>> {
    let name_in = |jdk| row.names.iter().find(|name| name.is_in(jdk)).map(ToString::to_string);
    let (old, new) = (name_in(before), name_in(jdk));
    if old == new {
        return None;
    }
    let shown = |name: Option<String>| name.map_or_else(|| "–".to_owned(), |name| format!("`{name}`"));
    Some(vec![words(kind).to_owned(), shown(old), shown(new), row.lost.to_owned()])
}

fn words(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Field => "field",
        RowKind::StaticField => "static field",
        RowKind::Type => "type",
        RowKind::Constant => "constant",
        RowKind::Flag => "flag",
        RowKind::Function => "function",
    }
}

/// Returns a table for each feature that is lost if its names are missing. It has a row for each
/// name, with its value in each JDK.
fn values() -> String {
    let snapshots: HashMap<u32, HashMap<&str, &str>> =
        JDKS.iter().map(|(jdk, snapshot)| (*jdk, by_name(snapshot))).collect();
    let majors: BTreeSet<u32> = snapshots.keys().copied().collect();
    let mut losses: Vec<&str> = Vec::new();
    for (_, row) in fields::ALL {
        if !losses.contains(&row.lost) {
            losses.push(row.lost);
        }
    }
    let mut text = String::new();
    for loss in losses {
        let rows = fields::ALL.iter().filter(|(_, row)| row.lost == loss);
        let names: Vec<(String, String)> = rows.flat_map(|(kind, row)| keys(*kind, row)).collect();
        if names.is_empty() {
            continue;
        }
        let cell = |key: &str, jdk: u32| snapshots[&jdk].get(key).map_or("–", |value| *value).to_owned();
        let rows = names.iter().map(|(key, shown)| (key.as_str(), shown.clone()));
        let _ = write!(text, "\nWithout these, {loss}:\n\n{}", by_jdk("name", &majors, rows, cell));
    }
    text
}

/// Returns the text of a row's names in snapshots, and how they are shown. A name that no JDK has
/// is left out.
fn keys(kind: RowKind, row: &'static Row) -> impl Iterator<Item = (String, String)> {
    let has_jdk = |name: &&JdkName| !name.jdks.is_empty();
    row.names.iter().filter(has_jdk).filter_map(move |name| {
        let article = words(kind);
        Some((format!("{} {name}", line_prefix(kind)?), format!("{article} `{name}`")))
    })
}

/// Returns the values of a snapshot, by the text before them.
fn by_name(snapshot: &str) -> HashMap<&str, &str> {
    let value = |line| match str::rsplit_once(line, ' ') {
        Some((name, value)) if !line.starts_with("static") => (name, value),
        _ => (line, "yes"),
    };
    snapshot.lines().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_the_table_of_names_has() {
        let written = include_str!("../../../docs/hotspot-changes.md");
        assert!(
            written == page(),
            "docs/hotspot-changes.md differs from the table of names: run cargo xtask page hotspot-changes"
        );
    }

    #[test]
    fn a_field_of_another_type_is_a_change() {
        let row = &fields::THREAD_OSTHREAD.0;
        let cells = change(RowKind::Field, row, 21, 25).unwrap();
        assert_eq!(cells[..3], ["field", "`JavaThread::_osthread`", "`Thread::_osthread`"]);
        assert_eq!(change(RowKind::Field, row, 25, 26), None);
    }
}
