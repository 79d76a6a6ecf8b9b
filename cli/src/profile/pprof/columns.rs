//! Finds the values of a pprof file's rows that count a measure, and reads them.

use std::borrow::Cow;

use vouch_formats::pprof::{Profile as File, Sample as Row};
use vouch_report::{CPU_TIME, float, plain};

use crate::counted::{Counted, Unit};
use crate::measure::Measure;

const COUNT: &str = "count";
/// The units of times, each with its nanoseconds.
const TIMES: [(&str, u64); 4] =
    [("nanoseconds", 1), ("microseconds", 1_000), ("milliseconds", 1_000_000), ("seconds", 1_000_000_000)];

/// The values that count a measure.
pub struct Columns {
    /// The index of the value that is the amount.
    amount: usize,
    /// The index of the value that is the number of events.
    events: Option<usize>,
    rows: Rows,
    /// The part of an amount that is a weight of 1.
    unit: u64,
    pub counted: Counted,
}

/// How many samples a row is.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// The row is one sample, which may count several events.
    Sample,
    /// Each event is a sample.
    Events,
    /// Each unit of the amount is a sample.
    Amount,
}

/// A row's part of a measure.
pub struct Share {
    /// The number of samples. It is 0 if the row counts another measure.
    pub samples: u64,
    /// The weight of these samples together.
    pub weight: u64,
}

impl Columns {
    /// Returns the columns of a measure, if the file has the measure.
    pub fn find(file: &File, measure: Measure) -> Option<Self> {
        let types: Vec<(&str, &str)> =
            file.sample_type.iter().map(|it| (file.text(it.r#type), file.text(it.unit))).collect();
        let find = |wanted: &[(&str, &str)]| types.windows(wanted.len()).position(|next| next == wanted);
        if let Some((wanted, counted)) = measure.in_pprof().zip(measure.counted()) {
            let (first, rows) = (find(wanted)?, Rows::Sample);
            let last = first + wanted.len() - 1;
            let amount = if measure.counts_events() { first } else { last };
            return Some(Self { amount, events: Some(first), rows, unit: 1, counted });
        }
        // Other measures are times, too. The profile of Go's mutexes has no other time.
        let others = [Measure::Wall, Measure::Lock].map(|measure| measure.in_pprof().and_then(find));
        let is_other = |at: usize| types.len() > 2 && others.contains(&at.checked_sub(1));
        let nanos = |unit: &str| TIMES.into_iter().find(|(known, _)| *known == unit).map(|(_, nanos)| nanos);
        let time = types
            .iter()
            .enumerate()
            .find_map(|(at, (name, unit))| Some((at, *name, nanos(unit)?)).filter(|_| !is_other(at)));
        if let Some((amount, name, nanos)) = time {
            let events = types.iter().position(|it| *it == ("samples", COUNT));
            let rows = if events.is_some() { Rows::Events } else { Rows::Sample };
            let unit = interval(file, amount);
            let counted = Counted { what: clock(name), unit: Unit::Millis(float(unit) * float(nanos) / 1e6) };
            return Some(Self { amount, events, rows, unit, counted });
        }
        let is_event = |(name, unit): &(&str, &str)| {
            *unit == COUNT
                && !["_objects", "_events", "contentions", "exceptions"].iter().any(|end| name.ends_with(end))
        };
        let amount = types.iter().position(is_event)?;
        let what = format!("samples of {}", plain(types[amount].0)).into();
        let counted = Counted { what, unit: Unit::One };
        Some(Self { amount, events: None, rows: Rows::Amount, unit: 1, counted })
    }

    /// Returns the part of each row. Returns `None` if a row has a negative value, as in the
    /// difference of two profiles.
    pub fn shares(&self, file: &File) -> Option<Vec<Share>> {
        file.sample.iter().map(|row| self.share(row)).collect()
    }

    fn share(&self, row: &Row) -> Option<Share> {
        let weight = value(row, self.amount)? / self.unit;
        let events = self.events.map_or(Some(0), |column| value(row, column))?;
        let samples = match self.rows {
            Rows::Sample => u64::from(events.max(weight) > 0),
            Rows::Events => events.max(weight.min(1)),
            Rows::Amount => weight,
        };
        Some(Share { samples, weight })
    }
}

/// Returns the value of a row, or 0 if the row is too short. Returns `None` for a negative value.
fn value(row: &Row, column: usize) -> Option<u64> {
    u64::try_from(row.value.get(column).copied().unwrap_or(0)).ok()
}

/// Returns the time of a weight of 1: the sampling interval. It is a part of the interval if some
/// amount is no multiple of it, as another program may count.
fn interval(file: &File, amount: usize) -> u64 {
    let unit = file.sample_type[amount].unit;
    let period = file.period_type.filter(|period| file.text(period.unit) == file.text(unit));
    let period = period.and_then(|_| u64::try_from(file.period).ok()).unwrap_or(0);
    let amounts = file.sample.iter().filter_map(|row| value(row, amount));
    amounts.fold(period, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Returns the name of a time, by the name of its values.
fn clock(name: &str) -> Cow<'static, str> {
    match name {
        "cpu" => CPU_TIME.into(),
        "wall" => "wall-clock time".into(),
        name => plain(name).into(),
    }
}
