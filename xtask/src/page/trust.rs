//! Makes the tables of docs/proof.md on real programs: fates of samples, refutations, and the power
//! and the cost of proof.

use anyhow::{Result, bail};
use clap::Args;
use vouch_report::{Power, Signals, float, grouped};

use super::document::Output;
use super::interface::Page;
use super::runner::{Outcome, Runner, files_with_ending, processors, shown};
use crate::report::{RunReport, kinds, percent, reports, share, table};

/// Fates, refutations, power and cost of proof in real programs
#[derive(Args, Debug)]
pub struct Trust {
    /// How long each program runs
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[arg(long, value_delimiter = ' ', default_value = "17 21 25 27")]
    jdks: Vec<u32>,
    /// Programs of java-tests/workloads
    #[arg(long, value_delimiter = ' ', default_value = "javac mix")]
    workloads: Vec<String>,
    #[command(flatten)]
    output: Output,
}

impl Page for Trust {
    const NAME: &'static str = "trust";
    const DOCUMENT: &'static str = "docs/proof.md";

    fn make(self) -> Result<()> {
        let runner = Runner::new(Self::NAME)?;
        runner.fetch_workloads()?;
        runner.clear_runs()?;
        let runs = runner.runs.display();
        for jdk in runner.jdks(&self.jdks)? {
            for name in &self.workloads {
                println!("JDK {}: {name} for {} s", jdk.major, self.seconds);
                let run = format!("{}-{name}", jdk.major);
                let log = runner.logs.join(format!("{run}.log"));
                let agent = runner.agent(&format!(
                    "interval=1ms,engine=perf,quiet,out={runs}/profile.folded,report={runs}/{run}.json"
                ));
                if runner.workload(name, self.seconds, &jdk, &[agent], &log)? != Outcome::Done {
                    bail!("{run} failed: see {}", shown(&log));
                }
            }
        }
        let tables = page(&reports(&files_with_ending(&runner.runs, ".json")?)?);
        let text = format!(
            "`perf` at 1 ms, {} s of each program on a machine of {} processors. Shares are of the time of all\n\
             samples; `outside` is mostly the JIT compilers.",
            self.seconds,
            processors()
        );
        self.output.put(Self::DOCUMENT, "trust-page", &text, &tables)
    }
}

/// Returns the tables, by program and JDK.
fn page(reports: &[RunReport]) -> String {
    let mut reports: Vec<&RunReport> = reports.iter().collect();
    reports.sort_by_key(|of| (&of.program, of.major));
    let of_each = |row: fn(&RunReport) -> Vec<String>| {
        reports.iter().map(move |of| [vec![of.program.clone(), of.major.to_string()], row(of)].concat())
    };
    let fates = table(
        &[
            "program",
            "JDK",
            "samples",
            "proven",
            "plausible",
            "refuted",
            "unwalked",
            "outside",
            "refuted of the walked",
        ],
        of_each(fates),
    );
    let refutations = table(
        &[
            "program",
            "JDK",
            "refuted samples, by kind",
            "distinct edges: proven, explained, refuted",
            "explanations",
        ],
        of_each(refutations),
    );
    let power = table(
        &[
            "program",
            "JDK",
            "dropped frames",
            "foreign frames",
            "moved bcis",
            "proof",
            "all else",
            "share",
            "sampled of charged",
        ],
        of_each(power),
    );
    format!(
        "{fates}\n{refutations}\nThe next table has power and cost. Power is the share noticed of 2,000 corruptions of each kind.\n\
         `proof` is the CPU time of proof, `all else` that of the handlers and of the rest of the agent's\n\
         thread. `share` is the first of the second.\n\n{power}"
    )
}

fn fates(of: &RunReport) -> Vec<String> {
    let Signals { signals: weight, fates } = of.report.weight_ms.unwrap_or_default();
    let walked = fates.proven + fates.plausible + fates.refuted;
    let shares = [fates.proven, fates.plausible, fates.refuted, fates.unwalked, fates.outside];
    std::iter::once(grouped(of.report.samples.signals))
        .chain(shares.map(|share| percent(share, weight)))
        .chain([percent(fates.refuted, walked)])
        .collect()
}

fn refutations(of: &RunReport) -> Vec<String> {
    let edges = &of.report.run.edges;
    // The numbers are not grouped, because commas separate them.
    let distinct = [edges.proven, of.explained(), edges.refuted].map(|count| count.to_string()).join(", ");
    vec![kinds(&of.report.run.refuted), distinct, kinds(&edges.explained)]
}

fn power(of: &RunReport) -> Vec<String> {
    let run = &of.report.run;
    let power = |name| {
        let Power { tried, noticed } = run.power.get(name).copied().unwrap_or_default();
        share(noticed, tried)
    };
    let proof = run.edges.took_ms;
    let all = run.handler_ns.zip(run.agent_cpu_ms).map(|(handler, agent_ms)| handler.total_ms + agent_ms);
    let both = proof.zip(all).map(|(proof, all)| (proof, all - proof));
    let told = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
    vec![
        power("dropped_frames"),
        power("foreign_frames"),
        power("moved_bcis"),
        told(proof.map(|proof| format!("{proof:.0} ms"))),
        told(both.map(|(_, rest)| format!("{rest:.0} ms"))),
        told(both.map(|(proof, rest)| percent(proof, rest))),
        told(of.report.conservation.ratio.map(|ratio| percent(ratio, float(1)))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn each_run_has_a_row_in_each_table_and_its_own_figures() {
        let page = page(&[report(25, "", "mix"), report(8, "", "javac")]);
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| mix")).collect();
        assert_eq!(
            rows,
            [
                "| mix | 25 | 1,000 | 75 % | 4 % | 1 % | 5 % | 15 % | 1.25 % |",
                "| mix | 25 | wrong_root 17, gap 3 | 50, 9, 1 | jni_entry 7, class_unloaded 2 |",
                "| mix | 25 | 75 % | 75 % | 75 % | 10 ms | 100 ms | 10 % | 99.8 % |",
            ]
        );
        let order: Vec<&str> = page.lines().filter(|line| line.contains("1,000")).collect();
        assert!(order[0].starts_with("| javac | 8 |"), "{order:?}");
    }
}
