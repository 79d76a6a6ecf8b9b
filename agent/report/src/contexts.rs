//! The CPU time of the program's contexts, by kind, field and value.
//!
//! A sample counts once for each kind, for the innermost context of that kind. So the values of a
//! field add up to the time of their kind. A sample without a context must never be attributed to
//! one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use vouch_recording::{
    ContextField, ContextKind, Id, OTHERS, Recording, StringId, TRACE, UNKNOWN, UNNAMED, VIRTUAL_THREAD,
    WeightSum,
};

use crate::interval::share;
use crate::text::{grouped, percent, plain, shortened};
use crate::time::intervals_ms;

/// The report lists at most this many values of a context's field, by descending CPU time.
const MAX_VALUES: usize = 10;
/// The summary lists at most this many values of a context's field.
const MAX_VALUES_IN_LINE: usize = 3;
/// The summary prints at most this many characters of a value.
const MAX_VALUE_CHARS: usize = 40;

/// The CPU time that the program spent inside of its contexts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextsReport {
    /// CPU time of samples with a context.
    pub with_ms: f64,
    /// CPU time of samples of Java threads without a context. Null if samples count no time.
    pub without_ms: Option<f64>,
    /// The number of contexts with at least one sample.
    #[serde(rename = "met")]
    pub sampled: u64,
    /// The number of contexts that were not recorded because the table was full.
    pub left_out: u64,
    /// All kinds of contexts, by descending CPU time.
    pub kinds: Vec<KindReport>,
}

/// The samples in contexts of one kind. A kind is a class of the program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KindReport {
    pub class: String,
    pub label: String,
    pub samples: u64,
    pub cpu_ms: f64,
    pub fields: Vec<FieldReport>,
}

/// The CPU time of one kind of contexts, divided by the values of one field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldReport {
    pub key: String,
    pub label: String,
    /// The number of distinct values with samples.
    pub distinct: u64,
    /// The values with the most CPU time, at most ten.
    pub values: Vec<ValueReport>,
    /// The CPU time of all values that `values` does not list.
    pub others_ms: f64,
}

/// The samples with one value of a field, with the 95 % confidence interval of their CPU time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueReport {
    pub value: String,
    pub samples: u64,
    pub cpu_ms: f64,
    pub least_ms: f64,
    pub most_ms: f64,
}

impl ContextsReport {
    pub(crate) fn new(recording: &Recording, interval_ns: u64, left_out: u64) -> Self {
        let contexts = recording.contexts();
        let mut kinds = vec![WeightSum::default(); contexts.kinds().len()];
        let mut values: HashMap<(usize, usize, StringId), WeightSum> = HashMap::new();
        let (mut with, mut without, mut sampled) = (WeightSum::default(), contexts.without(), 0);
        for id in contexts.ids() {
            let weighed = contexts.weight_of(id);
            // The agent made a context for each virtual thread, so such a context is not the
            // program's.
            if contexts.is_virtual_thread(id) {
                without = without.plus(weighed);
            } else {
                sampled += u64::from(weighed.samples > 0);
                with = with.plus(weighed);
            }
            let mut counted = Vec::new();
            for row in contexts.outwards(Some(id)).map(|id| contexts.get(id)) {
                let kind = row.kind.row();
                if counted.contains(&kind) {
                    continue;
                }
                counted.push(kind);
                kinds[kind] = kinds[kind].plus(weighed);
                for (field, value) in row.values.iter().enumerate() {
                    let of_value = values.entry((kind, field, *value)).or_default();
                    *of_value = of_value.plus(weighed);
                }
            }
        }
        let mut fields: BTreeMap<(usize, usize), Vec<(StringId, WeightSum)>> = BTreeMap::new();
        for ((kind, field, value), weighed) in values {
            fields.entry((kind, field)).or_default().push((value, weighed));
        }
        let all = with.plus(without);
        let builder = ReportBuilder { recording, interval_ns, all };
        let mut kinds: Vec<KindReport> = contexts
            .kinds()
            .iter()
            .zip(kinds)
            .enumerate()
            .map(|(at, (kind, weighed))| builder.kind(kind, weighed, |field| fields.remove(&(at, field))))
            .collect();
        kinds.sort_by(|one, other| other.cpu_ms.total_cmp(&one.cpu_ms));
        Self {
            with_ms: intervals_ms(with.weight, interval_ns),
            without_ms: Some(intervals_ms(without.weight, interval_ns)),
            sampled,
            left_out,
            kinds,
        }
    }

    /// Returns the summary's line about contexts, with shares of all sampled time.
    /// It is `None` if the program has no contexts and no virtual threads.
    pub(crate) fn line(&self, all: f64) -> Option<String> {
        let left_out = match self.left_out {
            0 => None,
            lost => Some(format!("{} contexts were left out", grouped(lost))),
        };
        let of_all = |ms: f64| percent(100.0 * ms / all);
        let values = |field: &FieldReport| {
            let values = field.values.iter().take(MAX_VALUES_IN_LINE);
            let values: Vec<String> = values
                .map(|value| format!("{} {}", shortened(&value.value, MAX_VALUE_CHARS), of_all(value.cpu_ms)))
                .collect();
            let rest = if field.distinct > MAX_VALUES_IN_LINE as u64 { ", and others" } else { "" };
            format!("{}{rest}", values.join(", "))
        };
        // Traces surround all other contexts, and a single trace seldom matters. So the line names
        // a trace only if the program has no other kind of context.
        let own = self.kinds.iter().filter(|kind| !kind.is_virtual_thread() && kind.class != TRACE);
        let traces = self.kinds.iter().filter(|kind| kind.class == TRACE);
        let largest = own.chain(traces).find_map(|kind| {
            let field = kind.fields.iter().find(|field| field.distinct > 1).or(kind.fields.first())?;
            Some(plain(&format!("{} {}: {}", kind.label, field.label, values(field))))
        });
        let in_context =
            (all > 0.0 && self.sampled > 0).then(|| format!("{} in a context", of_all(self.with_ms)));
        let virtual_threads = self.kinds.iter().find(|kind| all > 0.0 && kind.is_virtual_thread());
        let virtual_threads = virtual_threads.and_then(|kind| {
            let [names, ids] = kind.fields.as_slice() else { return None };
            let number = grouped(ids.distinct);
            let noun = if ids.distinct == 1 { "virtual thread" } else { "virtual threads" };
            let named = names.values.iter().any(|value| value.value != UNNAMED);
            let unknown = names.values.iter().find(|value| value.value == UNKNOWN);
            let names = if named { plain(&format!(": {}", values(names))) } else { String::new() };
            let biased = unknown.map(|unknown| {
                format!(
                    "; {} on virtual threads of unknown name: shares by name are biased",
                    of_all(unknown.cpu_ms)
                )
            });
            let biased = biased.filter(|_| named).unwrap_or_default();
            (ids.distinct > 0).then(|| format!("{} on {number} {noun}{names}{biased}", of_all(kind.cpu_ms)))
        });
        let parts: Vec<String> =
            [in_context, largest.filter(|_| self.sampled > 0), virtual_threads, left_out]
                .into_iter()
                .flatten()
                .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl KindReport {
    /// True if the contexts are virtual threads, which the agent finds itself.
    fn is_virtual_thread(&self) -> bool {
        self.class == VIRTUAL_THREAD
    }
}

/// Builds the report on contexts from one recording.
struct ReportBuilder<'r> {
    recording: &'r Recording,
    interval_ns: u64,
    /// The weight of all samples of threads that ran Java. Confidence intervals are for shares of
    /// this weight.
    all: WeightSum,
}

impl ReportBuilder<'_> {
    fn text(&self, id: StringId) -> String {
        self.recording.strings().get(id).to_owned()
    }

    fn kind(
        &self,
        kind: &ContextKind,
        weighed: WeightSum,
        mut values: impl FnMut(usize) -> Option<Vec<(StringId, WeightSum)>>,
    ) -> KindReport {
        let fields = kind.fields.iter().enumerate();
        let is_virtual_thread = self.text(kind.class) == VIRTUAL_THREAD;
        KindReport {
            class: self.text(kind.class),
            label: self.text(kind.label),
            samples: weighed.samples,
            cpu_ms: intervals_ms(weighed.weight, self.interval_ns),
            fields: fields
                .map(|(at, field)| self.field(*field, values(at).unwrap_or_default(), is_virtual_thread))
                .collect(),
        }
    }

    fn field(
        &self,
        field: ContextField,
        mut values: Vec<(StringId, WeightSum)>,
        is_virtual_thread: bool,
    ) -> FieldReport {
        values.retain(|(_, weighed)| weighed.samples > 0);
        values.sort_by_key(|(value, weighed)| (Reverse(weighed.weight), *value));
        // Two of the values stand for no single virtual thread: one sums up many, the other is for
        // unknown threads. So they are not counted.
        let is_one_thread =
            |value| !is_virtual_thread || ![UNKNOWN, OTHERS].contains(&self.recording.strings().get(value));
        let distinct = values.iter().filter(|(value, _)| is_one_thread(*value)).count() as u64;
        let others = values.split_off(values.len().min(MAX_VALUES));
        let others: u64 = others.iter().map(|(_, weighed)| weighed.weight).sum();
        FieldReport {
            key: self.text(field.key),
            label: self.text(field.label),
            distinct,
            values: values.into_iter().map(|(value, weighed)| self.value(value, weighed)).collect(),
            others_ms: intervals_ms(others, self.interval_ns),
        }
    }

    fn value(&self, value: StringId, weighed: WeightSum) -> ValueReport {
        let (_, (least, most)) = share(weighed, self.all);
        let all_ms = intervals_ms(self.all.weight, self.interval_ns);
        ValueReport {
            value: self.text(value),
            samples: weighed.samples,
            cpu_ms: intervals_ms(weighed.weight, self.interval_ns),
            least_ms: (least * all_ms * 1000.0).round() / 1000.0,
            most_ms: (most * all_ms * 1000.0).round() / 1000.0,
        }
    }
}
