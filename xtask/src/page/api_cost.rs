//! Makes the table of docs/contexts.md: the cost of a context, a trace, a task and a marker,
//! measured by JMH.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::document::Output;
use super::interface::Page;
use super::runner::{Outcome, Runner, last_line, processors, release_of, run_logged, shown};
use crate::report::table;

/// What a context, a trace, a task and a marker cost, without the agent and with it
///
/// It runs api/cost under JMH, on a JDK of 17 or newer. All values of a table are of one run.
#[derive(Args, Debug)]
pub struct ApiCost {
    /// Only these benchmarks, as JMH selects them
    #[arg(long)]
    only: Option<String>,
    #[command(flatten)]
    output: Output,
}

const JMH: &str = "1.37";
const BENCHMARKS: [(&str, &str); 11] = [
    ("empty", "an empty block"),
    ("threadLocal", "a `ThreadLocal` that is set and set back"),
    ("contextThatIsMade", "`Vouch.with` of an object that is there, and its end"),
    ("context", "`Vouch.with(new Request(…))` of a record with three strings, and its end"),
    ("contextInContext", "one context within another one, and their ends"),
    ("trace", "`Vouch.trace` with ids as they are written, and its end"),
    ("traceOfNumbers", "`Vouch.trace` with ids as numbers, and its end"),
    ("clocks", "the clock, looked at twice"),
    ("task", "a task of a group, and its end"),
    ("marker", "a marker with three strings (a thousand in a second are shown, the others counted)"),
    ("flightRecorderEvent", "a JFR event with three strings, recorded without its stack"),
];

impl Page for ApiCost {
    const NAME: &'static str = "api-cost";
    const DOCUMENT: &'static str = "docs/contexts.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.clear_runs()?;
        let jars = runner.fetch_jars(
            "jmh",
            &[
                &format!("org.openjdk.jmh:jmh-core:{JMH}"),
                &format!("org.openjdk.jmh:jmh-generator-annprocess:{JMH}"),
                "net.sf.jopt-simple:jopt-simple:5.0.4",
                "org.apache.commons:commons-math3:3.6.1",
            ],
        )?;
        let maven = runner.runs.join("maven");
        let log = runner.logs.join("api.log");
        let mut api = std::process::Command::new("scripts/api");
        if run_logged(api.arg(&maven), &log)? != Outcome::Done {
            bail!("scripts/api failed: {}: see {}", last_line(&log), shown(&log));
        }
        let version = env!("CARGO_PKG_VERSION");
        let library = maven.join(format!("dev/vouch/vouch-api/{version}/vouch-api-{version}.jar"));
        let path: Vec<String> = jars.iter().chain([&library]).map(|jar| jar.display().to_string()).collect();
        let classes = runner.runs.join("classes");
        let path = path.join(":");
        let processor = "org.openjdk.jmh.generators.BenchmarkProcessor";
        let arguments = ["-cp", &path, "-processor", processor, "api/cost/ApiCost.java"];
        runner.compile(&runner.newest, &classes, &arguments)?;
        let path = format!("{}:{path}", classes.display());
        let without = self.run(&runner, &path, "without", None)?;
        let agent = runner.agent(&format!("quiet,interval=1ms,out={}/profile.folded", runner.runs.display()));
        let with = self.run(&runner, &path, "with", Some(&agent))?;
        let rows = BENCHMARKS.map(|(benchmark, what)| {
            let cells =
                [&without, &with].into_iter().flat_map(|measured| time_and_bytes(measured, benchmark));
            [what.to_owned()].into_iter().chain(cells).collect()
        });
        let text = format!(
            "JMH {JMH}, {}, a machine of {} processors; nanoseconds with JMH's 99.9 % interval, and bytes allocated.",
            release_of(&runner.newest)?,
            processors()
        );
        let head = ["", "without the agent, ns", "bytes", "with it, at 1 ms, ns", "bytes"];
        let tables = table(&head, rows).replacen("|  |", "| |", 1);
        self.output.put(Self::DOCUMENT, "api-cost", &text, &tables)
    }
}

impl ApiCost {
    /// Runs all benchmarks in JVMs with or without the agent, and returns JMH's file of results.
    fn run(&self, runner: &Runner, path: &str, name: &str, agent: Option<&str>) -> Result<String> {
        println!("running {name} the agent");
        let csv: PathBuf = runner.runs.join(format!("{name}.csv"));
        let log = runner.logs.join(format!("{name}.log"));
        let mut java = Runner::java(&runner.newest, 600);
        java.args(["-Xmx256m", "-cp", path, "org.openjdk.jmh.Main"]).args(&self.only);
        java.args("-f 2 -wi 3 -w 1 -i 3 -r 1 -prof gc -rf csv -rff".split(' ')).arg(&csv);
        java.arg("-jvmArgs").arg(format!("-Xmx512m {}", agent.unwrap_or_default()));
        run_logged(&mut java, &log)?.check("JMH", &log)?;
        fs::read_to_string(&csv).with_context(|| shown(&csv))
    }
}

/// Returns a benchmark's time with its interval, and the bytes that it allocates. They are empty if
/// the benchmark did not run.
fn time_and_bytes(csv: &str, benchmark: &str) -> [String; 2] {
    let name = format!("dev.vouch.cost.ApiCost.{benchmark}");
    let rows: Vec<Vec<String>> =
        csv.lines().map(|line| line.replace('"', "").split(',').map(str::to_owned).collect()).collect();
    let value = |name: &str, column: usize| {
        let row = rows.iter().find(|row| row[0] == name)?;
        row.get(column)?.parse::<f64>().ok()
    };
    let time = value(&name, 4).zip(value(&name, 5)).map(|(time, error)| format!("{time:.1} ± {error:.1}"));
    let bytes = value(&format!("{name}:gc.alloc.rate.norm"), 4).map(|bytes| format!("{bytes:.0}"));
    [time, bytes].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::time_and_bytes;

    #[test]
    fn times_and_bytes_come_from_rows_of_jmh() {
        let csv = "\"Benchmark\",\"Mode\",\"Threads\",\"Samples\",\"Score\",\"Score Error (99.9%)\",\"Unit\"\n\
                   \"dev.vouch.cost.ApiCost.task\",\"avgt\",1,6,12.34,0.56,\"ns/op\"\n\
                   \"dev.vouch.cost.ApiCost.task:gc.alloc.rate.norm\",\"avgt\",1,6,24.1,0.1,\"B/op\"\n";
        assert_eq!(time_and_bytes(csv, "task"), ["12.3 ± 0.6", "24"]);
        assert_eq!(time_and_bytes(csv, "marker"), ["", ""]);
    }
}
