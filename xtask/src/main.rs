//! `cargo xtask`: what the scripts make of trust reports, typed, so that a figure that is renamed does not build.
//!
//!     xtask trust-page MAJOR-PROGRAM.json…         tables of fates, refutations, power and cost
//!     xtask witness-page MAJOR-MODE-PROGRAM.json… tables of what the JVM itself said of the stacks
//!     xtask recovery-page MAJOR-MODE.RUN-PROGRAM.json|collapsed… tables of bad stacks with recovery and without
//!     xtask true-stacks MAJOR-MODE-PROGRAM.json…   a line for each run, and what it refuted
//!     xtask true-stacks-page …                     the same as tables
//!     xtask true-stacks-refuted …                  how many stacks were refuted in all of them
//!
//! It must never write a figure that is in none of its files.
#![forbid(unsafe_code)]

mod peer;
mod recovery_page;
mod report;
mod true_stacks;
mod trust_page;
mod witness_page;

use std::path::PathBuf;
use std::process::ExitCode;

use report::Of;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if_eq("recovery-page").is_some() {
        return told(recovery_page::page(words.map(PathBuf::from)));
    }
    let make: fn(&[Of]) -> String = match words.next().as_deref() {
        Some("trust-page") => trust_page::page,
        Some("witness-page") => witness_page::page,
        Some("true-stacks") => true_stacks::lines,
        Some("true-stacks-page") => true_stacks::page,
        Some("true-stacks-refuted") => |reports| format!("{}\n", true_stacks::all_refuted(reports)),
        _ => {
            eprintln!(
                "usage: cargo xtask trust-page|witness-page|recovery-page|true-stacks|true-stacks-page|true-stacks-refuted REPORT.json…"
            );
            return ExitCode::from(2);
        }
    };
    let reports = words.map(|file| Of::read(&PathBuf::from(file))).collect::<Result<Vec<Of>, String>>();
    told(reports.and_then(|reports| {
        if reports.is_empty() { Err("no report was named".to_owned()) } else { Ok(make(&reports)) }
    }))
}

fn told(page: Result<String, String>) -> ExitCode {
    match page {
        Ok(page) => {
            print!("{page}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
