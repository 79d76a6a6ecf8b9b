//! Adds up the trust reports of several runs.
//!
//! Counts are summed, and maxima are the maximum of all runs. A value that does not follow from the
//! runs' values must be missing. Each struct is destructured with all of its fields, so that a new
//! field does not compile before it is added here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::mem::take;

use vouch_recording::ByFate;
use vouch_verify::proof::Refutation;

use crate::contexts::ContextsReport;
use crate::groups::GroupReport;
use crate::jvm::{ClassReport, CompilerReport, EventReport, SafepointReport};
use crate::measures::{ExactTotal, LiveObjectsReport, MeasureReport};
use crate::native_calls::NativeCallReport;
use crate::plausible::PlausibleReport;
use crate::proof::{Conservation, EdgeReport, MAX_LISTED, Power, RefutationReport, WitnessPower};
use crate::report::{
    AgreementReport, HandlerTime, NativeReport, Rate, RecordingFile, RecoveryReport, Run, Signals,
    THREADS_OPTION, TrustReport,
};
use crate::top_frame::{Counted, TopFrameReport};
use crate::wall_clock::WallClockReport;
use crate::witness::{GradeReport, WitnessReport};

/// Adds the reports on several runs into one, and renumbers their refutations.
#[derive(Debug, Default)]
pub struct ReportSum {
    report: Option<TrustReport>,
    /// The number in the joint report of each distinct refutation.
    refutations: HashMap<RefutationKey, usize>,
    /// The highest number in use in the joint report.
    last_number: usize,
}

/// The fields that identify a refutation. If they are equal in two runs, the refutation is the
/// same.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RefutationKey {
    kind: Refutation,
    caller: String,
    bci: i32,
    expected: String,
    found: String,
}

/// Maps the numbers of one run's refutations to their numbers in the report on all runs.
#[derive(Debug, Default)]
pub struct RefutationNumbers {
    new_by_old: HashMap<usize, usize>,
}

impl ReportSum {
    /// Adds the report of one run.
    pub fn add(&mut self, mut report: TrustReport) -> RefutationNumbers {
        let mut numbers = RefutationNumbers::default();
        let Run { refutations, witness, .. } = &mut report.run;
        for refutation in refutations.iter_mut().chain(&mut witness.contradictions) {
            let RefutationReport { number, kind, caller, bci, expected, found, .. } = refutation;
            let key = RefutationKey {
                kind: *kind,
                caller: caller.clone(),
                bci: *bci,
                expected: expected.clone(),
                found: found.clone(),
            };
            let last_number = &mut self.last_number;
            let new = *self.refutations.entry(key).or_insert_with(|| next(last_number));
            numbers.new_by_old.insert(take(number), new);
            *number = new;
        }
        match &mut self.report {
            Some(all) => all.add(report),
            none => *none = Some(report),
        }
        numbers
    }

    /// Returns the new number of a run's refutation, even if the run's report does not list it.
    pub fn number(&mut self, numbers: &mut RefutationNumbers, number: usize) -> usize {
        let last_number = &mut self.last_number;
        *numbers.new_by_old.entry(number).or_insert_with(|| next(last_number))
    }

    /// Returns the joint report on all runs. `wall_ms` is the time from the first start to the last
    /// end.
    pub fn finish(self, wall_ms: f64) -> TrustReport {
        let mut report = self.report.unwrap_or_default();
        report.run.wall_ms = wall_ms;
        let Run { refutations, witness, .. } = &mut report.run;
        for listed in [refutations, &mut witness.contradictions] {
            listed.sort_by_key(|refutation| Reverse(refutation.count));
            listed.truncate(MAX_LISTED);
        }
        report
    }
}

fn next(last_number: &mut usize) -> usize {
    *last_number += 1;
    *last_number
}

/// Adds the value of another run to a value of the joint report.
trait Add {
    fn add(&mut self, more: Self);
}

impl Add for u64 {
    /// Adds another run's value. The sum saturates instead of overflowing.
    fn add(&mut self, more: Self) {
        *self = self.saturating_add(more);
    }
}

impl Add for f64 {
    fn add(&mut self, more: Self) {
        *self += more;
    }
}

impl<T: Add> Add for BTreeMap<String, T> {
    fn add(&mut self, more: Self) {
        for (key, value) in more {
            match self.get_mut(&key) {
                Some(known) => known.add(value),
                None => drop(self.insert(key, value)),
            }
        }
    }
}

impl<T: Add> Add for Option<T> {
    fn add(&mut self, more: Self) {
        match (self.as_mut(), more) {
            (Some(known), Some(more)) => known.add(more),
            (None, more) => *self = more,
            (Some(_), None) => {}
        }
    }
}

/// Adds another run's value to a sum. The sum becomes `None` if either of the values is unknown.
fn add_if_known<T: Add>(all: &mut Option<T>, more: Option<T>) {
    *all = all.take().zip(more).map(|(mut all, more)| {
        all.add(more);
        all
    });
}

/// Implements `Add` field by field. The macro names all fields, so a missing one does not compile.
macro_rules! add {
    ($($name:ident { $($field:ident),+ })+) => {
        $(impl Add for $name {
            fn add(&mut self, Self { $($field),+ }: Self) {
                $(self.$field.add($field);)+
            }
        })+
    };
}
add! {
    RecoveryReport { tried, walked, proven, plausible, refuted, weight_ms }
    PlausibleReport { samples, weight_ms, alone_ms }
    TopFrameReport { exact, method_certain, approximate, not_judged }
    Counted { samples, weight_ms }
    AgreementReport { samples, asgct_refuted, own_refuted }
    Power { tried, noticed }
    WitnessPower { tried, by_proof, by_witness, by_either }
    GradeReport { asked, agreed, frames, frames_left_out }
    SafepointReport { count, stopped_ms, reaching_ms }
    ClassReport { loaded, initialized, loading_ms, linking_ms, initializing_ms }
    CompilerReport { compiled, failed, took_ms }
    RecordingFile { bytes, cpu_ms }
    LiveObjectsReport { tracked, let_go, alive, collections }
    NativeReport { whole, broken, failed, kernel, kernel_apart }
    WallClockReport { looks, elapsed_ms, running_ms, state_ms }
    GroupReport { tasks, abandoned, tasks_without_cpu, wall_ms, cpu_ms, blocked_ms, tasks_of_ms, tasks_of_cpu_ms }
}

impl<T: Add> Add for Signals<T> {
    fn add(&mut self, Self { signals, fates }: Self) {
        let ByFate { proven, plausible, refuted, unwalked, outside, dropped } = fates;
        self.signals.add(signals);
        let all = &mut self.fates;
        all.proven.add(proven);
        all.plausible.add(plausible);
        all.refuted.add(refuted);
        all.unwalked.add(unwalked);
        all.outside.add(outside);
        all.dropped.add(dropped);
    }
}

impl Add for EdgeReport {
    fn add(&mut self, Self { checked, distinct, proven, explained, refuted, took_ms }: Self) {
        self.checked.add(checked);
        self.distinct.add(distinct);
        self.proven.add(proven);
        self.explained.add(explained);
        self.refuted.add(refuted);
        add_if_known(&mut self.took_ms, took_ms);
    }
}

impl Add for NativeCallReport {
    fn add(
        &mut self,
        Self { checked, distinct, proven, plausible, refuted, unjudged, took_ms, refutations }: Self,
    ) {
        self.checked.add(checked);
        self.distinct.add(distinct);
        self.proven.add(proven);
        self.plausible.add(plausible);
        self.refuted.add(refuted);
        self.unjudged.add(unjudged);
        self.took_ms.add(took_ms);
        self.refutations.extend(refutations);
        self.sort_refutations();
    }
}

impl Add for EventReport {
    fn add(&mut self, Self { count, shown, left_out, took_ms, longest_ms }: Self) {
        self.count.add(count);
        self.shown.add(shown);
        self.left_out.add(left_out);
        self.took_ms.add(took_ms);
        self.longest_ms = self.longest_ms.max(longest_ms);
    }
}

impl Add for MeasureReport {
    /// Adds the amounts and counts. The unit is the same in all runs.
    fn add(&mut self, Self { unit: _, amount, samples, events }: Self) {
        self.amount.add(amount);
        self.samples.add(samples);
        self.events.add(events);
    }
}

impl Add for ExactTotal {
    fn add(&mut self, more: Self) {
        Self::add(self, &more);
    }
}

impl Add for HandlerTime {
    /// Takes the highest percentile of all runs. The true percentile of all runs together is
    /// unknown.
    fn add(&mut self, Self { p50, p90, p99, max, total_ms }: Self) {
        self.p50 = self.p50.max(p50);
        self.p90 = self.p90.max(p90);
        self.p99 = self.p99.max(p99);
        self.max = self.max.max(max);
        self.total_ms.add(total_ms);
    }
}

impl Add for Conservation {
    fn add(&mut self, Self { cpu_ms, sampled_ms, ratio: _ }: Self) {
        *self = Self::new(self.cpu_ms + cpu_ms, self.sampled_ms + sampled_ms);
    }
}

impl Add for ContextsReport {
    /// Adds the totals, and removes the lists of values. Each run lists only its largest values, so
    /// the sums of single values are unknown.
    fn add(&mut self, Self { with_ms, without_ms, sampled, left_out, kinds: _ }: Self) {
        self.with_ms.add(with_ms);
        self.without_ms.add(without_ms);
        self.sampled.add(sampled);
        self.left_out.add(left_out);
        self.kinds.clear();
    }
}

impl Add for WitnessReport {
    fn add(&mut self, more: Self) {
        let Self {
            asked,
            exact,
            all_but_top,
            root_only,
            root_only_because,
            gone,
            confirmed,
            contradicted,
            contradictions,
            differences,
            power,
            took_ms,
            longest_ms,
            stayed_ms,
            longest_stay_ms,
        } = more;
        self.asked.add(asked);
        self.exact.add(exact);
        self.all_but_top.add(all_but_top);
        self.root_only.add(root_only);
        self.root_only_because.add(root_only_because);
        self.gone.add(gone);
        self.confirmed.add(confirmed);
        self.contradicted.add(contradicted);
        list(&mut self.contradictions, contradictions);
        self.differences.add(differences);
        self.power.add(power);
        self.took_ms.add(took_ms);
        self.longest_ms = self.longest_ms.max(longest_ms);
        self.stayed_ms.add(stayed_ms);
        self.longest_stay_ms = self.longest_stay_ms.max(longest_stay_ms);
    }
}

impl Add for Run {
    #[expect(clippy::too_many_lines, reason = "two lines for each field")]
    fn add(&mut self, more: Self) {
        let more_threads = more.threads_option().map(str::to_owned);
        let Self {
            vouch,
            // Runs that other profilers recorded are never added, so both runs have the same
            // recorder.
            recorder: _,
            jdk,
            vm_flags,
            command,
            options,
            engine,
            engine_notes,
            warnings,
            engine_stopped,
            interval_ns,
            sampled_interval_us,
            rate,
            wall_ms,
            runs_ms,
            cpu_ms,
            agent_cpu_ms,
            delivered: _,
            unwalked,
            plausible_because,
            refuted,
            recovery,
            walked_by,
            agreement,
            edges,
            refutations,
            power,
            witness,
            events,
            markers,
            markers_left_out,
            groups,
            safepoints,
            classes,
            compilers,
            waiting,
            exact_totals,
            live_objects,
            recording_file,
            handler_ns,
            names_lost,
            stacks_cut,
            native_walks,
            native_calls,
            wall_clock,
            contexts_left_out: _,
        } = more;
        append_new(&mut self.vouch, &vouch, ", ");
        append_new(&mut self.jdk, &jdk, ", ");
        union(&mut self.vm_flags, vm_flags);
        append_new(&mut self.command, &command, "; ");
        // The joint report must not claim of all runs an option or a state that only some of them
        // had.
        let threads = [self.threads_option().map(str::to_owned), more_threads];
        if let Some(options) = options {
            union(self.options.get_or_insert_default(), options);
        }
        if threads[0] != threads[1] {
            self.options
                .iter_mut()
                .for_each(|options| options.retain(|option| !option.starts_with(THREADS_OPTION)));
            let some = threads
                .into_iter()
                .flatten()
                .map(|threads| format!("some of these runs have {threads} alone"));
            union(&mut self.engine_notes, some.collect());
        }
        if self.engine_stopped != engine_stopped {
            self.engine_stopped = false;
            union(
                &mut self.engine_notes,
                vec!["some of these runs were sampled until the engine was stopped".to_owned()],
            );
        }
        append_new(&mut self.engine, &engine, ", ");
        union(&mut self.engine_notes, engine_notes);
        union(&mut self.warnings, warnings);
        self.interval_ns = self.interval_ns.min(interval_ns);
        let sampled = self.sampled_interval_us.zip(sampled_interval_us);
        self.sampled_interval_us = sampled.map(|(one, other)| one.max(other));
        let rates = self.rate.zip(self.cpu_ms).zip(rate.zip(cpu_ms));
        self.rate = rates.map(|((one, cpu_ms), (more, more_cpu_ms))| one.with(cpu_ms, more, more_cpu_ms));
        self.runs_ms = Some(self.lasted_ms() + runs_ms.unwrap_or(wall_ms));
        self.wall_ms = self.wall_ms.max(wall_ms);
        add_if_known(&mut self.cpu_ms, cpu_ms);
        add_if_known(&mut self.agent_cpu_ms, agent_cpu_ms);
        self.unwalked.add(unwalked);
        self.plausible_because.add(plausible_because);
        self.refuted.add(refuted);
        self.recovery.add(recovery);
        self.walked_by.add(walked_by);
        self.agreement.add(agreement);
        self.edges.add(edges);
        list(&mut self.refutations, refutations);
        self.power.add(power);
        self.witness.add(witness);
        self.events.add(events);
        self.markers.add(markers);
        self.markers_left_out.add(markers_left_out);
        self.groups.add(groups);
        self.safepoints.add(safepoints);
        self.classes.add(classes);
        self.compilers.add(compilers);
        self.waiting.extend(waiting);
        self.exact_totals.add(exact_totals);
        self.live_objects.add(live_objects);
        self.recording_file.add(recording_file);
        add_if_known(&mut self.handler_ns, handler_ns);
        self.names_lost.add(names_lost);
        self.stacks_cut.add(stacks_cut);
        self.native_walks.add(native_walks);
        self.native_calls.add(native_calls);
        self.wall_clock.add(wall_clock);
    }
}

impl Add for TrustReport {
    fn add(&mut self, more: Self) {
        // A clock or an event is set only for recordings of other profilers, and these are never
        // added.
        let Self {
            run,
            clock: _,
            event: _,
            samples,
            weight_ms,
            top_frame,
            conservation,
            measures,
            contexts,
            threads,
            bytes_recorded,
            // The hottest methods of all runs cannot be derived from the hottest methods of each
            // run.
            hottest: _,
        } = more;
        self.run.add(run);
        self.samples.add(samples);
        self.weight_ms.add(weight_ms);
        self.top_frame.add(top_frame);
        self.conservation.add(conservation);
        self.measures.add(measures);
        self.contexts.add(contexts);
        self.threads.extend(threads);
        self.bytes_recorded.add(bytes_recorded);
    }
}

impl Rate {
    /// Returns the mean of two runs' values, weighted by the runs' CPU time.
    fn with(self, cpu_ms: f64, more: Self, more_cpu_ms: f64) -> Self {
        let all = cpu_ms + more_cpu_ms;
        let mean = |one: f64, other: f64| {
            if all > 0.0 { (one * cpu_ms + other * more_cpu_ms) / all } else { one }
        };
        Self {
            asked_hz: mean(self.asked_hz, more.asked_hz),
            reached_hz: mean(self.reached_hz, more.reached_hz),
        }
    }
}

/// Adds the groups of tasks of another run to those of the joint report.
pub fn add_groups(known: &mut BTreeMap<String, GroupReport>, more: BTreeMap<String, GroupReport>) {
    known.add(more);
}

/// Appends `more` to a list in a text, unless the list contains it already.
fn append_new(known: &mut String, more: &str, between: &str) {
    if known.is_empty() {
        more.clone_into(known);
    } else if !more.is_empty() && !known.split(between).any(|item| item == more) {
        known.push_str(between);
        known.push_str(more);
    }
}

fn union(known: &mut Vec<String>, more: Vec<String>) {
    for word in more {
        if !known.contains(&word) {
            known.push(word);
        }
    }
}

/// Merges the refutations of another run into a list. Equal refutations become one, with the sum of
/// their counts.
fn list(known: &mut Vec<RefutationReport>, more: Vec<RefutationReport>) {
    for refutation in more {
        match known.iter_mut().find(|known| known.number == refutation.number) {
            Some(known) => known.count.add(refutation.count),
            None => known.push(refutation),
        }
    }
}
