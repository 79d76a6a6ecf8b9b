//! Compares runs of a program in which one method was made slower by a known part
//! (java-tests/workloads/Planted.java).

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

use super::equal::arguments;
use crate::page::runner::{Jdk, Runner, run_logged};
use crate::random::SplitMix64;
use crate::report;

/// How many percent slower the method is. The runs alternate, so the machine is equally busy.
const LEVELS: [u32; 4] = [0, 5, 10, 20];
/// Runs at each level. Equal runs have twice as many, since both sides are drawn from them.
const RUNS: usize = 12;
/// Comparisons of randomly drawn runs in each cell of the table.
const DRAWS: u64 = 20;
/// Runs on each side of a comparison.
const COUNTS: [usize; 4] = [2, 3, 5, 10];

/// Runs the program, and compares the runs.
pub struct Planted<'r> {
    pub runner: &'r Runner,
    pub jdk: &'r Jdk,
}

/// What comparisons of one cell reported.
#[derive(Debug, Default, PartialEq)]
struct Reported {
    /// How many reported that the method grew.
    seen: u64,
    /// How many reported another change.
    wrong: u64,
    /// The smallest change that would be seen, in percent of the method's time. `None` if no change
    /// would be.
    smallest: Vec<Option<f64>>,
}

impl Planted<'_> {
    /// Returns the text before the table, and the table.
    pub fn text_and_table(&self, again: bool) -> Result<(String, String)> {
        if !again {
            self.run_all()?;
        }
        let parser = Parser::new()?;
        let mut others = 0;
        let mut rows = Vec::new();
        for option in [None, Some("--time")] {
            for count in COUNTS {
                let name = option.map_or_else(|| "shares".to_owned(), |option| format!("`{option}`"));
                println!("{name}, {count} runs of each side");
                let mut row = vec![name, count.to_string()];
                for level in LEVELS {
                    let reported = self.compare(&parser, level, count, option)?;
                    if level == 0 {
                        row.extend([reported.seen.max(reported.wrong).to_string(), reported.smallest()]);
                        continue;
                    }
                    row.push(reported.seen.to_string());
                    // If one share grows, all others shrink. So this is wrong only with `--time`.
                    if option.is_some() {
                        others += reported.wrong;
                    }
                }
                rows.push(row);
            }
        }
        let comparisons = DRAWS * (COUNTS.len() * (LEVELS.len() - 1)) as u64;
        let text = format!(
            "`cargo xtask page diff --programs planted` writes this part: {RUNS} runs of 2 s of each kind on JDK\n\
             {}, which ran in turns, of a program that does the same work each time. One method, with 38 % of\n\
             the time, takes 5, 10 or 20 % more steps, which is 1.2, 2.3 and 4.4 points of share. Of each kind\n\
             {DRAWS} draws of runs were compared. **Equal runs**: in how many any change was reported. **Slower**:\n\
             in how many that method was reported to have grown. **Would be seen**: what the line under the\n\
             table says of the method, the middle of all draws; \"no\" if it says that no change can be seen.\n\
             With `--time` another method was reported in {others} of the {comparisons} comparisons with a slower\n\
             method.",
            self.jdk.major
        );
        let equal = format!("equal runs, of {DRAWS}");
        let head = [
            "",
            "runs of each side",
            &equal,
            "a change that would be seen",
            "5 % slower",
            "10 % slower",
            "20 % slower",
        ];
        Ok((text, report::table(&head, rows)))
    }

    fn file(&self, level: u32, run: usize) -> PathBuf {
        self.runner.runs.join(format!("planted-{level}-{run}.json.gz"))
    }

    fn run_all(&self) -> Result<()> {
        for run in 0..RUNS {
            println!("planted, run {} of {RUNS}", run + 1);
            for level in LEVELS {
                self.run(level, run)?;
            }
            self.run(0, RUNS + run)?;
        }
        Ok(())
    }

    fn run(&self, level: u32, run: usize) -> Result<()> {
        let log = self.runner.logs.join("planted.log");
        let mut java = Runner::java(&self.jdk.home, 60);
        java.arg("-Xmx256m");
        java.arg(self.runner.agent(&format!("quiet,out={}", self.file(level, run).display())));
        java.args(["-cp", &self.runner.variable("workload_classes")?, "Planted", "500", &level.to_string()]);
        run_logged(&mut java, &log)?.check("planted", &log)
    }

    /// Repeatedly draws this many runs for each side, and compares them.
    fn compare(&self, parser: &Parser, level: u32, count: usize, option: Option<&str>) -> Result<Reported> {
        let mut reported = Reported::default();
        for draw in 0..DRAWS {
            let mut random = SplitMix64(draw);
            let equal: Vec<usize> = (0..2 * RUNS).collect();
            let [before, after] = if level == 0 {
                let mut before = random.draw(equal, 2 * count);
                let after = before.split_off(count);
                [before, after]
            } else {
                [random.draw(equal, count), random.draw((0..RUNS).collect(), count)]
            };
            let before: Vec<PathBuf> = before.iter().map(|run| self.file(0, *run)).collect();
            let after: Vec<PathBuf> = after.iter().map(|run| self.file(level, *run)).collect();
            let mut diff = self.runner.vouch();
            let output =
                diff.args(arguments(&before, &after)?).args(option).output().context("vouch diff")?;
            if !output.status.success() {
                bail!("vouch diff failed: {}", String::from_utf8_lossy(&output.stderr));
            }
            parser.add(&mut reported, &String::from_utf8_lossy(&output.stdout))?;
        }
        Ok(reported)
    }
}

impl Reported {
    /// Returns the median of the smallest changes, in percent of the method's time.
    fn smallest(&self) -> String {
        let mut changes: Vec<f64> = self.smallest.iter().copied().flatten().collect();
        changes.sort_by(f64::total_cmp);
        let is_mostly_unseen = 2 * changes.len() < self.smallest.len();
        match changes.get(changes.len().div_ceil(2).saturating_sub(1)) {
            Some(middle) if !is_mostly_unseen => format!("{middle:.0} %"),
            _ => "no".to_owned(),
        }
    }
}

/// Reads what `vouch diff` prints.
struct Parser {
    grew: Regex,
    change: Regex,
    smallest: Regex,
    unseen: Regex,
}

/// The end of a row about the slower method.
const METHOD: &str = "  Planted.planted";

impl Parser {
    fn new() -> Result<Self> {
        Ok(Self {
            grew: Regex::new(r"^ *\+.*  Planted\.planted$")?,
            change: Regex::new(r"^ *[-+][0-9.]+ (ms|points) ")?,
            smallest: Regex::new(r"^a change of ([0-9.]+) (?:ms|points) in Planted\.planted \(([0-9.]+) ")?,
            unseen: Regex::new("^these runs differ too much")?,
        })
    }

    /// Adds the text of one comparison.
    fn add(&self, reported: &mut Reported, text: &str) -> Result<()> {
        reported.seen += u64::from(text.lines().any(|line| self.grew.is_match(line)));
        let is_other = |line: &str| self.change.is_match(line) && !line.ends_with(METHOD);
        reported.wrong += u64::from(text.lines().any(is_other));
        for line in text.lines() {
            if let Some(numbers) = self.smallest.captures(line) {
                let [change, whole] = [numbers[1].parse::<f64>()?, numbers[2].parse()?];
                reported.smallest.push(Some(100.0 * change / whole));
            } else if self.unseen.is_match(line) {
                reported.smallest.push(None);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_says_what_grew_and_what_would_be_seen() {
        let parser = Parser::new().unwrap();
        let mut reported = Reported::default();
        let text = "
      change           95 % sure      before       after  self time of
 +4.3 points        +1.1 to +7.5      38.0 %      42.3 %  Planted.planted
 -1.2 points        -2.0 to -0.4      12.0 %      10.8 %  Planted.other

a change of 3.8 points in Planted.planted (38.0 %) would be seen in four of five cases
";
        parser.add(&mut reported, text).unwrap();
        parser
            .add(&mut reported, "these runs differ too much to see a change even in Planted.planted")
            .unwrap();
        parser.add(&mut reported, " -1 ms  -2 to -1  10 ms  9 ms  Planted.planted\n").unwrap();
        assert_eq!(reported, Reported { seen: 1, wrong: 1, smallest: vec![Some(10.0), None] });
    }

    #[test]
    fn a_change_that_most_draws_cannot_see_is_none() {
        let smallest = |changes: &[Option<f64>]| {
            Reported { smallest: changes.to_vec(), ..Reported::default() }.smallest()
        };
        assert_eq!(smallest(&[Some(12.0), Some(10.0), None, Some(11.0)]), "11 %");
        assert_eq!(smallest(&[Some(12.0), None, None]), "no");
        assert_eq!(smallest(&[]), "no");
    }
}
