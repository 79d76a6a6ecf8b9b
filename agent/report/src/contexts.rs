//! Whose CPU time it was: what the samples in the program's contexts stand for, by kind, field and
//! value.
//!
//! A sample counts for the innermost context of each kind that it was taken in, and once: so the
//! values of a field add up to their kind's. It must never be guessed whose a sample without a
//! context is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use vouch_recording::{
    ContextField, ContextKind, Id, OTHERS, Recording, StringId, TRACE, UNKNOWN, UNNAMED, VIRTUAL_THREAD,
    Weighed,
};

use crate::interval::share;
use crate::text::{grouped, percent, plain, shortened};
use crate::time::intervals_ms;

/// So many values of a field are told apart in a report.
const DEAREST: usize = 10;
/// And so many in one line, each of which takes no more than so many characters.
const IN_A_LINE: usize = 3;
const WIDEST: usize = 40;

/// What the program's contexts are known to have cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextsReport {
    /// CPU time of samples with a context, and of those without one whose thread ran Java, which is
    /// null where samples stand for no time.
    pub with_ms: f64,
    pub without_ms: Option<f64>,
    /// How many contexts samples have met.
    pub met: u64,
    /// How often the program named one that there was no room for.
    pub left_out: u64,
    /// The dearest first.
    pub kinds: Vec<KindReport>,
}

/// A class of contexts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KindReport {
    pub class: String,
    pub label: String,
    pub samples: u64,
    pub cpu_ms: f64,
    pub fields: Vec<FieldReport>,
}

/// One field of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldReport {
    pub key: String,
    pub label: String,
    /// How many values samples have met.
    pub distinct: u64,
    /// The dearest of them, and what all others cost.
    pub values: Vec<ValueReport>,
    pub others_ms: f64,
}

/// One value of it, with the interval in which its CPU time lies in 95 of 100 cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueReport {
    pub value: String,
    pub samples: u64,
    pub cpu_ms: f64,
    pub least_ms: f64,
    pub most_ms: f64,
}

impl ContextsReport {
    pub(crate) fn of(recording: &Recording, interval_ns: u64, left_out: u64) -> Self {
        let contexts = recording.contexts();
        let mut kinds = vec![Weighed::default(); contexts.kinds().len()];
        let mut values: HashMap<(usize, usize, StringId), Weighed> = HashMap::new();
        let (mut with, mut without, mut met) = (Weighed::default(), contexts.without(), 0);
        for id in contexts.ids() {
            let weighed = contexts.weighed(id);
            // The program has said nothing of it.
            if contexts.is_carried(id) {
                without = without.and(weighed);
            } else {
                met += u64::from(weighed.samples > 0);
                with = with.and(weighed);
            }
            let mut counted = Vec::new();
            for row in contexts.outwards(Some(id)).map(|id| contexts.get(id)) {
                let kind = row.kind.row();
                if counted.contains(&kind) {
                    continue;
                }
                counted.push(kind);
                kinds[kind] = kinds[kind].and(weighed);
                for (field, value) in row.values.iter().enumerate() {
                    let of_value = values.entry((kind, field, *value)).or_default();
                    *of_value = of_value.and(weighed);
                }
            }
        }
        let mut fields: BTreeMap<(usize, usize), Vec<(StringId, Weighed)>> = BTreeMap::new();
        for ((kind, field, value), weighed) in values {
            fields.entry((kind, field)).or_default().push((value, weighed));
        }
        let all = with.and(without);
        let told = Told { recording, interval_ns, all };
        let mut kinds: Vec<KindReport> = contexts
            .kinds()
            .iter()
            .zip(kinds)
            .enumerate()
            .map(|(at, (kind, weighed))| told.kind(kind, weighed, |field| fields.remove(&(at, field))))
            .collect();
        kinds.sort_by(|one, other| other.cpu_ms.total_cmp(&one.cpu_ms));
        Self {
            with_ms: intervals_ms(with.weight, interval_ns),
            without_ms: Some(intervals_ms(without.weight, interval_ns)),
            met,
            left_out,
            kinds,
        }
    }

    /// In a line, as shares of all time that was sampled; `None` if the program has told of none,
    /// and had no virtual threads.
    pub(crate) fn line(&self, all: f64) -> Option<String> {
        let left_out = match self.left_out {
            0 => None,
            lost => Some(format!("{} contexts were left out", grouped(lost))),
        };
        let of_all = |ms: f64| percent(100.0 * ms / all);
        let values = |field: &FieldReport| {
            let values = field.values.iter().take(IN_A_LINE);
            let values: Vec<String> = values
                .map(|value| format!("{} {}", shortened(&value.value, WIDEST), of_all(value.cpu_ms)))
                .collect();
            let rest = if field.distinct > IN_A_LINE as u64 { ", and others" } else { "" };
            format!("{}{rest}", values.join(", "))
        };
        // Traces are around all else, and of many a trace the dearest is none that matters: they
        // are told where there is nothing else.
        let own = self.kinds.iter().filter(|kind| !kind.is_carried() && kind.class != TRACE);
        let traces = self.kinds.iter().filter(|kind| kind.class == TRACE);
        let dearest = own.chain(traces).find_map(|kind| {
            let field = kind.fields.iter().find(|field| field.distinct > 1).or(kind.fields.first())?;
            Some(plain(&format!("{} {}: {}", kind.label, field.label, values(field))))
        });
        let told = (all > 0.0 && self.met > 0).then(|| format!("{} in a context", of_all(self.with_ms)));
        let carried = self.kinds.iter().find(|kind| all > 0.0 && kind.is_carried()).and_then(|kind| {
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
            [told, dearest.filter(|_| self.met > 0), carried, left_out].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl KindReport {
    /// Virtual threads, which nobody has to tell of.
    fn is_carried(&self) -> bool {
        self.class == VIRTUAL_THREAD
    }
}

/// What all of them are told by.
struct Told<'r> {
    recording: &'r Recording,
    interval_ns: u64,
    /// All samples of threads that ran Java.
    all: Weighed,
}

impl Told<'_> {
    fn text(&self, id: StringId) -> String {
        self.recording.strings().get(id).to_owned()
    }

    fn kind(
        &self,
        kind: &ContextKind,
        weighed: Weighed,
        mut values: impl FnMut(usize) -> Option<Vec<(StringId, Weighed)>>,
    ) -> KindReport {
        let fields = kind.fields.iter().enumerate();
        let is_carried = self.text(kind.class) == VIRTUAL_THREAD;
        KindReport {
            class: self.text(kind.class),
            label: self.text(kind.label),
            samples: weighed.samples,
            cpu_ms: intervals_ms(weighed.weight, self.interval_ns),
            fields: fields
                .map(|(at, field)| self.field(*field, values(at).unwrap_or_default(), is_carried))
                .collect(),
        }
    }

    fn field(
        &self,
        field: ContextField,
        mut values: Vec<(StringId, Weighed)>,
        is_carried: bool,
    ) -> FieldReport {
        values.retain(|(_, weighed)| weighed.samples > 0);
        values.sort_by_key(|(value, weighed)| (Reverse(weighed.weight), *value));
        // These stand for several virtual threads, or for none that is known.
        let several = |value| is_carried && [UNKNOWN, OTHERS].contains(&self.recording.strings().get(value));
        let distinct = values.iter().filter(|(value, _)| !several(*value)).count() as u64;
        let others = values.split_off(values.len().min(DEAREST));
        let others: u64 = others.iter().map(|(_, weighed)| weighed.weight).sum();
        FieldReport {
            key: self.text(field.key),
            label: self.text(field.label),
            distinct,
            values: values.into_iter().map(|(value, weighed)| self.value(value, weighed)).collect(),
            others_ms: intervals_ms(others, self.interval_ns),
        }
    }

    fn value(&self, value: StringId, weighed: Weighed) -> ValueReport {
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
