//! `vouch top`: where the CPU time of a profile went, by method or by what the program said it was for.
//!
//! It must never divide by what it has filtered out, or count a method twice for one sample: a share is one of all samples that
//! were asked for.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use vouch_report::{Weighed, float, grouped, percent, plain, share, shortened};

use crate::profile::{Field, Profile, Sample};

/// A name takes no more than so many characters.
const WIDEST: usize = 90;

/// What is asked of a profile.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// By what the innermost context says in this field, and not by method: a field's name (user) or its kind's, too (Request.user)
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// Only samples in a context that says this, as user=moe; may be given again, and then all must hold
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    conditions: Vec<Condition>,
    /// So many rows at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
}

/// A field must say this.
#[derive(Debug, Clone)]
struct Condition {
    field: String,
    value: String,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(field, _)| !field.is_empty());
        let (field, value) = parts.ok_or("a field, = and what it says: user=moe")?;
        Ok(Self { field: field.to_owned(), value: value.to_owned() })
    }
}

/// What there is to print.
pub fn top(file: &Path, question: &Question) -> Result<String, String> {
    let profile = Profile::read(file)?;
    let about = |mistake| format!("{}: {mistake}", file.display());
    let conditions: Result<Vec<(Field, &str)>, String> = question
        .conditions
        .iter()
        .map(|condition| Ok((profile.field(&condition.field)?, condition.value.as_str())))
        .collect();
    let conditions = conditions.map_err(about)?;
    let by = question.by.as_deref().map(|field| profile.field(field)).transpose().map_err(about)?;
    let holds = |sample: &Sample| {
        conditions.iter().all(|(field, value)| profile.says(sample.context, field) == Some(value))
    };
    let samples: Vec<Sample> = profile.samples().filter(holds).collect();
    let all = sum(samples.iter());
    if all.weight == 0 {
        let none =
            if conditions.is_empty() { "there is no sample in it" } else { "no sample is in such a context" };
        return Err(about(none.to_owned()));
    }
    let mut text = format!("{} of CPU time in {} samples\n", profile.time(all.weight), grouped(all.samples));
    match &by {
        Some(field) => by_field(&mut text, &profile, &samples, field, all, question.rows),
        None => by_method(&mut text, &profile, &samples, all, question.rows),
    }
    Ok(text)
}

fn sum<'s>(samples: impl Iterator<Item = &'s Sample>) -> Weighed {
    let mut sum = Weighed::default();
    samples.for_each(|sample| sum.add(sample.weight));
    sum
}

impl Profile {
    fn time(&self, weight: u64) -> String {
        format!("{:.1} ms", float(weight) * self.meta.interval)
    }
}

/// A row for each value, the dearest first; then what has none.
fn by_field(
    text: &mut String,
    profile: &Profile,
    samples: &[Sample],
    field: &Field,
    all: Weighed,
    rows: usize,
) {
    let (mut values, mut none, mut vm) =
        (HashMap::<&str, Weighed>::new(), Weighed::default(), Weighed::default());
    for sample in samples {
        match profile.says(sample.context, field) {
            Some(value) => values.entry(value).or_default().add(sample.weight),
            None if profile.is_vm(sample.stack) => vm.add(sample.weight),
            None => none.add(sample.weight),
        }
    }
    let mut values: Vec<(&str, Weighed)> = values.into_iter().collect();
    values.sort_by_key(|(value, sum)| (Reverse(sum.weight), *value));
    let left = values.split_off(values.len().min(rows));
    let _ = writeln!(text, "   CPU time    share    95 % interval  samples  {}", plain(&field.name));
    let mut row = |name: &str, sum: Weighed, sure: bool| {
        let (part, (least, most)) = share(sum, all);
        let interval = format!("{:.1} to {:.1} %", 100.0 * least, 100.0 * most);
        let (time, interval) = (profile.time(sum.weight), if sure { interval } else { String::new() });
        let (share, samples) = (percent(100.0 * part), grouped(sum.samples));
        let _ = writeln!(text, "{time:>11}  {share:>7}  {interval:>15}  {samples:>7}  {name}");
    };
    for (value, sum) in values {
        row(&plain(&shortened(value, WIDEST)), sum, true);
    }
    let others = left.iter().fold(Weighed::default(), |sum, (_, next)| sum.and(*next));
    let of_others = format!("[{} others: --rows shows more]", left.len());
    for (name, sum) in [(of_others.as_str(), others), ("[in no such context]", none), ("[the VM itself]", vm)]
    {
        if sum.samples > 0 {
            row(name, sum, false);
        }
    }
}

/// A row for each method, by the time in which it was on top.
fn by_method(text: &mut String, profile: &Profile, samples: &[Sample], all: Weighed, rows: usize) {
    let mut of_stack = vec![0_u64; profile.stacks()];
    for sample in samples {
        of_stack[sample.stack] += u64::from(sample.weight);
    }
    let (mut own, mut total) = (vec![0_u64; profile.functions()], vec![0_u64; profile.functions()]);
    for (stack, weight) in of_stack.iter().enumerate() {
        own[profile.function(stack)] += weight;
    }
    // Callers come before their callees: from the end, each stack has all that is above it.
    for stack in (0..of_stack.len()).rev() {
        if let Some(caller) = profile.caller(stack) {
            of_stack[caller] += of_stack[stack];
        }
    }
    // From each root up and down again: a method that calls itself is counted where it stands first.
    let mut callees = vec![Vec::new(); of_stack.len()];
    let mut roots = Vec::new();
    for stack in (0..of_stack.len()).filter(|stack| of_stack[*stack] > 0) {
        match profile.caller(stack) {
            Some(caller) => callees[caller].push(stack),
            None => roots.push(stack),
        }
    }
    let mut below = vec![0_u32; profile.functions()];
    let mut path: Vec<usize> = Vec::new();
    let mut next = roots;
    while let Some(stack) = next.pop() {
        while path.last().is_some_and(|last| profile.caller(stack) != Some(*last)) {
            path.pop().into_iter().for_each(|left| below[profile.function(left)] -= 1);
        }
        let function = profile.function(stack);
        if below[function] == 0 {
            total[function] += of_stack[stack];
        }
        below[function] += 1;
        path.push(stack);
        next.append(&mut callees[stack]);
    }
    // The same method may stand in the file twice, as of stacks that are refuted.
    let mut methods: HashMap<&str, (u64, u64)> = HashMap::new();
    for (function, (own, total)) in own.iter().zip(&total).enumerate() {
        let of_name = methods.entry(profile.function_name(function)).or_default();
        *of_name = (of_name.0 + own, of_name.1 + total);
    }
    let mut methods: Vec<(&str, (u64, u64))> = methods.into_iter().filter(|(_, (own, _))| *own > 0).collect();
    methods.sort_by_key(|(name, (own, total))| (Reverse((*own, *total)), *name));
    text.push_str("       self    share      total    share\n");
    let share = |weight: u64| percent(100.0 * float(weight) / float(all.weight));
    for (name, (own, total)) in methods.iter().take(rows) {
        let (own_time, total_time) = (profile.time(*own), profile.time(*total));
        let name = plain(&shortened(name, WIDEST));
        let _ = writeln!(
            text,
            "{own_time:>11}  {:>7}  {total_time:>9}  {:>7}  {name}",
            share(*own),
            share(*total)
        );
    }
    let left = methods.len().saturating_sub(rows);
    if left > 0 {
        let _ = writeln!(text, "{} more methods: --rows shows more", grouped(left as u64));
    }
}
