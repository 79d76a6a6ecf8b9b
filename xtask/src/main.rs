//! `cargo xtask`: makes pages of docs, and checks the repository.
//!
//! It reads trust reports typed, so a value that is renamed does not build.
//!
//!     xtask page NAME [--help]                    a page of docs, or a part of it; `page --list`
//!     xtask manual FOLDER                         the command's manual pages and completions, as a release has them
//!     xtask sbom METADATA.json FOLDER [NAME VERSION LICENCE TEXT]…   what a release is built of, by `cargo metadata`, and what else is in
//!                                                 it, with the file of its licence, if any: sbom.cdx.json and THIRD-PARTY.txt
//!     xtask soak-row MAJOR-MODE-PROGRAM.json      how many walks a run made, as the soak keeps it
//!     xtask soak-sum STATE, soak-page STATE        all of them, and the tables of docs/soak.md
//!     xtask sample --seed N                        60 doc comments and 60 names at random, for a reading test
//!     xtask circles [--list [CRATE]…|--lower]      which modules depend on each other in circles
//!     xtask words [--list [PART]…|--lower]         what breaks the rules for words, and for the widths of lines
//!
//! It must never write a number that is not in its input files.
#![forbid(unsafe_code)]

mod circles;
mod manual;
mod page;
mod random;
mod report;
mod sample;
mod sbom;
mod soak;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "page").is_some() {
        return print(page::run(&words.collect::<Vec<_>>()));
    }
    if words.next_if(|word| word == "sample").is_some() {
        return print(sample::run(&words.collect::<Vec<_>>()));
    }
    if words.next_if(|word| word == "circles").is_some() {
        return print(circles::run(&words.collect::<Vec<_>>()));
    }
    if words.next_if(|word| word == "words").is_some() {
        return print(words::run(&words.map(PathBuf::from).collect::<Vec<_>>()));
    }
    let make: fn(&[PathBuf]) -> Result<String> = match words.next().as_deref() {
        Some("manual") => |folders| match folders {
            [share] => manual::write(share).map(|()| String::new()).map_err(Into::into),
            _ => Err(anyhow!("name one folder")),
        },
        Some("sbom") => |files| match files {
            [metadata, folder, others @ ..] => sbom::write(metadata, folder, others).map(|()| String::new()),
            _ => Err(anyhow!("name what cargo metadata said, and a folder")),
        },
        Some("soak-row") => soak::row,
        Some("soak-sum") => soak::sum,
        Some("soak-page") => soak::page,
        _ => {
            eprintln!("usage: cargo xtask page|circles|sample|words, or soak-row|soak-sum|soak-page FILE…");
            return ExitCode::from(2);
        }
    };
    let files: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let made = if files.is_empty() { Err(anyhow!("no report was named")) } else { make(&files) };
    print(made)
}

/// Prints the result of a command, or its error.
fn print(made: Result<String>) -> ExitCode {
    match made {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("xtask: {why:#}");
            ExitCode::FAILURE
        }
    }
}
