//! Makes docs/accuracy.md: how far profiles are from programs that know their own CPU time.
//!
//! Vouch, async-profiler and JFR run in turn. `vouch top` reads all profiles, the others' after
//! `vouch audit`. It must never judge one profile by another.

mod guesses;
mod kinds;
mod profilers;
mod runs;
mod shares;
mod timing;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::document::Output;
use super::interface::Page;
use super::runner::{Runner, processors, shown};
use crate::report::parts_of_name;
use profilers::Profiler;
use runs::{Runs, Twins};

/// How far profiles are from the CPU time that programs measure themselves
///
/// All parts on all JDKs take an hour. A part of the page is made anew only if it is named.
#[derive(Args, Debug)]
pub struct Accuracy {
    /// What to measure; all by default
    #[arg(long, value_enum, value_delimiter = ' ')]
    parts: Vec<Part>,
    /// The JDKs of the part `twins`
    #[arg(long, value_delimiter = ' ', default_value = "8 11 17 21 25 26 27")]
    jdks: Vec<u32>,
    /// How long each run takes
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Sixteen programs, in each of them a method that is inlined into its caller
    Twins,
    /// Two methods of known shares, called in three ways, inlined or not; JDK 25
    Sweep,
    /// One of five methods does its work twice, and its share has to follow; JDK 25
    Slowed,
    /// javac, beside the Flight Recorder's method timing in the same run; JDK 25
    Timing,
    /// Ten kinds of work (java-tests/workloads/Known.java); JDK 25
    Kinds,
    /// The method on top, in a program that names its parts; JDKs 17 and 25
    Guesses,
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        out.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// The JDK of all parts that run on one JDK.
const JDK: u32 = 25;
/// The first JDK with virtual threads.
const VIRTUAL_THREADS: u32 = 21;
const TWINS: [&str; 16] = [
    "Volatile", "Atomic", "Division", "Misses", "Locked", "Strings", "Copies", "Vectors", "Unrolled",
    "Streams", "Boxed", "Thrown", "Stores", "Chain", "Pooled", "Virtual",
];

impl Page for Accuracy {
    const NAME: &'static str = "accuracy";
    const DOCUMENT: &'static str = "docs/accuracy.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        let runs = Runs::new(&runner, self.seconds)?;
        let parts = if self.parts.is_empty() { Part::value_variants() } else { &self.parts };
        for part in parts {
            let folder = runner.runs.join(part.to_string());
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).with_context(|| shown(&folder))?;
            let (jdks, tables) = match part {
                Part::Twins => (self.versions(), self.twins(&runs, &folder)?),
                Part::Sweep => (format!("JDK {JDK}"), sweep(&runs, &folder)?),
                Part::Slowed => (format!("JDK {JDK}"), slowed(&runs, &folder)?),
                Part::Timing => (format!("JDK {JDK}"), timing::table(&runs, JDK, &folder)?),
                Part::Kinds => (format!("JDK {JDK}"), kinds::table(&runs, JDK, &folder)?),
                Part::Guesses => ("JDKs 17 and 25".to_owned(), guesses::table(&runs, &[17, 25], &folder)?),
            };
            let length = match part {
                Part::Timing => String::new(),
                Part::Twins => format!(", {} s of each program", self.seconds),
                Part::Kinds => format!(
                    ", {} turns of {} s of each: the middle one, and the middle half",
                    kinds::TURNS,
                    self.seconds
                ),
                _ => format!(", {} s of each", self.seconds),
            };
            let text = format!("A machine of {} processors, {jdks}{length}.", processors());
            self.output.put(Self::DOCUMENT, &part.to_string(), &text, &tables)?;
        }
        Ok(())
    }
}

impl Accuracy {
    fn versions(&self) -> String {
        let versions: Vec<String> = self.jdks.iter().map(u32::to_string).collect();
        format!("JDKs {}", versions.join(" "))
    }

    /// Runs all programs on each JDK. Only JDKs 17 and 25 have runs with each profiler.
    fn twins(&self, runs: &Runs, folder: &Path) -> Result<String> {
        let mut files = Vec::new();
        for major in &self.jdks {
            let jdk = runs.runner.jdk(*major)?;
            for profiler in Profiler::ALL.into_iter().filter(|profiler| profiler.is_compared_on(*major)) {
                let twins = Twins { runs, jdk: &jdk, profiler, folder };
                for program in TWINS.iter().filter(|name| **name != "Virtual" || *major >= VIRTUAL_THREADS) {
                    files.push(twins.run(program, &[])?);
                }
            }
        }
        // The table has the programs in this order.
        let order = |file: &PathBuf| {
            parts_of_name(file).map(|(_, _, program)| TWINS.iter().position(|name| *name == program))
        };
        files.sort_by_key(order);
        shares::twins(&files)
    }
}

/// Runs two methods with five divisions of their work, called in three ways.
fn sweep(runs: &Runs, folder: &Path) -> Result<String> {
    let jdk = runs.runner.jdk(JDK)?;
    let mut files = Vec::new();
    for profiler in [Profiler::Vouch, Profiler::Async] {
        let twins = Twins { runs, jdk: &jdk, profiler, folder };
        for way in ["direct", "interface", "lambda", "direct-apart", "interface-apart", "lambda-apart"] {
            for hundredths in ["10", "30", "50", "70", "90"] {
                files.push(twins.run("Sweep", &[way, hundredths])?);
            }
        }
    }
    shares::sweep(&files)
}

/// Runs five methods as they are, and with one of them twice as slow.
fn slowed(runs: &Runs, folder: &Path) -> Result<String> {
    let jdk = runs.runner.jdk(JDK)?;
    let mut files = Vec::new();
    for profiler in [Profiler::Vouch, Profiler::Async] {
        let twins = Twins { runs, jdk: &jdk, profiler, folder };
        for slow in ["none", "built", "counted", "divided", "hashed", "summed"] {
            files.push(twins.run("Slowed", &[slow])?);
        }
    }
    shares::slowed(&files)
}
