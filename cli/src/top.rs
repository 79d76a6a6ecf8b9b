//! Implements `vouch top`, which lists the time of a profile by method, line, thread or context.
//!
//! A share must be a share of all samples that the user selected. It must never be divided by
//! samples that were filtered out.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};
use vouch_report::{
    CPU_TIME, ProcessTime, WeightSum, effective, float, grouped, percent, plain, points_off, share, shortened,
};

use crate::call_tree::CallTree;
use crate::counted::{Counted, Unit};
use crate::error::Error;
use crate::neighbours::{NeighbourOptions, Neighbours};
use crate::profile::{Profile, Sample};
use crate::sample_filter::{By, GroupKey, SampleFilter, VM};
use crate::tally::{Rows, Time};

/// Without a terminal, the table prints at most this many characters of a name. On a terminal it
/// prints at least `MIN_NAME_COLUMNS`, however narrow the terminal is.
const MAX_NAME_COLUMNS: usize = 90;
const MIN_NAME_COLUMNS: usize = 24;
/// The number of rows of a table and of a tree, where the user names none.
const ROWS: usize = 20;
const TREE_ROWS: usize = 60;
/// With fewer samples than this, a note says how uncertain the shares are.
const FEW: u64 = 30;

/// The options of `vouch top`.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Group by `thread`, or by this field of the innermost context, such as user or Request.user
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["lines", "sort"])]
    by: Option<String>,
    #[command(flatten)]
    neighbours: NeighbourOptions,
    #[command(flatten)]
    wanted: SampleFilter,
    /// List the calls as a tree, the heaviest first: each method below its caller
    #[arg(long, conflicts_with_all = ["by", "sort", "callers", "callees"])]
    tree: bool,
    /// List the lines of methods
    #[arg(long)]
    lines: bool,
    /// Sort by what methods have themselves, or with all that they called
    #[arg(long, value_enum, default_value_t = Order::Own)]
    sort: Order,
    /// List at most this many rows [default: 20, or 60 with --tree]
    #[arg(long, value_name = "N", value_parser = row_count, allow_hyphen_values = true)]
    rows: Option<usize>,
    /// Print the rows as JSON, in milliseconds (or bytes) and as shares
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    #[value(name = "self")]
    Own,
    Total,
}

/// Returns the table for a profile.
pub fn top(file: &Path, question: &Question) -> Result<String, Error> {
    let profile = question.wanted.read(file)?;
    let about = |mistake: Error| mistake.about(file);
    let by = question.by.as_deref().map(|by| By::parse(&profile, by)).transpose().map_err(about)?;
    let samples = question.wanted.samples(&profile).map_err(about)?;
    let chosen = question.neighbours.chosen();
    let neighbours =
        chosen.map(|chosen| Neighbours::count(&profile, &samples, chosen, question.lines)).transpose();
    let neighbours = neighbours.map_err(about)?;
    let all = sum(samples.iter());
    let tree = question.tree.then(|| CallTree::count(&profile, &samples, question.lines));
    let rows = question.rows.unwrap_or(if question.tree { TREE_ROWS } else { ROWS });
    let report = profile.report_of_samples();
    let counted = profile.counted(report.as_ref());
    let whole = report.as_ref().filter(|_| !question.wanted.is_part() && counted.what == CPU_TIME);
    let process = whole.zip(counted.value(all.weight)).and_then(|(report, ms)| report.process_time(ms));
    if question.json {
        // A reader of the JSON must not find another time under the key for CPU time.
        let in_all = if counted.what == CPU_TIME { "cpu_ms" } else { counted.key() };
        let mut told =
            json!({ in_all: counted.value(all.weight), "samples": all.samples, "time": counted.what });
        if let Some(by) = &by {
            shares(&profile, &samples, by).json(&mut told, &counted, all, rows);
            if let Some(note) = by.bias(&profile, &samples) {
                told["note"] = note.into();
            }
        } else if let Some(neighbours) = &neighbours {
            neighbours.json(&mut told, &counted, rows);
        } else if let Some(tree) = &tree {
            tree.json(&mut told, &counted, all, rows);
        } else {
            let methods = methods(&profile, &samples, question);
            told["rows"] = methods.iter().take(rows).map(|(name, time)| {
                let [own, total] = [time.own, time.total].map(|weight| (counted.value(weight), float(weight) / float(all.weight)));
                let uncertain = counted.value(time.uncertain);
                let [own_key, total_key, uncertain_key] = ["self", "total", "self_uncertain"].map(|of| format!("{of}_{}", counted.key()));
                json!({
                    "name": name, own_key: own.0, "self_share": own.1, total_key: total.0, "total_share": total.1,
                    uncertain_key: uncertain,
                })
            }).collect();
            told["rows_left_out"] = methods.len().saturating_sub(rows).into();
        }
        if let Some(process) = process {
            told["process"] = json!(process);
        }
        return Ok(format!("{told:#}\n"));
    }
    let mut text = counted.total(all.weight, all.samples) + "\n";
    if let Some(report) = &report {
        let what =
            if question.wanted.is_part() { "trust in all of its stacks" } else { "trust in the stacks" };
        let _ = writeln!(text, "{what}: {}", report.fates());
    }
    text.extend(few_samples_note(all));
    text.extend(process.iter().flat_map(ProcessTime::lines).map(|line| line + "\n"));
    let vouch_ms = process.map(|process| process.vouch_ms);
    if let Some(by) = &by {
        text.extend(by.bias(&profile, &samples).map(|note| format!("{note}\n")));
        shares(&profile, &samples, by).print(&mut text, &counted, by, all, rows);
        text.extend(vouch_ms.map(|ms| vouch_row(ms, 37)));
    } else if let Some(neighbours) = &neighbours {
        neighbours.print(&mut text, &counted, all, rows);
    } else if let Some(tree) = &tree {
        tree.print(&mut text, &counted, all, (rows, width(33)));
    } else {
        let methods = methods(&profile, &samples, question);
        print_methods(&mut text, &counted, &methods, (all, vouch_ms), (rows, question.lines));
    }
    Ok(text)
}

/// Returns the row of Vouch's own threads, with its name this many columns after its time. It has
/// no share: shares are of the samples, and so do not depend on how the profile was taken.
fn vouch_row(ms: f64, columns: usize) -> String {
    format!("{:>11}{:columns$}[Vouch]\n", format!("{ms:.1} ms"), "")
}

fn sum<'s>(samples: impl Iterator<Item = &'s Sample>) -> WeightSum {
    let mut sum = WeightSum::default();
    samples.for_each(|sample| sum.add_samples(sample.count, sample.weight));
    sum
}

/// Returns a note on how uncertain shares are, if there are few samples.
fn few_samples_note(all: WeightSum) -> Option<String> {
    // If one sample has most of the weight, the shares are as uncertain as with fewer samples.
    let (good_as, samples) = (effective(all), all.samples);
    (good_as.round() < float(FEW)).then(|| {
        let points = points_off(good_as);
        let equal = (good_as - float(samples)).abs() < 0.5;
        let count = if equal { format!("{samples}") } else { format!("{samples}, as good as {good_as:.0}") };
        format!("note: only {count} samples, so shares are ± {points:.0} points\n")
    })
}

/// The weight of each value, the largest first, and the weight without a value.
struct Shares<'p> {
    values: Vec<(&'p str, WeightSum)>,
    none: WeightSum,
    vm: WeightSum,
}

fn shares<'p>(profile: &'p Profile, samples: &[Sample], by: &'p By) -> Shares<'p> {
    let (mut values, mut none, mut vm) =
        (HashMap::<&str, WeightSum>::new(), WeightSum::default(), WeightSum::default());
    for sample in samples {
        match by.says(profile, sample) {
            GroupKey::Value(value) => values.entry(value).or_default(),
            GroupKey::Vm => &mut vm,
            GroupKey::Nothing => &mut none,
        }
        .add_samples(sample.count, sample.weight);
    }
    let mut values: Vec<(&str, WeightSum)> = values.into_iter().collect();
    values.sort_by_key(|(value, sum)| (Reverse(sum.weight), *value));
    Shares { values, none, vm }
}

impl Shares<'_> {
    fn json(&self, told: &mut Value, counted: &Counted, all: WeightSum, rows: usize) {
        let row = |(name, sum): &(&str, WeightSum)| {
            let (part, (least, most)) = share(*sum, all);
            json!({
                "name": name, counted.key(): counted.value(sum.weight), "samples": sum.samples,
                "share": part, "interval": counted.is_by_chance().then_some([least, most]),
            })
        };
        let (shown, others) = self.values.split_at(self.values.len().min(rows));
        told["rows"] = shown.iter().map(row).collect();
        told["rows_left_out"] = others.len().into();
        // The sums of the samples that have no row are added.
        for (key, sum) in [("left_out", self.others(rows)), ("in_none", self.none), ("of_the_vm", self.vm)] {
            told[key] = json!({ counted.key(): counted.value(sum.weight), "samples": sum.samples, "share": share(sum, all).0 });
        }
    }

    /// Returns the weight of the values after this many rows.
    fn others(&self, rows: usize) -> WeightSum {
        self.values.iter().skip(rows).fold(WeightSum::default(), |sum, (_, next)| sum.plus(*next))
    }

    fn print(&self, text: &mut String, counted: &Counted, by: &By, all: WeightSum, rows: usize) {
        let widest = width(51);
        let time = amount_heading(counted);
        let is_by_chance = counted.is_by_chance();
        let heading = if is_by_chance { "95 % interval" } else { "" };
        let _ = writeln!(text, "{time:>11}    share  {heading:>15}  samples  {}", plain(by.name()));
        let mut row = |name: &str, sum: WeightSum, sure: bool| {
            let (part, (least, most)) = share(sum, all);
            let interval = format!("{:.1} to {:.1} %", 100.0 * least, 100.0 * most);
            let (time, interval) =
                (counted.amount(sum.weight), if sure && is_by_chance { interval } else { String::new() });
            let (share, samples) = (percent(100.0 * part), grouped(sum.samples));
            let _ = writeln!(text, "{time:>11}  {share:>7}  {interval:>15}  {samples:>7}  {name}");
        };
        let shown = self.values.len().min(rows);
        for (value, sum) in &self.values[..shown] {
            row(&plain(&shortened(value, widest)), *sum, true);
        }
        let of_others = format!("[{} others: --rows shows more]", self.values.len() - shown);
        let rest =
            [(of_others.as_str(), self.others(rows)), ("[in no such context]", self.none), (VM, self.vm)];
        for (name, sum) in rest {
            if sum.samples > 0 {
                row(name, sum, false);
            }
        }
    }
}

/// Returns the heading of the column of amounts. It is too narrow to name another time or unit,
/// which the head of the table names.
fn amount_heading(counted: &Counted) -> &'static str {
    match counted.unit {
        Unit::Millis(_) if counted.what == CPU_TIME => CPU_TIME,
        Unit::Millis(_) => "time",
        Unit::Bytes if *counted == Counted::LIVE => "alive",
        Unit::Bytes => "allocated",
        Unit::Events | Unit::One => "counted",
    }
}

impl Neighbours {
    fn json(&self, told: &mut Value, counted: &Counted, rows: usize) {
        told["methods"] = json!(self.methods);
        told[format!("methods_{}", counted.key())] = json!(counted.value(self.weight));
        let row = |(name, weight): &(String, u64)| {
            json!({
                "name": name, counted.key(): counted.value(*weight),
                "share": float(*weight) / float(self.weight),
            })
        };
        told["rows"] = self.rows.iter().take(rows).map(row).collect();
        told["rows_left_out"] = self.rows.len().saturating_sub(rows).into();
    }

    fn print(&self, text: &mut String, counted: &Counted, all: WeightSum, rows: usize) {
        let widest = width(33);
        let share = |weight: u64, of: u64| percent(100.0 * float(weight) / float(of));
        let methods = match &self.methods[..] {
            [method] => plain(&shortened(method, widest)),
            methods => format!(
                "{} methods that match, such as {}",
                grouped(methods.len() as u64),
                plain(&shortened(&methods[0], widest))
            ),
        };
        let _ = writeln!(
            text,
            "{} ({}) with {methods}",
            counted.amount(self.weight),
            share(self.weight, all.weight)
        );
        let _ = writeln!(text, "{:>11}    of it   of all  {}", amount_heading(counted), self.side.heading());
        for (name, weight) in self.rows.iter().take(rows) {
            let (amount, name) = (counted.amount(*weight), plain(&shortened(name, widest)));
            let _ = writeln!(
                text,
                "{amount:>11}  {:>7}  {:>7}  {name}",
                share(*weight, self.weight),
                share(*weight, all.weight)
            );
        }
        if let left @ 1.. = self.rows.len().saturating_sub(rows) {
            let _ = writeln!(text, "{} more: --rows shows more", grouped(left as u64));
        }
    }
}

/// Returns the time of each method, or each line, in the requested order.
fn methods(profile: &Profile, samples: &[Sample], question: &Question) -> Vec<(String, Time)> {
    let mut of_stack = vec![0_u64; profile.stacks()];
    for sample in samples {
        of_stack[sample.stack] += sample.weight;
    }
    let rows = if question.lines { Rows::lines(profile) } else { Rows::methods(profile) };
    let times = rows.count(profile, of_stack);
    let key = |time: &Time| match question.sort {
        Order::Own => (time.own, time.total),
        Order::Total => (time.total, time.own),
    };
    let mut methods: Vec<(String, Time)> = rows.names.into_iter().zip(times).collect();
    methods.retain(|(_, time)| key(time).0 > 0);
    methods
        .sort_by(|(one, first), (other, second)| key(second).cmp(&key(first)).then_with(|| one.cmp(other)));
    methods
}

fn print_methods(
    text: &mut String,
    counted: &Counted,
    methods: &[(String, Time)],
    (all, vouch_ms): (WeightSum, Option<f64>),
    (rows, lines): (usize, bool),
) {
    let widest = width(45);
    let shown = &methods[..methods.len().min(rows)];
    let is_uncertain = shown.iter().any(|(_, time)| time.uncertain > 0);
    let widest = widest.saturating_sub(if is_uncertain { 11 } else { 0 }).max(MIN_NAME_COLUMNS);
    text.push_str("       self    share");
    text.push_str(if is_uncertain { "  uncertain      total    share\n" } else { "      total    share\n" });
    let share = |weight: u64| percent(100.0 * float(weight) / float(all.weight));
    for (name, Time { own, total, uncertain }) in shown {
        let (own_time, total_time) = (counted.amount(*own), counted.amount(*total));
        let name = plain(&shortened(name, widest));
        let of_own = percent(100.0 * float(*uncertain) / float(*own));
        let uncertain = match *uncertain {
            _ if !is_uncertain => String::new(),
            0 => format!("{:11}", ""),
            _ => format!("{of_own:>9}  "),
        };
        let _ = writeln!(
            text,
            "{own_time:>11}  {:>7}  {uncertain}{total_time:>9}  {:>7}  {name}",
            share(*own),
            share(*total)
        );
    }
    text.extend(vouch_ms.map(|ms| vouch_row(ms, if is_uncertain { 42 } else { 31 })));
    if is_uncertain {
        text.push_str(
            "uncertain: the part of self for which the method is a guess, or the stack is refuted (docs/proof.md)\n",
        );
    }
    let left = methods.len().saturating_sub(rows);
    if left > 0 {
        let what = if lines { "lines" } else { "methods" };
        let _ = writeln!(text, "{} more {what}: --rows shows more", grouped(left as u64));
    }
}

/// Reads a number of rows.
pub fn row_count(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "must be a whole number from 0 up, such as 20")
}

/// Returns how long a name may be after columns of this width. It is the rest of the terminal's
/// width, if there is a terminal.
pub fn width(columns: usize) -> usize {
    let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(MAX_NAME_COLUMNS, |(width, _)| {
        usize::from(width.0).saturating_sub(columns).max(MIN_NAME_COLUMNS)
    })
}
