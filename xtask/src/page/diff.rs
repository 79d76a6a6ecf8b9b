//! Makes the tables of docs/diff.md: how often `vouch diff` reports a difference between runs that
//! do not differ, and how often it finds a method that was made slower.
//!
//! It must never leave out a run.

mod equal;
mod planted;

use anyhow::Result;
use clap::Args;

use super::document::Output;
use super::interface::Page;
use super::runner::Runner;
use equal::Equal;
use planted::Planted;

/// How often `vouch diff` is right, with runs that do not differ and with slower ones
///
/// Each program runs often, and `vouch diff` compares the runs with each other. The program
/// `planted` does the same work each time, and one of its methods can be made slower. All take ten
/// minutes.
#[derive(Args, Debug)]
pub struct Diff {
    /// How long each run takes, but for those of `planted`
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Runs of each program, after a warm-up run
    #[arg(long, default_value_t = 12)]
    runs: usize,
    #[arg(long, default_value_t = 25)]
    jdk: u32,
    /// Programs of java-tests/workloads, and `planted`
    #[arg(long, value_delimiter = ' ', default_value = "javac server database script planted")]
    programs: Vec<String>,
    /// Compare the runs of last time once more
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    output: Output,
}

/// The name of the program with a method that can be made slower.
const PLANTED: &str = "planted";

impl Page for Diff {
    const NAME: &'static str = "diff";
    const DOCUMENT: &'static str = "docs/diff.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        let jdk = runner.jdk(self.jdk)?;
        let programs: Vec<&str> =
            self.programs.iter().map(String::as_str).filter(|name| *name != PLANTED).collect();
        if !programs.is_empty() {
            let equal = Equal { runner: &runner, jdk: &jdk, seconds: self.seconds, runs: self.runs };
            let table = equal.table(&programs, self.again)?;
            self.output.put(Self::DOCUMENT, "diff", &equal.text(), &table)?;
        }
        if self.programs.iter().any(|name| name == PLANTED) {
            let (text, table) = Planted { runner: &runner, jdk: &jdk }.text_and_table(self.again)?;
            self.output.put(Self::DOCUMENT, "planted", &text, &table)?;
        }
        Ok(())
    }
}
