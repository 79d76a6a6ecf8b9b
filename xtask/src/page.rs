//! `cargo xtask page NAME`: makes a page of docs, or a part of it, anew.
//!
//! A page is a type that implements [`Page`], in a file of `page/`, and a row of [`PAGES`]. Its
//! fields are its options, and its doc comments are its help. The runs come from [`runner`].

mod accuracy;
mod api_cost;
mod cpu_share;
mod depth;
mod diff;
mod document;
mod endurance;
mod event_cost;
mod events;
mod footprint;
mod hotspot_changes;
mod interface;
mod jfr_clock;
mod jfr_events;
mod merged;
mod native_frames;
mod overhead;
mod recovery;
mod runner;
mod spread;
mod trial;
mod true_stacks;
mod trust;
mod witness;

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};

use interface::Page;

/// A row of the table of pages, without the page's type.
struct Row {
    name: &'static str,
    document: &'static str,
    command: fn() -> Command,
    make: fn(&ArgMatches) -> Result<()>,
}

/// The table of all pages, by name.
const PAGES: &[Row] = &[
    row::<accuracy::Accuracy>(),
    row::<api_cost::ApiCost>(),
    row::<cpu_share::CpuShare>(),
    row::<depth::Depth>(),
    row::<diff::Diff>(),
    row::<endurance::Endurance>(),
    row::<event_cost::EventCost>(),
    row::<events::Events>(),
    row::<footprint::Footprint>(),
    row::<hotspot_changes::HotspotChanges>(),
    row::<jfr_clock::JfrClock>(),
    row::<jfr_events::JfrEvents>(),
    row::<native_frames::NativeFrames>(),
    row::<overhead::Overhead>(),
    row::<recovery::Recovery>(),
    row::<trial::Trial>(),
    row::<true_stacks::TrueStacks>(),
    row::<trust::Trust>(),
    row::<witness::Witness>(),
];

const fn row<P: Page>() -> Row {
    Row {
        name: P::NAME,
        document: P::DOCUMENT,
        command: || P::augment_args(Command::new(P::NAME)),
        make: |matches| P::from_arg_matches(matches)?.make(),
    }
}

/// Makes the page that the arguments name.
pub fn run(arguments: &[String]) -> Result<String> {
    let words = std::iter::once("cargo xtask page").chain(arguments.iter().map(String::as_str));
    let matches = command().get_matches_from(words);
    if matches.get_flag("list") {
        return Ok(list());
    }
    let Some((name, options)) = matches.subcommand() else {
        bail!("name a page:\n{}", list());
    };
    let row = PAGES.iter().find(|row| row.name == name).context("this page has no row")?;
    runner::enter_repository()?;
    (row.make)(options)?;
    Ok(String::new())
}

fn command() -> Command {
    Command::new("page")
        .bin_name("cargo xtask page")
        .about("Make a page of docs, or a part of it, from runs")
        .disable_help_subcommand(true)
        .arg(Arg::new("list").long("list").action(ArgAction::SetTrue).help("List the pages"))
        .subcommands(PAGES.iter().map(|row| (row.command)()))
}

/// Returns a line for each page: its name, its document and what it shows.
fn list() -> String {
    let line = |row: &Row| {
        let about = (row.command)().get_about().map(ToString::to_string).unwrap_or_default();
        format!("{:<12} {:<24} {about}\n", row.name, row.document)
    };
    PAGES.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_has_options_that_clap_accepts_and_says_what_it_shows() {
        command().debug_assert();
        for row in PAGES {
            assert!((row.command)().get_about().is_some(), "{} has no doc comment", row.name);
        }
    }

    #[test]
    fn pages_are_in_order_and_their_documents_exist() {
        assert!(PAGES.is_sorted_by(|one, other| one.name < other.name));
        for row in PAGES {
            let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(row.document);
            assert!(document.exists(), "{} does not exist", row.document);
        }
    }
}
