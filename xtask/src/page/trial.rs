//! Makes docs/trial.md: how many stacks of other profilers, and of Vouch, are refuted.
//!
//! Each recording is audited in the same way. It must never count a run that did not do its work.

mod recorder;
mod runs;
mod shortest;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::document::Output;
use super::interface::Page;
use super::runner::{Runner, files_with_ending, shown};
use crate::report::parts_of_name;
use recorder::Recorder;
use runs::Runs;

/// Stacks of other profilers and of Vouch, each audited in the same way
///
/// Real programs run under JFR's samplers, under async-profiler in its ways of walking, and under
/// Vouch. `true` is JFR's own events with true stacks: a refutation there is a false alarm, and a
/// failure. All programs on all JDKs take an hour; `--shortest` takes 15 minutes.
#[derive(Args, Debug)]
pub struct Trial {
    /// How long each program runs, but for the shortest ones
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, value_delimiter = ' ', default_value = "8 11 17 21 25 26 27")]
    jdks: Vec<u32>,
    /// Programs of java-tests/workloads, or of java-tests/trial with --shortest; all by default
    #[arg(long, value_delimiter = ' ')]
    programs: Vec<String>,
    /// All by default
    #[arg(long, value_enum, value_delimiter = ' ')]
    recorders: Vec<Recorder>,
    /// Run the shortest programs with each error (java-tests/trial)
    #[arg(long)]
    shortest: bool,
    /// Put the last run of each program into the document
    #[arg(long)]
    page: bool,
}

/// The programs of java-tests/workloads that are audited.
const WORKLOADS: [&str; 8] = ["javac", "mix", "database", "server", "script", "dynamic", "compiler", "deep"];

impl Page for Trial {
    const NAME: &'static str = "trial";
    const DOCUMENT: &'static str = "docs/trial.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        let all_programs =
            if self.shortest { shortest::programs()? } else { WORKLOADS.map(str::to_owned).to_vec() };
        let programs = if self.programs.is_empty() { &all_programs } else { &self.programs };
        let folder = runner.runs.join(if self.shortest { "shortest" } else { "workloads" });
        fs::create_dir_all(&folder).with_context(|| shown(&folder))?;
        let recorders = self.recorders();
        let seconds = (!self.shortest).then_some(self.seconds);
        let mut runs = Runs::new(&runner, &folder, seconds, &recorders)?;
        for jdk in runner.jdks(&self.jdks)? {
            for program in programs {
                for recorder in &recorders {
                    runs.judge(&jdk, program, *recorder)?;
                }
            }
        }
        self.show(&folder, &all_programs)?;
        println!("{}", runs.counts);
        runs.counts.check(&runner)
    }
}

impl Trial {
    fn recorders(&self) -> Vec<Recorder> {
        // None of the shortest programs is about events with true stacks.
        let is_used = |recorder: &Recorder| !self.shortest || *recorder != Recorder::True;
        match self.recorders.as_slice() {
            [] => Recorder::value_variants().iter().copied().filter(is_used).collect(),
            named => named.to_vec(),
        }
    }

    /// Prints the tables of the last run of each program, or writes them into the document.
    fn show(&self, folder: &Path, programs: &[String]) -> Result<()> {
        let mut reports = files_with_ending(folder, ".json")?;
        let program_of = |file: &PathBuf| parts_of_name(file).map(|(_, _, program)| program.to_owned());
        // Reports of removed programs may still exist.
        reports.retain(|file| program_of(file).is_some_and(|program| programs.contains(&program)));
        if reports.is_empty() {
            bail!("nothing ran");
        }
        let (part, text, tables) = if self.shortest {
            let text = "Two seconds of each program, on each JDK that can run it.".to_owned();
            ("shortest", text, tables::shortest(Path::new(shortest::FOLDER), &reports)?)
        } else {
            let run: BTreeSet<String> = reports.iter().filter_map(program_of).collect();
            let run: Vec<&str> =
                programs.iter().map(String::as_str).filter(|program| run.contains(*program)).collect();
            let text = format!("The programs are `{}`, {} s each.", run.join(" "), self.seconds);
            ("trial", text, tables::by_recorder(&reports)?)
        };
        Output { no_page: !self.page }.put(Self::DOCUMENT, part, &text, &tables)
    }
}
