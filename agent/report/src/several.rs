//! The trust report of several runs: counts are added, and the worst stays the worst.
//!
//! It must never have a value that does not follow from the runs' values. Each struct is
//! destructured with all of its fields, so that the compiler asks how a new field is added.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::mem::take;

use vouch_recording::ByFate;
use vouch_verify::proof::Refutation;

use crate::contexts::ContextsReport;
use crate::groups::GroupReport;
use crate::jvm::{ClassReport, CompilerReport, EventReport, SafepointReport};
use crate::plausible::PlausibleReport;
use crate::proof::{Conservation, EdgeReport, LISTED, Power, RefutationReport, WitnessPower};
use crate::report::{
    AgreementReport, HandlerTime, Rate, RecordingFile, RecoveryReport, Run, Signals, THREADS, TrustReport,
};
use crate::top_frame::{Counted, TopFrameReport};
use crate::witness::{GradeReport, WitnessReport};

/// Reports that become one, and the numbers that their refutations get in it.
#[derive(Debug, Default)]
pub struct Several {
    report: Option<TrustReport>,
    refutations: HashMap<Place, usize>,
    listed: usize,
}

/// Refutations of two runs are the same if all of this is equal.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Place {
    kind: Refutation,
    caller: String,
    bci: i32,
    expected: String,
    found: String,
}

/// The numbers of a run's refutations in the report of all runs.
#[derive(Debug, Default)]
pub struct Renumbered {
    known: HashMap<usize, usize>,
}

impl Several {
    /// Adds a run's report.
    pub fn add(&mut self, mut report: TrustReport) -> Renumbered {
        let mut renumbered = Renumbered::default();
        let Run { refutations, witness, .. } = &mut report.run;
        for refutation in refutations.iter_mut().chain(&mut witness.contradictions) {
            let RefutationReport { number, kind, caller, bci, expected, found, .. } = refutation;
            let place = Place {
                kind: *kind,
                caller: caller.clone(),
                bci: *bci,
                expected: expected.clone(),
                found: found.clone(),
            };
            let listed = &mut self.listed;
            let new = *self.refutations.entry(place).or_insert_with(|| next(listed));
            renumbered.known.insert(take(number), new);
            *number = new;
        }
        match &mut self.report {
            Some(all) => all.add(report),
            none => *none = Some(report),
        }
        renumbered
    }

    /// The number in the report of all for a run's number, also for one that the run's report left
    /// out.
    pub fn number(&mut self, of: &mut Renumbered, number: usize) -> usize {
        let listed = &mut self.listed;
        *of.known.entry(number).or_insert_with(|| next(listed))
    }

    /// The report of all runs. `wall` is from their first start to their last end.
    pub fn finish(self, wall_ms: f64) -> TrustReport {
        let mut report = self.report.unwrap_or_default();
        report.run.wall_ms = wall_ms;
        let Run { refutations, witness, .. } = &mut report.run;
        for listed in [refutations, &mut witness.contradictions] {
            listed.sort_by_key(|refutation| Reverse(refutation.count));
            listed.truncate(LISTED);
        }
        report
    }
}

fn next(listed: &mut usize) -> usize {
    *listed += 1;
    *listed
}

/// What can be added to.
trait Add {
    fn add(&mut self, more: Self);
}

impl Add for u64 {
    /// Saturates instead of overflowing.
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
        for (key, figure) in more {
            match self.get_mut(&key) {
                Some(known) => known.add(figure),
                None => drop(self.insert(key, figure)),
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

/// Adds two parts; `None` if one is unknown.
fn add_if_known<T: Add>(all: &mut Option<T>, more: Option<T>) {
    *all = all.take().zip(more).map(|(mut all, more)| {
        all.add(more);
        all
    });
}

/// Adds a struct field by field. The compiler reports a field that is missing.
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

impl Add for EventReport {
    fn add(&mut self, Self { count, shown, left_out, took_ms, longest_ms }: Self) {
        self.count.add(count);
        self.shown.add(shown);
        self.left_out.add(left_out);
        self.took_ms.add(took_ms);
        self.longest_ms = self.longest_ms.max(longest_ms);
    }
}

impl Add for HandlerTime {
    /// The percentiles of all samples cannot be computed, so each is the worst of the runs'.
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
        *self = Self::of(self.cpu_ms + cpu_ms, self.sampled_ms + sampled_ms);
    }
}

impl Add for ContextsReport {
    /// Each run has only its most expensive values, so the sums of all are unknown.
    fn add(&mut self, Self { with_ms, without_ms, met, left_out, kinds: _ }: Self) {
        self.with_ms.add(with_ms);
        self.without_ms.add(without_ms);
        self.met.add(met);
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
    fn add(&mut self, more: Self) {
        let threads_wanted = more.threads_wanted().map(str::to_owned);
        let Self {
            vouch,
            // Runs that other profilers recorded are never added.
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
            recording_file,
            handler_ns,
            names_lost,
            stacks_cut,
            contexts_left_out: _,
        } = more;
        say(&mut self.vouch, &vouch, ", ");
        say(&mut self.jdk, &jdk, ", ");
        union(&mut self.vm_flags, vm_flags);
        say(&mut self.command, &command, "; ");
        // A note about some of the runs would be wrong about all.
        let wanted = [self.threads_wanted().map(str::to_owned), threads_wanted];
        if let Some(options) = options {
            union(self.options.get_or_insert_default(), options);
        }
        if wanted[0] != wanted[1] {
            self.options.iter_mut().for_each(|options| options.retain(|option| !option.starts_with(THREADS)));
            let some =
                wanted.into_iter().flatten().map(|wanted| format!("some of these runs have {wanted} alone"));
            union(&mut self.engine_notes, some.collect());
        }
        if self.engine_stopped != engine_stopped {
            self.engine_stopped = false;
            union(
                &mut self.engine_notes,
                vec!["some of these runs were sampled until the engine was stopped".to_owned()],
            );
        }
        say(&mut self.engine, &engine, ", ");
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
        self.recording_file.add(recording_file);
        add_if_known(&mut self.handler_ns, handler_ns);
        self.names_lost.add(names_lost);
        self.stacks_cut.add(stacks_cut);
    }
}

impl Add for TrustReport {
    fn add(&mut self, more: Self) {
        // Only recordings of other profilers have another clock, or an event.
        let Self {
            run,
            clock: _,
            event: _,
            samples,
            weight_ms,
            top_frame,
            conservation,
            contexts,
            threads,
            bytes_recorded,
            // The hottest methods of both together cannot be found from each run's hottest.
            hottest: _,
        } = more;
        self.run.add(run);
        self.samples.add(samples);
        self.weight_ms.add(weight_ms);
        self.top_frame.add(top_frame);
        self.conservation.add(conservation);
        self.contexts.add(contexts);
        self.threads.extend(threads);
        self.bytes_recorded.add(bytes_recorded);
    }
}

impl Rate {
    /// The mean of two runs, weighted by their CPU time.
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

/// Adds the groups of tasks of another run.
pub fn add_groups(known: &mut BTreeMap<String, GroupReport>, more: BTreeMap<String, GroupReport>) {
    known.add(more);
}

/// Appends a word if it is not there yet.
fn say(known: &mut String, more: &str, between: &str) {
    if known.is_empty() {
        more.clone_into(known);
    } else if !more.is_empty() && !known.split(between).any(|said| said == more) {
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

/// The refutations of both, with those that are in both added up.
fn list(known: &mut Vec<RefutationReport>, more: Vec<RefutationReport>) {
    for refutation in more {
        match known.iter_mut().find(|known| known.number == refutation.number) {
            Some(known) => known.count.add(refutation.count),
            None => known.push(refutation),
        }
    }
}
